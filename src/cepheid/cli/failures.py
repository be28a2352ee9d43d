"""Errors as one screen of text.

In: an exception of any kind. Out: what a person needs of it. Spark wraps an error of a worker in traces of two
languages; what Cepheid said on the worker is taken out of them.
"""

from __future__ import annotations

import re

from cepheid.errors import CepheidError

_LINES, _BROAD = 20, 400
_OURS = re.compile(r"^cepheid\.errors\.\w+: (?P<message>.*?)(?=^\S*Traceback|^\s*at |^JVM stacktrace|\Z)", re.M | re.S)


def told(error: BaseException) -> str:
    """The error in a screen of text at most."""
    if isinstance(error, CepheidError):
        return str(error)
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no file {error.filename!r}"
    text = str(error).strip()
    ours = _OURS.search(text)
    if ours is not None:
        return ours["message"].strip()
    lines = [line[:_BROAD] for line in text.splitlines() if line.strip()]
    cut = next((number for number, line in enumerate(lines) if _is_trace(line)), len(lines))
    shown = lines[: min(max(cut, 1), _LINES)] or [""]
    more = [] if len(shown) == len(lines) else ["  --debug shows all of it"]
    return "\n".join((f"{type(error).__name__}: {shown[0]}", *shown[1:], *more))


def _is_trace(line: str) -> bool:
    return line.startswith(("JVM stacktrace", "Traceback", "\tat ", "  at ", "== Physical"))
