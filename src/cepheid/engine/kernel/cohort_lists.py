"""Where cohorts wait, and how two with the same future become one.

Compiled functions for the kernel. A cohort waits in the list of its position, or among the fresh ones; the lists and
the index are those of runs (`lists`). The table `twins` finds a cohort by its partition and its key (`tables.compact`):
one that has come to a place where another of the same key waits hands its histories over to that one.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled, inlined, lowest
from cepheid.engine.kernel.histories import both_sets, with_history
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_gone, place_in_index, put_into_index, sweeper
from cepheid.engine.kernel.occupied import WORD, occupy


@inlined
def mixed(word, value):
    word = (word ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return word ^ (word >> np.uint64(29))


@inlined
def bucket_of(a, e, w, run):
    """Where cohorts with the same key as this one are chained."""
    position = w.runs[run, R_POSITION]
    word = mixed(np.uint64(position), np.int64(w.runs[run, R_OPEN]))
    if len(w.owner) > 1:
        word = mixed(word, np.int64(w.owner[run]))
    if len(w.extra) > 1:
        word = mixed(word, np.int64(w.extra[run, X_RIVALS]))
    if a.positions[position, S_GAP]:
        word = mixed(word, e.time[w.nodes[w.runs[run, R_NODE], N_EVENT]])
    if a.params[P_REGISTERS] > 0:
        for register in range(w.registers.shape[1]):
            word = mixed(word, w.registers[run, register])
    return np.int64(word & np.uint64(len(w.twins) - 1))


@inlined
def have_same_future(a, e, w, one, other):
    """Whether two cohorts have the same key. A fresh one and one that is not never do."""
    position = w.runs[one, R_POSITION]
    same = (
        position == w.runs[other, R_POSITION]
        and w.runs[one, R_OPEN] == w.runs[other, R_OPEN]
        and w.runs[one, E_PLACE] == w.runs[other, E_PLACE]
    )
    if same and len(w.owner) > 1:
        same = w.owner[one] == w.owner[other]
    if same and len(w.extra) > 1:
        same = w.extra[one, X_RIVALS] == w.extra[other, X_RIVALS]
    if same and a.positions[position, S_GAP]:
        same = e.time[w.nodes[w.runs[one, R_NODE], N_EVENT]] == e.time[w.nodes[w.runs[other, R_NODE], N_EVENT]]
    if same and a.params[P_REGISTERS] > 0:
        for register in range(w.registers.shape[1]):
            same = same and w.registers[one, register] == w.registers[other, register]
    return same


@inlined
def leave_twins(runs, twins, run):
    """Take a cohort out of the table in which its like are looked for."""
    bucket = runs[run, E_BUCKET]
    other = np.int64(twins[bucket])
    if other == run:
        twins[bucket] = runs[run, E_TWIN]
        return
    while runs[other, E_TWIN] != run:
        other = np.int64(runs[other, E_TWIN])
    runs[other, E_TWIN] = runs[run, E_TWIN]


@inlined
def enter_twins(w, run, bucket):
    w.runs[run, E_BUCKET] = bucket
    w.runs[run, E_TWIN] = w.twins[bucket]
    w.twins[bucket] = run


@compiled
def taken_over(a, e, w, slot, run, event, is_new):
    """Whether a cohort of the same key takes over the histories of this one; otherwise it is entered in the table.

    `is_new`: the cohort has a single history, which was made by this event.
    """
    bucket = bucket_of(a, e, w, run)
    twin = np.int64(w.twins[bucket])
    while twin != NONE:
        if have_same_future(a, e, w, run, twin):
            root, new = np.int64(w.runs[twin, R_NODE]), np.int64(w.runs[run, R_NODE])
            if is_gone(a, e, w, slot, w.nodes[root, N_START], event):
                w.runs[twin, R_NODE] = new
            elif is_new:
                w.runs[twin, R_NODE] = with_history(w.nodes, w.trail, w.counters, root, new)
            else:
                w.runs[twin, R_NODE] = both_sets(w.nodes, w.trail, w.counters, root, new)
            return True
        twin = np.int64(w.runs[twin, E_TWIN])
    enter_twins(w, run, bucket)
    return False


@inlined
def is_never_late(a, e, w, position, run, moment):
    """Bounds since the previous event are looked at when an event is shown to a cohort, and nowhere else."""
    return False


@inlined
def leave_table(w, run):
    """A cohort is also in the table of twins."""
    leave_twins(w.runs, w.twins, run)


sweep_cohorts = sweeper(is_never_late, leave_table)


@inlined
def wait(a, e, w, slot, run, event):
    """Put a cohort into the list of its place."""
    if w.runs[run, E_PLACE] == FRESH:
        w.runs[run, R_NEXT] = w.slots[slot, K_FRESH]
        w.slots[slot, K_FRESH] = run
        return
    position = np.int64(w.runs[run, R_POSITION])
    place = L_SIZE * position
    if w.lists[slot, place + L_LENGTH] > 2 * w.lists[slot, place + L_SWEPT] + 64:
        sweep_cohorts(a, e, w, slot, position, e.time[event], e.ordinal[event])
    if a.params[P_INDEXED]:
        put_into_index(a.positions, w.runs, w.registers, w.buckets, slot, run)
    occupy(w, slot, position)
    w.runs[run, R_NEXT] = w.lists[slot, place + L_HEAD]
    w.lists[slot, place + L_HEAD] = run
    w.lists[slot, place + L_LENGTH] += 1


@compiled
def clear_cohorts(a, w, slot):
    """Drop all cohorts, and with them all histories: for pools that hold one partition at a time."""
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
                w.twins[w.runs[run, E_BUCKET]] = NONE
                if a.positions[w.runs[run, R_POSITION], S_INDEX] >= 0:
                    value = w.registers[run, a.positions[w.runs[run, R_POSITION], S_INDEX]]
                    w.buckets[place_in_index(w.buckets, slot, w.runs[run, R_POSITION], value)] = NONE
                run = np.int64(w.runs[run, R_NEXT])
            w.lists[slot, place + L_HEAD] = NONE
            w.lists[slot, place + L_LENGTH] = 0
            w.lists[slot, place + L_SWEPT] = 0
        w.occupied[slot, word] = 0
    w.slots[slot, K_FRESH] = NONE
    w.slots[slot, K_LIVE] = 0
    w.counters[Q_FREE_RUN] = NONE
    w.counters[Q_USED_RUNS] = 1  # run 0 has taken nothing
    w.counters[Q_USED_NODES] = 0
    w.counters[Q_CREATED] = 0
    w.counters[Q_CHANGED] = 0


@compiled
def rebuild_buckets(a, e, w):
    for slot in range(w.lists.shape[0]):
        for position in range(w.lists.shape[1] // L_SIZE):
            run = np.int64(w.slots[slot, K_FRESH] if position == 0 else w.lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                if w.runs[run, R_OPEN] != 0:
                    enter_twins(w, run, bucket_of(a, e, w, run))
                    if a.params[P_INDEXED] and position > 0:
                        put_into_index(a.positions, w.runs, w.registers, w.buckets, slot, run)
                run = np.int64(w.runs[run, R_NEXT])
