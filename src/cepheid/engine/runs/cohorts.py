"""Running cohorts over whole partitions, with memory that grows.

In: a pattern's tables and the columns of its events. Out: which rows each match took. Called by `matcher` for patterns
that `tables.compact` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.columns import Columns
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import cohorts
from cepheid.engine.kernel import layout as l
from cepheid.engine.kernel.compiling import announce_compilation
from cepheid.engine.limits import state_limit
from cepheid.engine.runs.cohort_pool import CohortPool, asked_for, doubled, new_cohort_pool, scarce
from cepheid.engine.runs.decided import ENTRY
from cepheid.engine.runs.pool import bytes_of
from cepheid.engine.runs.problems import problem, too_large
from cepheid.engine.tables.tabulate import Tables
from cepheid.errors import LimitError


def match_whole(
    tables: Tables, columns: Columns, bounds: Integers, where: Callable[[int, int], str], room: int
) -> Assignments:
    """All matches of whole partitions; `room`: cohorts that there is room for at first, a power of two."""
    return _run(tables, columns, bounds, where, new_cohort_pool(tables, room)).assignments()


def count_whole(
    tables: Tables, columns: Columns, bounds: Integers, where: Callable[[int, int], str], room: int
) -> Integers:
    """The events that complete matches and how many each does, a row each. For patterns that `can_count` allows."""
    return _run(tables, columns, bounds, where, new_cohort_pool(tables, room, counts=True)).all_matches()


def can_count(tables: Tables) -> bool:
    """Whether matches can be counted without listing them: each has one derivation, and none is skipped."""
    params = tables.arrays.params
    return tables.compact.is_compact and params[l.P_SKIP] == l.NO_SKIP and not params[l.P_AMBIGUOUS]


def _run(
    tables: Tables, columns: Columns, bounds: Integers, where: Callable[[int, int], str], pool: CohortPool
) -> _Listed:
    """Call the kernel until it is done, give it more memory when it asks, and gather what it puts out."""
    announce_compilation("cohorts.match_cohorts")
    listed = _Listed()
    limit = state_limit(tables.max_state_bytes)
    progress = np.array([0, bounds[0]], np.int64)
    stopped_at = (-1, -1)
    while True:
        status = int(cohorts.match_cohorts(tables.arrays, columns, pool, bounds, progress))
        listed.fetch(pool)
        if status == l.DONE:
            return listed
        here = int(progress[0]), int(progress[1])
        if status == l.GROW:
            _collect(tables, columns, pool, here, where)
            names = scarce(pool, here == stopped_at)
            stopped_at = here
        elif status == c.FULL:
            names = asked_for(pool)
        elif status == l.OVERFLOW and pool.counters[c.Q_COUNTS] and pool.counters[l.Q_PROBLEM] == l.NONE:
            raise LimitError(
                f"{where(*here)}: more than 2^60 matches end here, which is too many to count.\n"
                "  Use a smaller window, or followed_by instead of followed_by_any."
            )
        else:
            raise problem(status, tables, pool, 0, where(*here))
        more = sum(getattr(pool, name).nbytes for name in names)
        if bytes_of(pool) + more + listed.bytes > limit:
            raise too_large(tables, pool, 0, where(*here), listed.bytes, more, limit)
        pool = doubled(pool, names)
        if "runs" in names:
            cohorts.rebuild(tables.arrays, columns, pool)


def _collect(
    tables: Tables, columns: Columns, pool: CohortPool, here: tuple[int, int], where: Callable[[int, int], str]
) -> None:
    """Drop what is over, and see that what is left stays within the limit."""
    limit = int(tables.arrays.params[l.P_MAX_RUNS])
    cohorts.collect(tables.arrays, columns, pool, here[1])
    used = int(pool.counters[l.Q_USED_NODES])
    if used > limit:
        raise LimitError(
            f"{where(*here)}: partial matches hold {used} events, some of them more than once; max_runs is {limit}.\n"
            "  Give the pattern a window, a skip strategy such as past_last_event, or an until; or raise max_runs."
        )
    pool.counters[c.Q_CHECK_AT] = max(limit, used + limit // 8)


class _Listed:
    """Matches as they are listed, part by part."""

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
        pool.counters[[l.Q_MATCHES, c.Q_ENTRIES]] = 0

    def all_matches(self) -> Integers:
        """Length and moment of each; where they are counted, event and number."""
        return np.concatenate(self.matches or [np.zeros((0, 2), np.int64)])

    def assignments(self) -> Assignments:
        matches = self.all_matches()
        taken = np.concatenate(self.taken or [np.zeros((0, 2), np.int32)])
        match = np.repeat(np.arange(len(matches)), matches[:, 0])
        return Assignments(match, taken[:, 0].astype(np.int64), taken[:, 1].astype(np.int64), matches[:, 1].copy())
