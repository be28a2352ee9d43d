"""Timers: for each partition a pairing heap of moments at which a run must be looked at.

Compiled functions for the kernel. A timer knows its run and the run's generation; one whose run is gone is ignored.
"""

from __future__ import annotations

from cepheid.engine.kernel.compiling import compiled
from cepheid.engine.kernel.layout import *


@compiled
def melded(timers, one, other):
    """Two heaps as one."""
    if one == NONE:
        return other
    if other == NONE:
        return one
    if timers[other, T_DUE] < timers[one, T_DUE]:
        one, other = other, one
    timers[other, T_SIBLING] = timers[one, T_CHILD]
    timers[one, T_CHILD] = other
    return one


@compiled
def add_timer(timers, counters, slots, slot, root, due, run, generation):
    timer = counters[Q_FREE_TIMER]
    if timer != NONE:
        counters[Q_FREE_TIMER] = timers[timer, T_SIBLING]
    else:
        timer = counters[Q_USED_TIMERS]
        counters[Q_USED_TIMERS] = timer + 1
    timers[timer, T_DUE] = due
    timers[timer, T_RUN] = run
    timers[timer, T_GENERATION] = generation
    timers[timer, T_CHILD] = NONE
    timers[timer, T_SIBLING] = NONE
    slots[slot, root] = melded(timers, slots[slot, root], timer)


@compiled
def pop_timer(timers, counters, slots, slot, root):
    """Remove the earliest timer and return it; what it says can be read until the next one is added."""
    timer = slots[slot, root]
    child = timers[timer, T_CHILD]
    paired = NONE
    while child != NONE:  # first pass: meld neighbours, keeping the results in a list
        second = timers[child, T_SIBLING]
        rest = NONE
        if second != NONE:
            rest = timers[second, T_SIBLING]
            timers[second, T_SIBLING] = NONE
        timers[child, T_SIBLING] = NONE
        both = melded(timers, child, second)
        timers[both, T_SIBLING] = paired
        paired = both
        child = rest
    heap = NONE
    while paired != NONE:  # second pass: meld the results
        rest = timers[paired, T_SIBLING]
        timers[paired, T_SIBLING] = NONE
        heap = melded(timers, heap, paired)
        paired = rest
    slots[slot, root] = heap
    timers[timer, T_SIBLING] = counters[Q_FREE_TIMER]
    counters[Q_FREE_TIMER] = timer
    return timer
