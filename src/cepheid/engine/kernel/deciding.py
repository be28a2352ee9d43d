"""What time and matches decide: the skip filter, nots at the end, timeouts.

Compiled functions for the kernel.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.buffer import sort_nodes
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.deadlines import earliest_deadline, ending_due, last_deadline, later_by, way_deadline
from cepheid.engine.kernel.forbidding import forbid, is_forbidden, was_forbidden
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.machine import evaluate
from cepheid.engine.kernel.timers import add_timer, pop_timer


@compiled
def start_timers(params, ordinal, runs, extra, nodes, timers, counters, slots, slot, run, due):
    """Have a run looked at when it is due, and when its count window ends."""
    if due != NEVER:
        add_timer(timers, counters, slots, slot, K_TIMERS, due, run, extra[run, X_GENERATION])
    if params[P_COUNT] != NEVER:
        last = ordinal[nodes[runs[run, R_NODE], N_START]] + params[P_COUNT]
        add_timer(timers, counters, slots, slot, K_COUNT_TIMERS, last, run, extra[run, X_GENERATION])


@compiled
def happened_before(params, not_before, programs, time, ordinal, before, start, last):
    """Whether a not at the start that reads no variables is violated; `before` holds, for each event, the last one
    before it that satisfies it."""
    for index in range(params[P_NOT_BEFORE]):
        place = before[start, 2 * index]
        predicate = not_before[index, F_PREDICATE]
        if place == NONE or programs[predicate, 0] < programs[predicate, 1]:
            continue
        if params[P_COUNT] != NEVER:
            if ordinal[last] - place < params[P_COUNT]:
                return True
        elif np.uint64(time[last]) - np.uint64(before[start, 2 * index + 1]) < np.uint64(params[P_WITHIN]):
            return True
    return False


@compiled
def is_forestalled(a, e, w, run, start, last):
    """Whether a not at the start that reads variables is violated, for a match with the registers of a run.

    Known when the last event is taken, also where nots at the end are still to be decided: all that it depends on is
    there by then. The events in question form a chain, the latest first.
    """
    for index in range(a.params[P_NOT_BEFORE]):
        predicate = a.not_before[index, F_PREDICATE]
        begin, end = a.programs[predicate, 0], a.programs[predicate, 1]
        event = e.before[start, 2 * index] if begin < end else np.int64(NONE)
        while event != NONE:
            if a.params[P_COUNT] != NEVER:
                if e.ordinal[last] - e.ordinal[event] >= a.params[P_COUNT]:
                    break
            elif np.uint64(e.time[last]) - np.uint64(e.time[event]) >= np.uint64(a.params[P_WITHIN]):
                break
            holds = evaluate(a.code, e.values, e.known, w.registers, w.stack, w.counters, begin, end, event, run)
            if w.counters[Q_PROBLEM] != NONE and w.counters[Q_PROBLEM_VALUE] == NONE:
                w.counters[Q_PROBLEM_VALUE] = predicate
            if holds:
                return True
            event = e.before[event, 2 * index]
    return False


@compiled
def emit(a, e, w, slot, partition, moment):
    """The candidates of one moment, in order, through the skip filter. Returns DONE or what is wrong."""
    count = w.counters[Q_CANDIDATES]
    w.counters[Q_CANDIDATES] = 0
    if count > 1:
        sort_nodes(w.nodes, w.candidates, w.spare, count)
    emitted = 0
    for place in range(count):
        node = w.candidates[place]
        start = w.nodes[node, N_START]
        if is_forbidden(a, e, w, slot, start):
            continue
        if a.params[P_NOT_BEFORE] > 0:
            last = w.nodes[node, N_EVENT]
            if happened_before(a.params, a.not_before, a.programs, e.time, e.ordinal, e.before, start, last):
                continue
        emitted += 1
        if emitted > a.params[P_MAX_MATCHES]:
            w.counters[Q_PROBLEM_VALUE] = count
            return TOO_MANY_MATCHES
        if a.params[P_ONCE_PER] == 0 or moment >= w.slots[slot, K_SILENT_UNTIL]:  # rule 19
            out = w.counters[Q_MATCHES]
            w.matches[out, 0] = node
            w.matches[out, 1] = moment
            w.matches[out, 2] = partition
            w.counters[Q_MATCHES] = out + 1
            w.slots[slot, K_SILENT_UNTIL] = later_by(moment, a.params[P_ONCE_PER])
        if a.params[P_SKIP] != NO_SKIP:
            problem = forbid(a.params, e.ordinal, e.forbidden, w.nodes, w.slots, slot, node, moment)
            if problem != DONE:
                return problem
    return DONE


@inlined
def decide_ending(runs, nodes, candidates, counters, run):
    """An ending's nots have run their time: its node is complete. The run leaves its list when that is walked next."""
    node = runs[run, R_NODE]
    is_match = not runs[run, R_OPEN] & FORESTALLED
    runs[run, R_OPEN] = 0
    nodes[node, N_STATE] -= PENDING
    if not nodes[node, N_STATE] & COMPLETE:
        nodes[node, N_STATE] |= COMPLETE
        if is_match:
            candidates[counters[Q_CANDIDATES]] = node
            counters[Q_CANDIDATES] += 1


