"""Leaving out a run that another one stands for. `engine.tables.dominance` says when that is right, and proves it; the
numbers here are those of its conditions.

Compiled functions for the kernel. It only saves work: a list is looked through for a few entries, not to its end.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.buffer import free_run, precedes
from cepheid.engine.kernel.compiling import compiled
from cepheid.engine.kernel.layout import *

LOOKED_AT = 32


@compiled
def is_dominated(a, time, lists, slots, runs, extra, nodes, registers, counters, slot, run):
    """Whether a run can be left out; runs that it stands for are taken out of the list."""
    position = runs[run, R_POSITION]
    place = L_SIZE * position
    node = runs[run, R_NODE]
    previous = np.int64(NONE)
    other = np.int64(lists[slot, place + L_HEAD])
    looked_at = 0
    while other != NONE and looked_at < LOOKED_AT:
        looked_at += 1
        following = np.int64(runs[other, R_NEXT])
        other_node = runs[other, R_NODE]
        comparable = (
            a.params[P_DOMINANCE] == DOMINANCE_OVERALL or nodes[other_node, N_START] == nodes[node, N_START]
        )  # 7
        if comparable and a.positions[position, S_GAP]:  # 6
            comparable = time[nodes[other_node, N_EVENT]] == time[nodes[node, N_EVENT]]
        if comparable and a.params[P_REGISTERS] > 0:  # 3
            for register in range(registers.shape[1]):
                comparable = comparable and registers[other, register] == registers[run, register]
        if comparable:
            same_rivals = len(extra) == 1 or extra[other, X_RIVALS] == extra[run, X_RIVALS]  # 5
            if precedes(nodes, other_node, node):
                if not runs[run, R_OPEN] & ~runs[other, R_OPEN] and same_rivals:  # 4
                    return True
            elif not runs[other, R_OPEN] & ~runs[run, R_OPEN] and same_rivals:
                if previous == NONE:
                    lists[slot, place + L_HEAD] = following
                else:
                    runs[previous, R_NEXT] = following
                lists[slot, place + L_LENGTH] -= 1
                slots[slot, K_LIVE] -= 1
                free_run(runs, extra, counters, other)
                other = following
                continue
        previous = other
        other = following
    return False
