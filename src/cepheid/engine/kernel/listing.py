"""Listing the matches that one event completes, from sets of histories, in the order of rule 8.

Compiled functions for the kernel. All these matches have the same last event, so none is the beginning of another, and
rule 8's order (by start, then by priority) is the order of their (event, variable) pairs, compared from the first on.

1. The sets lead backwards, from the last event to the starts. `draw` walks them once, without what is out, and turns
   every step round: a graph from the starts to the last event. Each of its nodes and edges lies on a match, so it is
   no larger than what is listed (but for what a not at the start rules out). Its nodes are ranked by event and
   variable, and edges sorted by the rank that they lead to.
2. `list_matches` walks the graph from the starts, smaller ranks first: the matches come out in order. Nodes of one
   event and variable that the same beginning leads to are gone on with together (two ways to one match, or copies of
   a node that sets do not share), so each match comes out once. The cost is that of the events listed.
3. The walk keeps its state in the pool. When the output is full, or a level needs more room, it stops with FULL; what
   was listed is fetched, and it goes on.
4. The skip filter is part of the walk: a match that forbids its own start ends what begins there. (`past_last_event`
   wants one match only: `first_match`.)
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.cohort_layout import *
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import is_gone
from cepheid.engine.kernel.reaching import is_barred

KEY_BITS = 10
"""Bits for the variable in a rank's key; VARIABLE is the largest."""


@compiled
def sort_found(found, order, count):
    """Put the numbers of the found nodes in the order of their keys (a merge sort, bottom up; `order` has two
    columns)."""
    for place in range(count):
        order[place, 0] = place
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                if left < middle and (right >= end or found[order[left, 0], F_KEY] <= found[order[right, 0], F_KEY]):
                    order[place, 1] = order[left, 0]
                    left += 1
                else:
                    order[place, 1] = order[right, 0]
                    right += 1
        for place in range(count):
            order[place, 0] = order[place, 1]
        width *= 2


@compiled
def sort_ranks(targets, begin, count):
    """Order a part of `targets` and drop what is there twice; the part behind it is spare. Returns what is left."""
    spare = begin + count
    width = 1
    while width < count:
        for first in range(0, count, 2 * width):
            middle, end = min(first + width, count), min(first + 2 * width, count)
            left, right = first, middle
            for place in range(first, end):
                if left < middle and (right >= end or targets[begin + left] <= targets[begin + right]):
                    targets[spare + place] = targets[begin + left]
                    left += 1
                else:
                    targets[spare + place] = targets[begin + right]
                    right += 1
        for place in range(count):
            targets[begin + place] = targets[spare + place]
        width *= 2
    kept = 1
    for place in range(1, count):
        if targets[begin + place] != targets[begin + kept - 1]:
            targets[begin + kept] = targets[begin + place]
            kept += 1
    return kept


@inlined
def find(w, node):
    """Make a node part of the graph, unless it is."""
    number = np.int64(w.marks[node])
    if number == NONE:
        number = w.counters[Q_FOUND]
        w.counters[Q_FOUND] = number + 1
        w.marks[node] = number
        w.found[number, F_NODE] = node
        w.found[number, F_KEY] = np.int64(w.nodes[node, N_EVENT]) << KEY_BITS | np.int64(w.nodes[node, H_VARIABLE])
        w.found[number, F_OUT] = 0
    return number


@compiled
def forget_found(w):
    """Take the marks off again."""
    for number in range(w.counters[Q_FOUND]):
        w.marks[w.found[number, F_NODE]] = NONE
    w.counters[Q_FOUND] = 0


