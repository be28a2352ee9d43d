"""Running the kernel, with memory that grows, over whole partitions or over a stream that comes in parts.

In: a pattern's tables and the columns of its events. Out: which rows each match and each timeout took. Called by
`in_memory` and by the Spark plans.

A `Matcher` keeps the partitions of a stream from call to call (`runs.state`). Partial matches are kept as cohorts where
`tables.compact` allows it (`runs.cohorts`), else each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.columns import Columns, Events, columns, columns_of, joined, values_of
from cepheid.engine.counts import Counts, Summed, counted
from cepheid.engine.kernel import buffer, drive
from cepheid.engine.kernel import layout as l
from cepheid.engine.limits import state_limit
from cepheid.engine.runs import invariants
from cepheid.engine.runs.cohort_pool import CohortPool, counting, listing
from cepheid.engine.runs.cohorts import CohortDrive, Listed, can_count, count_whole, match_whole
from cepheid.engine.runs.decided import Decided, Sift
from cepheid.engine.runs.pool import Pool, bytes_of, grown, growth_needed, new_pool
from cepheid.engine.runs.problems import problem, too_large
from cepheid.engine.runs.state import State
from cepheid.engine.tables.model import Tables

FEWEST, MOST = 256, 1 << 16
"""Runs and nodes that there is room for at first."""


def by_number(partition: int, event: int) -> str:
    """How an error calls a partition and an event where nothing better is known."""
    return f"partition {partition}" if event == l.NONE else f"partition {partition}, event {event}"


def match_partitions(
    tables: Tables,
    columns: Columns,
    bounds: Integers,
    finish: int = l.END,
    moment: int = 0,
    where: Callable[[int, int], str] = by_number,
    sift: Sift | None = None,
) -> tuple[Assignments, Assignments]:
    """All matches and timeouts of whole partitions; `bounds` says where each begins, and where the last ends.

    `finish`: whether the input ends after the last event, time only moves on to a `moment`, or nothing happens.
    `where`: how an error calls a partition and an event. `sift`: which of the matches stay.
    """
    capacity = _capacity(columns)
    if tables.compact.is_compact and sift is None:
        return match_whole(tables, columns, bounds, where, capacity), no_assignments()
    drive = _Drive(tables, new_pool(tables, capacity=capacity))
    drive.matches.sift = sift
    drive.match(columns, bounds, np.zeros(0, np.int64), finish, moment, where)
    return drive.decided()


def count_partitions(
    tables: Tables,
    columns: Columns,
    bounds: Integers,
    summed: Summed,
    where: Callable[[int, int], str] = by_number,
) -> Counts:
    """The last events of the matches of whole partitions, in their order, how many matches each has, and their sums.

    Where that is possible no match is built.
    """
    if can_count(tables):
        return count_whole(tables, columns, bounds, summed, where, _capacity(columns))
    found, _ = match_partitions(tables, columns, bounds, where=where)
    return counted(found, summed)


def _capacity(columns: Columns) -> int:
    """Runs that there is room for at first."""
    return 1 << (min(max(FEWEST, len(columns.time) // 4), MOST) - 1).bit_length()


def no_assignments() -> Assignments:
    """What no match took."""
    return Assignments(*(np.zeros(0, np.int64) for _ in range(4)))


class Matcher(State):
    """A pattern's runs over a stream whose partitions live on from call to call, each in a slot of its own."""

    def columns_of(self, events: Events) -> Columns:
        """The columns of further events, with strings coded as the live runs know them."""
        self.add_texts(values_of(events, self.tables))
        return columns(events, self.tables, self.texts)

    def computed_columns(
        self, time: Integers, bits: npt.NDArray[np.uint64], values: Iterable[pa.Array | pa.ChunkedArray]
    ) -> Columns:
        """The columns of further events whose tests and values were computed elsewhere."""
        values = list(values)
        self.add_texts(values)
        return columns_of(time, bits, values, self.tables, self.texts)

    def feed(
        self, new: Columns, bounds: Integers, slot_of: Integers, where: Callable[[int, int], str] = by_number
    ) -> tuple[Assignments, Assignments]:
        """Handle further events, sorted by partition and order; partition i lives in slot `slot_of[i]`.

        Rows in the answer count the held events first, then the given ones.
        """
        if isinstance(self.pool, CohortPool):
            self.pool = listing(self.pool)
            return self._taken_in(new, bounds, slot_of, where).assignments(), no_assignments()
        bounds = self._arrived(new, bounds, slot_of)
        drive = _Drive(self.tables, self.pool)
        drive.match(self.held, bounds, slot_of, l.AS_IT_IS, 0, where)
        self.pool = drive.pool
        return drive.decided()

    def count(
        self,
        new: Columns,
        bounds: Integers,
        slot_of: Integers,
        summed: Summed,
        where: Callable[[int, int], str] = by_number,
    ) -> Counts:
        """The same as `feed`, but matches are counted; where that is possible none is built. `summed`: of the held
        events, then of the given ones."""
        if isinstance(self.pool, CohortPool) and can_count(self.tables):
            self.pool = counting(self.pool, summed)
            return self._taken_in(new, bounds, slot_of, where).counts(self.held)
        return counted(self.feed(new, bounds, slot_of, where)[0], summed, by_moment=True)

    def _arrived(self, new: Columns, bounds: Integers, slot_of: Integers) -> Integers:
        """Hold further events. Returns where each partition's begin among all that are held."""
        self._add_slots(int(slot_of.max(initial=-1)) + 1)
        held = len(self.held.time)
        lengths = np.diff(bounds)
        ordinals = np.arange(len(new.time)) - np.repeat(bounds[:-1], lengths)
        new = new._replace(ordinal=ordinals + np.repeat(self.next_ordinal[slot_of], lengths))
        self.next_ordinal[slot_of] += lengths
        self.held = joined([self.held, new], self.tables)
        return bounds + held

    def _taken_in(self, new: Columns, bounds: Integers, slot_of: Integers, where: Callable[[int, int], str]) -> Listed:
        """Show further events to cohorts."""
        bounds = self._arrived(new, bounds, slot_of)
        assert isinstance(self.pool, CohortPool)
        drive = CohortDrive(self.tables, self.pool)
        listed = drive.match(self.held, bounds, slot_of, self.next_ordinal, where)
        self.pool = drive.pool
        return listed

    def advance(self, moment: int, where: Callable[[int, int], str] = by_number) -> tuple[Assignments, Assignments]:
        """Let time move on in all partitions. `where`: how an error calls a slot, beside no event."""
        return self._finish(l.ADVANCE, moment, where)

    def end(self, where: Callable[[int, int], str] = by_number) -> tuple[Assignments, Assignments]:
        """End the input of all partitions (rule 10)."""
        return self._finish(l.END, 0, where)

    def _finish(self, finish: int, moment: int, where: Callable[[int, int], str]) -> tuple[Assignments, Assignments]:
        if isinstance(self.pool, CohortPool):  # nothing waits for time alone
            if finish == l.ADVANCE:
                np.maximum(self.pool.slots[:, l.K_NOW], moment, out=self.pool.slots[:, l.K_NOW])
            return no_assignments(), no_assignments()
        drive = _Drive(self.tables, self.pool)
        drive.finish(self.held, finish, moment, where)
        self.pool = drive.pool
        return drive.decided()


