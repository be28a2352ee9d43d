"""The first of the matches that one event completes, in the order of rule 8: all that `past_last_event` wants of them.

Compiled functions for the kernel. Listing would be right, but its graph has an edge for every pair of histories that
follow each other, and only one match is put out. Here each node is looked at once: of a set, the history that comes
first is its root's own or that of one of its two parts. A partition's nodes are gone with the match (every start lies
before its last event), so this costs a node its making once more.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_gone
from cepheid.engine.kernel.reaching import is_barred, reach


@compiled
def first_match(a, e, w, slot, event):
    """Put out the first match of the candidates. Returns DONE or FULL."""
    for place in range(reach(a, e, w, slot, event) - 1, -1, -1):
        choose(a, e, w, slot, event, np.int64(w.reached[place]))
    chosen = np.int64(NONE)
    for place in range(w.counters[Q_CANDIDATES]):
        other = np.int64(w.candidates[place])
        if w.best[other, B_FIRST] == NONE:
            continue
        if chosen == NONE or comes_before(w.nodes, w.best, other, chosen):
            chosen = other
    return DONE if chosen == NONE else put_out_first(e, w, slot, event, chosen)


@inlined
def choose(a, e, w, slot, event, node):
    """Of the set below a node, the history that comes first; NONE if a not at the start rules out all of them. And of
    the node's own, its length and its start."""
    previous = np.int64(w.nodes[node, N_PREVIOUS])
    first = node
    if previous == NONE:
        w.best[node, B_LENGTH] = 1
        w.best[node, B_START] = w.nodes[node, N_EVENT]
        if is_barred(a, e, np.int64(w.nodes[node, N_EVENT]), event):
            first = np.int64(NONE)
    elif w.best[previous, B_FIRST] == NONE:
        first = np.int64(NONE)
    else:
        before = w.best[previous, B_FIRST]
        w.best[node, B_LENGTH] = w.best[before, B_LENGTH] + 1
        w.best[node, B_START] = w.best[before, B_START]
    for column in (H_LEFT, H_RIGHT):
        part = w.nodes[node, column]
        if part != NONE and not is_gone(a, e, w, slot, w.nodes[part, N_START], event):
            other = np.int64(w.best[part, B_FIRST])
            if other != NONE and (first == NONE or comes_before(w.nodes, w.best, other, first)):
                first = other
    w.best[node, B_FIRST] = first


@inlined
def before(nodes, best, node):
    """The node before this one in the history that comes first."""
    previous = nodes[node, N_PREVIOUS]
    return np.int64(NONE) if previous == NONE else np.int64(best[previous, B_FIRST])


@compiled
def comes_before(nodes, best, one, other):
    """Whether a history comes before another that has the same future: where they part first, the one that takes the
    earlier event, or takes it by the earlier variable; if they do not, the longer one, as it takes before the other
    does."""
    if best[one, B_START] != best[other, B_START]:
        return best[one, B_START] < best[other, B_START]
    answer = best[one, B_LENGTH] > best[other, B_LENGTH]
    longer = best[one, B_LENGTH] - best[other, B_LENGTH]
    while longer > 0:
        one = before(nodes, best, one)
        longer -= 1
    while longer < 0:
        other = before(nodes, best, other)
        longer += 1
    while one != other and one != NONE:
        if nodes[one, N_EVENT] != nodes[other, N_EVENT]:
            answer = nodes[one, N_EVENT] < nodes[other, N_EVENT]
        elif nodes[one, H_VARIABLE] != nodes[other, H_VARIABLE]:
            answer = nodes[one, H_VARIABLE] < nodes[other, H_VARIABLE]
        one, other = before(nodes, best, one), before(nodes, best, other)
    return answer


@inlined
def put_out_first(e, w, slot, event, node):
    length, entries = np.int64(w.best[node, B_LENGTH]), w.counters[Q_ENTRIES]
    if entries + length > len(w.taken) or w.counters[Q_MATCHES] == len(w.matches):
        w.counters[Q_WANTED] = length
        return FULL
    for place in range(entries + length - 1, entries - 1, -1):
        w.taken[place, 0] = w.nodes[node, H_VARIABLE]
        w.taken[place, 1] = w.nodes[node, N_EVENT]
        node = before(w.nodes, w.best, node)
    w.counters[Q_ENTRIES] = entries + length
    w.matches[w.counters[Q_MATCHES], 0] = length
    w.matches[w.counters[Q_MATCHES], 1] = e.time[event]
    w.counters[Q_MATCHES] += 1
    w.slots[slot, K_FIRST_ALLOWED] = e.ordinal[event] + 1  # rule 8
    return DONE
