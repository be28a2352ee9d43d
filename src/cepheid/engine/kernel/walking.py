"""Showing an event to all that wait for it: list by list, then the fresh ones.

Compiled functions for the kernel. The same for runs (`events`) and for cohorts (`cohorts`), which differ in how one of
them is shown an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cepheid.engine.kernel.buffer import free_run
from cepheid.engine.kernel.compiling import inlined, lowest
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import place_in_index
from cepheid.engine.kernel.occupied import WORD, to_be_walked, vacate


def walker(shown: Any) -> Callable[..., None]:
    """The walk that shows an event to one run after the other by `shown`, which says whether the run goes on waiting.

    Of a position with an index only the runs with the event's own value are walked. One of these that is over leaves
    its chain at once and its list when that is swept. The fresh ones are in no list any more: `shown` sees to that.
    """

    @inlined
    def walk_list(a, e, w, slot, event, position, is_next):
        head = L_SIZE * position + L_HEAD
        run = w.slots[slot, K_FRESH] if is_next else np.int64(w.lists[slot, head])
        bucket = np.int64(NONE)
        if is_next:
            w.slots[slot, K_FRESH] = NONE
        elif a.positions[position, S_INDEX] >= 0:
            column = a.positions[position, S_INDEX_COLUMN]
            if not e.known[event] >> np.uint64(column) & np.uint64(1):
                return
            bucket = place_in_index(w.buckets, slot, position, e.values[event, column])
            run = np.int64(w.buckets[bucket])
        previous = np.int64(NONE)
        while run != NONE:
            following = np.int64(w.runs[run, R_NEXT] if bucket == NONE else w.runs[run, R_CHAIN])
            place = np.int64(w.runs[run, R_POSITION])
            if bucket != NONE and (
                w.registers[run, a.positions[position, S_INDEX]]
                != e.values[event, a.positions[position, S_INDEX_COLUMN]]
                or place != position
                or (len(w.owner) > 1 and w.owner[run] != slot)
            ):
                stays = True
            else:
                stays = shown(a, e, w, slot, run, place, event, is_next)
            if stays:
                previous = run
            elif bucket != NONE:
                w.runs[run, R_OPEN] = 0
                if previous == NONE:
                    w.buckets[bucket] = following
                else:
                    w.runs[previous, R_CHAIN] = following
            else:
                free_run(w.runs, w.extra, w.counters, run)
                w.slots[slot, K_LIVE] -= 1
                if not is_next:
                    w.lists[slot, head - L_HEAD + L_LENGTH] -= 1
                    if previous == NONE:
                        w.lists[slot, head] = following
                    else:
                        w.runs[previous, R_NEXT] = following
            run = following
        if not is_next and w.lists[slot, head] == NONE:
            vacate(w, slot, position)

    @inlined
    def walk(a, e, w, slot, event, lists):
        """`lists`: those of the first word that are to be walked."""
        words = w.occupied.shape[1]
        for word in range(words + (w.slots[slot, K_FRESH] != NONE)):
            is_next = word == words
            if word > 0:
                lists = np.uint64(1) if is_next else to_be_walked(a, e, w, slot, event, word)
            while lists != 0:
                position = np.int64(0) if is_next else WORD * word + lowest(lists)
                lists &= lists - np.uint64(1)
                walk_list(a, e, w, slot, event, position, is_next)

    return walk
