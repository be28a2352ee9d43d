"""Row pattern + columns of the input → what its expressions mean.

In: a row pattern and the schema of its rows (None: types are unknown, only names of variables are checked). Out:
`BoundRowPattern`, in whose expressions every leaf is a read or a literal, or an error that shows the place (rule 7.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cepheid.conditions.carets import condition_error
from cepheid.conditions.expression import Expression, Name
from cepheid.conditions.source import Range, Source
from cepheid.conditions.types import Schema
from cepheid.errors import ConditionError
from cepheid.rowpattern.model import Measure, RowPattern, RowsPerMatch, Sort
from cepheid.rowpattern.names import ExpressionBinder, Names

CALLED = "MATCH_RECOGNIZE"


@dataclass(frozen=True, slots=True)
class BoundRowPattern:
    """A row pattern over rows of a schema; names of columns are spelt as there."""

    pattern: RowPattern
    schema: Schema | None
    partition_by: tuple[str, ...]
    order_by: tuple[Sort, ...]
    measures: tuple[Measure, ...]
    defines: Mapping[str, Expression]
    """By primary variable; one that is missing is true of every row (rule 1.4)."""

    @property
    def order_names(self) -> tuple[str, ...]:
        return tuple(sort.column.parts[0] for sort in self.order_by)

    @property
    def input_columns(self) -> tuple[str, ...]:
        """The columns of the input that the result shows, in its order but for the measures (rule 6.1)."""
        if self.pattern.rows is RowsPerMatch.ONE:
            return self.partition_by
        own = (*self.partition_by, *self.order_names)
        return tuple(dict.fromkeys((*own, *(self.schema.names if self.schema is not None else ()))))

    @property
    def columns_before_measures(self) -> int:
        """How many of `input_columns` come before the measures."""
        if self.pattern.rows is RowsPerMatch.ONE:
            return len(self.partition_by)
        return len(dict.fromkeys((*self.partition_by, *self.order_names)))


def bind(pattern: RowPattern, schema: Schema | None) -> BoundRowPattern:
    """Give names and types a meaning."""
    try:
        return _bind(pattern, schema)
    except ConditionError as error:
        raise located(error) from None


def located(error: ConditionError) -> ConditionError:
    """An error in an expression, shown with its line and column in the whole text."""
    if error.marked is None:
        return error
    place = Range(error.marked.start, error.marked.end)
    return Source(error.marked.text, CALLED).condition_error(place, error.marked.problem, error.remedy)


def _bind(pattern: RowPattern, schema: Schema | None) -> BoundRowPattern:
    names = Names(pattern, schema)
    in_define = ExpressionBinder(names, in_define=True)
    in_measures = ExpressionBinder(names, in_define=False)
    order_by = tuple(replace(sort, column=Name((_column(sort.column, schema),))) for sort in pattern.order_by)
    if pattern.within is not None:
        _check_within(pattern, schema)
    return BoundRowPattern(
        pattern,
        schema,
        tuple(_column(name, schema) for name in pattern.partition_by),
        order_by,
        tuple(Measure(measure.name, in_measures.bind(measure.expression)) for measure in pattern.measures),
        {define.variable: in_define.condition(define.condition) for define in pattern.defines},
    )


def _column(name: Name, schema: Schema | None) -> str:
    """A column of PARTITION BY or ORDER BY as the schema spells it."""
    [written] = name.parts
    if schema is None:
        return written
    found = schema.find(written)
    if found is None:
        raise condition_error(name.span, f"there is no column `{written}`", schema.suggestion(written))
    return found[0]


def _check_within(pattern: RowPattern, schema: Schema | None) -> None:
    """WITHIN measures from the first row to the last by the first column of ORDER BY."""
    remedy = "Order by a date or timestamp first, ascending."
    if not pattern.order_by or pattern.order_by[0].descending:
        raise ConditionError(CALLED, "WITHIN needs rows in the order of time", remedy)
    column = pattern.order_by[0].column
    found = schema.find(column.parts[0]) if schema is not None else None
    if found is not None and not found[1].is_moment:
        raise condition_error(column.span, f"WITHIN is a time, but `{found[0]}` is a {found[1]}", remedy)
