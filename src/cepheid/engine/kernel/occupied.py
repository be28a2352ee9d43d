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
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import inlined
from cepheid.engine.kernel.layout import *

WORD = 64
_ONE = np.uint64(1)
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
"""A cyclic word in which all groups of six bits are different (de Bruijn)."""
_PLACES = np.zeros(WORD, np.int64)
for _place in range(WORD):
    _PLACES[(int(_SEQUENCE) << _place & 2**64 - 1) >> 58] = _place


@inlined
def lowest(bits):
    """The place of the lowest bit that is set; there must be one."""
    return _PLACES[np.int64((bits & (~bits + _ONE)) * _SEQUENCE >> np.uint64(58))]


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
    for page in range(e.bits.shape[1]):
        bits = e.bits[event, page]
        while bits != 0:
            found |= a.concerned[WORD * page + lowest(bits), word]
            bits &= bits - _ONE
    return lists & found


@inlined
def is_passed_by(a, e, w, slot, event):
    """Whether an event changes nothing at all (3)."""
    if a.params[P_PASSES] == 0 or w.slots[slot, K_FRESH] != NONE:
        return False
    if e.bits[event, a.positions[0, S_PAGE]] & a.interest[0] != 0:
        return False
    if w.slots[slot, K_LIVE] > 0:
        for word in range(w.occupied.shape[1]):
            if to_be_walked(a, e, w, slot, event, word) != 0:
                return False
    return True
