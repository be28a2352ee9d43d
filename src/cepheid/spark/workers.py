"""What matches buckets, or sorted rows, in Spark's Python workers.

In: Arrow batches. Out: Arrow batches. Everything here must travel to another process: plain functions and frozen data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Assignments
from cepheid.engine.columns import columns_of
from cepheid.engine.counts import Counts
from cepheid.engine.matcher import count_partitions, match_partitions
from cepheid.engine.tables.model import Tables
from cepheid.errors import InputError, LimitError
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.assemble import Shape, assemble
from cepheid.rows.columns import check_range
from cepheid.rows.counts import counts_table, summed_of
from cepheid.spark.cells import bytes_of, joined, opened, widened
from cepheid.spark.pack_workers import PAYLOAD, mask_name, value_name

_SHOWN = 5
_COUNT = "__count"


@dataclass(frozen=True)
class Work:
    """What both ways of matching know: the pattern, the columns that order events, the form of the result."""

    tables: Tables
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    shape: Shape
    timeouts: bool

    def bits(self, events: Arranged) -> npt.NDArray[np.uint64]:
        pages = [_integers(events.column(mask_name(page))) for page in range(len(self.tables.pages))]
        return np.stack(pages, axis=1).astype(np.int64, copy=False).view(np.uint64)

    def values(self, events: Arranged) -> list[pa.ChunkedArray]:
        return [events.column(value_name(index)) for index in range(len(self.tables.columns))]

    def result(self, events: Arranged, found: tuple[Assignments, Assignments]) -> Iterator[pa.RecordBatch]:
        table = assemble(events, found[self.timeouts], self.shape)
        yield from table.combine_chunks().to_batches(max_chunksize=10_000)

    def counted(self, events: Arranged, counts: Counts) -> Iterator[pa.RecordBatch]:
        """The same where matches are counted."""
        table = counts_table(events, counts, self.shape.summaries, self.shape.with_moment)
        yield from table.combine_chunks().to_batches(max_chunksize=10_000)

    def whole_partitions(self, events: Arranged) -> Iterator[pa.RecordBatch]:
        """The result for partitions of which all events are here."""
        columns = columns_of(events.time, self.bits(events), self.values(events), self.tables)
        if self.shape.counts:
            summed = summed_of(events, self.shape.summaries)
            yield from self.counted(events, count_partitions(self.tables, columns, events.bounds, summed, events.where))
        else:
            found = match_partitions(self.tables, columns, events.bounds, where=events.where)
            yield from self.result(events, found)

    def refuse_nulls(self, table: pa.Table) -> None:
        """Events without a place in the order."""
        refuse_nulls(table, self.partition_by, self.order_by)


def refuse_nulls(table: pa.Table, partition_by: tuple[str, ...], order_by: tuple[str, ...]) -> None:
    """Events without a place in the order: how many there are, and some of them."""
    missing = [table[name].is_null() for name in order_by]
    any_missing = missing[0]
    for one in missing[1:]:
        any_missing = pc.or_(any_missing, one)
    count = pc.sum(any_missing).as_py() or 0
    if not count:
        return
    shown = table.filter(any_missing).select(list(dict.fromkeys((*partition_by, *order_by))))
    examples = "\n".join(f"    {row}" for row in shown.slice(0, _SHOWN).to_pylist())
    raise InputError(
        f"{count} rows have no value in the order columns {', '.join(order_by)}, among them:\n{examples}\n"
        '  An event without a time has no place in the sequence. Give those rows a value, or say nulls="drop".'
    )


@dataclass(frozen=True)
class MatchPacked(Work):
    """Matches all buckets of a Spark partition at once: one call of the engine, whatever the number of keys."""

    max_bucket_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = unpacked(batches, self.partition_by, self.max_bucket_bytes, _SORTED_BY_SPARK)
        if table is None:
            return
        self.refuse_nulls(table)
        encoded = encoded_keys(table, self.partition_by)
        events = arrange(table, self.partition_by, self.order_by, by_all_columns=True, encoded=encoded)
        check_range(events.time, self.tables.automaton)
        yield from self.whole_partitions(events)


_SORTED_BY_SPARK = ' or, if one key is that large, shuffle="spark", which does not hold a bucket in memory;'


def unpacked(
    batches: Iterable[pa.RecordBatch], keys: tuple[str, ...], max_bytes: int, way_out: str = ""
) -> pa.Table | None:
    """All rows of the cells; None if there are none. More than `max_bytes` of them is an error."""
    return together(
        (opened(cell.as_buffer()) for batch in batches for cell in batch.column(PAYLOAD)), keys, max_bytes, way_out
    )


def together(cells: Iterable[pa.Table], keys: tuple[str, ...], max_bytes: int, way_out: str = "") -> pa.Table | None:
    """The same of cells as they travelled."""
    taken: list[pa.Table] = []
    size = 0
    for cell in cells:
        taken.append(cell)
        size += bytes_of(cell)
        if size > max_bytes:
            raise _too_large(taken, keys, max_bytes, way_out)
    return joined(taken) if taken else None


def encoded_keys(table: pa.Table, keys: tuple[str, ...]) -> frozenset[str]:
    """The keys that came as dictionaries, without doubles."""
    return frozenset(name for name in keys if pa.types.is_dictionary(table.schema.field(name).type))


def _too_large(cells: list[pa.Table], keys: tuple[str, ...], max_bytes: int, way_out: str) -> LimitError:
    """The error that names the largest key. It must fit beside rows that fill the memory already."""
    largest = ""
    if keys:
        key, count = largest_key(map(widened, cells), keys)
        named = ", ".join(f"{name} = {value!r}" for name, value in key.items())
        rows = sum(cell.num_rows for cell in cells)
        largest = f" Its largest key so far is {named} with {count:,} of {rows:,} rows."
    return LimitError(
        f"a bucket of keys holds more than max_bucket_bytes={max_bytes:,}.{largest}\n"
        f"  Give more buckets=,{way_out} or raise max_bucket_bytes= if the workers have the memory."
    )


def largest_key(cells: Iterable[pa.Table], keys: tuple[str, ...]) -> tuple[dict[str, Any], int]:
    """The key with most rows, and how many it has. Each cell is counted on its own, so that strings which are written
    once a cell are not written out for every row."""
    counted = pa.concat_tables(_decoded(_counted(cell, keys)) for cell in cells)
    sums = counted.group_by(list(keys)).aggregate([(_COUNT, "sum")])
    most = int(np.argmax(sums[f"{_COUNT}_sum"].to_numpy()))
    [row] = sums.slice(most, 1).to_pylist()
    count = int(row.pop(f"{_COUNT}_sum"))
    return row, count


def _counted(cell: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """Each key of a cell with the number of its rows."""
    counts = cell.select(list(keys)).group_by(list(keys)).aggregate([([], "count_all")])
    return counts.select([*keys, "count_all"]).rename_columns([*keys, _COUNT])


def _decoded(table: pa.Table) -> pa.Table:
    """The same with strings in place of the numbers that stand for them."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(field.type.value_type))
    return table


def _integers(column: pa.ChunkedArray) -> npt.NDArray[np.signedinteger[Any]]:
    result: npt.NDArray[np.signedinteger[Any]] = pc.fill_null(column, 0).combine_chunks().to_numpy(zero_copy_only=False)
    return result
