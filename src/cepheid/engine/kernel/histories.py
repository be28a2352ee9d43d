"""Sets of histories: what the partial matches of a cohort took.

Compiled functions for the kernel. A *history* is a node: an event, the variable that took it, and the set of histories
before it (NONE at a start). A *set* is a heap of such nodes, ordered by latest start:

1. The root has the latest start of the set, so a set whose root's start is out (of its window, or forbidden) is out
   altogether: it is dropped whole, and walking a set costs no more than its members that are in, times three.
2. Sets share their parts and never change. Joining two copies the nodes on the right spines only (a weight-biased
   leftist heap: the right part is never the heavier, so a right spine is as long as the logarithm of the weight at
   most). A new history whose start is no earlier than the root's takes the old set as its left part: one node.
3. What a node refers to was made before it, so one pass over the nodes in their order renumbers them all.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import allocating, compiled, inlined
from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.kernel.forbidding import is_forbidden
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_out


@inlined
def new_history(nodes, counters, event, previous, variable):
    """A set of one history."""
    node = counters[Q_USED_NODES]
    counters[Q_USED_NODES] = node + 1
    nodes[node, N_EVENT] = event
    nodes[node, N_PREVIOUS] = previous
    nodes[node, N_START] = event if previous == NONE else nodes[previous, N_START]
    nodes[node, H_VARIABLE] = variable
    nodes[node, H_LEFT] = NONE
    nodes[node, H_RIGHT] = NONE
    nodes[node, H_WEIGHT] = 1
    return node


@inlined
def weight(nodes, node):
    return 0 if node == NONE else nodes[node, H_WEIGHT]


@inlined
def hang(nodes, node, one, other):
    """Give a node its two parts, the heavier one on the left."""
    if weight(nodes, one) < weight(nodes, other):
        one, other = other, one
    nodes[node, H_LEFT] = one
    nodes[node, H_RIGHT] = other
    nodes[node, H_WEIGHT] = 1 + weight(nodes, one) + weight(nodes, other)


@compiled
def both_sets(nodes, trail, counters, one, other):
    """The histories of two sets; both stay as they are."""
    count = 0
    while one != NONE and other != NONE:
        if nodes[one, N_START] < nodes[other, N_START]:
            one, other = other, one
        trail[count] = one
        count += 1
        one = np.int64(nodes[one, H_RIGHT])
    below = one if other == NONE else other
    while count > 0:
        count -= 1
        copied = np.int64(trail[count])
        node = counters[Q_USED_NODES]
        counters[Q_USED_NODES] = node + 1
        for column in range(H_LEFT):
            nodes[node, column] = nodes[copied, column]
        hang(nodes, node, np.int64(nodes[copied, H_LEFT]), below)
        below = node
    return below


@inlined
def with_history(nodes, trail, counters, root, new):
    """A set and one more history that belongs to no other set. It takes the set as a part only if that was made before
    it."""
    if nodes[new, N_START] >= nodes[root, N_START] and root < new:
        hang(nodes, new, root, np.int64(NONE))
        return new
    return both_sets(nodes, trail, counters, root, new)


@allocating
def owners(a, e, w, ordinals):
    """For each history that a cohort reaches and that is not out, the partition that it belongs to; NONE for all
    others. What is out: by the time that each partition has come to, and the ordinal of its next event. Cohorts that
    are out altogether are for the caller to drop."""
    nodes = w.nodes
    used = w.counters[Q_USED_NODES]
    owner = np.full(used, NONE, np.int32)
    for slot in range(w.lists.shape[0]):
        for position in range(w.lists.shape[1] // L_SIZE):
            run = np.int64(w.slots[slot, K_FRESH] if position == 0 else w.lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                if w.runs[run, R_OPEN] != 0:
                    owner[w.runs[run, R_NODE]] = slot
                run = np.int64(w.runs[run, R_NEXT])
    for node in range(used - 1, -1, -1):
        slot = np.int64(owner[node])
        if slot == NONE:
            continue
        for column in (H_LEFT, H_RIGHT):
            part = nodes[node, column]
            if part != NONE and not is_past(a, e, w, slot, nodes[part, N_START], ordinals):
                owner[part] = slot
        if nodes[node, N_PREVIOUS] != NONE:
            owner[nodes[node, N_PREVIOUS]] = slot
    return owner


@inlined
def is_past(a, e, w, slot, start, ordinals):
    """Whether a start is out by now: of its window, or forbidden."""
    return is_forbidden(a, e, w, slot, start) or is_out(a, e, start, w.slots[slot, K_NOW], ordinals[slot])


@allocating
def collect_histories(a, e, w, ordinals):
    """Drop the histories that no cohort reaches, and those that are out. Returns how many each partition has."""
    nodes = w.nodes
    place_of = owners(a, e, w, ordinals)
    counts = np.zeros(w.lists.shape[0], np.int64)
    kept = 0
    for node in range(len(place_of)):
        if place_of[node] == NONE:
            continue
        counts[place_of[node]] += 1
        place_of[node] = kept
        nodes[kept] = nodes[node]
        if nodes[kept, N_PREVIOUS] != NONE:
            nodes[kept, N_PREVIOUS] = place_of[nodes[kept, N_PREVIOUS]]
        left, right = np.int64(nodes[kept, H_LEFT]), np.int64(nodes[kept, H_RIGHT])
        hang(
            nodes,
            kept,
            np.int64(NONE) if left == NONE else np.int64(place_of[left]),
            np.int64(NONE) if right == NONE else np.int64(place_of[right]),
        )
        kept += 1
    for slot in range(w.lists.shape[0]):
        for position in range(w.lists.shape[1] // L_SIZE):
            run = np.int64(w.slots[slot, K_FRESH] if position == 0 else w.lists[slot, L_SIZE * position + L_HEAD])
            while run != NONE:
                if w.runs[run, R_OPEN] != 0:
                    w.runs[run, R_NODE] = place_of[w.runs[run, R_NODE]]
                run = np.int64(w.runs[run, R_NEXT])
    w.counters[Q_USED_NODES] = kept
    return counts


@entrance(allocates=True)
def count_partial(a, e, w, ordinals):
    """For each node, how many partial matches the set below it stands for, without those that are out. As doubles:
    they may be very many."""
    owner = owners(a, e, w, ordinals)
    sums = np.zeros(len(owner))
    for node in range(len(owner)):
        if owner[node] == NONE:
            continue
        previous = w.nodes[node, N_PREVIOUS]
        sums[node] = 1 if previous == NONE else sums[previous]
        for column in (H_LEFT, H_RIGHT):
            part = w.nodes[node, column]
            if part != NONE and not is_past(a, e, w, np.int64(owner[node]), w.nodes[part, N_START], ordinals):
                sums[node] += sums[part]
    return sums
