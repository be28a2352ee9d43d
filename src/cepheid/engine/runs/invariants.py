"""What must hold of the pool between two calls of the kernel, asserted in debug mode.

In: tables, columns and the pool after a call that ended well. Out: nothing, or an AssertionError that says what is
broken. Called by `matcher` if the environment variable `CEPHEID_DEBUG` is set, as it is in the tests. Numbers:

1. Every run but run 0 is in exactly one list: that of its position, the fresh ones of its partition, or the free ones.
2. The lengths of lists, and the number of live runs of a partition, are what is there.
3. A run's node, a node's event, start and predecessor exist; a node comes after its predecessor and is one deeper.
4. The places and endings that a node counts as open are the runs that wait with it (of starts that are not forbidden;
   the runs of a forbidden start are dropped without counting).
5. A run that is open and has a known value of its position's index is chained in that bucket, exactly once.
6. Timers form heaps; each is in one heap or free; a timer that is due by now has been looked at.
7. Nothing is left over from an event: no created entries, no candidates.
8. A list that holds runs has its bit among the occupied ones.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from cepheid.engine.assignments import Integers
from cepheid.engine.columns import Columns
from cepheid.engine.kernel import buffer
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.pool import Pool, occupied
from cepheid.engine.tables.model import Tables

IS_ASKED_FOR = os.environ.get("CEPHEID_DEBUG", "0") not in ("", "0")


def check(tables: Tables, columns: Columns, pool: Pool) -> None:
    """Assert all of it."""
    runs = buffer.live_runs(pool.lists, pool.slots, pool.runs)
    slots = np.repeat(np.arange(len(pool.slots)), pool.slots[:, l.K_LIVE])
    _lists(tables, pool, runs, slots)
    _nodes(columns, pool, runs)
    _states(tables, columns, pool, runs, slots)
    if tables.arrays.params[l.P_INDEXED]:
        _index(tables, pool, runs)
    if tables.arrays.params[l.P_TIMED]:
        _timers(pool)
    assert not (occupied(pool.lists) & ~pool.occupied).any(), "8: a list that no event would walk"
    assert pool.counters[l.Q_CREATED] == pool.counters[l.Q_CANDIDATES] == 0, "7: left over from an event"


def _lists(tables: Tables, pool: Pool, runs: Integers, slots: Integers) -> None:
    assert len(runs) == len(slots), f"2: {len(runs)} runs in lists, counted {len(slots)}"
    lengths = pool.lists[:, l.L_LENGTH :: l.L_SIZE].copy()
    lengths[:, 0] = pool.slots[:, l.K_LIVE] - lengths[:, 1:].sum(axis=1)  # the fresh ones, which are walked first
    assert (lengths >= 0).all(), "2: lists that are longer than what a partition has"
    position = np.tile(np.arange(lengths.shape[1]), len(lengths)).repeat(lengths.ravel())
    own = pool.runs[runs, l.R_POSITION]
    assert np.all((position == 0) | (position == own)), "1 or 2: a run in the list of another position"
    assert np.all(tables.arrays.positions[own[position == 0], l.S_FRESH]), "1: a fresh run that need not be"
    free = []
    run = int(pool.counters[l.Q_FREE_RUN])
    while run != l.NONE:
        free.append(run)
        assert len(free) < len(pool.runs), "1: the free runs go round in a circle"
        run = int(pool.runs[run, l.R_NEXT])
    everywhere = np.sort(np.concatenate((runs, np.array(free, np.int64))))
    assert np.array_equal(everywhere, np.arange(1, pool.counters[l.Q_USED_RUNS])), "1: a run is lost, or in two lists"


def _nodes(columns: Columns, pool: Pool, runs: Integers) -> None:
    used = int(pool.counters[l.Q_USED_NODES])
    held = pool.runs[runs, l.R_NODE]
    assert np.all((held >= 0) & (held < used)), "3: a run without a node"
    nodes = pool.nodes[:used]
    assert np.all((nodes[:, l.N_EVENT] >= nodes[:, l.N_START]) & (nodes[:, l.N_START] >= 0)), "3: start after event"
    assert np.all(nodes[:, l.N_EVENT] < len(columns.time)), "3: an event that there is not"
    first = nodes[:, l.N_PREVIOUS] == l.NONE
    assert np.all(nodes[first, l.N_DEPTH] == 1), "3: a first node that is not the first"
    later = np.flatnonzero(~first)
    previous = nodes[later, l.N_PREVIOUS]
    assert np.all(previous < later), "3: a node before its predecessor"
    for column, more in ((l.N_DEPTH, 1), (l.N_START, 0)):
        assert np.all(nodes[later, column] == nodes[previous, column] + more), "3: a node and its predecessor differ"
    assert np.all(nodes[later, l.N_EVENT] > nodes[previous, l.N_EVENT]), "3: events out of order"


def _states(tables: Tables, columns: Columns, pool: Pool, runs: Integers, slots: Integers) -> None:
    params = tables.arrays.params
    node = pool.runs[runs, l.R_NODE]
    start = pool.nodes[node, l.N_START]
    allowed = columns.ordinal[start] >= pool.slots[slots, l.K_FIRST_ALLOWED]
    if tables.forbids_single_starts:
        allowed &= columns.forbidden[start] == l.NEVER
    is_open = pool.runs[runs, l.R_OPEN] != 0
    is_ending = pool.runs[runs, l.R_POSITION] >= params[l.P_POSITIONS]
    kinds: list[tuple[int, Any, int]] = [(l.PENDING, is_ending, 1 << 10)]
    if params[l.P_TIMEOUTS]:
        kinds.append((l.OPEN, ~is_ending, 1 << 10))
    count = len(pool.nodes)
    for unit, mine, most in kinds:
        waiting = np.bincount(node[is_open & mine], minlength=count)[node]
        counted = pool.nodes[node, l.N_STATE] // unit % most
        assert np.all((counted == waiting)[allowed]), "4: a node counts other runs than wait with it"


def _index(tables: Tables, pool: Pool, runs: Integers) -> None:
    register = tables.arrays.positions[pool.runs[runs, l.R_POSITION], l.S_INDEX]
    known = pool.registers[runs, -1].view(np.uint64) >> np.maximum(register, 0).astype(np.uint64) & np.uint64(1) != 0
    is_fresh = np.isin(runs, _fresh(pool))
    expected = runs[(register >= 0) & known & (pool.runs[runs, l.R_OPEN] != 0) & ~is_fresh]
    chained = []
    for head in pool.buckets[pool.buckets != l.NONE].tolist():
        while head != l.NONE:
            chained.append(head)
            assert len(chained) <= len(pool.runs), "5: a bucket goes round in a circle"
            head = int(pool.runs[head, l.R_CHAIN])
    assert sorted(chained) == sorted(expected.tolist()), "5: the index does not hold the open runs"


def _fresh(pool: Pool) -> list[int]:
    found = []
    for run in pool.slots[:, l.K_FRESH].tolist():
        while run != l.NONE:
            found.append(run)
            run = int(pool.runs[run, l.R_NEXT])
    return found


def _timers(pool: Pool) -> None:
    timers = pool.timers
    now, roots = pool.slots[:, l.K_NOW], pool.slots[:, l.K_TIMERS]
    waits = (roots != l.NONE) & (now != l.NONE)
    assert np.all(timers[roots[waits], l.T_DUE] > now[waits]), "6: a timer that is due was not looked at"
    found = pool.slots[:, [l.K_TIMERS, l.K_COUNT_TIMERS]].ravel()
    found = found[found != l.NONE]
    everywhere = [found]
    while len(found):
        children = []
        for link in (l.T_CHILD, l.T_SIBLING):
            next_ones = timers[found, link]
            has = next_ones != l.NONE
            if link == l.T_CHILD:
                assert np.all(timers[next_ones[has], l.T_DUE] >= timers[found[has], l.T_DUE]), "6: no heap"
            children.append(next_ones[has])
        found = np.concatenate(children)
        everywhere.append(found)
        assert sum(map(len, everywhere)) <= len(timers), "6: timers go round in a circle"
    free = []
    timer = int(pool.counters[l.Q_FREE_TIMER])
    while timer != l.NONE:
        free.append(timer)
        assert len(free) <= len(timers), "6: the free timers go round in a circle"
        timer = int(timers[timer, l.T_SIBLING])
    numbers = np.sort(np.concatenate((*everywhere, np.array(free, np.int64))))
    assert np.array_equal(numbers, np.arange(pool.counters[l.Q_USED_TIMERS])), "6: a timer is lost, or in two heaps"
