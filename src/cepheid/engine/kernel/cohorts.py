"""One event of one partition, shown to cohorts: partial matches with the same future, as one.

In: the pattern's tables, columns of events, a pool of cohorts and histories. Out: the matches, listed, in the order of
their emission. Called by `runs.cohorts`; `tables.compact` says for which patterns this gives the same answer as runs
(`events`), and proves it.

1. A *cohort* is a run whose node is a set of histories (`histories`). It sees an event as a run does (`stepping.step`):
   what it takes becomes one new history, whatever the number of partial matches behind it.
2. Of two cohorts with the same position, open continuations, rivals, registers and, where a bound since the previous
   event lies ahead, time of the last event, one takes over the histories of the other. A table of buckets (`twins`)
   finds it. This is done when the event has been shown to all: until then a cohort may change, or be still to see it.
3. A cohort waits in the list of its position; a new one where the next event matters (strict links, `not_next`) among
   the fresh ones first. Lists, index and sweeping are those of runs.
4. What the event completes is listed (`listing`). If it does not fit into the output, the event is gone on with in the
   next call, at the stage that it had come to.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.buffer import free_run
from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.cohort_lists import (
    clear_cohorts,
    leave_twins,
    rebuild_buckets,
    sweep_cohorts,
    taken_over,
    wait,
)
from cepheid.engine.kernel.compiling import borrowed, compiled, inlined
from cepheid.engine.kernel.counting import count_matches
from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.kernel.events import most_created, note_not_before
from cepheid.engine.kernel.few_matches import list_few
from cepheid.engine.kernel.first_match import first_match
from cepheid.engine.kernel.histories import collect_histories, new_history
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.listing import draw, list_matches
from cepheid.engine.kernel.lists import is_gone, take_from_index
from cepheid.engine.kernel.occupied import is_passed_by, to_be_walked
from cepheid.engine.kernel.stepping import begin_runs, concerns, step
from cepheid.engine.kernel.walking import walker


@inlined
def show_cohort(a, e, w, slot, run, place, event, is_next):
    """Show an event to a cohort and note whether it must be placed anew; one that was fresh must. Returns whether it
    goes on waiting."""
    is_open = w.runs[run, R_OPEN]
    if is_open == 0:
        return False
    if is_gone(a, e, w, slot, w.nodes[w.runs[run, R_NODE], N_START], event):
        leave_twins(w.runs, w.twins, run)
        return False
    rivals = w.extra[run, X_RIVALS] if len(w.extra) > 1 else np.int32(0)
    step(a, e, w, run, place, event, is_next)
    is_over = w.runs[run, R_OPEN] == 0
    is_changed = w.runs[run, R_OPEN] != is_open or (len(w.extra) > 1 and w.extra[run, X_RIVALS] != rivals)
    if is_over or is_changed or is_next:
        leave_twins(w.runs, w.twins, run)
    if is_next:
        w.runs[run, E_PLACE] = LOOSE
    if not is_over and (is_changed or is_next):
        w.changed[w.counters[Q_CHANGED]] = run
        w.counters[Q_CHANGED] += 1
    return not is_over


walk_cohorts = walker(show_cohort)


@inlined
def make_histories(a, w, event):
    """Give every created cohort its history, and list those that are complete. A cohort that takes an event by one
    variable in two ways to one place has one history of it."""
    kept = 0
    for place in range(w.counters[Q_CREATED]):
        parent, variable, target = w.created[place, 0], w.created[place, 1], w.created[place, 2]
        run = np.int64(w.created[place, 3])
        other = kept - 1
        while a.params[P_AMBIGUOUS] and other >= 0 and w.created[other, 0] == parent:
            if w.created[other, 1] == variable and w.created[other, 2] == target:
                break
            other -= 1
        if a.params[P_AMBIGUOUS] and other >= 0 and w.created[other, 0] == parent:
            if run != NONE:
                free_run(w.runs, w.extra, w.counters, run)
            continue
        node = new_history(w.nodes, w.counters, event, parent, variable)
        w.created[kept, 0] = parent
        w.created[kept, 1] = variable
        w.created[kept, 2] = target
        w.created[kept, 3] = run
        w.created[kept, 4] = node
        kept += 1
        if a.positions[target, S_ACCEPTS]:
            w.candidates[w.counters[Q_CANDIDATES]] = node
            w.counters[Q_CANDIDATES] += 1
    w.counters[Q_CREATED] = kept


@inlined
def place_changed(a, e, w, slot, event):
    """Place anew the cohorts that the event has changed; first end those whose starts it has forbidden, so that none
    of them is swept while it is in no bucket."""
    for place in range(w.counters[Q_CHANGED]):
        run = np.int64(w.changed[place])
        if is_gone(a, e, w, slot, w.nodes[w.runs[run, R_NODE], N_START], event):
            end_changed(a, w, slot, run)
    for place in range(w.counters[Q_CHANGED]):
        run = np.int64(w.changed[place])
        if w.runs[run, R_OPEN] == 0:
            continue
        is_loose = w.runs[run, E_PLACE] == LOOSE
        w.runs[run, E_PLACE] = WAITING
        if taken_over(a, e, w, slot, run, event, False):
            w.runs[run, E_PLACE] = LOOSE if is_loose else WAITING
            end_changed(a, w, slot, run)
        elif is_loose:
            wait(a, e, w, slot, run, event)
    w.counters[Q_CHANGED] = 0


@inlined
def end_changed(a, w, slot, run):
    """A changed cohort is over. One that is in a list leaves it when that is walked or swept."""
    w.runs[run, R_OPEN] = 0
    if w.runs[run, E_PLACE] == LOOSE:
        free_run(w.runs, w.extra, w.counters, run)
        w.slots[slot, K_LIVE] -= 1
    elif a.params[P_INDEXED]:
        take_from_index(a.positions, w.runs, w.registers, w.buckets, slot, run)


@inlined
def place_created(a, e, w, slot, event):
    """Let what was created wait where it stands, without the registers that nothing ahead reads."""
    last = w.registers.shape[1] - 1
    for place in range(w.counters[Q_CREATED]):
        run = np.int64(w.created[place, 3])
        if run == NONE:
            continue
        node, target = np.int64(w.created[place, 4]), w.created[place, 2]
        row = a.positions[target]
        if row[S_CONTINUATIONS] == row[S_CONTINUATIONS_END] or is_gone(a, e, w, slot, w.nodes[node, N_START], event):
            free_run(w.runs, w.extra, w.counters, run)
            continue
        w.runs[run, R_NODE] = node
        w.runs[run, R_OPEN] = (1 << (row[S_CONTINUATIONS_END] - row[S_CONTINUATIONS])) - 1
        w.runs[run, E_PLACE] = FRESH if row[S_FRESH] else WAITING
        if len(w.owner) > 1:
            w.owner[run] = slot
        if len(w.extra) > 1:
            w.extra[run, X_RIVALS] = (1 << (row[S_RIVALS_END] - row[S_RIVALS])) - 1
        if a.params[P_REGISTERS] > 0:
            for register in range(last):
                if not w.read[target] >> np.uint64(register) & np.uint64(1):
                    w.registers[run, register] = 0
            w.registers[run, last] &= np.int64(w.read[target])
        if taken_over(a, e, w, slot, run, event, True):
            free_run(w.runs, w.extra, w.counters, run)
        else:
            w.slots[slot, K_LIVE] += 1
            wait(a, e, w, slot, run, event)
    w.counters[Q_CREATED] = 0


@inlined
def has_room(a, e, w, slot, event):
    """Whether the pool has room for whatever one event may create; looked at closely only where it is scarce."""
    if w.counters[Q_USED_NODES] > w.counters[Q_CHECK_AT]:
        return False
    if fits(w, (w.slots[slot, K_LIVE] + 1) * (a.params[P_BRANCH] + 1) + 2, STACK):
        return True
    digits = 1
    while w.counters[Q_USED_NODES] >> digits:
        digits += 1
    return fits(w, 2 * most_created(a, e, w, slot, event), 2 * digits + 3)


@inlined
def fits(w, most, nodes):
    """Whether there is room for so many cohorts created or changed, each of which may cost so many nodes: a history
    and the right spines of two sets."""
    return (
        w.counters[Q_USED_RUNS] + most <= w.runs.shape[0]
        and w.counters[Q_USED_NODES] + most * nodes <= w.nodes.shape[0]
        and most <= w.created.shape[0]
    )


@inlined
def put_out_candidates(a, e, w, slot, event):
    """The matches that an event completes, through the skip filter. Returns DONE, FULL, or what is wrong."""
    if w.counters[Q_COUNTS]:
        w.counters[Q_STAGE] = TO_BE_LISTED
        return count_matches(a, e, w, slot, event)
    if a.params[P_SKIP] == PAST_LAST:
        w.counters[Q_STAGE] = TO_BE_LISTED
        return first_match(a, e, w, slot, event)
    if w.counters[Q_STAGE] == TO_BE_SHOWN:
        w.counters[Q_EMITTED] = 0
        status = list_few(a, e, w, slot, event)
        if status != NONE:
            return status
        w.counters[Q_STAGE] = TO_BE_DRAWN
    if w.counters[Q_STAGE] == TO_BE_DRAWN:
        if draw(a, e, w, slot, event) == FULL:
            return FULL
        w.counters[Q_STAGE] = TO_BE_LISTED
    return list_matches(a, e, w, slot, event)


@inlined
def handle_cohorts(a, e, w, slot, event):
    """One event of one partition. Returns DONE, GROW (nothing has happened yet), FULL (call again), or what is
    wrong."""
    if w.counters[Q_STAGE] == TO_BE_SHOWN:
        first = to_be_walked(a, e, w, slot, event, 0)
        if is_passed_by(a, e, w, slot, event, first):
            return DONE
        if not has_room(a, e, w, slot, event):
            return GROW
        if a.params[P_NOT_BEFORE] > 0:
            note_not_before(a, e, w, slot, event)
        if w.slots[slot, K_LIVE] > 0:
            walk_cohorts(a, e, w, slot, event, first)
        if concerns(a, e, event, 0):
            begin_runs(a, e, w, event)
        if w.counters[Q_PROBLEM] != NONE:
            return w.counters[Q_PROBLEM]
        if w.counters[Q_CREATED] > 0:
            make_histories(a, w, event)
    if w.counters[Q_CANDIDATES] > 0:
        status = put_out_candidates(a, e, w, slot, event)
        if status != DONE:
            return status
        w.counters[Q_STAGE] = TO_BE_SHOWN
        w.counters[Q_CANDIDATES] = 0
        if w.slots[slot, K_FIRST_ALLOWED] > e.ordinal[event] and len(w.owner) == 1:
            clear_cohorts(a, w, slot)  # every start there is is forbidden; of several partitions, they are swept
            return DONE
    if w.counters[Q_CHANGED] > 0:
        place_changed(a, e, w, slot, event)
    if w.counters[Q_CREATED] > 0:
        place_created(a, e, w, slot, event)
    return DONE


@compiled
def run_cohorts(a, e, w, bounds, slot_of, progress):
    is_whole = len(slot_of) == 0
    while progress[0] < len(bounds) - 1:
        begin, end = bounds[progress[0]], bounds[progress[0] + 1]
        slot = np.int64(0) if is_whole else slot_of[progress[0]]
        if is_whole and progress[1] == begin and w.counters[Q_STAGE] == TO_BE_SHOWN:
            clear_cohorts(a, w, slot)
            for place in range(K_BEFORE, w.slots.shape[1]):
                w.slots[slot, place] = NONE
            w.slots[slot, K_FIRST_ALLOWED] = e.ordinal[begin] if begin < end else 0
        for event in range(progress[1], end):
            status = handle_cohorts(a, e, w, slot, event)
            if status != DONE:
                progress[1] = event
                return status
        progress[1] = end
        if end > begin:
            w.slots[slot, K_NOW] = e.time[end - 1]
        progress[0] += 1
    return DONE


@entrance("handle_cohorts")
def match_cohorts(arrays, columns, pool, bounds, slot_of, progress):
    """Match sorted partitions one after the other. `slot_of`: the slots that they live in from call to call; empty
    where each partition is whole, begins anew and is forgotten. `progress`: the partition and the event to go on
    with."""
    return run_cohorts(borrowed(arrays), borrowed(columns), borrowed(pool), bounds, slot_of, progress)


@entrance(allocates=True)
def collect(arrays, columns, pool, ordinals):
    """Drop what is over by now: cohorts, then histories. Returns how many histories each partition has. `ordinals`: of
    the event that comes next in each."""
    for slot in range(pool.lists.shape[0]):
        if pool.slots[slot, K_LIVE] > 0:
            for position in range(1, pool.lists.shape[1] // L_SIZE):
                sweep_cohorts(arrays, columns, pool, slot, position, pool.slots[slot, K_NOW], ordinals[slot])
    return collect_histories(arrays, columns, pool, ordinals)


@entrance()
def rebuild(arrays, columns, pool):
    """Chain all cohorts anew after the buckets were replaced by empty ones."""
    rebuild_buckets(borrowed(arrays), borrowed(columns), borrowed(pool))
