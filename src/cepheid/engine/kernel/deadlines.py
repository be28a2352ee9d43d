"""When time is over: for continuations, for nots at the end, for endings (rules 6, 7, 16 and 17).

Compiled functions for the kernel.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *


@inlined
def later_by(moment, length):
    """A moment plus a length, NEVER where that is beyond all times."""
    if length == NEVER or moment > NEVER - length:
        return np.int64(NEVER)
    return moment + length


@compiled
def way_deadline(a, time, nodes, way, row, node):
    """When time is over for a continuation, rival or whole loop (`row` of `way`): the least of the pattern's window and
    its bounds (rules 6 and 17), but not before the event taken last."""
    due = min(
        later_by(time[nodes[node, N_START]], a.params[P_WITHIN]), later_by(time[nodes[node, N_EVENT]], row[C_GAP])
    )
    for index in range(row[C_SINCE], row[C_SINCE_END], 2):
        link = np.int64(node)
        while link != NONE and nodes[link, N_STATE] & VARIABLE != a.lists[index]:
            link = np.int64(nodes[link, N_PREVIOUS])
        if link != NONE:
            due = min(due, later_by(time[nodes[link, N_EVENT]], a.lists[index + 1]))
    return max(due, time[nodes[node, N_EVENT]])


@compiled
def earliest_deadline(a, time, runs, nodes, run):
    """When the first open continuation of a run runs out of time."""
    node = runs[run, R_NODE]
    position = runs[run, R_POSITION]
    due = np.int64(NEVER)
    first = a.positions[position, S_CONTINUATIONS]
    for way in range(first, a.positions[position, S_CONTINUATIONS_END]):
        if runs[run, R_OPEN] >> (way - first) & 1:
            due = min(due, way_deadline(a, time, nodes, way, a.ways[way], node))
    return due


@compiled
def guarded_until(params, guards, time, nodes, guard, node):
    """When a not at the end stops guarding (rule 7)."""
    window = later_by(time[nodes[node, N_START]], params[P_WITHIN])
    return min(window, later_by(time[nodes[node, N_EVENT]], guards[guard, G_WINDOW]))


@compiled
def ending_due(a, time, runs, nodes, run, is_next):
    """When an ending waits for nothing more: nots have stopped guarding, a not_next only counts until the next event,
    and whole loops are out of time."""
    ending, node = runs[run, R_POSITION], runs[run, R_NODE]
    due = np.int64(-NEVER)
    for guard in range(a.positions[ending, S_CONTINUATIONS], a.positions[ending, S_CONTINUATIONS_END]):
        if is_next or a.guards[guard, G_KIND] == NOT_FOLLOWED:
            due = max(due, guarded_until(a.params, a.guards, time, nodes, guard, node))
    first = a.positions[ending, S_ENDINGS]
    for way in range(first, a.positions[ending, S_ENDINGS_END]):
        if runs[run, R_OPEN] >> (WHOLE + way - first) & 1:
            due = max(due, way_deadline(a, time, nodes, way, a.ways[way], node))
    return due


@compiled
def last_deadline(a, time, runs, nodes, run):
    """The last deadline of what an ending waits for and that has one; -NEVER if nothing has."""
    ending, node = runs[run, R_POSITION], runs[run, R_NODE]
    due = np.int64(-NEVER)
    for guard in range(a.positions[ending, S_CONTINUATIONS], a.positions[ending, S_CONTINUATIONS_END]):
        until = guarded_until(a.params, a.guards, time, nodes, guard, node)
        if until != NEVER:
            due = max(due, until)
    first = a.positions[ending, S_ENDINGS]
    for way in range(first, a.positions[ending, S_ENDINGS_END]):
        if runs[run, R_OPEN] >> (WHOLE + way - first) & 1:
            until = way_deadline(a, time, nodes, way, a.ways[way], node)
            if until != NEVER:
                due = max(due, until)
    return due


@compiled
def is_out_of_time(a, time, runs, nodes, run, moment):
    """Whether the time of all open continuations of a run is over."""
    node, position = runs[run, R_NODE], runs[run, R_POSITION]
    first = a.positions[position, S_CONTINUATIONS]
    for way in range(first, a.positions[position, S_CONTINUATIONS_END]):
        if runs[run, R_OPEN] >> (way - first) & 1:
            if way_deadline(a, time, nodes, way, a.ways[way], node) > moment:
                return False
    return True
