"""The shared buffer: runs and nodes, their order, what a match took, and the collection of what no run reaches.

Compiled functions for the kernel. A node is a partial match: its last event, the variable that took it, the node
before.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.kernel.layout import *


@inlined
def new_run(runs, counters):
    run = counters[Q_FREE_RUN]
    if run != NONE:
        counters[Q_FREE_RUN] = runs[run, R_NEXT]
    else:
        run = counters[Q_USED_RUNS]
        counters[Q_USED_RUNS] = run + 1
    return run


@inlined
def free_run(runs, extra, counters, run):
    """Let a run's place be used again; its generation tells timers that it is gone."""
    if len(extra) > 1:
        extra[run, X_GENERATION] += 1
    runs[run, R_NEXT] = counters[Q_FREE_RUN]
    counters[Q_FREE_RUN] = run


@inlined
def new_node(nodes, counters, event, previous, variable):
    node = counters[Q_USED_NODES]
    counters[Q_USED_NODES] = node + 1
    nodes[node, N_EVENT] = event
    nodes[node, N_PREVIOUS] = previous
    nodes[node, N_STATE] = variable
    if previous == NONE:
        nodes[node, N_START] = event
        nodes[node, N_DEPTH] = 1
    else:
        nodes[node, N_START] = nodes[previous, N_START]
        nodes[node, N_DEPTH] = nodes[previous, N_DEPTH] + 1
    return node


@compiled
def precedes(nodes, one, other):
    """Whether a node comes before another in the order of rule 8.

    By start; of two with one start, the one that took the event at which they part, and of two that both took it the
    earlier variable. Nodes form a tree, so they part right below the last node that they have in common.
    """
    if nodes[one, N_START] != nodes[other, N_START]:
        return nodes[one, N_START] < nodes[other, N_START]
    longer = nodes[one, N_DEPTH] > nodes[other, N_DEPTH]
    while nodes[one, N_DEPTH] > nodes[other, N_DEPTH]:
        one = nodes[one, N_PREVIOUS]
    while nodes[other, N_DEPTH] > nodes[one, N_DEPTH]:
        other = nodes[other, N_PREVIOUS]
    if one == other:
        return longer
    while nodes[one, N_PREVIOUS] != nodes[other, N_PREVIOUS]:
        one, other = nodes[one, N_PREVIOUS], nodes[other, N_PREVIOUS]
    if nodes[one, N_EVENT] != nodes[other, N_EVENT]:
        return nodes[one, N_EVENT] < nodes[other, N_EVENT]
    return nodes[one, N_STATE] & VARIABLE < nodes[other, N_STATE] & VARIABLE


@compiled
def sort_nodes(nodes, listed, spare, count):
    """Order the first entries of a list of nodes by `precedes` (a merge sort, bottom up)."""
    if count == 2:
        if precedes(nodes, listed[1], listed[0]):
            listed[0], listed[1] = listed[1], listed[0]
        return
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                if left < middle and (right >= end or not precedes(nodes, listed[right], listed[left])):
                    spare[place, 0] = listed[left]
                    left += 1
                else:
                    spare[place, 0] = listed[right]
                    right += 1
        for place in range(count):
            listed[place] = spare[place, 0]
        width *= 2


@entrance(allocates=True)
def extract(nodes, listed, ends):
    """The variables and events of the listed nodes, each from its first event on; `ends`: where each one's entries
    end."""
    total = ends[len(ends) - 1] if len(ends) else 0
    variables = np.empty(total, np.int64)
    events = np.empty(total, np.int64)
    for index in range(len(listed)):
        node = np.int64(listed[index])
        place = ends[index] - 1
        while node != NONE:
            variables[place] = nodes[node, N_STATE] & VARIABLE
            events[place] = nodes[node, N_EVENT]
            node = np.int64(nodes[node, N_PREVIOUS])
            place -= 1
    return variables, events


@entrance(allocates=True)
def collect(lists, slots, runs, nodes, counters):
    """Drop the nodes that no run reaches. A node stands behind its predecessor, so one pass moves them all."""
    used = counters[Q_USED_NODES]
    place_of = np.full(used, NONE, np.int32)
    positions = lists.shape[1] // L_SIZE
    for slot in range(lists.shape[0]):
        for position in range(positions):
            run = np.int64(slots[slot, K_FRESH] if position == 0 else lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                node = runs[run, R_NODE]
                while node != NONE and place_of[node] == NONE:
                    place_of[node] = 0
                    node = nodes[node, N_PREVIOUS]
                run = np.int64(runs[run, R_NEXT])
    kept = 0
    for node in range(used):
        if place_of[node] == NONE:
            continue
        place_of[node] = kept
        nodes[kept] = nodes[node]
        if nodes[kept, N_PREVIOUS] != NONE:
            nodes[kept, N_PREVIOUS] = place_of[nodes[kept, N_PREVIOUS]]
        kept += 1
    for slot in range(lists.shape[0]):
        for position in range(positions):
            run = np.int64(slots[slot, K_FRESH] if position == 0 else lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                runs[run, R_NODE] = place_of[runs[run, R_NODE]]
                run = np.int64(runs[run, R_NEXT])
    counters[Q_USED_NODES] = kept


@entrance(allocates=True)
def live_runs(lists, slots, runs):
    """All runs that wait somewhere."""
    found = np.empty(len(runs), np.int64)
    count = 0
    for slot in range(lists.shape[0]):
        for position in range(lists.shape[1] // L_SIZE):
            run = np.int64(slots[slot, K_FRESH] if position == 0 else lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                found[count] = run
                count += 1
                run = np.int64(runs[run, R_NEXT])
    return found[:count]
