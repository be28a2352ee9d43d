"""The histories that lead to what an event completes, and which of their starts a not at the start rules out.

Compiled functions for the kernel.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.deciding import happened_before
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_gone


@inlined
def is_barred(a, e, start, event):
    """Whether a match from this start to this event is ruled out by a not at the start (rule 7)."""
    return a.params[P_NOT_BEFORE] > 0 and happened_before(
        a.params, a.not_before, a.programs, e.time, e.ordinal, e.before, start, event
    )


@compiled
def reach(a, e, w, slot, event):
    """Write the nodes that the candidates lead to, and that are not out, into `reached`, the newest first. Returns how
    many there are.

    What a node leads to was made before it. Where the pool holds one partition, nearly all nodes down to the oldest are
    among them, so they are looked at one by one; otherwise only those that are led to, which are sorted at the end.
    """
    count = np.int64(0)
    for place in range(w.counters[Q_CANDIDATES]):
        node = np.int64(w.candidates[place])
        if w.marks[node] == NONE:
            w.marks[node] = 0
            w.reached[count] = node
            count += 1
    if len(w.owner) > 1:
        done = np.int64(0)
        while done < count:
            count += mark_parts(a, e, w, slot, event, np.int64(w.reached[done]), count)
            done += 1
        sort_newest_first(w.reached, count)
    else:
        pending, node = count, np.int64(NONE)
        for place in range(count):
            node = max(node, np.int64(w.reached[place]))
        count = np.int64(0)
        while pending > 0:
            if w.marks[node] != NONE:
                pending += mark_parts(a, e, w, slot, event, node, np.int64(NONE)) - 1
                w.reached[count] = node
                count += 1
            node -= 1
    for place in range(count):
        w.marks[w.reached[place]] = NONE
    return count


@inlined
def mark_parts(a, e, w, slot, event, node, count):
    """Mark what a node leads to, and list it behind the first `count`, unless that is NONE. Returns how many were
    new."""
    found = 0
    for column in (N_PREVIOUS, H_LEFT, H_RIGHT):
        part = np.int64(w.nodes[node, column])
        if part == NONE or w.marks[part] != NONE or is_gone(a, e, w, slot, w.nodes[part, N_START], event):
            continue
        w.marks[part] = 0
        if count != NONE:
            w.reached[count + found] = part
        found += 1
    return found


@inlined
def sort_newest_first(listed, count):
    """A heap sort, as it needs no further room."""
    for begin in range(count // 2 - 1, -1, -1):
        sift(listed, begin, count)
    for last in range(count - 1, 0, -1):
        listed[0], listed[last] = listed[last], listed[0]
        sift(listed, 0, last)


@inlined
def sift(listed, place, end):
    """Let an entry sink until none below it is smaller."""
    while True:
        child = 2 * place + 1
        if child + 1 < end and listed[child + 1] < listed[child]:
            child += 1
        if child >= end or listed[place] <= listed[child]:
            return
        listed[place], listed[child] = listed[child], listed[place]
        place = child
