"""Running the kernel: over sorted partitions, with memory that grows, until everything is decided.

In: a pattern's tables and the columns of its events. Out: which rows each match and each timeout took. Called by `in_memory` and by
the Spark plans.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cepheid.engine import buffer, kernel
from cepheid.engine import layout as l
from cepheid.engine.arrange import Integers
from cepheid.engine.assemble import Assignments
from cepheid.engine.columns import Columns
from cepheid.engine.pool import Pool, grown, new_pool
from cepheid.engine.problems import problem
from cepheid.engine.tables import Tables

FEWEST, MOST = 256, 1 << 16
"""Runs and nodes that there is room for at first."""


def _by_number(partition: int, event: int) -> str:
    return f"partition {partition}, event {event}"


def match_partitions(
    tables: Tables,
    columns: Columns,
    bounds: Integers,
    finish: int = l.END,
    moment: int = 0,
    where: Callable[[int, int], str] = _by_number,
) -> tuple[Assignments, Assignments]:
    """All matches and timeouts of whole partitions; `bounds` says where each begins, and where the last ends.

    `finish`: whether the input ends behind the last event, time only moves on to a `moment`, or nothing happens.
    `where`: how an error calls a partition and an event.
    """
    pool = new_pool(tables, capacity=min(max(FEWEST, len(columns.time) // 4), MOST))
    progress = np.array([0, 0, finish, moment], np.int64)
    found = _Decided(), _Decided()
    stopped_at = (-1, -1)
    while True:
        status = kernel.match_sorted(tables.arrays, columns, pool, bounds, progress)
        for decided, table, counter in (
            (found[0], pool.matches, l.Q_MATCHES),
            (found[1], pool.timeouts, l.Q_TIMEOUTS),
        ):
            decided.add(pool, table, int(pool.counters[counter]))
            pool.counters[counter] = 0
        if status == l.DONE:
            return found[0].assignments(), found[1].assignments()
        if status != l.GROW:
            raise problem(status, tables, pool, 0, where(int(progress[0]), int(progress[1])))
        buffer.collect(pool.lists, pool.slots, pool.runs, pool.nodes, pool.counters)
        here = (int(progress[0]), int(progress[1]))
        half = len(pool.nodes) // 2
        if here == stopped_at or pool.counters[l.Q_USED_NODES] > half or pool.counters[l.Q_USED_RUNS] > half:
            pool = grown(pool)
        stopped_at = here


class _Decided:
    """Matches or timeouts as they come out of the kernel, part by part."""

    def __init__(self) -> None:
        self.parts: list[tuple[Integers, Integers, Integers]] = []
        self.moments: list[Integers] = []
        self.count = 0

    def add(self, pool: Pool, table: Integers, count: int) -> None:
        if count == 0:
            return
        lengths = pool.nodes[table[:count, 0], l.N_DEPTH].astype(np.int64)
        match = np.repeat(np.arange(self.count, self.count + count), lengths)
        variable, row = buffer.extract(pool.nodes, np.ascontiguousarray(table[:count, 0]), np.cumsum(lengths))
        self.parts.append((match, variable, row))
        self.moments.append(table[:count, 1].copy())
        self.count += count

    def assignments(self) -> Assignments:
        nothing = np.zeros(0, np.int64)
        columns = [np.concatenate([part[index] for part in self.parts] or [nothing]) for index in range(3)]
        return Assignments(*columns, np.concatenate(self.moments or [nothing]))
