"""How many matches an event completes, and sums over what they took, without listing them.

Compiled functions for the kernel. A history stands for as many partial matches as the set before it, one at a start; a
set for as many as its root's history and its two parts. What a sum counts of an event it counts once for each partial
match that takes it. Each node that is not out is looked at once. Right only where a match has one derivation and none
is left out by the skip strategy; the caller sees to that.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_gone
from cepheid.engine.kernel.machine import as_bits, as_double
from cepheid.engine.kernel.reaching import is_barred, reach

LARGEST = 1 << 60


@compiled
def count_matches(a, e, w, slot, event):
    """Put out the event, the number of matches that it completes and their sums. Returns DONE, FULL, or what is
    wrong."""
    if w.counters[Q_MATCHES] == len(w.matches):
        return FULL
    out = w.counters[Q_MATCHES]
    for column in range(w.matches.shape[1]):
        w.matches[out, column] = 0
    count = reach(a, e, w, slot, event)
    is_right = True
    for place in range(count - 1, -1, -1):
        node = np.int64(w.reached[place])
        is_right = of_history(a, e, w, node, event) and is_right
        if w.nodes[node, N_EVENT] == event:
            is_right = add_sums(w.summed, w.sums, node, w.matches, out, 1) and is_right
            continue
        for column in (H_LEFT, H_RIGHT):
            part = np.int64(w.nodes[node, column])
            if part != NONE and not is_gone(a, e, w, slot, w.nodes[part, N_START], event):
                is_right = add_sums(w.summed, w.sums, part, w.sums, node, 0) and is_right
    w.matches[out, 0] = event
    if w.matches[out, 1] > 0:  # a not at the start may rule out all of them
        w.counters[Q_MATCHES] = out + 1
    return DONE if is_right else OVERFLOW


@inlined
def of_history(a, e, w, node, event):
    """The sums of a node's own history. Returns whether they fit."""
    previous, last = np.int64(w.nodes[node, N_PREVIOUS]), np.int64(w.nodes[node, N_EVENT])
    for column in range(w.sums.shape[1]):
        w.sums[node, column] = 0 if previous == NONE else w.sums[previous, column]
    if previous == NONE:
        w.sums[node, 0] = 0 if is_barred(a, e, last, event) else 1
    count = w.sums[node, 0]
    is_right = True
    for number in range(len(w.summed)):
        if w.summed[number, 0] != w.nodes[node, H_VARIABLE] or count == 0:
            continue
        weight = w.weights[last, number]
        if w.summed[number, 1]:
            w.sums[node, 1 + number] = as_bits(as_double(w.sums[node, 1 + number]) + count * as_double(weight))
        elif weight > LARGEST // count or weight < -(LARGEST // count):
            is_right = False
        else:
            w.sums[node, 1 + number] += count * weight
            is_right = is_right and abs(w.sums[node, 1 + number]) <= LARGEST
    return is_right


@inlined
def add_sums(summed, sums, one, target, other, first):
    """Add a row of sums to a row that has them from column `first` on: the number of matches, then each sum. Returns
    whether they fit."""
    is_right = True
    for number in range(1 + len(summed)):
        place = first + number
        if number > 0 and summed[number - 1, 1]:
            target[other, place] = as_bits(as_double(target[other, place]) + as_double(sums[one, number]))
            continue
        target[other, place] += sums[one, number]
        if abs(target[other, place]) > LARGEST:
            target[other, place] = 0
            is_right = False
    return is_right
