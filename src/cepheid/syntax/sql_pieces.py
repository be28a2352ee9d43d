"""SQL text cut into the pieces that decide where it ends: strings, quoted names, comments, brackets.

In: SQL text, which nobody has parsed. Out: the text on one line, and how it is put together from parts in parentheses.
Used by the printed notation, written and read: a condition there is text in brackets.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      (?P<raw>     (?<!\w)[rR](?:'[^']*'|"[^"]*") )
    | (?P<string>  '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<name>    `(?:[^`]|``)*` )
    | (?P<comment> --[^\n]* | /\*.*?\*/ )
    | (?P<space>   \s+ )
    | (?P<word>    \w+ )
    | (?P<sign>    . )
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE_BREAKS = {"\n": "\\n", "\r": "\\r"}


def one_line(text: str) -> str:
    """The same SQL without comments and line breaks; in a string a line break becomes its escape."""
    pieces = list(_PIECE.finditer(text))
    if "\n" not in text and "\r" not in text and not any(piece.lastgroup == "comment" for piece in pieces):
        return text
    written: list[str] = []
    for piece in pieces:
        if piece.lastgroup in ("comment", "space"):
            if written and written[-1] != " ":
                written.append(" ")
        elif piece.lastgroup == "string":
            written.append(re.sub("[\n\r]", lambda found: _LINE_BREAKS[found[0]], piece[0]))
        else:
            written.append(piece[0])
    return "".join(written).strip()


def parts(text: str) -> tuple[str, tuple[tuple[int, int], ...]] | None:
    """The word (AND, OR) and the ranges of the parts, where a text is nothing but parts in parentheses, `(…) AND (…)`;
    None for every other text."""
    ranges: list[tuple[int, int]] = []
    words: list[str] = []
    depth, opened, expects_part = 0, 0, True
    for piece in _PIECE.finditer(text):
        if depth == 0 and piece.lastgroup in ("space", "comment"):
            continue
        if piece[0] == "(":
            if depth == 0:
                if not expects_part:
                    return None
                opened = piece.end()
            depth += 1
        elif piece[0] == ")":
            depth -= 1
            if depth < 0:
                return None
            if depth == 0:
                ranges.append((opened, piece.start()))
                expects_part = False
        elif depth == 0:
            if expects_part or piece[0].upper() not in ("AND", "OR"):
                return None
            words.append(piece[0].upper())
            expects_part = True
    if depth or expects_part or not words or len(set(words)) > 1:
        return None
    return words[0], tuple(ranges)


def inside(text: str) -> tuple[int, int] | None:
    """Where the text in one pair of parentheses lies that keeps it from being taken for parts; None without such."""
    stripped = text.strip()
    if not (stripped.startswith("(") and stripped.endswith(")")) or _closes_at(stripped) != len(stripped) - 1:
        return None
    start = text.index("(") + 1
    end = text.rindex(")")
    inner = text[start:end]
    return (start, end) if parts(inner) is not None or inside(inner) is not None else None


def _closes_at(text: str) -> int:
    """Where the parenthesis is closed that a text begins with."""
    depth = 0
    for piece in _PIECE.finditer(text):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if depth == 0:
            return piece.start()
    return -1
