"""One event and a run that waits at the end of its match: for nots (rule 7), for whole loops (rule 16).

Compiled functions for the kernel.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.deadlines import ending_due, guarded_until
from cepheid.engine.kernel.deciding import decide_ending, start_timers
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.stepping import greedy_takers, is_lost, truths


@compiled
def see_whole(a, e, w, run, row, node, event, is_next, held):
    """Show an event to the whole loops of an ending (rule 16). Returns whether none of them takes it; those that can
    take no more are struck out."""
    gone = np.uint64(0)
    if row[S_GAP]:
        gone = np.uint64(e.time[event]) - np.uint64(e.time[w.nodes[node, N_EVENT]])
    takers = 0
    if row[S_RIVALS] < row[S_RIVALS_END]:
        takers = greedy_takers(a, e, w, run, row, node, event, held, gone)
    is_open = w.runs[run, R_OPEN]
    for number in range(row[S_ENDINGS_END] - row[S_ENDINGS]):
        bit = 1 << (WHOLE + number)
        if not is_open & bit:
            continue
        way = row[S_ENDINGS] + number
        if is_lost(a, e, w, row[S_SINCE], way, node, event, is_next, held, takers, gone):
            is_open &= ~bit
            continue
        holds = held & a.sets[way, B_TAKES] != 0
        if holds and not held & a.sets[way, B_REFUSED]:
            return False
        kind = a.ways[way, C_KIND]
        if kind == STRICT or (holds and kind == RELAXED) or held & a.sets[way, B_NOT_FOLLOWED]:
            is_open &= ~bit
    w.runs[run, R_OPEN] = is_open
    return True


@inlined
def see_ending(a, e, w, slot, run, event, is_next):
    """Show an event to a run that only waits at its end (rules 7 and 16). Returns whether it goes on waiting."""
    node = w.runs[run, R_NODE]
    if w.runs[run, R_OPEN] == 0:
        return False
    if w.nodes[node, N_STATE] & COMPLETE:
        w.nodes[node, N_STATE] -= PENDING
        return False
    ending = w.runs[run, R_POSITION]
    row = a.positions[ending]
    held = truths(a, e, w, ending, event, run)
    waits = False
    for guard in range(row[S_CONTINUATIONS], row[S_CONTINUATIONS_END]):
        is_not_next = a.guards[guard, G_KIND] == NOT_NEXT
        if (is_not_next and not is_next) or guarded_until(a.params, a.guards, e.time, w.nodes, guard, node) <= e.time[
            event
        ]:
            continue
        if held >> np.uint64(a.guards[guard, G_PREDICATE]) & np.uint64(1):
            w.nodes[node, N_STATE] -= PENDING
            return False
        waits = waits or not is_not_next
    is_changed = is_next
    if row[S_ENDINGS] < row[S_ENDINGS_END]:
        before = w.runs[run, R_OPEN]
        if not see_whole(a, e, w, run, row, node, event, is_next, held):
            w.nodes[node, N_STATE] -= PENDING
            return False
        is_changed = is_changed or w.runs[run, R_OPEN] != before
        waits = waits or w.runs[run, R_OPEN] >> WHOLE != 0
    if not waits:
        decide_ending(w.runs, w.nodes, w.candidates, w.counters, run)
    elif is_changed:
        due = ending_due(a, e.time, w.runs, w.nodes, run, False)
        start_timers(a.params, e.ordinal, w.runs, w.extra, w.nodes, w.timers, w.counters, w.slots, slot, run, due)
    return waits
