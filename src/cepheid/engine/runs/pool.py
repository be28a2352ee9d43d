"""The kernel's working memory: runs, nodes, timers, lists, and what has been decided.

In: sizes. Out: `Pool`, the arrays that the kernel writes; growing and collecting them between calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.engine.kernel import layout as l
from cepheid.engine.tables.model import Tables


class Pool(NamedTuple):
    """The arrays, in the form that the kernel takes."""

    runs: Any
    extra: Any
    owner: Any
    buckets: Any
    registers: Any
    nodes: Any
    timers: Any
    lists: Any
    occupied: Any
    slots: Any
    created: Any
    spare: Any
    candidates: Any
    due: Any
    window_ended: Any
    matches: Any
    timeouts: Any
    counters: Any
    stack: Any


def new_pool(tables: Tables, slots: int = 1, capacity: int = 256) -> Pool:
    """Empty working memory for so many partitions at a time; the capacity is a power of two."""
    params = tables.arrays.params
    positions = len(tables.arrays.positions)
    timed = capacity if params[l.P_TIMED] else 1
    has_rivals = bool((tables.arrays.positions[:, l.S_RIVALS] < tables.arrays.positions[:, l.S_RIVALS_END]).any())
    needs_extra = params[l.P_TIMED] or has_rivals
    pool = Pool(
        runs=np.zeros((capacity, l.R_SIZE), np.int32),
        extra=np.zeros((capacity if needs_extra else 1, l.X_SIZE), np.int32),
        owner=np.zeros(1, np.int32),
        buckets=np.full(capacity if params[l.P_INDEXED] else 1, l.NONE, np.int32),
        registers=np.zeros((capacity if tables.initial else 1, len(tables.initial) + 1), np.int64),
        nodes=np.zeros((capacity, l.N_SIZE), np.int32),
        timers=np.zeros((4 * timed, l.T_SIZE), np.int64),
        lists=np.zeros((0, l.L_SIZE * positions), np.int64),
        occupied=np.zeros((0, tables.arrays.concerned.shape[1]), np.uint64),
        slots=np.zeros((0, l.K_BEFORE + 2 * int(params[l.P_NOT_BEFORE])), np.int64),
        created=np.zeros((capacity, 6), np.int32),
        spare=np.zeros((2 * capacity, 4), np.int32),
        candidates=np.zeros(2 * capacity, np.int32),
        due=np.zeros(4 * timed, np.int32),
        window_ended=np.zeros(4 * timed, np.int8),
        matches=np.zeros((2 * capacity, 3), np.int64),
        timeouts=np.zeros((2 * timed, 3), np.int64),
        counters=np.zeros(l.Q_SIZE, np.int64),
        stack=np.zeros((64, 2), np.int64),
    )
    pool.counters[[l.Q_FREE_RUN, l.Q_FREE_TIMER, l.Q_PROBLEM, l.Q_PROBLEM_VALUE]] = l.NONE
    pool.counters[l.Q_USED_RUNS] = 1  # run 0 holds the registers of a run that has taken nothing
    if tables.initial:
        pool.registers[0, :-1] = tables.initial
        pool.registers[0, -1] = np.uint64(tables.known_at_first).astype(np.int64)
    return with_slots(pool, slots)


def more_slots(pool: Any, count: int) -> dict[str, Any]:
    """What a pool has for each partition, for so many of them; the new ones are empty."""
    lists = np.zeros((count - len(pool.lists), pool.lists.shape[1]), np.int64)
    lists[:, l.L_HEAD :: l.L_SIZE] = l.NONE
    slots = np.full((count - len(pool.slots), pool.slots.shape[1]), l.NONE, np.int64)
    slots[:, [l.K_LIVE, l.K_FIRST_ALLOWED, l.K_ALLOWED_BEFORE]] = 0
    slots[:, l.K_FORBIDDEN_AT] = -l.NEVER
    slots[:, l.K_SILENT_UNTIL] = -l.NEVER - 1
    occupied = np.zeros((count - len(pool.occupied), pool.occupied.shape[1]), np.uint64)
    new = {"lists": lists, "occupied": occupied, "slots": slots}
    return {name: np.concatenate((getattr(pool, name), array)) for name, array in new.items()}


def occupied(lists: Any) -> Any:
    """Which of the lists of each partition hold runs, as bits (`kernel.occupied`)."""
    heads = lists[:, l.L_HEAD :: l.L_SIZE] != l.NONE
    words = np.zeros((len(heads), -(-heads.shape[1] // 64) * 64), bool)
    words[:, : heads.shape[1]] = heads
    return np.packbits(words, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def with_slots(pool: Pool, count: int) -> Pool:
    """The same memory for so many partitions at a time; the new ones are empty."""
    pool = pool._replace(**more_slots(pool, count))
    if count > 1 and len(pool.buckets) > 1 and len(pool.owner) == 1:  # until now all runs belonged to slot 0
        pool = pool._replace(owner=np.zeros(len(pool.runs), np.int32))
    return pool


WITH_RUNS = ("runs", "extra", "owner", "registers", "nodes", "timers", "due", "window_ended")
WITH_EVENTS = ("created", "spare", "candidates", "matches", "timeouts")
SMALLEST = 8
"""Arrays smaller than this are of no use to the pattern and stay as they are."""


def bytes_of(pool: tuple[Any, ...]) -> int:
    """The memory that the arrays take."""
    return sum(int(array.nbytes) for array in pool)


class Growth(NamedTuple):
    """By how much to multiply the arrays of waiting runs, and those for what one event makes of them."""

    with_runs: int
    with_events: int

    def length(self, pool: Pool, name: str) -> int:
        """The length of an array afterwards."""
        length = len(getattr(pool, name))
        if name == "buckets":
            return length * self.with_runs if length > 1 else length
        if length < SMALLEST:
            return length
        return length * (self.with_runs if name in WITH_RUNS else self.with_events if name in WITH_EVENTS else 1)

    def bytes_more(self, pool: Pool) -> int:
        """The memory that growing adds."""
        grown_bytes = 0
        for name in pool._fields:
            array = getattr(pool, name)
            if len(array):
                grown_bytes += array.nbytes // len(array) * (self.length(pool, name) - len(array))
        return int(grown_bytes)


def growth_needed(pool: Pool, few: int) -> Growth:
    """How much larger the pool must be for what the kernel asked for (`events.fits`); call it after a collection, with
    nothing left in matches and timeouts. At least half of the runs and nodes are free then, so that collections stay
    rare; the tables of matches have `few` entries at least, so that calls do."""
    counters = pool.counters
    spare, waiting = int(counters[l.Q_NEEDED]), int(counters[l.Q_NEEDED_WAITING])
    runs, nodes, timers = (int(counters[used]) for used in (l.Q_USED_RUNS, l.Q_USED_NODES, l.Q_USED_TIMERS))
    with_runs = max(
        _factor(pool.runs, runs + max(runs, spare)),
        _factor(pool.nodes, nodes + max(nodes, spare)),
        _factor(pool.timers, timers + 2 * (spare + waiting)),
    )
    with_events = max(
        _factor(pool.created, spare + waiting),
        _factor(pool.matches, spare + waiting),
        _factor(pool.timeouts, spare + waiting),
        1 if len(pool.matches) >= few else 2,
    )
    return Growth(with_runs, with_events)


def _factor(array: Any, needed: int) -> int:
    """The power of two that makes an array long enough."""
    factor = 1
    while SMALLEST <= len(array) * factor < needed:
        factor *= 2
    return factor


def grown(pool: Pool, growth: Growth) -> Pool:
    """The same memory with more room. Where runs are indexed and get more room, they must be chained anew."""
    larger = {}
    for name in (*WITH_RUNS, *WITH_EVENTS):
        array = getattr(pool, name)
        length = growth.length(pool, name)
        if length > len(array):
            larger[name] = np.zeros((length, *array.shape[1:]), array.dtype)
            larger[name][: len(array)] = array
    if growth.length(pool, "buckets") > len(pool.buckets):
        larger["buckets"] = np.full(growth.length(pool, "buckets"), l.NONE, np.int32)
    return pool._replace(**larger)
