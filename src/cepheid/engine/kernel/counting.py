"""How many matches an event completes, without listing them.

Compiled functions for the kernel. A history stands for as many partial matches as the set before it, one at a start; a
set for as many as its root's history and its two parts. Each node that is not out is looked at once. Right only where a
match has one derivation and none is left out by the skip strategy; the caller sees to that.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_gone

LARGEST = 1 << 60


@compiled
def count_matches(a, e, w, slot, event):
    """Put out the event and the number of matches that it completes. Returns DONE, FULL, or what is wrong."""
    if w.counters[Q_MATCHES] == len(w.matches):
        return FULL
    newest = np.int64(NONE)
    pending = 0
    for place in range(w.counters[Q_CANDIDATES]):
        w.marks[w.candidates[place]] = 0
        newest = max(newest, np.int64(w.candidates[place]))
        pending += 1
    oldest = newest + 1
    while pending > 0:  # what a node leads to was made before it
        oldest -= 1
        if w.marks[oldest] == NONE:
            continue
        pending -= 1
        for column in (N_PREVIOUS, H_LEFT, H_RIGHT):
            part = w.nodes[oldest, column]
            if part == NONE or w.marks[part] != NONE:
                continue
            if not is_gone(a, e, w, slot, w.nodes[part, N_START], event):
                w.marks[part] = 0
                pending += 1
    status = DONE
    total = np.int64(0)
    for node in range(oldest, newest + 1):
        if w.marks[node] == NONE:
            continue
        w.marks[node] = NONE
        previous = w.nodes[node, N_PREVIOUS]
        sum_ = np.int64(1) if previous == NONE else w.sums[previous]
        if w.nodes[node, N_EVENT] == event:
            total += sum_
        else:
            for column in (H_LEFT, H_RIGHT):
                part = w.nodes[node, column]
                if part != NONE and not is_gone(a, e, w, slot, w.nodes[part, N_START], event):
                    sum_ += w.sums[part]
        w.sums[node] = sum_
        if sum_ > LARGEST or total > LARGEST:
            status = OVERFLOW
            w.sums[node] = 0
            total = np.int64(0)
    w.matches[w.counters[Q_MATCHES], 0] = event
    w.matches[w.counters[Q_MATCHES], 1] = total
    w.counters[Q_MATCHES] += 1
    return status