@compiled
def pop_due(timers, counters, slots, extra, due, window_ended, slot, moment, ordinal, is_end):
    """Take off the timers that fall due; returns how many runs they name."""
    count = 0
    while slots[slot, K_TIMERS] != NONE and timers[slots[slot, K_TIMERS], T_DUE] <= moment:
        timer = pop_timer(timers, counters, slots, slot, K_TIMERS)
        if extra[timers[timer, T_RUN], X_GENERATION] == timers[timer, T_GENERATION]:
            due[count] = timers[timer, T_RUN]
            window_ended[count] = 0
            count += 1
    while slots[slot, K_COUNT_TIMERS] != NONE:
        if not is_end and timers[slots[slot, K_COUNT_TIMERS], T_DUE] > ordinal:
            break
        timer = pop_timer(timers, counters, slots, slot, K_COUNT_TIMERS)
        if extra[timers[timer, T_RUN], X_GENERATION] == timers[timer, T_GENERATION]:
            due[count] = timers[timer, T_RUN]
            window_ended[count] = 1
            count += 1
    return count


@compiled
def decide_without_deadline(a, e, w, slot, run, moment):
    """The input ends (rules 6 and 16): what the endings of a list wait for without a deadline, a not_next or a whole
    loop, ends now; nots with one go on guarding."""
    while run != NONE:
        if w.runs[run, R_POSITION] >= a.params[P_POSITIONS] and w.runs[run, R_OPEN] != 0:
            if ending_due(a, e.time, w.runs, w.nodes, run, True) == NEVER:
                last = last_deadline(a, e.time, w.runs, w.nodes, run)
                if last <= moment:
                    decide_ending(w.runs, w.nodes, w.candidates, w.counters, run)
                else:
                    add_timer(w.timers, w.counters, w.slots, slot, K_TIMERS, last, run, w.extra[run, X_GENERATION])
        run = np.int64(w.runs[run, R_NEXT])


@compiled
def moment_decided(a, e, w, slot, partition, moment, ordinal, is_end):
    """Decide everything that falls due at one moment: timeouts first, then matches. Returns DONE or what is wrong."""
    due = pop_due(w.timers, w.counters, w.slots, w.extra, w.due, w.window_ended, slot, moment, ordinal, is_end)
    reports = 0
    for place in range(due):
        run = w.due[place]
        position = w.runs[run, R_POSITION]
        if position >= a.params[P_POSITIONS] or w.runs[run, R_OPEN] == 0:
            continue
        node = w.runs[run, R_NODE]
        start = w.nodes[node, N_START]
        if was_forbidden(a, e, w, slot, start, moment):
            continue
        first = a.positions[position, S_CONTINUATIONS]
        for way in range(first, a.positions[position, S_CONTINUATIONS_END]):
            if w.window_ended[place] or way_deadline(a, e.time, w.nodes, way, a.ways[way], node) <= moment:
                w.runs[run, R_OPEN] &= ~(1 << (way - first))
        if w.runs[run, R_OPEN] == 0:
            w.nodes[node, N_STATE] -= OPEN
            if w.nodes[node, N_STATE] & ~VARIABLE == 0:  # neither complete nor pending, and no other place is open
                w.candidates[reports] = node
                reports += 1
        else:
            following = earliest_deadline(a, e.time, w.runs, w.nodes, run)
            if following != NEVER:
                add_timer(w.timers, w.counters, w.slots, slot, K_TIMERS, following, run, w.extra[run, X_GENERATION])
    if reports > 1:
        sort_nodes(w.nodes, w.candidates, w.spare, reports)
    for place in range(reports):
        out = w.counters[Q_TIMEOUTS]
        w.timeouts[out, 0] = w.candidates[place]
        w.timeouts[out, 1] = moment
        w.timeouts[out, 2] = partition
        w.counters[Q_TIMEOUTS] = out + 1
    for place in range(due):
        run = w.due[place]
        if w.runs[run, R_POSITION] >= a.params[P_POSITIONS] and w.runs[run, R_OPEN] != 0:
            decide_ending(w.runs, w.nodes, w.candidates, w.counters, run)
    if is_end:
        decide_without_deadline(a, e, w, slot, np.int64(w.slots[slot, K_FRESH]), moment)
        for position in range(a.params[P_POSITIONS], w.lists.shape[1] // L_SIZE):
            decide_without_deadline(a, e, w, slot, np.int64(w.lists[slot, L_SIZE * position + L_HEAD]), moment)
    if w.counters[Q_CANDIDATES] > 0:
        return emit(a, e, w, slot, partition, moment)
    return DONE


@compiled
def fall_due(a, e, w, slot, partition, moment):
    """Decide, moment by moment, what falls due before a moment. Returns DONE or what is wrong."""
    while w.slots[slot, K_TIMERS] != NONE and w.timers[w.slots[slot, K_TIMERS], T_DUE] < moment:
        due = w.timers[w.slots[slot, K_TIMERS], T_DUE]
        problem = moment_decided(a, e, w, slot, partition, due, np.int64(NONE), False)
        if problem != DONE:
            return problem
    return DONE
