"""The body of WHERE, token by token → one SQL text that the SQL parser can read.

What SASE writes in its own way is rewritten: `[a, b]` becomes TRUE and is kept aside, `x[i-1].price` becomes `x.price`
and its index is kept aside, the signs of the papers become words. Every character still knows its origin. Called by
`parsing` alone.
"""

from __future__ import annotations

import re

from lark import Token

from cepheid.conditions.source import Range, Source
from cepheid.sase.query import Equivalence, Index, IndexKind, Where
from cepheid.sase.rewriting import Rewriting
from cepheid.sase.words import column, unquoted

_SIGNS = {"∧": " AND ", "∨": " OR ", "¬": " NOT ", "≠": " <> ", "≤": " <= ", "≥": " >= "}
_WORD = r"(?:[^\W\d]\w*|`(?:[^`]|``)+`)"
_INDEXED = re.compile(rf"(?P<name>{_WORD})\s*\[\s*(?P<index>[^\]]*?)\s*\]\s*\.\s*(?P<rest>.*)", re.DOTALL)
_PART = re.compile(rf"{_WORD}|\*")


def where_of(source: Source, tokens: list[Token]) -> Where:
    """The conditions that the tokens say."""
    return _Body(source, tokens).read()


class _Body:
    """Goes through the tokens of one WHERE, from left to right."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._where = Where(Rewriting(), {}, {})

    def read(self) -> Where:
        position = 0
        while position < len(self._tokens):
            self._gap(position)
            token = self._tokens[position]
            if token.type == "LBRACKET" and self._is_equivalence(position):
                position = self._equivalence(position)
                continue
            self._token(token, self._next(position))
            position += 1
        return self._where

    def _next(self, position: int) -> Token | None:
        return self._tokens[position + 1] if position + 1 < len(self._tokens) else None

    def _gap(self, position: int) -> None:
        """What is between two tokens: blanks, and comments, which are left out."""
        if position == 0:
            return
        place = Range(self._tokens[position - 1].end_pos or 0, self._tokens[position].start_pos or 0)
        gap = self._source.of(place)
        self._where.sql.add(gap if gap.isspace() else " " * bool(gap), place, verbatim=gap.isspace())

    def _token(self, token: Token, following: Token | None) -> None:
        place, sql = _range(token), self._where.sql
        if token.type == "INDEXED":
            found = _INDEXED.fullmatch(token)
            assert found is not None
            self._where.indices[len(sql.text)] = self._index(found, place)
            sql.add(_dotted([found["name"], *_PART.findall(found["rest"])]), place, verbatim=False)
        elif token.type == "NAME" and (following is None or following.type != "LPAR") and len(_PART.findall(token)) > 1:
            sql.add(_dotted(_PART.findall(token)), place, verbatim=False)
        elif token in _SIGNS:
            sql.add(_SIGNS[token], place, verbatim=False)
        else:
            sql.add(str(token), place, verbatim=True)

    def _index(self, found: re.Match[str], place: Range) -> Index:
        text = "".join(found["index"].split())
        if text == "":
            return Index(IndexKind.ALL)
        if text == "i":
            return Index(IndexKind.CURRENT)
        if text.startswith("i-") or text.isdecimal():
            number = int(text.removeprefix("i-"))
            if number == 0:
                raise self._source.condition_error(
                    place, "events are counted from 1", "Write x[1] for the first, x[i] for the current event."
                )
            return Index(IndexKind.NUMBERED if text.isdecimal() else IndexKind.BEFORE_CURRENT, number)
        if text.startswith(".."):
            return Index(IndexKind.ALL_BEFORE_CURRENT)
        if unquoted(text.rpartition(".")[0]).casefold() != unquoted(found["name"]).casefold():
            remedy = f"Write {found['name']}[{found['name']}.LEN] for its last event."
            raise self._source.condition_error(place, f"`[{text}]` counts another component", remedy)
        return Index(IndexKind.LAST)

    # ── equivalences ─────────────────────────────────────────────────────────────────────────────────────────────

    def _is_equivalence(self, position: int) -> bool:
        """Brackets after a value are an item of an array; elsewhere they are an equivalence."""
        if position == 0:
            return True
        before = self._tokens[position - 1]
        if before.type == "LPAR" or before in ("∧", "∨", "¬") or before.upper() in ("AND", "OR", "NOT"):
            return True
        apart = before.end_pos != self._tokens[position].start_pos
        following = self._next(position)
        if apart and following is not None and following.type == "NAME" and "." not in following:
            end = self._closing(position)
            place = Range(_range(self._tokens[position]).start, _range(self._tokens[end]).end)
            raise self._source.condition_error(place, "an AND is missing before this", "Join conditions with AND.")
        return False

    def _closing(self, position: int) -> int:
        depth = 0
        for index in range(position, len(self._tokens)):
            depth += {"LBRACKET": 1, "RBRACKET": -1}.get(self._tokens[index].type, 0)
            if depth == 0:
                return index
        raise AssertionError("the grammar balances brackets")

    def _equivalence(self, position: int) -> int:
        """Reads `[a, b]` and gives the position after it."""
        end = self._closing(position)
        place = Range(_range(self._tokens[position]).start, _range(self._tokens[end]).end)
        inside = self._tokens[position + 1 : end]
        names, commas = inside[::2], inside[1::2]
        if (
            len(inside) % 2 == 0
            or any(token.type != "NAME" or len(_PART.findall(token)) > 1 for token in names)
            or any(token.type != "COMMA" for token in commas)
        ):
            remedy = "Name attributes that are equal in all events: [tag] or [tag, store]."
            raise self._source.condition_error(place, "this is not an equivalence", remedy)
        following = self._next(end)
        behind_is_fine = following is None or following.type == "RPAR" or following in ("∧", "∨")
        if not behind_is_fine and following is not None and following.upper() not in ("AND", "OR"):
            raise self._source.condition_error(
                _range(following), "an AND is missing before this", "Join conditions with AND."
            )
        sql = self._where.sql
        self._where.equivalences[len(sql.text)] = Equivalence(tuple(unquoted(str(name)) for name in names), place)
        sql.add("TRUE", place, verbatim=False)
        return end + 1


def _dotted(words: list[str]) -> str:
    return ".".join(part if part == "*" else column(unquoted(part)) for part in words)


def _range(token: Token) -> Range:
    return Range(token.start_pos or 0, token.end_pos or 0)