class _Drive:
    """Calls the kernel until it is done, gives it more memory when it asks, and gathers what it decides."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self.tables = tables
        self.pool = pool
        self.matches = Decided()
        self.timeouts = Decided()

    def match(
        self,
        columns: Columns,
        bounds: Integers,
        slot_of: Integers,
        finish: int,
        moment: int,
        where: Callable[[int, int], str],
    ) -> None:
        progress = np.array([0, bounds[0], finish, moment], np.int64)
        self._run(
            columns,
            lambda: drive.match_sorted(self.tables.arrays, columns, self.pool, bounds, slot_of, progress),
            lambda: (int(slot_of[progress[0]]) if len(slot_of) else 0, where(int(progress[0]), int(progress[1]))),
        )

    def finish(self, columns: Columns, finish: int, moment: int, where: Callable[[int, int], str]) -> None:
        progress = np.array([0, 0, finish, moment], np.int64)
        self._run(
            columns,
            lambda: drive.finish_slots(self.tables.arrays, columns, self.pool, progress),
            lambda: (int(progress[0]), where(int(progress[0]), l.NONE)),
        )

    def _run(self, columns: Columns, call: Callable[[], int], place: Callable[[], tuple[int, str]]) -> None:
        limit = state_limit(self.tables.max_state_bytes)
        while True:
            status = call()
            pool = self.pool
            found = self.matches.bytes_with(pool, pool.matches, l.Q_MATCHES)
            found += self.timeouts.bytes_with(pool, pool.timeouts, l.Q_TIMEOUTS)
            if bytes_of(pool) + found > limit:
                raise too_large(self.tables, pool, *place(), found, 0, limit)
            self.matches.add(pool, pool.matches, l.Q_MATCHES)
            self.timeouts.add(pool, pool.timeouts, l.Q_TIMEOUTS)
            if invariants.IS_ASKED_FOR and status in (l.DONE, l.GROW):
                invariants.check(self.tables, columns, pool)
            if status == l.DONE:
                return
            if status != l.GROW:
                raise problem(status, self.tables, pool, *place())
            buffer.collect(pool.lists, pool.slots, pool.runs, pool.nodes, pool.counters)
            growth = growth_needed(pool, MOST)
            if bytes_of(pool) + growth.bytes_more(pool) + found > limit:
                raise too_large(self.tables, pool, *place(), found, growth.bytes_more(pool), limit)
            self.pool = grown(pool, growth)
            if growth.with_runs > 1 and self.tables.arrays.params[l.P_INDEXED]:
                drive.index_runs(self.tables.arrays, self.pool)

    def decided(self) -> tuple[Assignments, Assignments]:
        return self.matches.assignments(), self.timeouts.assignments()
