"""Listing a few matches: most events complete one or two, for which a graph (`listing`) would be too much work.

Compiled functions for the kernel. Histories are walked backwards, one match after the other, then put in the order of
rule 8; equal ones are two derivations of one match. Where they turn out to be too many, the graph is drawn instead.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.listing import put_out
from cepheid.engine.kernel.lists import is_gone
from cepheid.engine.kernel.reaching import is_barred

DEPTH_BITS = 6


@compiled
def list_few(a, e, w, slot, event):
    """Put out all matches of the candidates. Returns DONE, what is wrong, or NONE: nothing was put out, as they are too
    many or too long for this, or for the room that is left."""
    count = find_few(a, e, w, slot, event)
    if count == NONE or w.counters[Q_ENTRIES] + count * LONGEST > len(w.taken):
        return NONE
    if w.counters[Q_MATCHES] + count > len(w.matches):
        return NONE
    for place in range(1, count):  # an insertion sort: their number is small
        one = w.ordered[place]
        before = place - 1
        while before >= 0 and order(w.nodes, w.few, one, w.ordered[before]) < 0:
            w.ordered[before + 1] = w.ordered[before]
            before -= 1
        w.ordered[before + 1] = one
    for place in range(count):
        one = w.ordered[place]
        if place > 0 and order(w.nodes, w.few, w.ordered[place - 1], one) == 0:
            continue
        if e.ordinal[w.nodes[w.few[one, 0], N_EVENT]] < w.slots[slot, K_FIRST_ALLOWED]:  # rule 8
            continue
        length = np.int64(w.few[one, LONGEST])
        for level in range(length):
            w.levels[level, Y_EVENT] = w.nodes[w.few[one, level], N_EVENT]
            w.levels[level, Y_VARIABLE] = w.nodes[w.few[one, level], H_VARIABLE]
        status = put_out(a, e, w, slot, event, length)
        if status != DONE:
            return status
    return DONE


@inlined
def find_few(a, e, w, slot, event):
    """Write down the nodes of each match, the first event's first; how many there are, NONE if too many."""
    count = np.int64(0)
    for place in range(w.counters[Q_CANDIDATES]):
        top = 1
        w.trail[0] = np.int64(w.candidates[place]) << DEPTH_BITS
        while top > 0:
            top -= 1
            node, depth = w.trail[top] >> DEPTH_BITS, w.trail[top] & LONGEST * 2 - 1
            if depth > 0:
                if is_gone(a, e, w, slot, w.nodes[node, N_START], event):
                    continue
                for column in (H_LEFT, H_RIGHT):
                    if w.nodes[node, column] != NONE:
                        w.trail[top] = np.int64(w.nodes[node, column]) << DEPTH_BITS | depth
                        top += 1
            w.path[depth] = node
            previous = np.int64(w.nodes[node, N_PREVIOUS])
            if previous != NONE:
                if depth + 1 == LONGEST or top + 4 > STACK:
                    return np.int64(NONE)
                w.trail[top] = previous << DEPTH_BITS | (depth + 1)
                top += 1
            elif is_barred(a, e, np.int64(w.nodes[node, N_EVENT]), event):
                continue
            elif count == FEW:
                return np.int64(NONE)
            else:
                for level in range(depth + 1):
                    w.few[count, level] = w.path[depth - level]
                w.few[count, LONGEST] = depth + 1
                w.ordered[count] = count
                count += 1
    return count


@inlined
def order(nodes, few, one, other):
    """Below 0 if a match comes before another, 0 if they are the same. None is the beginning of another."""
    for level in range(min(few[one, LONGEST], few[other, LONGEST])):
        left, right = few[one, level], few[other, level]
        if nodes[left, N_EVENT] != nodes[right, N_EVENT]:
            return np.int64(nodes[left, N_EVENT]) - np.int64(nodes[right, N_EVENT])
        if nodes[left, H_VARIABLE] != nodes[right, H_VARIABLE]:
            return np.int64(nodes[left, H_VARIABLE]) - np.int64(nodes[right, H_VARIABLE])
    return np.int64(0)
