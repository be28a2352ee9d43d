"""What is asked of a run on its arrival at a position: which havings hold, and whether a match ends there at once.

Compiled functions for the kernel (rules 15 and 16).
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.deadlines import way_deadline
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.machine import evaluate


@compiled
def satisfied(a, e, w, position, event, run):
    """Which havings hold on arrival at a position, as bits (rule 15). They read registers alone."""
    bits = np.int64(0)
    for index in range(a.positions[position, S_HAVING], a.positions[position, S_HAVING_END], 3):
        begin, end = a.lists[index + 1], a.lists[index + 2]
        if evaluate(a.code, e.values, e.known, w.registers, w.stack, w.counters, begin, end, event, run):
            bits |= 1 << a.lists[index]
        if w.counters[Q_PROBLEM] != NONE and w.counters[Q_PROBLEM_VALUE] == NONE:
            w.counters[Q_PROBLEM_VALUE] = len(a.programs) + a.lists[index]
    return bits


@compiled
def open_whole(a, e, w, ending, node):
    """The whole loops of an ending that may take a further event after the last one, as bits of the run's state."""
    bits = np.int64(0)
    first = a.positions[ending, S_ENDINGS]
    for way in range(first, a.positions[ending, S_ENDINGS_END]):
        if way_deadline(a, e.time, w.nodes, way, a.ways[way], node) > e.time[w.nodes[node, N_EVENT]]:
            bits |= 1 << (WHOLE + way - first)
    return bits


@compiled
def ends_now(a, e, w, position, having, node):
    """Whether an ending of a position waits for nothing, where these havings hold."""
    for index in range(a.positions[position, S_ENDINGS], a.positions[position, S_ENDINGS_END]):
        ending = a.lists[index]
        if a.positions[ending, S_CONTINUATIONS] < a.positions[ending, S_CONTINUATIONS_END]:
            continue
        if not a.positions[ending, S_NEEDED] & ~having and open_whole(a, e, w, ending, node) == 0:
            return True
    return False


@inlined
def accepts(a, e, w, position, having, node):
    """Whether a match ends on arrival at a position, where these havings hold."""
    kind = a.positions[position, S_ACCEPTS]
    return kind == AT_ONCE or (kind == PERHAPS and ends_now(a, e, w, position, having, node))
