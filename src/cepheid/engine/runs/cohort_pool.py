"""The working memory of cohorts: cohorts, histories, and what is being listed.

In: a pattern's tables, sizes. Out: `CohortPool`, the arrays that the kernel writes; which of them are too small, and
making those larger between calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.engine.counts import Summed
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.pool import more_slots
from cepheid.engine.tables.model import Tables

SMALLEST_NODES = 1 << 12
LARGEST_OUTPUT = 1 << 20
"""Events of matches that are listed before they are fetched, at most."""


class CohortPool(NamedTuple):
    """The arrays, in the form that the kernel takes."""

    runs: Any
    extra: Any
    owner: Any
    """The partition of each cohort; a single entry where the pool holds one partition at a time."""
    registers: Any
    buckets: Any
    twins: Any
    changed: Any
    created: Any
    candidates: Any
    nodes: Any
    marks: Any
    reached: Any
    best: Any
    sums: Any
    summed: Any
    weights: Any
    lists: Any
    occupied: Any
    slots: Any
    read: Any
    """For each position, the registers that a run there may still have read."""
    trail: Any
    few: Any
    ordered: Any
    path: Any
    found: Any
    order: Any
    ranked: Any
    levels: Any
    targets: Any
    taken: Any
    matches: Any
    counters: Any
    stack: Any


EMPTIED = ("twins", "buckets")
WITH_RUNS = ("runs", "extra", "owner", "registers", "changed", "created", "candidates", *EMPTIED)
WITH_NODES = ("nodes", "marks", "reached", "best", "sums")
WITH_FOUND = ("found", "order", "ranked", "levels")
WITH_OUTPUT = ("taken", "matches")


def new_cohort_pool(
    tables: Tables, room: int, summed: Summed | None = None, slots: int | None = None, nodes: int = 0
) -> CohortPool:
    """Empty working memory. `summed`: matches are counted instead of listed, and this is added up. `slots`: for so many
    partitions that live on; None for one at a time. `nodes`: histories that there is room for at least, a power of
    two."""
    arrays = tables.arrays
    params, positions = arrays.params, arrays.positions
    has_rivals = bool((positions[:, l.S_RIVALS] < positions[:, l.S_RIVALS_END]).any())
    nodes = max(SMALLEST_NODES, room, nodes)
    entries = max(c.LONGEST, room // 16)
    pool = CohortPool(
        runs=np.zeros((room, c.E_SIZE), np.int32),
        extra=np.zeros((room if has_rivals else 1, l.X_SIZE), np.int32),
        owner=np.zeros(1 if slots is None else room, np.int32),
        registers=np.zeros((room if tables.initial else 1, len(tables.initial) + 1), np.int64),
        buckets=np.full(room if params[l.P_INDEXED] else 1, l.NONE, np.int32),
        twins=np.full(room, l.NONE, np.int32),
        changed=np.zeros(room, np.int32),
        created=np.zeros((room, 5), np.int32),
        candidates=np.zeros(room, np.int32),
        nodes=np.zeros((nodes, c.H_SIZE), np.int32),
        marks=np.full(nodes, l.NONE, np.int32),
        reached=np.zeros(nodes if params[l.P_SKIP] == l.PAST_LAST else 1, np.int32),
        best=np.zeros((nodes if params[l.P_SKIP] == l.PAST_LAST else 1, c.B_SIZE), np.int32),
        sums=np.zeros((1, 1), np.int64),
        summed=np.zeros((0, 2), np.int64),
        weights=np.zeros((0, 0), np.int64),
        lists=np.zeros((0, l.L_SIZE * len(positions)), np.int64),
        occupied=np.zeros((0, arrays.concerned.shape[1]), np.uint64),
        slots=np.zeros((0, l.K_BEFORE + 2 * int(params[l.P_NOT_BEFORE])), np.int64),
        read=tables.registers_read,
        trail=np.zeros(c.STACK, np.int64),
        few=np.zeros((c.FEW, c.LONGEST + 1), np.int32),
        ordered=np.zeros(c.FEW, np.int32),
        path=np.zeros(c.LONGEST, np.int32),
        found=np.zeros((entries, c.F_SIZE), np.int64),
        order=np.zeros((entries, 2), np.int64),
        ranked=np.zeros((entries, c.V_SIZE), np.int64),
        levels=np.zeros((entries, c.Y_SIZE), np.int64),
        targets=np.zeros(entries, np.int32),
        taken=np.zeros((entries, 2), np.int32),
        matches=np.zeros((entries, 2), np.int64),
        counters=np.zeros(c.Q_COHORT_SIZE, np.int64),
        stack=np.zeros((64, 2), np.int64),
    )
    pool.counters[[l.Q_FREE_RUN, l.Q_PROBLEM, l.Q_PROBLEM_VALUE]] = l.NONE
    pool.counters[c.Q_CHECK_AT] = params[l.P_MAX_RUNS]
    pool.counters[l.Q_USED_RUNS] = 1  # run 0 holds the registers of a run that has taken nothing
    if tables.initial:
        pool.registers[0, :-1] = tables.initial
        pool.registers[0, -1] = np.uint64(tables.known_at_first).astype(np.int64)
    pool = pool._replace(**more_slots(pool, 1 if slots is None else slots))
    return pool if summed is None else counting(pool, summed)


def counting(pool: CohortPool, summed: Summed) -> CohortPool:
    """The same memory for counting matches."""
    width = len(summed.variables)
    pool.counters[c.Q_COUNTS] = 1
    return pool._replace(
        reached=np.zeros(len(pool.nodes), np.int32),
        sums=np.zeros((len(pool.nodes), 1 + width), np.int64),
        summed=np.stack((summed.variables, summed.is_double.astype(np.int64)), axis=1),
        weights=np.ascontiguousarray(summed.values),
        matches=np.zeros((len(pool.matches), 2 + width), np.int64),
    )


def listing(pool: CohortPool) -> CohortPool:
    """The same memory for listing them."""
    if not pool.counters[c.Q_COUNTS]:
        return pool
    pool.counters[c.Q_COUNTS] = 0
    return pool._replace(matches=np.zeros((len(pool.matches), 2), np.int64))


def scarce(pool: CohortPool, was_in_vain: bool) -> tuple[str, ...]:
    """The arrays that must be larger: those more than half full. `was_in_vain`: collecting alone did not help."""
    names: tuple[str, ...] = ()
    if was_in_vain or pool.counters[l.Q_USED_NODES] > len(pool.nodes) // 2:
        names += WITH_NODES
    if was_in_vain or pool.counters[l.Q_USED_RUNS] > len(pool.runs) // 2:
        names += WITH_RUNS
    return names


def asked_for(pool: CohortPool) -> tuple[str, ...]:
    """The arrays that listing needs larger; its output has just been fetched. It is called again until all suffice."""
    counters = pool.counters
    if counters[c.Q_STAGE] == c.TO_BE_DRAWN:
        if max(counters[c.Q_FOUND], counters[l.Q_CANDIDATES]) >= len(pool.found):
            return WITH_FOUND
        return ("targets",)
    if counters[c.Q_WANTED] > len(pool.targets):
        return ("targets",)
    is_small = len(pool.taken) < max(LARGEST_OUTPUT, len(pool.levels), counters[c.Q_WANTED])
    return WITH_OUTPUT if is_small else ()


def doubled(pool: CohortPool, names: tuple[str, ...]) -> CohortPool:
    """The same memory, some of it twice as large; where that is the cohorts', their buckets are empty."""
    larger = {}
    for name in names:
        array = getattr(pool, name)
        if name in EMPTIED:
            larger[name] = np.full(2 * len(array) if len(array) > 1 else 1, l.NONE, np.int32)
        elif len(array) > 1:
            new = np.full_like(array, l.NONE) if name == "marks" else np.zeros_like(array)
            larger[name] = np.concatenate((array, new))
    return pool._replace(**larger)
