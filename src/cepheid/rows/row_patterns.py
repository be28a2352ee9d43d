"""Row patterns on rows in memory, without Spark.

In: a row pattern and rows as dicts, a pandas DataFrame or an Arrow table. Out: `FoundRowPatterns`. Called by the face.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.conditions import Schema
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.arrow.values import NotVectorized, arrow_type
from cepheid.conditions.expression import Column, Expression
from cepheid.conditions.types import Kind
from cepheid.engine.row_measures import MeasureReads, shown_rows
from cepheid.engine.row_patterns import Progress, RowMatches, match_by_reference
from cepheid.engine.row_patterns import match_rows as matches_of
from cepheid.engine.row_values import Mask, RowValues, as_array
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.row_patterns import RowTables, tabulate
from cepheid.errors import ConditionError, InputError
from cepheid.options import Limits
from cepheid.rowpattern.binding import BoundRowPattern, bind, located
from cepheid.rowpattern.expression import NUMBER, Folded, Value, mentions, reads_of, replaced
from cepheid.rowpattern.model import Measure, RowPattern
from cepheid.rowpattern.reference import MAX_STEPS, Reference
from cepheid.rows.given import to_table
from cepheid.rows.row_order import OrderedRows, ordered

logger = logging.getLogger("cepheid.engine")
_TOLD: set[str] = set()
"""Reasons for the slow way that the log has named already."""


class FoundRowPatterns:
    """What a row pattern found in rows."""

    def __init__(self, matches_table: pa.Table) -> None:
        self.matches_table = matches_table
        """The rows of the result, partition by partition, in the order of the scan."""

    @property
    def matches(self) -> list[dict[str, Any]]:
        """The rows of the result as dicts."""
        return list(self.matches_table.to_pylist())

    def __repr__(self) -> str:
        return f"FoundRowPatterns({self.matches_table.num_rows} rows)"


def match_rows(pattern: RowPattern, rows: object, limits: Limits) -> FoundRowPatterns:
    """Run a row pattern over all rows."""
    table = to_table(rows)
    if not table.column_names:  # an empty list says nothing of its columns
        return FoundRowPatterns(pa.table({}))
    bound = bind(pattern, Schema.from_arrow(table.schema))
    arranged = ordered(table, bound.partition_by, bound.order_by)
    return FoundRowPatterns(by_engine(bound, tabulated(bound, limits.max_steps), arranged))


def tabulated(bound: BoundRowPattern, max_steps: int) -> RowTables | None:
    """The tables of a row pattern; None, which the log explains, where the literal evaluator must find its matches."""
    try:
        return tabulate(bound, max_steps)
    except NotCompiled as reason:
        if str(reason) not in _TOLD:
            _TOLD.add(str(reason))
            logger.warning("the row pattern is run by the reference evaluator, which is slow: it has %s", reason)
        return None


def found_in(
    bound: BoundRowPattern,
    tables: RowTables | None,
    rows: RowValues,
    own: Mask | None = None,
    progress: Progress | None = None,
) -> RowMatches:
    """The matches in rows, by the engine or, without tables, by the literal evaluator, which wants all rows."""
    if tables is None:
        assert progress is None
        return match_by_reference(bound, rows, MAX_STEPS)
    try:
        return matches_of(tables, rows, own, lambda row: described(bound, rows, row), progress)
    except NotCompiled as reason:  # it has values that do not fit
        if own is None:
            return match_by_reference(bound, rows, MAX_STEPS)
        raise do_not_fit(reason) from reason


def do_not_fit(reason: NotCompiled) -> InputError:
    """Rows with values that the engine has no room for."""
    return InputError(
        f"the engine cannot match these rows: there are {reason}.\n  Cast the column to a narrower type, or to double."
    )


def by_engine(bound: BoundRowPattern, tables: RowTables | None, rows: OrderedRows) -> pa.Table:
    """The result by the engine."""
    values = rows.values()
    try:
        found = found_in(bound, tables, values)
        shown = shown_rows(found, bound.pattern.rows)
        matched = shown.matched()
        reads = MeasureReads(bound.pattern, values, found, matched)
        values_of = measured(bound, reads, len(matched.row))
    except ConditionError as error:
        raise located(error) from None
    shown_values = [shown.with_unmatched(values) for values in values_of]
    shown_names = bound.input_columns
    inputs = values.taken(shown_names, shown.row).columns if shown_names else []
    return _result(bound, list(inputs), shown_values)


def measured(bound: BoundRowPattern, reads: MeasureReads, count: int) -> list[pa.Array]:
    """The measures, computed from what they read."""
    expressions = [measure.expression for measure in bound.measures]
    columns, outer = read_columns(expressions, reads.of)
    if any(mentions(expression, NUMBER) for expression in outer):
        columns[NUMBER] = reads.number()
    table = pa.table(columns) if columns else pa.table({"__row": np.arange(count)})
    made = []
    for measure, expression in zip(bound.measures, outer, strict=True):
        if isinstance(expression, Column):
            values = as_array(table[expression.name])
        else:
            values = as_array(evaluate_or_fall_back(expression, table))
        kind = measure_type(measure)
        made.append(values if kind is None or values.type == kind else values.cast(kind))
    return made


def read_columns(
    expressions: Sequence[Expression], compute: Callable[[Value | Folded], pa.Array]
) -> tuple[dict[str, pa.Array], list[Expression]]:
    """A column for each read of some expressions, and the expressions over these columns."""
    names: dict[Expression, str] = {}
    columns: dict[str, pa.Array] = {}
    for expression in expressions:
        for read in reads_of(expression):
            if read not in names:
                names[read] = f"__read_{len(names)}"
                columns[names[read]] = compute(read)

    def change(node: Expression) -> Expression | None:
        return Column(names[node], type=node.type) if node in names else None

    return columns, [replaced(expression, change) for expression in expressions]


def described(bound: BoundRowPattern, rows: RowValues, row: int) -> str:
    """How an error calls a row."""
    names = (*bound.partition_by, *bound.order_names)
    if not names:
        return f"row {row}"
    [values] = rows.taken(names, np.array([row])).to_pylist()
    return "the row at " + ", ".join(f"{name} = {values[name]!r}" for name in names)


def by_reference(bound: BoundRowPattern, rows: OrderedRows, max_steps: int = MAX_STEPS) -> pa.Table:
    """The result by the literal evaluator."""
    try:
        evaluator = Reference(bound, max_steps)
    except ConditionError as error:
        raise located(error) from None
    listed = rows.table.to_pylist()
    found = [row for begin, end in pairwise(rows.bounds.tolist()) for row in evaluator.result(listed[begin:end])]
    shown, before, count = bound.input_columns, bound.columns_before_measures, len(bound.measures)
    columns = list(zip(*found, strict=True)) if found else [()] * (len(shown) + count)
    measured = [
        pa.array(values, measure_type(measure))
        for values, measure in zip(columns[before : before + count], bound.measures, strict=True)
    ]
    inputs = [*columns[:before], *columns[before + count :]]
    kinds = [rows.table.schema.field(name).type for name in shown]
    return _result(bound, [pa.array(v, kind) for v, kind in zip(inputs, kinds, strict=True)], measured)


def _result(bound: BoundRowPattern, inputs: list[Any], measured: list[Any]) -> pa.Table:
    """The columns in the order of rule 6.1."""
    names, before = bound.input_columns, bound.columns_before_measures
    return pa.Table.from_arrays(
        [*inputs[:before], *measured, *inputs[before:]],
        names=[*names[:before], *(measure.name for measure in bound.measures), *names[before:]],
    )


def measure_type(measure: Measure) -> pa.DataType | None:
    """The Arrow type of a measure; None where only the values tell."""
    kind = measure.expression.type
    if kind.kind is Kind.OTHER:
        reads = reads_of(measure.expression)
        if reads == (measure.expression,) and isinstance(reads[0], Folded) and reads[0].argument is not None:
            return pa.list_(arrow_type(reads[0].argument.type))
    try:
        return arrow_type(kind)
    except NotVectorized:
        return None
