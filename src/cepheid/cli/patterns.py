"""A pattern from the command line: a file, or the text itself; JSON, or SASE.

In: what was given for PATTERN. Out: a checked `Pattern`. Used by every command that takes one.
"""

from __future__ import annotations

from pathlib import Path

from cepheid.errors import InputError
from cepheid.pattern import Pattern

HELP = 'a file with a pattern as JSON, or the text itself, such as {"cepheid": 1, "sequence": [...]}'


def load_pattern(given: str) -> Pattern:
    """The pattern that a file holds, or that the text says."""
    text = given
    if "\n" not in given and not _is_json(given):
        place = Path(given)
        if not place.is_file():
            raise InputError(
                f"PATTERN is {given!r}, which is neither a file nor a pattern.\n"
                "  Give the path of a file that pattern.to_json() wrote, or that text itself."
            )
        text = place.read_text(encoding="utf-8")
    if not _is_json(text):
        raise InputError(
            f"PATTERN is {_shortened(text)!r}, which is not a pattern as JSON.\n  Write one with pattern.to_json()."
        )
    return Pattern.from_json(text)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _shortened(text: str) -> str:
    first = " ".join(text.split())
    return first if len(first) <= 60 else f"{first[:60]}…"
