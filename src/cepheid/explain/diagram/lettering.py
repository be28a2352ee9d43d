"""How wide text is, and where it breaks: the browser is not there to ask.

In: text and a size in pixels. Out: widths that no common font exceeds, and lines. Used by the SVG drawings.
"""

from __future__ import annotations

from unicodedata import combining, east_asian_width

MONO_CELL = 0.602
"""The advance of a monospaced glyph in em. Drawings also set `textLength`, so that it holds in every font."""

_NARROW = frozenset("iljtfrI.,:;'|!()[]{} ")
_WIDE = frozenset("mwMW@%—…")


def cells(text: str) -> int:
    """How many cells of a monospaced font a text takes; East Asian wide characters take two."""
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def mono_width(text: str, size: float) -> float:
    """The width of text in the monospaced font."""
    return cells(text) * size * MONO_CELL


def sans_width(text: str, size: float, bold: bool = False) -> float:
    """The width of text in a proportional font, rather too large than too small."""
    em = 0.0
    for sign in text:
        if combining(sign):
            continue
        if east_asian_width(sign) in "WF":
            em += 1.05
        elif sign in _NARROW:
            em += 0.40
        elif sign in _WIDE or not sign.isascii():
            em += 1.0
        else:
            em += 0.72 if sign.isupper() else 0.61
    return em * size * (1.08 if bold else 1.0)


def wrapped(text: str, width: int, most: int) -> tuple[str, ...]:
    """The text in lines of at most `width` cells, broken at spaces where possible; `most` lines, then an ellipsis."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        rest = word
        candidate = f"{line} {rest}" if line else rest
        if cells(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        while cells(rest) > width:
            cut = _fitting(rest, width)
            lines.append(rest[:cut])
            rest = rest[cut:]
        line = rest
    if line:
        lines.append(line)
    if len(lines) > most:
        last = lines[most - 1]
        return (*lines[: most - 1], last[: _fitting(last, width - 1)] + "…")
    return tuple(lines)


def _fitting(text: str, width: int) -> int:
    """How many characters of the text fit, at least one."""
    count = len(text)
    while count > 1 and cells(text[:count]) > width:
        count -= 1
    return count
