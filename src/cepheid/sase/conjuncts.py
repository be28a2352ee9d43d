"""SQL text → its conjuncts: the parts that AND joins, and the columns that each of them reads.

In: the text of a condition. Out: ranges of that text; or a `ConditionError` where the text is no condition. The SQL
parser of the room `conditions` decides what is an AND of two conditions and what belongs to BETWEEN or CASE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from cepheid.conditions import parse
from cepheid.conditions.dialect import parse_tokens, text_range, tokenize
from cepheid.conditions.source import Range
from cepheid.conditions.vocabulary import AGGREGATES


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """A column as it is named in the text: part by part; `v.*` has `*` as its last part."""

    parts: tuple[str, ...]
    place: Range
    aggregate: str | None
    """The aggregate that it is in, such as SUM."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the conditions that must all hold."""

    place: Range
    columns: tuple[ColumnRead, ...]
    is_or: bool
    """Whether it needs parentheses next to an AND."""


def split(text: str) -> tuple[Conjunct, ...]:
    """The conjuncts of a condition, in the order of writing; parentheses around an AND are seen through."""
    parse(text)  # refuses with a caret whatever is no condition
    node = parse_tokens(tokenize(text), text)
    assert node is not None
    return tuple(
        Conjunct(
            Range(*text_range(part)),
            tuple(sorted(_columns(part), key=lambda read: read.place.start)),
            isinstance(part, exp.Or),
        )
        for part in _parts(node)
    )


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inside = part
        while isinstance(inside, exp.Paren):
            inside = inside.this
        if isinstance(inside, exp.And):
            waiting += [inside.expression, inside.this]
        else:
            yield part


def _columns(node: exp.Expr) -> Iterator[ColumnRead]:
    for column in node.find_all(exp.Column):
        parts = tuple(part.name for part in column.parts)
        if parts[0].lower() not in _parameters(column):
            yield ColumnRead(parts, Range(*text_range(column)), _aggregate_around(column))


def _parameters(column: exp.Column) -> set[str]:
    """The parameters of the lambdas that a column is in: these are no columns."""
    found: set[str] = set()
    around = column.parent
    while around is not None:
        if isinstance(around, exp.Lambda):
            found.update(parameter.name.lower() for parameter in around.expressions)
        around = around.parent
    return found


def _aggregate_around(column: exp.Column) -> str | None:
    around = column.parent
    while around is not None:
        if isinstance(around, exp.Anonymous) and around.name.upper() in AGGREGATES:
            return around.name.upper()
        around = around.parent
    return None