@compiled
def draw(a, e, w, slot, event):
    """The graph of the candidates. Returns DONE, or FULL where there is not enough room; call it again then."""
    forget_found(w)
    edges = np.int64(0)
    starts = np.int64(0)
    if w.counters[Q_CANDIDATES] > len(w.found):
        return FULL
    for place in range(w.counters[Q_CANDIDATES]):
        find(w, np.int64(w.candidates[place]))
    number = 0
    while number < w.counters[Q_FOUND]:
        node = w.found[number, F_NODE]
        member = np.int64(w.nodes[node, N_PREVIOUS])
        number += 1
        if member == NONE:
            if not is_barred(a, e, np.int64(w.nodes[node, N_EVENT]), event):
                starts += 1
            continue
        depth = 0
        while True:
            while member != NONE and not is_gone(a, e, w, slot, w.nodes[member, N_START], event):
                if w.counters[Q_FOUND] == len(w.found):
                    return FULL
                w.found[find(w, member), F_OUT] += 1
                edges += 1
                w.trail[depth] = w.nodes[member, H_LEFT]
                depth += 1
                member = np.int64(w.nodes[member, H_RIGHT])
            if depth == 0:
                break
            depth -= 1
            member = np.int64(w.trail[depth])
    if edges + starts > len(w.targets):
        w.counters[Q_WANTED] = edges + starts
        return FULL
    rank(w, starts)
    connect(a, e, w, slot, event)
    w.counters[Q_TOP] = edges + starts
    w.counters[Q_DEPTH] = 0
    w.levels[0, Y_CURSOR] = 0
    w.levels[0, Y_END] = starts
    w.levels[0, Y_TOP] = edges + starts
    return DONE


@inlined
def rank(w, starts):
    """Number the nodes by event and variable, and give each its part of `targets`; the starts come first."""
    count = w.counters[Q_FOUND]
    sort_found(w.found, w.order, count)
    place = starts
    w.counters[Q_ALIKE] = 0
    for number in range(count):
        one = w.order[number, 0]
        node = w.found[one, F_NODE]
        w.found[one, F_RANK] = number
        w.ranked[number, V_EVENT] = w.nodes[node, N_EVENT]
        w.ranked[number, V_VARIABLE] = w.nodes[node, H_VARIABLE]
        w.ranked[number, V_FIRST] = place
        w.ranked[number, V_FILLED] = place
        place += w.found[one, F_OUT]
        w.ranked[number, V_END] = place
        if number > 0 and are_alike(w.ranked, number - 1, number):
            w.counters[Q_ALIKE] = 1


@inlined
def connect(a, e, w, slot, event):
    """Write the edges, smaller ranks first."""
    starts = 0
    for number in range(w.counters[Q_FOUND]):
        node = w.found[w.order[number, 0], F_NODE]
        member = np.int64(w.nodes[node, N_PREVIOUS])
        if member == NONE:
            if not is_barred(a, e, np.int64(w.nodes[node, N_EVENT]), event):
                w.targets[starts] = number
                starts += 1
            continue
        depth = 0
        while True:
            while member != NONE and not is_gone(a, e, w, slot, w.nodes[member, N_START], event):
                source = w.found[w.marks[member], F_RANK]
                w.targets[w.ranked[source, V_FILLED]] = number
                w.ranked[source, V_FILLED] += 1
                w.trail[depth] = w.nodes[member, H_LEFT]
                depth += 1
                member = np.int64(w.nodes[member, H_RIGHT])
            if depth == 0:
                break
            depth -= 1
            member = np.int64(w.trail[depth])


