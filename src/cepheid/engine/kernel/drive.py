"""The kernel's entrance: partition by partition, event by event, and the end of the input.

In: the pattern's tables (`engine.tables`), columns of events, the pool of runs (`engine.runs`), and where to go on.
Out: DONE, GROW (the pool has no room for the next event: make it larger and call again), or what is wrong. Called by
`engine.matcher` and `engine.runs`.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import borrowed, compiled
from cepheid.engine.kernel.deciding import fall_due, moment_decided
from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.kernel.events import fits, handle
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import clear, rebuild_index


@compiled
def finish_slot(a, e, w, slot, partition, finish, moment):
    """Behind the last event of a partition: time moves on to a moment, or the input ends (rule 10)."""
    if not fits(a, w, slot, np.int64(2)):
        return GROW
    if finish == ADVANCE:
        w.slots[slot, K_NOW] = max(w.slots[slot, K_NOW], moment)
        problem = fall_due(a, e, w, slot, partition, moment)
        if problem == DONE:
            problem = moment_decided(a, e, w, slot, partition, moment, NONE, False)
        return problem
    # what waits for a next event is decided, then time moves to infinity
    problem = moment_decided(a, e, w, slot, partition, w.slots[slot, K_NOW], NEVER, True)
    if problem == DONE:
        problem = fall_due(a, e, w, slot, partition, NEVER)
    return problem


@compiled
def reset_slot(a, w, slot, first):
    """A partition begins in a slot that another one may have had; `first` is the ordinal of its first event."""
    clear(a, w, slot)
    for place in range(w.slots.shape[1]):
        w.slots[slot, place] = NONE
    w.slots[slot, K_LIVE] = 0
    w.slots[slot, K_FIRST_ALLOWED] = first
    w.slots[slot, K_ALLOWED_BEFORE] = first
    w.slots[slot, K_FORBIDDEN_AT] = -NEVER
    w.slots[slot, K_SILENT_UNTIL] = -NEVER - 1
    w.counters[Q_FREE_TIMER] = NONE
    w.counters[Q_USED_TIMERS] = 0


@compiled
def run_partitions(a, e, w, bounds, slot_of, progress):
    is_whole = len(slot_of) == 0
    while progress[0] < len(bounds) - 1:
        partition, begin, end = progress[0], bounds[progress[0]], bounds[progress[0] + 1]
        slot = np.int64(0) if is_whole else slot_of[partition]
        if is_whole and progress[1] == begin:
            reset_slot(a, w, slot, e.ordinal[begin])
        for event in range(progress[1], end):
            status = handle(a, e, w, slot, partition, event)
            if status != DONE:
                progress[1] = event
                return status
        progress[1] = end
        if end > begin:
            w.slots[slot, K_NOW] = e.time[end - 1]
        if is_whole and a.params[P_TIMED] and progress[2] != AS_IT_IS:
            status = finish_slot(a, e, w, slot, partition, progress[2], progress[3])
            if status != DONE:
                return status
        progress[0] += 1
    return DONE


@entrance("handle", "finish_slot")
def match_sorted(arrays, columns, pool, bounds, slot_of, progress):
    """Match sorted partitions one after the other.

    `slot_of`: the slots that the partitions live in from call to call; empty where each partition is whole, begins
    anew and is forgotten. `progress`: the partition and the event to go on with; for whole partitions, what comes
    behind the last event, and the moment for that.
    """
    return run_partitions(borrowed(arrays), borrowed(columns), borrowed(pool), bounds, slot_of, progress)


@compiled
def run_finish(a, e, w, progress):
    while progress[0] < w.slots.shape[0] and a.params[P_TIMED]:
        if w.slots[progress[0], K_LIVE] > 0:
            status = finish_slot(a, e, w, progress[0], progress[0], progress[2], progress[3])
            if status != DONE:
                return status
        progress[0] += 1
    return DONE


@entrance("finish_slot")
def finish_slots(arrays, columns, pool, progress):
    """Let time move on, or the input end, in all slots. `progress`: the slot to go on with, 0, what happens, the
    moment."""
    return run_finish(borrowed(arrays), borrowed(columns), borrowed(pool), progress)


@entrance()
def index_runs(arrays, pool):
    """Chain all runs anew after the buckets were replaced by empty ones."""
    rebuild_index(borrowed(arrays), borrowed(pool))
