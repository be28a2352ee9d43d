"""Matching rows that Spark has sorted, for keys that are too large for a worker's memory.

In: Arrow batches of one Spark partition, sorted by key and order; a batch ends where it likes, mostly within a key.
Out: the same rows as `MatchPacked` gives. Keys that end within the rows at hand are matched at once; of the last one
the engine's state is carried over, with the events that it still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.matcher import Matcher
from cepheid.rows.arrange import Arranged
from cepheid.rows.columns import canonical, check_range, times_of
from cepheid.rows.counts import summed_of
from cepheid.spark.pack_workers import gathered
from cepheid.spark.workers import Work


@dataclass(frozen=True)
class MatchSorted(Work):
    """Matches the sorted rows of a Spark partition, part by part."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        open_key: _OpenKey | None = None
        before: pa.Table | None = None
        ordinal = 0
        for part in gathered(batches):
            table = part.combine_chunks()
            self.refuse_nulls(table)
            begins, ordinals = self.begins(table, before, ordinal)
            before, ordinal = table.slice(table.num_rows - 1), int(ordinals[-1])
            bounds = [*np.flatnonzero(begins).tolist(), table.num_rows]
            if open_key is not None:
                yield from open_key.feed(table.slice(0, bounds[0]), ordinals[: bounds[0]])
                if bounds[0] == table.num_rows:
                    continue
                yield from open_key.end()
            first, last = bounds[0], bounds[-2]
            if last > first:
                yield from self.whole_partitions(
                    self.events(table.slice(first, last - first), begins[first:last], ordinals[first:last])
                )
            open_key = _OpenKey(self)
            yield from open_key.feed(table.slice(last), ordinals[last:])
        if open_key is not None:
            yield from open_key.end()

    def begins(self, table: pa.Table, before: pa.Table | None, ordinal: int) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Where keys begin, and each row's number among those that key and order do not tell apart."""
        joined = table if before is None else pa.concat_tables([before, table])
        new_key = self._changes(joined, self.partition_by)
        new_place = new_key | self._changes(joined, self.order_by)
        places = np.arange(joined.num_rows)
        ordinals = places - np.maximum.accumulate(np.where(new_place, places, 0))
        if before is not None:
            tied = int(np.argmax(new_place[1:])) if new_place[1:].any() else table.num_rows
            new_key, ordinals = new_key[1:], ordinals[1:].copy()
            ordinals[:tied] = ordinal + 1 + np.arange(tied)
        return new_key, ordinals

    def _changes(self, table: pa.Table, names: tuple[str, ...]) -> npt.NDArray[np.bool_]:
        """Where a row differs from the one before; the first row does."""
        changes = np.zeros(table.num_rows, bool)
        changes[:1] = True
        for name in names:
            column = canonical(table[name].combine_chunks())
            codes = pc.dictionary_encode(column, null_encoding="encode").indices.to_numpy(zero_copy_only=False)
            changes[1:] |= codes[1:] != codes[:-1]
        return changes

    def events(self, table: pa.Table, begins: npt.NDArray[np.bool_], ordinals: Integers) -> Arranged:
        partition = np.cumsum(begins) - 1
        time, unit = times_of(table, self.order_by)
        check_range(time, self.tables.automaton)
        return Arranged(table, self.partition_by, self.order_by, partition, time, unit, ordinals=ordinals)


class _OpenKey:
    """A key whose events are still coming: the engine's state, and the rows that it holds."""

    def __init__(self, work: MatchSorted) -> None:
        self.work = work
        self.matcher = Matcher(work.tables)
        self.rows: pa.Table | None = None
        self.ordinals = np.zeros(0, np.int64)

    def feed(self, table: pa.Table, ordinals: Integers) -> Iterator[pa.RecordBatch]:
        if not table.num_rows:
            return
        new = self.work.events(table, np.arange(table.num_rows) == 0, ordinals)
        columns = self.matcher.computed_columns(new.time, self.work.bits(new), self.work.values(new))
        self.rows = table if self.rows is None else pa.concat_tables([self.rows, table])
        self.ordinals = np.concatenate((self.ordinals, ordinals))
        slots, bounds = np.zeros(1, np.int64), np.array([0, table.num_rows])
        if self.work.shape.counts:
            held = self.held()
            summed = summed_of(held, self.work.shape.summaries)
            yield from self.work.counted(held, self.matcher.count(columns, bounds, slots, summed, new.where))
        else:
            yield from self.decided(self.matcher.feed(columns, bounds, slots, where=new.where))
        kept = self.matcher.keep()
        self.rows = self.rows.take(pa.array(kept)).combine_chunks()
        self.ordinals = self.ordinals[kept]

    def end(self) -> Iterator[pa.RecordBatch]:
        """The input of this key is over (rule 10)."""
        yield from self.decided(self.matcher.end())

    def decided(self, found: tuple[Assignments, Assignments]) -> Iterator[pa.RecordBatch]:
        if len(found[self.work.timeouts].at):
            yield from self.work.result(self.held(), found)

    def held(self) -> Arranged:
        """The rows that the engine knows, in its order."""
        assert self.rows is not None
        return self.work.events(self.rows, np.arange(self.rows.num_rows) == 0, self.ordinals)
