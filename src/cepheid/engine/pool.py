"""The kernel's working memory: runs, nodes, timers, lists, and what has been decided.

In: sizes. Out: `Pool`, the arrays that the kernel writes; growing and collecting them between calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.engine import layout as l
from cepheid.engine.tables import Tables


class Pool(NamedTuple):
    """The arrays, in the form that the kernel takes."""

    runs: Any
    alive: Any
    registers: Any
    valid: Any
    nodes: Any
    timers: Any
    heads: Any
    lengths: Any
    swept: Any
    slots: Any
    before: Any
    created: Any
    node_of_created: Any
    candidates: Any
    due: Any
    window_ended: Any
    matches: Any
    timeouts: Any
    counters: Any
    stack: Any
    stack_known: Any


def new_pool(tables: Tables, slots: int = 1, capacity: int = 256) -> Pool:
    """Empty working memory for so many partitions at a time."""
    params = tables.arrays.params
    positions = len(tables.arrays.positions)
    registers = max(1, len(tables.initial))
    timed = capacity if params[l.P_TIMED] else 1
    pool = Pool(
        runs=np.zeros((capacity, l.R_SIZE), np.int32),
        alive=np.zeros(capacity, np.uint64),
        registers=np.zeros((capacity if tables.initial else 1, registers), np.int64),
        valid=np.zeros(capacity if tables.initial else 1, np.uint64),
        nodes=np.zeros((capacity, l.N_SIZE), np.int32),
        timers=np.zeros((4 * timed, l.T_SIZE), np.int64),
        heads=np.full((slots, positions), l.NONE, np.int32),
        lengths=np.zeros((slots, positions), np.int64),
        swept=np.zeros((slots, positions), np.int64),
        slots=np.zeros((slots, l.K_SIZE), np.int64),
        before=np.full((slots, max(1, 2 * int(params[l.P_NOT_BEFORE]))), l.NONE, np.int64),
        created=np.zeros((capacity, 4), np.int32),
        node_of_created=np.zeros(capacity, np.int32),
        candidates=np.zeros(2 * capacity, np.int32),
        due=np.zeros(4 * timed, np.int32),
        window_ended=np.zeros(4 * timed, np.int8),
        matches=np.zeros((2 * capacity, 3), np.int64),
        timeouts=np.zeros((2 * timed, 3), np.int64),
        counters=np.zeros(l.Q_SIZE, np.int64),
        stack=np.zeros(64, np.int64),
        stack_known=np.zeros(64, np.int64),
    )
    pool.counters[[l.Q_FREE_RUN, l.Q_FREE_TIMER, l.Q_PROBLEM, l.Q_PROBLEM_VALUE]] = l.NONE
    pool.counters[l.Q_USED_RUNS] = 1  # run 0 holds the registers of a run that has taken nothing
    if tables.initial:
        pool.registers[0] = tables.initial
        pool.valid[0] = tables.known_at_first
    pool.slots[:, [l.K_FRESH, l.K_TIMERS, l.K_COUNT_TIMERS]] = l.NONE
    pool.slots[:, l.K_FORBIDDEN_AT] = -l.NEVER
    return pool


GROWING = (
    "runs",
    "alive",
    "registers",
    "valid",
    "nodes",
    "timers",
    "created",
    "node_of_created",
    "candidates",
    "due",
    "window_ended",
    "matches",
    "timeouts",
)


def grown(pool: Pool) -> Pool:
    """The same memory with twice the room."""
    larger = {}
    for name in GROWING:
        array = getattr(pool, name)
        if len(array) > 1:
            larger[name] = np.concatenate((array, np.zeros_like(array)))
    return pool._replace(**larger)
