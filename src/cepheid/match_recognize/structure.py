"""The parentheses of PATTERN → nodes of a row pattern.

In: the grammar's tree. Out: nodes, or an error that shows the place. Called by `reading`.
"""

from __future__ import annotations

from lark import Token, Tree

from cepheid.conditions.source import Range, Source
from cepheid.match_recognize.words import folded
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    Variable,
)

_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def pattern_of(source: Source, base: int, tree: Tree[Token]) -> Node:
    """The pattern; `base` is where the clause begins in the source."""
    return _Structure(source, base).alternation(tree)


class _Structure:
    """Reads one pattern."""

    def __init__(self, source: Source, base: int) -> None:
        self._source = source
        self._base = base

    def alternation(self, tree: Tree[Token]) -> Node:
        parts = tuple(self._concatenation(part) for part in tree.children if isinstance(part, Tree))
        return parts[0] if len(parts) == 1 else Alternation(parts)

    def _concatenation(self, tree: Tree[Token]) -> Node:
        parts = tuple(self._quantified(part) for part in tree.children if isinstance(part, Tree))
        return parts[0] if len(parts) == 1 else Concatenation(parts)

    def _quantified(self, tree: Tree[Token]) -> Node:
        primary, *quantifier = tree.children
        assert isinstance(primary, Tree)
        body = self._primary(primary)
        if not quantifier:
            return body
        [last] = quantifier
        assert isinstance(last, Tree)
        least, most = self._bounds(last)
        reluctant = isinstance(last.children[-1], Token) and str(last.children[-1]) == "?" and len(last.children) > 1
        # rule 3.3: {n}? is {n}
        return Quantified(body, least, most, greedy=not reluctant or least == most)

    def _primary(self, tree: Tree[Token]) -> Node:
        inside = [part for part in tree.children if isinstance(part, Tree)]
        match str(tree.data):
            case "variable":
                return Variable(folded(str(tree.children[0])))
            case "empty":
                return Empty()
            case "start":
                return PartitionStart()
            case "end":
                return PartitionEnd()
            case "group":
                return self.alternation(inside[0])
            case "exclusion":
                return Exclusion(self.alternation(inside[0]))
        parts = tuple(self.alternation(part) for part in inside)
        return parts[0] if len(parts) == 1 else Permute(parts)

    def _bounds(self, quantifier: Tree[Token]) -> tuple[int, int | None]:
        first = quantifier.children[0]
        if str(first) in _SIGNS:
            return _SIGNS[str(first)]
        bounds = next(part for part in quantifier.children if isinstance(part, Tree))
        numbers = [
            self._number(token) for token in bounds.children if isinstance(token, Token) and token.type == "NUMBER"
        ]
        if bounds.data == "exactly":
            least: int = numbers[0]
            most: int | None = least
        else:
            comma = next(n for n, token in enumerate(bounds.children) if str(token) == ",")
            least = self._number(bounds.children[0]) if comma else 0
            most = self._number(bounds.children[-1]) if comma < len(bounds.children) - 1 else None
        place = Range(self._base + quantifier.meta.start_pos, self._base + quantifier.meta.end_pos)
        if most == 0:
            raise self._source.error(place, "a part that occurs at most 0 times", "The upper bound is 1 or more.")
        if most is not None and least > most:
            raise self._source.error(place, f"the bounds {least} and {most} are the wrong way round", "Exchange them.")
        return least, most

    def _number(self, token: Token | Tree[Token]) -> int:
        assert isinstance(token, Token)
        if not token.isdecimal():
            place = Range(self._base + (token.start_pos or 0), self._base + (token.end_pos or 0))
            raise self._source.error(place, f"`{token}` is not a whole number", "Bounds are whole numbers: A{2,5}.")
        return int(token)
