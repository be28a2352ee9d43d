"""What runs in Spark's Python workers: packing rows by bucket, and matching the buckets.

In: Arrow batches. Out: Arrow batches. Everything here must travel to another process: plain functions and frozen data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.arrange import Arranged, arrange
from cepheid.engine.assemble import assemble
from cepheid.engine.columns import columns_of
from cepheid.engine.matcher import match_partitions
from cepheid.engine.negation_after import Gaps, Sift
from cepheid.engine.tables import Tables

BUCKET, PAYLOAD, MASK = "__bucket", "__payload", "__mask"


def value_name(index: int) -> str:
    """The column that holds the value of an expression that the engine reads."""
    return f"__value_{index}"


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as a few binary cells, one per bucket: Spark then moves cells, not rows."""
    for batch in batches:
        buckets = batch.column(BUCKET).to_numpy()
        rows = batch.drop_columns([BUCKET])
        order = np.argsort(buckets, kind="stable")
        names, begins = np.unique(buckets[order], return_index=True)
        sorted_rows = rows.take(pa.array(order))
        ends = [*begins[1:], len(order)]
        cells = [_written(sorted_rows.slice(b, e - b)) for b, e in zip(begins, ends, strict=True)]
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.int32()), pa.array(cells, pa.binary())], [BUCKET, PAYLOAD])


def _written(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


@dataclass(frozen=True)
class MatchPacked:
    """Matches all buckets of a Spark partition at once: one call of the engine, whatever the number of keys."""

    tables: Tables
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    timeouts: bool
    gaps: Gaps | None = None
    """The nots that are looked at behind the engine, if they are."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cells = [cell.as_buffer() for batch in batches for cell in batch.column(PAYLOAD)]
        if cells:
            yield from self.matched(pa.concat_tables([pa.ipc.open_stream(cell).read_all() for cell in cells]))

    def matched(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The matches, or the timeouts, of whole partitions."""
        events = arrange(table, self.partition_by, self.order_by)
        bits = pc.fill_null(events.table[MASK], 0).combine_chunks().to_numpy().view(np.uint64)
        values = [events.table[value_name(index)] for index in range(len(self.tables.columns))]
        columns = columns_of(events.time, bits, values, self.tables)
        sift = None if self.gaps is None else Sift(self.gaps, self.tables, columns)
        found = match_partitions(self.tables, columns, events.bounds, where=events.where, sift=sift)
        own = [name for name in events.table.column_names if name != MASK and not name.startswith("__value_")]
        shown = Arranged(
            events.table.select(own), self.partition_by, self.order_by, events.partition, events.time, events.unit
        )
        automaton = self.tables.automaton
        result = assemble(shown, found[self.timeouts], automaton.variables, automaton.looping, self.timeouts)
        yield from result.combine_chunks().to_batches(max_chunksize=10_000)