@compiled
def list_matches(a, e, w, slot, event):
    """Go on listing. Returns DONE, FULL, or what is wrong."""
    depth = w.counters[Q_DEPTH]
    while depth >= 0:
        cursor, end = w.levels[depth, Y_CURSOR], w.levels[depth, Y_END]
        if cursor >= end:
            w.counters[Q_TOP] = w.levels[depth, Y_TOP]
            depth -= 1
            continue
        number = np.int64(w.targets[cursor])
        following = cursor + 1
        while w.counters[Q_ALIKE] and following < end and are_alike(w.ranked, number, w.targets[following]):
            following += 1
        if depth == 0 and e.ordinal[w.ranked[number, V_EVENT]] < w.slots[slot, K_FIRST_ALLOWED]:  # rule 8
            w.levels[0, Y_CURSOR] = following
            continue
        begin, stop = w.ranked[number, V_FIRST], w.ranked[number, V_END]
        is_last = w.ranked[number, V_EVENT] == event
        only_last = following == cursor + 1 and stop == begin + 1 and w.ranked[w.targets[begin], V_EVENT] == event
        if is_last or only_last:
            length = depth + 1 if is_last else depth + 2
            if w.counters[Q_ENTRIES] + length > len(w.taken) or w.counters[Q_MATCHES] == len(w.matches):
                w.counters[Q_DEPTH] = depth
                w.counters[Q_WANTED] = 0
                return FULL
            w.levels[depth, Y_CURSOR] = following
            note(w, depth, number)
            if not is_last:
                note(w, depth + 1, w.targets[begin])
            status = put_out(a, e, w, slot, event, length)
            if status != DONE:
                return status
            if depth > 0 and e.ordinal[w.levels[0, Y_EVENT]] < w.slots[slot, K_FIRST_ALLOWED]:
                depth = 0
                w.counters[Q_TOP] = w.levels[0, Y_TOP]
            continue
        top = w.counters[Q_TOP]
        if following > cursor + 1:
            total = 0
            for place in range(cursor, following):
                total += w.ranked[w.targets[place], V_END] - w.ranked[w.targets[place], V_FIRST]
            if top + 2 * total > len(w.targets):
                w.counters[Q_DEPTH] = depth
                w.counters[Q_WANTED] = top + 2 * total
                return FULL
            begin, stop = top, top
            for place in range(cursor, following):
                for one in range(w.ranked[w.targets[place], V_FIRST], w.ranked[w.targets[place], V_END]):
                    w.targets[stop] = w.targets[one]
                    stop += 1
            stop = begin + sort_ranks(w.targets, begin, total)
            w.counters[Q_TOP] = stop
        w.levels[depth, Y_CURSOR] = following
        note(w, depth, number)
        depth += 1
        w.levels[depth, Y_CURSOR] = begin
        w.levels[depth, Y_END] = stop
        w.levels[depth, Y_TOP] = top
    w.counters[Q_DEPTH] = NONE
    forget_found(w)
    return DONE


@inlined
def are_alike(ranked, one, other):
    """Whether two nodes have the same event and variable."""
    return ranked[one, V_EVENT] == ranked[other, V_EVENT] and ranked[one, V_VARIABLE] == ranked[other, V_VARIABLE]


@inlined
def note(w, depth, number):
    """The match under way takes a node at this place."""
    w.levels[depth, Y_EVENT] = w.ranked[number, V_EVENT]
    w.levels[depth, Y_VARIABLE] = w.ranked[number, V_VARIABLE]


@inlined
def put_out(a, e, w, slot, event, length):
    """Write the match that the levels lead to, and apply the skip strategy (rule 8)."""
    w.counters[Q_EMITTED] += 1
    if w.counters[Q_EMITTED] > a.params[P_MAX_MATCHES]:
        w.counters[Q_PROBLEM_VALUE] = w.counters[Q_EMITTED]
        return TOO_MANY_MATCHES
    entries = w.counters[Q_ENTRIES]
    for level in range(length):
        w.taken[entries + level, 0] = w.levels[level, Y_VARIABLE]
        w.taken[entries + level, 1] = w.levels[level, Y_EVENT]
    w.counters[Q_ENTRIES] = entries + length
    out = w.counters[Q_MATCHES]
    w.matches[out, 0] = length
    w.matches[out, 1] = e.time[event]
    w.counters[Q_MATCHES] = out + 1
    return DONE if a.params[P_SKIP] == NO_SKIP else skip_to(a, e, w, slot, entries, length)


@inlined
def skip_to(a, e, w, slot, entries, length):
    """Forbid the starts before the first or last event of the variable to skip to. Returns DONE or what is wrong."""
    found = np.int64(NONE)
    for place in range(entries, entries + length):
        if w.taken[place, 0] == a.params[P_SKIP_VARIABLE]:
            found = np.int64(w.taken[place, 1])
            if a.params[P_SKIP] == TO_FIRST:
                break
    if found == NONE:
        return SKIP_TARGET_MISSING if a.params[P_OR_FAIL] else DONE
    if found == w.taken[entries, 1] and a.params[P_OR_FAIL]:
        return SKIP_TO_START
    w.slots[slot, K_FIRST_ALLOWED] = max(w.slots[slot, K_FIRST_ALLOWED], e.ordinal[found])
    return DONE
