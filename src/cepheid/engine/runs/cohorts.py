"""Running cohorts, with memory that grows: over whole partitions, or over those of a stream that live on.

In: a pattern's tables and the columns of its events. Out: which rows each match took, or how many matches end with each
event. Called by `matcher` for patterns that `tables.compact` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.columns import Columns
from cepheid.engine.counts import Counts, Summed, too_large_a_sum
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import cohorts
from cepheid.engine.kernel import layout as l
from cepheid.engine.limits import state_limit
from cepheid.engine.runs.cohort_pool import CohortPool, asked_for, doubled, new_cohort_pool, scarce
from cepheid.engine.runs.decided import ENTRY
from cepheid.engine.runs.pool import bytes_of
from cepheid.engine.runs.problems import problem, too_large
from cepheid.engine.tables.model import Tables
from cepheid.errors import CepheidError, LimitError

NO_SLOTS = np.zeros(0, np.int64)


def match_whole(
    tables: Tables, columns: Columns, bounds: Integers, where: Callable[[int, int], str], room: int
) -> Assignments:
    """All matches of whole partitions; `room`: cohorts that there is room for at first, a power of two."""
    drive = CohortDrive(tables, new_cohort_pool(tables, room))
    return drive.match(columns, bounds, NO_SLOTS, np.zeros(1, np.int64), where).assignments()


def count_whole(
    tables: Tables, columns: Columns, bounds: Integers, summed: Summed, where: Callable[[int, int], str], room: int
) -> Counts:
    """The events that complete matches and how many each does. For patterns that `can_count` allows."""
    drive = CohortDrive(tables, new_cohort_pool(tables, room, summed))
    return drive.match(columns, bounds, NO_SLOTS, np.zeros(1, np.int64), where).counts(columns)


def can_count(tables: Tables) -> bool:
    """Whether matches can be counted without listing them: each has one derivation, and none is skipped."""
    params = tables.arrays.params
    return tables.compact.is_compact and params[l.P_SKIP] == l.NO_SKIP and not params[l.P_AMBIGUOUS]


class CohortDrive:
    """Calls the kernel until it is done, gives it more memory when it asks, and gathers what it puts out."""

    def __init__(self, tables: Tables, pool: CohortPool) -> None:
        self.tables = tables
        self.pool = pool

    def match(
        self,
        columns: Columns,
        bounds: Integers,
        slot_of: Integers,
        ordinals: Integers,
        where: Callable[[int, int], str],
    ) -> Listed:
        """`slot_of`: where the partitions live, none if they are whole; `ordinals`: of the next event in each slot."""
        tables, listed = self.tables, Listed()
        limit = state_limit(tables.max_state_bytes)
        progress = np.array([0, bounds[0]], np.int64)
        stopped_at = (-1, -1)
        while True:
            status = int(cohorts.match_cohorts(tables.arrays, columns, self.pool, bounds, slot_of, progress))
            listed.fetch(self.pool)
            if status == l.DONE:
                return listed
            here = int(progress[0]), int(progress[1])
            slot = int(slot_of[here[0]]) if len(slot_of) else 0
            if status == l.GROW:
                self._collect(columns, self._next(columns, bounds, slot_of, ordinals, here), slot, where(*here))
                names = scarce(self.pool, here == stopped_at)
                stopped_at = here
            elif status == c.FULL:
                names = asked_for(self.pool)
            else:
                raise self._problem(status, slot, where(*here))
            more = sum(getattr(self.pool, name).nbytes for name in names)
            if bytes_of(self.pool) + more + listed.bytes > limit:
                raise too_large(tables, self.pool, slot, where(*here), listed.bytes, more, limit)
            self.pool = doubled(self.pool, names)
            if "runs" in names:
                cohorts.rebuild(tables.arrays, columns, self.pool)

    def _next(
        self, columns: Columns, bounds: Integers, slot_of: Integers, ordinals: Integers, here: tuple[int, int]
    ) -> Integers:
        """The ordinal of the event that comes next in each slot, where the kernel stopped at an event that it has not
        shown yet. The time of its partition is that event's."""
        ahead = np.arange(here[0], len(bounds) - 1)
        ahead = ahead[bounds[ahead] < bounds[ahead + 1]]
        slots = slot_of[ahead] if len(slot_of) else np.zeros(len(ahead), np.int64)
        result = ordinals.copy()
        result[slots] = columns.ordinal[bounds[ahead]]
        slot = slot_of[here[0]] if len(slot_of) else 0
        result[slot] = columns.ordinal[here[1]]
        self.pool.slots[slot, l.K_NOW] = columns.time[here[1]]
        return result

    def _collect(self, columns: Columns, ordinals: Integers, slot: int, place: str) -> None:
        """Drop what is over, and see that what is left of the partition at hand stays within the limit."""
        limit = int(self.tables.arrays.params[l.P_MAX_RUNS])
        used = int(cohorts.collect(self.tables.arrays, columns, self.pool, ordinals)[slot])
        if used > limit:
            raise LimitError(
                f"{place}: partial matches hold {used} events, some of them more than once; max_runs is {limit}.\n"
                "  Give the pattern a window, a skip strategy such as past_last_event, or an until; or raise max_runs."
            )
        in_all = int(self.pool.counters[l.Q_USED_NODES])
        self.pool.counters[c.Q_CHECK_AT] = max(limit, in_all + max(limit, in_all) // 8)

    def _problem(self, status: int, slot: int, place: str) -> CepheidError:
        counters = self.pool.counters
        if status != l.OVERFLOW or not counters[c.Q_COUNTS] or counters[l.Q_PROBLEM] != l.NONE:
            return problem(status, self.tables, self.pool, slot, place)
        if len(self.pool.summed):
            return too_large_a_sum(place)
        return LimitError(
            f"{place}: more than 2^60 matches end here, which is too many to count.\n"
            "  Use a smaller window, or followed_by instead of followed_by_any."
        )


class Listed:
    """Matches as they are listed, or counted, part by part."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.matches: list[Any] = []
        self.bytes = 0
        """What they will take when they are handed over."""

    def fetch(self, pool: CohortPool) -> None:
        matches, entries = int(pool.counters[l.Q_MATCHES]), int(pool.counters[c.Q_ENTRIES])
        if matches:
            self.taken.append(pool.taken[:entries].copy())
            self.matches.append(pool.matches[:matches].copy())
            self.bytes += ENTRY * entries
        elif not self.matches:
            self.matches.append(pool.matches[:0].copy())
        pool.counters[[l.Q_MATCHES, c.Q_ENTRIES]] = 0

    def counts(self, columns: Columns) -> Counts:
        """Where they were counted."""
        matches: Integers = np.concatenate(self.matches)
        row = matches[:, 0]
        return Counts(row, columns.time[row], matches[:, 1], matches[:, 2:])

    def assignments(self) -> Assignments:
        """Where they were listed: length and moment of each."""
        matches = np.concatenate(self.matches)
        taken = np.concatenate(self.taken or [np.zeros((0, 2), np.int32)])
        match = np.repeat(np.arange(len(matches)), matches[:, 0])
        return Assignments(match, taken[:, 0].astype(np.int64), taken[:, 1].astype(np.int64), matches[:, 1].copy())
