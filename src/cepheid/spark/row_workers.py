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
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.row_measures import MeasureReads, shown_rows
from cepheid.engine.row_patterns import Progress, RowMatches, times_of
from cepheid.engine.row_values import Mask, RowValues, as_array
from cepheid.engine.tables.row_patterns import RowTables, rows_read_before
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.expression import Folded, Value
from cepheid.rows.arrange import partition_codes
from cepheid.rows.row_order import OrderedRows, ordered
from cepheid.rows.row_patterns import found_in
from cepheid.spark.pack_workers import gathered
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
        values = rows.values(self.computed)
        return self.result(values, found_in(self.bound, self.tables, values, self.own(values), progress))

    def result(self, values: RowValues, found: RowMatches) -> pa.Table:
        """The rows of the result for some matches."""
        shown = shown_rows(found, self.bound.pattern.rows)
        reads = MeasureReads(self.bound.pattern, values, found, shown.matched())
        arrays = [as_array(column) for column in values.taken(self.columns, shown.row).columns]
        arrays += [shown.with_unmatched(reads.of(read)) for read in self.reads]
        if MATCH_NUMBER in self.schema.names:
            arrays.append(shown.with_unmatched(reads.number()))
        typed = [array.cast(field.type) for array, field in zip(arrays, self.schema, strict=True)]
        return pa.Table.from_arrays(typed, schema=self.schema)

    def own(self, values: RowValues) -> Mask | None:
        """Which rows satisfy the own part of each variable, a column each: what the bits say or, where there are none,
        computed here."""
        if self.tables is None:
            return None
        if MASK not in values.source.column_names:
            return np.array([values.holds(condition) for condition in self.tables.own]).T
        numbers = range(len(self.tables.variables))
        bits = values.column(MASK).to_numpy(zero_copy_only=False)
        return np.array([bits >> bits.dtype.type(number) & 1 != 0 for number in numbers]).T


@dataclass(frozen=True)
class MatchRows(RowWork):
    """Matches all buckets of a Spark partition at once: one call of the engine, whatever the number of keys."""

    max_bucket_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys = self.bound.partition_by
        table = unpacked(batches, keys, self.max_bucket_bytes)
        if table is not None:
            found = self.found(ordered(table, keys, self.bound.order_by, encoded_keys(table, keys), by_number=True))
            yield from found.to_batches(max_chunksize=_ROWS)


@dataclass(frozen=True)
class MatchSortedRows(RowWork):
    """Matches rows that Spark has sorted, part by part, for keys that are too large for a worker's memory. A part ends
    where it likes: of its last key the scan goes on with the next part, and keeps the rows that can still matter."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.in_parts(part.combine_chunks() for part in gathered(batches))

    def in_parts(self, parts: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """What comes out of the parts, one after the other."""
        kept: OrderedRows | None = None
        place = np.zeros(0, np.int64)
        for part in parts:
            rows = self._by_key(part if kept is None else pa.concat_tables([kept.table, part]))
            progress = Progress.at_first(rows.bounds)
            if kept is not None:
                progress.places[0] = place
            last = int(rows.bounds[-2])
            if last:
                whole = OrderedRows(rows.table.slice(0, last), rows.bounds[:-1])
                yield from self._batches(whole, Progress(progress.places[:-1]))
            rest = self._by_key(rows.table.slice(last))
            place = progress.places[-1] - last * np.array([1, 0, 1, 0])  # rows are counted from the key's first
            going_on = Progress(place[None, :], self._last_time(rest) - 1)
            yield from self._batches(rest, going_on)
            [place] = going_on.places
            # the last row stays, whose key the next part may begin with
            gone = min(max(0, int(place[r.S_START]) - rows_read_before(self.bound)), rest.table.num_rows - 1)
            place[[r.S_START, r.S_COVERED]] -= gone
            place[r.S_CUT] |= gone > 0
            kept = self._by_key(rest.table.slice(gone).combine_chunks())
        if kept is not None:
            yield from self._batches(kept, Progress(place[None, :]))

    def _by_key(self, table: pa.Table) -> OrderedRows:
        """Sorted rows with the bounds of their keys."""
        codes, _ = partition_codes(table, self.bound.partition_by, frozenset())
        changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        return OrderedRows(table, np.array([0, *changes, table.num_rows], np.int64))

    def _last_time(self, rows: OrderedRows) -> int:
        """The time of the last row, where WITHIN asks for it."""
        assert self.tables is not None
        return int(times_of(self.tables, rows.values())[-1])

    def _batches(self, rows: OrderedRows, progress: Progress) -> Iterator[pa.RecordBatch]:
        yield from self.found(rows, progress).to_batches(max_chunksize=_ROWS)
