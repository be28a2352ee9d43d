"""Which lists of a partition hold runs, and which of them an event concerns, as bits: one word for 64 positions.

Compiled functions for the kernel. A pattern may have many positions (an `all_of` of n members has 2^n), of which few
hold runs and fewer concern an event. So an event looks at no list but those.

1. A list that is not empty has its bit in `occupied`: a run joins a list by `occupy` and by nothing else. The bit of an
   empty list may still be set; the next walk takes it away (`vacate`).
2. `concerned` has, for each bit of an event's words, the positions whose runs it may change: those that have it among
   their `interest`. So the union over the bits that an event has is the set of positions for which `stepping.concerns`
   holds, and its part in `occupied` holds every list that must be walked. Positions are taken in their order.
3. An event is passed by (`is_passed_by`) if it starts no run, concerns no list and finds no fresh run; nothing would
   have become of it. This holds where an event has no other effect than on runs: no timers, which it may set off, and
   no negations at the start, which note it.
4. One look at the first word (`first`) serves both this and the walk: until the walk runs only leave their lists. What
   falls due may end runs; a run joins a list where created ones are placed and where the walk itself shows an event to
   the fresh ones, after all lists. A list that has become empty meanwhile is walked in vain. Nor does a run become
   fresh before created ones are placed, so the walk asks once whether there are fresh ones.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import inlined, lowest
from cepheid.engine.kernel.layout import *

WORD = 64
_ONE = np.uint64(1)


@inlined
def occupy(w, slot, position):
    """A run joins the list of a position."""
    w.occupied[slot, position >> 6] |= _ONE << np.uint64(position & 63)


@inlined
def vacate(w, slot, position):
    """The list of a position is empty."""
    w.occupied[slot, position >> 6] &= ~(_ONE << np.uint64(position & 63))
    w.lists[slot, L_SIZE * position + L_SWEPT] = 0


@inlined
def to_be_walked(a, e, w, slot, event, word):
    """The lists of a word that may hold runs which an event concerns."""
    lists = w.occupied[slot, word]
    if lists == 0:
        return lists
    found = np.uint64(0)
    page, bits = 0, e.bits[event, 0]
    while True:  # a loop over a range would be unrolled for many pages; nearly all patterns have one
        while bits != 0:
            found |= a.concerned[WORD * page + lowest(bits), word]
            bits &= bits - _ONE
        page += 1
        if page >= e.bits.shape[1]:
            break
        bits = e.bits[event, page]
    return lists & found


@inlined
def is_passed_by(a, e, w, slot, event, first):
    """Whether an event changes nothing at all (3); `first`: the lists of the first word that are to be walked."""
    if first != 0 or a.params[P_PASSES] == 0 or w.slots[slot, K_FRESH] != NONE:
        return False
    if e.bits[event, a.positions[0, S_PAGE]] & a.interest[0] != 0:
        return False
    if w.slots[slot, K_LIVE] > 0:
        for word in range(1, w.occupied.shape[1]):
            if to_be_walked(a, e, w, slot, event, word) != 0:
                return False
    return True
