"""The value of an expression of MEASURES or DEFINE, literally (rule 5).

In: a bound expression, then what is visible where it is asked. Out: a Python value, None for NULL. Called by
`reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from cepheid.conditions.arithmetic import equality_key
from cepheid.conditions.evaluation import compile_expression
from cepheid.conditions.expression import Column, Expression
from cepheid.conditions.folding import Spread, average, larger, plus, smaller
from cepheid.conditions.promotion import sum_type
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.rowpattern.expression import LABEL, NUMBER, Folded, Function, Place, Value, reads_of, replaced

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """What an expression sees: the rows of the partition, the labels of the match so far, the current row."""

    rows: Sequence[Row]
    first: int
    labels: Sequence[str]
    current: int
    number: int
    members: Mapping[str, frozenset[str]]
    """By variable, the primary ones that it stands for."""

    def visible(self, variable: str | None, final: bool) -> list[int]:
        """The rows of the match that are visible and have the label (rule 5.1)."""
        end = self.first + len(self.labels)
        last = range(self.first, end if final else min(self.current + 1, end))
        if variable is None:
            return list(last)
        members = self.members[variable]
        return [row for row in last if self.labels[row - self.first] in members]

    def row_at(self, place: Place) -> int | None:
        """The row that a navigation finds (rules 5.3 to 5.5)."""
        candidates = self.visible(place.variable, place.final)
        if len(candidates) <= place.offset:
            return None
        row = candidates[place.offset if place.from_first else -1 - place.offset] + place.shift
        return row if 0 <= row < len(self.rows) else None

    def event(self, row: int) -> Row:
        """A row with its label, NULL outside the match, and the number of the match (rules 5.7 and 5.8)."""
        inside = self.first <= row < self.first + len(self.labels)
        return {**self.rows[row], LABEL: self.labels[row - self.first] if inside else None, NUMBER: self.number}


Evaluated: TypeAlias = Callable[[View], Any]


def compiled(expression: Expression) -> Evaluated:
    """The expression's value as a function of what is visible."""
    reads = reads_of(expression)
    names = {read: f"__read_{number}" for number, read in enumerate(reads)}

    def as_column(node: Expression) -> Expression | None:
        return Column(names[node], type=node.type) if isinstance(node, Value | Folded) else None

    outer = compile_expression(replaced(expression, as_column))
    readers = [(names[read], _reader(read)) for read in reads]

    def evaluate(view: View) -> Any:
        return outer({NUMBER: view.number, **{name: read(view) for name, read in readers}}, NOTHING_TAKEN)

    return evaluate


def _reader(read: Value | Folded) -> Evaluated:
    if isinstance(read, Folded):
        return _folded(read)
    argument, place = compile_expression(read.argument), read.place

    def value(view: View) -> Any:
        row = view.row_at(place)
        return None if row is None else argument(view.event(row), NOTHING_TAKEN)

    return value


def _folded(read: Folded) -> Evaluated:
    if read.argument is None:
        return lambda view: len(view.visible(read.variable, read.final))
    argument = compile_expression(read.argument)

    def folded(view: View) -> Any:
        rows = view.visible(read.variable, read.final)
        values = [argument(view.event(row), NOTHING_TAKEN) for row in rows]
        known = [value for value in values if value is not None]
        return aggregated(read, known)

    return folded


def aggregated(read: Folded, values: list[Any]) -> Any:
    """An aggregate over values without NULLs (rule 5.9)."""
    assert read.argument is not None
    if read.distinct:
        values = _distinct(values)
    total = None
    match read.function:
        case Function.COUNT:
            return len(values)
        case Function.ARRAY_AGG:
            return values
        case Function.STDDEV:
            return reduce(Spread.with_value, values, Spread()).deviation
        case Function.SUM | Function.AVG:
            add = plus(sum_type(read.argument.type))
            for value in values:
                total = add(total, value)
            return total if read.function is Function.SUM else average(total, len(values), read.type)
        case Function.MIN | Function.MAX:
            better = smaller if read.function is Function.MIN else larger
            for value in values:
                total = better(total, value)
            return total


def _distinct(values: list[Any]) -> list[Any]:
    kept: dict[Any, Any] = {}
    for value in values:
        kept.setdefault(equality_key(value), value)
    return list(kept.values())
