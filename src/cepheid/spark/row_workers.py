"""Matching row patterns in Spark's Python workers.

In: Arrow batches of cells. Out: Arrow batches with, for each row of the result, the columns of the input and what the
measures read. Everything here must travel to another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.conditions.expression import Expression
from cepheid.engine.row_measures import MeasureReads, shown_rows
from cepheid.engine.row_patterns import Progress
from cepheid.engine.row_values import Mask, RowValues, as_array
from cepheid.engine.tables.row_patterns import RowTables
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.expression import Folded, Value
from cepheid.rows.row_order import OrderedRows, ordered
from cepheid.rows.row_patterns import found_in
from cepheid.spark.workers import encoded_keys, unpacked

MASK = "__mask"
MATCH_NUMBER = "__match_number"
_ROWS = 10_000


def read_name(number: int) -> str:
    """The column that holds what a measure reads."""
    return f"__read_{number}"


@dataclass(frozen=True)
class RowWork:
    """What the workers must know of a row pattern, on batches and on streams."""

    bound: BoundRowPattern
    tables: RowTables | None
    columns: tuple[str, ...]
    reads: tuple[Value | Folded, ...]
    computed: Mapping[Expression, str]
    schema: pa.Schema

    def found(self, rows: OrderedRows, progress: Progress | None = None) -> pa.Table:
        """What comes out of some rows; `progress`: where the scan goes on from."""
        values = RowValues(rows.table, rows.bounds, self.computed)
        found = found_in(self.bound, self.tables, values, self._own(rows.table), progress)
        shown = shown_rows(found, self.bound.pattern.rows)
        reads = MeasureReads(self.bound.pattern, values, found, shown.matched())
        arrays = [as_array(rows.table[name].take(pa.array(shown.row))) for name in self.columns]
        arrays += [shown.with_unmatched(reads.of(read)) for read in self.reads]
        arrays.append(shown.with_unmatched(reads.number()))
        typed = [array.cast(field.type) for array, field in zip(arrays, self.schema, strict=True)]
        return pa.Table.from_arrays(typed, schema=self.schema)

    def _own(self, table: pa.Table) -> Mask | None:
        """What the bits say: a column for each variable."""
        if self.tables is None:
            return None
        bits = as_array(table[MASK]).to_numpy(zero_copy_only=False).astype(np.int64)
        own: Mask = (bits[:, None] >> np.arange(len(self.tables.variables)) & 1).astype(bool)
        return own


@dataclass(frozen=True)
class MatchRows(RowWork):
    """Matches all buckets of a Spark partition at once: one call of the engine, whatever the number of keys."""

    max_bucket_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys = self.bound.partition_by
        table = unpacked(batches, keys, self.max_bucket_bytes)
        if table is not None:
            found = self.found(ordered(table, keys, self.bound.order_by, encoded_keys(table, keys)))
            yield from found.to_batches(max_chunksize=_ROWS)
