"""Row patterns on rows in memory, without Spark.

In: a row pattern and rows as dicts, a pandas DataFrame or an Arrow table. Out: `FoundRowPatterns`. Called by the face.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa

from cepheid.conditions import Schema
from cepheid.conditions.arrow.values import NotVectorized, arrow_type
from cepheid.conditions.types import Kind
from cepheid.errors import ConditionError
from cepheid.rowpattern.binding import BoundRowPattern, bind, located
from cepheid.rowpattern.expression import Folded, reads_of
from cepheid.rowpattern.model import Measure, RowPattern
from cepheid.rowpattern.reference import MAX_STEPS, Reference
from cepheid.rows.given import to_table
from cepheid.rows.row_order import OrderedRows, ordered


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


def match_rows(pattern: RowPattern, rows: object, max_steps: int = MAX_STEPS) -> FoundRowPatterns:
    """Run a row pattern over all rows."""
    table = to_table(rows)
    if not table.column_names:  # an empty list says nothing of its columns
        return FoundRowPatterns(pa.table({}))
    bound = bind(pattern, Schema.from_arrow(table.schema))
    return FoundRowPatterns(by_reference(bound, ordered(table, bound.partition_by, bound.order_by), max_steps))


def by_reference(bound: BoundRowPattern, rows: OrderedRows, max_steps: int = MAX_STEPS) -> pa.Table:
    """The result by the literal evaluator."""
    try:
        reference = Reference(bound, max_steps)
    except ConditionError as error:
        raise located(error) from None
    listed = rows.table.to_pylist()
    found = [row for begin, end in pairwise(rows.bounds.tolist()) for row in reference.result(listed[begin:end])]
    shown, before = bound.input_columns, bound.columns_before_measures
    names = (*shown[:before], *(measure.name for measure in bound.measures), *shown[before:])
    inputs = {name: rows.table.schema.field(name).type for name in shown}
    kinds: list[pa.DataType | None] = [inputs[name] for name in shown[:before]]
    kinds += [measure_type(measure) for measure in bound.measures]
    kinds += [inputs[name] for name in shown[before:]]
    columns = list(zip(*found, strict=True)) if found else [()] * len(names)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


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
