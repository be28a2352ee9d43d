"""One event and one run: which predicates hold, what the run becomes, and what is left of its ways.

Compiled functions for the kernel. What a run takes leaves an entry among the *created*; runs are made of these when all
runs have seen the event.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.buffer import new_run
from cepheid.engine.kernel.compiling import inlined
from cepheid.engine.kernel.deadlines import way_deadline
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.machine import evaluate, update_registers


@inlined
def truths(a, e, w, position, event, run):
    """Which predicates of a position hold on an event for a run: bits that were computed beforehand, and programs
    where they stand."""
    held = e.bits[event, a.positions[position, S_PAGE]]
    for index in range(a.positions[position, S_PROGRAMS], a.positions[position, S_PROGRAMS_END], 2):
        bit = np.uint64(1) << np.uint64(a.lists[index])
        predicate = a.lists[index + 1]
        if held & bit:
            begin, end = a.programs[predicate, 0], a.programs[predicate, 1]
            if not evaluate(a.code, e.values, e.known, w.registers, w.stack, w.counters, begin, end, event, run):
                held &= ~bit
            if w.counters[Q_PROBLEM] != NONE and w.counters[Q_PROBLEM_VALUE] == NONE:
                w.counters[Q_PROBLEM_VALUE] = predicate
    return held


@inlined
def concerns(a, e, event, position):
    """Whether a predicate that matters at a position holds on an event, as far as the event alone tells."""
    return e.bits[event, a.positions[position, S_PAGE]] & a.interest[position] != 0


@inlined
def create(a, e, w, event, parent_run, parent_node, variable, target):
    """Note that a run took the event. Its registers are computed now, while the parent's are still there."""
    run = NONE
    if (
        a.positions[target, S_CONTINUATIONS] < a.positions[target, S_CONTINUATIONS_END]
        or a.positions[target, S_ENDINGS] < a.positions[target, S_ENDINGS_END]
        or a.params[P_NOT_BEFORE_READS] != 0
    ):
        run = new_run(w.runs, w.counters)
        w.runs[run, R_POSITION] = target
        if a.params[P_REGISTERS] > 0:
            update_registers(
                a.code,
                a.updates,
                a.updates_of,
                e.values,
                e.known,
                w.registers,
                w.stack,
                w.counters,
                parent_run,
                run,
                variable,
                event,
                w.nodes,
                parent_node,
            )
    count = w.counters[Q_CREATED]
    w.created[count, 0] = parent_node
    w.created[count, 1] = variable
    w.created[count, 2] = target
    w.created[count, 3] = run
    w.counters[Q_CREATED] = count + 1


@inlined
def greedy_takers(a, e, w, run, row, node, event, held, gone):
    """The greedy loops that could take an event, as bits (rule 5). Those whose link or until is over are struck out."""
    takers = 0
    rivals = w.extra[run, X_RIVALS]
    if rivals:
        for number in range(row[S_RIVALS_END] - row[S_RIVALS]):
            if not rivals >> number & 1:
                continue
            rival = row[S_RIVALS] + number
            if held & a.rival_sets[rival, B_OVER]:
                rivals &= ~(1 << number)
                continue
            holds = held & a.rival_sets[rival, B_TAKES] != 0
            if holds and gone < np.uint64(a.rivals[rival, C_GAP]) and not held & a.rival_sets[rival, B_REFUSED]:
                if not row[S_SINCE] or e.time[event] < way_deadline(a, e.time, w.nodes, rival, a.rivals[rival], node):
                    takers |= 1 << number
            if (
                a.rivals[rival, C_KIND] == STRICT
                or (holds and a.rivals[rival, C_KIND] == RELAXED)
                or held & a.rival_sets[rival, B_NOT_FOLLOWED]
            ):
                rivals &= ~(1 << number)
        w.extra[run, X_RIVALS] = rivals
    return takers


@inlined
def is_lost(a, e, w, since, way, node, event, is_next, held, takers, gone):
    """Whether a continuation ends at an event before it can take it: by a not, an until, a greedy loop, or time.
    (Without the comparisons with 0 the parts have different types, and the compiler makes doubles of them.)"""
    return (
        (is_next and held & a.sets[way, B_NOT_NEXT] != 0)  # rule 7
        or held & a.sets[way, B_OVER] != 0  # rule 4
        or takers & a.ways[way, C_RIVALS] != 0  # rule 5
        or gone >= np.uint64(a.ways[way, C_GAP])  # rule 6
        or (since != 0 and e.time[event] >= way_deadline(a, e.time, w.nodes, way, a.ways[way], node))  # rule 17
    )


@inlined
def step(a, e, w, run, position, event, is_next):
    """Show an event to a run. What is left of its continuations and rivals is written back."""
    row = a.positions[position]
    held = truths(a, e, w, position, event, run)
    node = w.runs[run, R_NODE]
    gone = np.uint64(0)
    if row[S_GAP]:
        gone = np.uint64(e.time[event]) - np.uint64(e.time[w.nodes[node, N_EVENT]])
    takers = 0
    if row[S_RIVALS] < row[S_RIVALS_END]:
        takers = greedy_takers(a, e, w, run, row, node, event, held, gone)
    is_open = w.runs[run, R_OPEN]
    first, since, guarded = row[S_CONTINUATIONS], row[S_SINCE], row[S_GUARDED]
    for number in range(row[S_CONTINUATIONS_END] - first):
        if not is_open >> number & 1:
            continue
        way = first + number
        kind = a.ways[way, C_KIND]
        holds = held & a.sets[way, B_TAKES] != 0
        if guarded and is_lost(a, e, w, since, way, node, event, is_next, held, takers, gone):
            is_open &= ~(1 << number)
            continue
        if holds and not held & a.sets[way, B_REFUSED]:
            create(a, e, w, event, run, node, a.ways[way, C_VARIABLE], a.ways[way, C_TARGET])
        if kind == STRICT or (holds and kind == RELAXED) or held & a.sets[way, B_NOT_FOLLOWED]:  # rules 2 and 7
            is_open &= ~(1 << number)
    w.runs[run, R_OPEN] = is_open


@inlined
def begin_runs(a, e, w, event):
    """The runs that start at an event: no link and no guard binds them (rule 1). Run 0 has taken nothing yet."""
    row = a.positions[0]
    held = truths(a, e, w, 0, event, np.int64(0))
    for way in range(row[S_CONTINUATIONS], row[S_CONTINUATIONS_END]):
        if held & a.sets[way, B_TAKES] and not held & a.sets[way, B_REFUSED]:
            create(a, e, w, event, np.int64(0), NONE, a.ways[way, C_VARIABLE], a.ways[way, C_TARGET])
