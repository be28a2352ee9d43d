"""What one event created, brought together: equal partial matches that were reached in several ways.

Compiled functions for the kernel.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.buffer import free_run
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *


@compiled
def merge_created(runs, extra, created, spare, counters):
    """Bring together what the same partial match became by the same variable, and drop equal targets.

    A merge sort of the entries by parent, variable and target, bottom up, in turns between the array and its spare
    half.
    """
    count = counters[Q_CREATED]
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                takes_right = left >= middle
                if not takes_right and right < end:
                    takes_right = is_behind(created, left, right)
                source = right if takes_right else left
                for column in range(4):
                    spare[place, column] = created[source, column]
                if takes_right:
                    right += 1
                else:
                    left += 1
        for place in range(count):
            for column in range(4):
                created[place, column] = spare[place, column]
        width *= 2
    kept = 1
    for place in range(1, count):
        if is_same(created, kept - 1, place) and created[kept - 1, 2] == created[place, 2]:
            if created[place, 3] != NONE:
                free_run(runs, extra, counters, np.int64(created[place, 3]))
            continue
        for column in range(4):
            created[kept, column] = created[place, column]
        kept += 1
    counters[Q_CREATED] = kept


@inlined
def is_behind(created, one, other):
    """Whether an entry sorts strictly behind another."""
    for column in range(3):
        if created[one, column] != created[other, column]:
            return created[one, column] > created[other, column]
    return False


@inlined
def is_same(created, one, other):
    """Whether two entries are the same partial match: equal parent, equal variable."""
    return created[one, 0] == created[other, 0] and created[one, 1] == created[other, 1]
