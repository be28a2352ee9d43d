"""The lists that runs wait in: joining, sweeping, clearing, and the index of runs that wait for an equality.

Compiled functions for the kernel. Sweeping is the same for cohorts (`cohort_lists`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cepheid.engine.kernel.buffer import free_run
from cepheid.engine.kernel.compiling import compiled, inlined, lowest
from cepheid.engine.kernel.deadlines import is_out_of_time
from cepheid.engine.kernel.dominance import is_dominated
from cepheid.engine.kernel.forbidding import is_forbidden, was_forbidden
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.occupied import WORD, occupy


@inlined
def is_gone(a, e, w, slot, start, event):
    """Whether an event finds no run with this start any more."""
    return is_gone_by(a, e, w, slot, start, e.time[event], e.ordinal[event])


@inlined
def is_gone_by(a, e, w, slot, start, moment, ordinal):
    """Whether a run with this start can be dropped by an event of this moment and ordinal: forbidden, or out of its
    window where no timer looks after that."""
    if is_forbidden(a, e, w, slot, start):
        return a.params[P_LINGERS] == 0 or was_forbidden(a, e, w, slot, start, moment)
    if a.params[P_TIMEOUTS]:
        return False
    return is_out(a, e, start, moment, ordinal)


@inlined
def is_out(a, e, start, moment, ordinal):
    """Whether an event of this moment and ordinal lies outside the window of a start."""
    if np.uint64(moment) - np.uint64(e.time[start]) >= np.uint64(a.params[P_WITHIN]):
        return True
    return ordinal - e.ordinal[start] >= a.params[P_COUNT]


@inlined
def place_in_index(buckets, slot, position, value):
    """Where runs of a slot and position with this value of the indexed register are chained."""
    mixed = (
        np.uint64(value)
        + np.uint64(position) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(slot) * np.uint64(0xC2B2AE3D27D4EB4F)
    )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((mixed ^ (mixed >> np.uint64(31))) & np.uint64(len(buckets) - 1))


@inlined
def is_indexed_value(registers, run, register):
    """Whether the run's register is known; a run that compares with an unknown value takes nothing and is not
    chained."""
    return np.uint64(registers[run, registers.shape[1] - 1]) >> np.uint64(register) & np.uint64(1) != 0


@inlined
def put_into_index(positions, runs, registers, buckets, slot, run):
    """Chain a run by the value that every predicate of its position compares with."""
    position = runs[run, R_POSITION]
    register = positions[position, S_INDEX]
    if register >= 0 and is_indexed_value(registers, run, register):
        bucket = place_in_index(buckets, slot, position, registers[run, register])
        runs[run, R_CHAIN] = buckets[bucket]
        buckets[bucket] = run


@inlined
def take_from_index(positions, runs, registers, buckets, slot, run):
    """Unchain a run that is still chained."""
    position = runs[run, R_POSITION]
    register = positions[position, S_INDEX]
    if register < 0 or not is_indexed_value(registers, run, register):
        return
    bucket = place_in_index(buckets, slot, position, registers[run, register])
    other = np.int64(buckets[bucket])
    if other == run:
        buckets[bucket] = runs[run, R_CHAIN]
        return
    while other != NONE:
        following = np.int64(runs[other, R_CHAIN])
        if following == run:
            runs[other, R_CHAIN] = runs[run, R_CHAIN]
            return
        other = following


def sweeper(is_late: Any, leave: Any) -> Callable[..., None]:
    """What drops the runs of a list that are over by an event of some moment and ordinal. Done whenever a list has
    doubled, so that it costs little per run. `is_late`: whether time has passed a run by where its window has not;
    `leave`: what else it must be taken out of."""

    @compiled
    def sweep(a, e, w, slot, position, moment, ordinal):
        place = L_SIZE * position
        previous = np.int64(NONE)
        run = np.int64(w.lists[slot, place + L_HEAD])
        while run != NONE:
            following = np.int64(w.runs[run, R_NEXT])
            is_over = w.runs[run, R_OPEN] == 0
            is_dropped = is_over or is_gone_by(a, e, w, slot, w.nodes[w.runs[run, R_NODE], N_START], moment, ordinal)
            if is_dropped or is_late(a, e, w, position, run, moment):
                if not is_over:
                    leave(w, run)
                    if a.params[P_INDEXED]:
                        take_from_index(a.positions, w.runs, w.registers, w.buckets, slot, run)
                w.lists[slot, place + L_LENGTH] -= 1
                w.slots[slot, K_LIVE] -= 1
                free_run(w.runs, w.extra, w.counters, run)
                if previous == NONE:
                    w.lists[slot, place + L_HEAD] = following
                else:
                    w.runs[previous, R_NEXT] = following
            else:
                previous = run
            run = following
        w.lists[slot, place + L_SWEPT] = w.lists[slot, place + L_LENGTH]

    return sweep


@inlined
def is_late(a, e, w, position, run, moment):
    """Whether all bounds since earlier events of a run are over; where timeouts are asked for, timers see to that."""
    if position >= a.params[P_POSITIONS] or a.params[P_TIMEOUTS]:
        return False
    if a.positions[position, S_GAP] == 0 and a.positions[position, S_SINCE] == 0:
        return False
    return is_out_of_time(a, e.time, w.runs, w.nodes, run, moment)


@inlined
def leave_nothing(w, run):
    """A run is in no table but its list and the index."""


sweep = sweeper(is_late, leave_nothing)


@inlined
def settle(a, e, w, slot, run, event):
    """Put a run into the list of its position."""
    position = w.runs[run, R_POSITION]
    place = L_SIZE * position
    if (
        a.params[P_DOMINANCE] != DOMINANCE_OFF
        and w.lists[slot, place + L_HEAD] != NONE
        and position < a.params[P_POSITIONS]
        and a.positions[position, S_INDEX] < 0
    ):
        if is_dominated(a, e.time, w.lists, w.slots, w.runs, w.extra, w.nodes, w.registers, w.counters, slot, run):
            free_run(w.runs, w.extra, w.counters, run)
            w.slots[slot, K_LIVE] -= 1
            return
    if w.lists[slot, place + L_LENGTH] > 2 * w.lists[slot, place + L_SWEPT] + 64:
        sweep(a, e, w, slot, position, e.time[event], e.ordinal[event])
    if a.params[P_INDEXED]:
        put_into_index(a.positions, w.runs, w.registers, w.buckets, slot, run)
    occupy(w, slot, position)
    w.runs[run, R_NEXT] = w.lists[slot, place + L_HEAD]
    w.lists[slot, place + L_HEAD] = run
    w.lists[slot, place + L_LENGTH] += 1


@compiled
def clear(a, w, slot):
    """Drop all runs of a partition."""
    for word in range(w.occupied.shape[1]):
        lists = w.occupied[slot, word]
        if word == 0:
            lists |= np.uint64(1)  # position 0 has no list, but the fresh ones
        while lists != 0:
            position = WORD * word + lowest(lists)
            lists &= lists - np.uint64(1)
            place = L_SIZE * position
            run = np.int64(w.slots[slot, K_FRESH] if position == 0 else w.lists[slot, place + L_HEAD])
            while run != NONE:
                following = np.int64(w.runs[run, R_NEXT])
                if a.params[P_INDEXED] and position > 0 and w.runs[run, R_OPEN] != 0:
                    take_from_index(a.positions, w.runs, w.registers, w.buckets, slot, run)
                free_run(w.runs, w.extra, w.counters, run)
                run = following
            w.lists[slot, place + L_HEAD] = NONE
            w.lists[slot, place + L_LENGTH] = 0
            w.lists[slot, place + L_SWEPT] = 0
        w.occupied[slot, word] = 0
    w.slots[slot, K_FRESH] = NONE
    w.slots[slot, K_LIVE] = 0


@compiled
def rebuild_index(a, w):
    """Chain all runs anew, in buckets that were emptied."""
    for slot in range(w.lists.shape[0]):
        for position in range(1, w.lists.shape[1] // L_SIZE):
            run = np.int64(w.lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                if w.runs[run, R_OPEN] != 0:
                    put_into_index(a.positions, w.runs, w.registers, w.buckets, slot, run)
                run = np.int64(w.runs[run, R_NEXT])
