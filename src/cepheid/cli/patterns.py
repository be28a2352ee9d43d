"""A pattern from the command line: a file, or the text itself; JSON, SASE, or the printed notation.

In: what was given for PATTERN. Out: a checked `Pattern`. Used by every command that takes one.
"""

from __future__ import annotations

import re

from cepheid.cli.files import is_file, text_of
from cepheid.errors import InputError
from cepheid.pattern import Pattern
from cepheid.row_pattern import RowPattern

HELP = "a file with a pattern as text or JSON, or the text itself: 'a[x = 1] ~> b', 'EVENT SEQ(A a, B b) WITHIN 1 hour'"


def load_pattern(given: str, type_column: str | None = None) -> Pattern:
    """The pattern that a file holds, or that the text says; `type_column` is for SASE text."""
    text = given
    if not _is_text(given):
        if not is_file(given):
            raise InputError(
                f"PATTERN is {given!r}, which is neither a file nor a pattern.\n"
                "  Give the path of a file, text as print(pattern) writes it (a ~> b), SASE text (EVENT SEQ(…) …), or "
                "JSON\n  as pattern.to_json() writes it."
            )
        text = text_of(given)
    if text.lstrip().startswith("{"):
        if type_column is not None:
            raise InputError("a type column is for SASE text, but the pattern is JSON.\n  Leave the type column out.")
        return Pattern.from_json(text)
    return Pattern.parse(text, type_column=type_column).check()


def load_row_pattern(given: str) -> RowPattern | None:
    """The clause of MATCH_RECOGNIZE that a file holds, or that the text is; None if it is something else."""
    text = text_of(given) if not _is_text(given) and is_file(given) else given
    is_clause = _CLAUSE.search(text) is not None and not text.lstrip().startswith("{")
    return RowPattern.parse(text) if is_clause else None


_CLAUSE = re.compile(r"\bPATTERN\s*\(", re.IGNORECASE)
"""What no other text of a pattern has."""


def _is_text(given: str) -> bool:
    """Whether this is a pattern and not the name of a file."""
    return any(sign in given for sign in ("\n", "(", "[", "->", "~>")) or given.lstrip().startswith("{")
