"""Which starts emitted matches forbid, and since when (rule 8).

Compiled functions for the kernel. All skip strategies but `to_next` forbid every start before some event, so one number
a partition tells them; `to_next` forbids single starts, each noted with its event.

A timeout is decided before the matches of its moment (rule 9), so it counts if its start was forbidden at that very
moment, by an event handled before; only count windows and bounds since a variable (rule 17) end in the midst of a
moment. Hence the moment of forbidding is kept: what was forbidden before the last such moment is told apart from what
that moment forbade.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.layout import *


@inlined
def is_forbidden(a, e, w, slot, start):
    """Whether a match emitted so far forbids a start."""
    if a.params[P_SKIP] == TO_NEXT:
        return e.forbidden[start] != NEVER
    return e.ordinal[start] < w.slots[slot, K_FIRST_ALLOWED]


@inlined
def was_forbidden(a, e, w, slot, start, moment):
    """Whether a match emitted before the current moment forbids a start."""
    if a.params[P_SKIP] == TO_NEXT:
        return e.forbidden[start] != NEVER and e.forbidden[start] != moment
    if w.slots[slot, K_FORBIDDEN_AT] == moment:
        return e.ordinal[start] < w.slots[slot, K_ALLOWED_BEFORE]
    return e.ordinal[start] < w.slots[slot, K_FIRST_ALLOWED]


@compiled
def forbid(params, ordinal, forbidden, nodes, slots, slot, node, moment):
    """Apply the skip strategy to a match emitted at a moment. Returns DONE or what is wrong."""
    kind = params[P_SKIP]
    start = nodes[node, N_START]
    if kind == TO_NEXT:
        forbidden[start] = moment
        return DONE
    allowed = ordinal[nodes[node, N_EVENT]] + 1
    if kind != PAST_LAST:
        found = np.int64(NONE)
        link = np.int64(node)
        while link != NONE:
            if nodes[link, N_STATE] & VARIABLE == params[P_SKIP_VARIABLE]:
                found = np.int64(nodes[link, N_EVENT])
                if kind == TO_LAST:
                    break
            link = np.int64(nodes[link, N_PREVIOUS])
        if found == NONE:
            return SKIP_TARGET_MISSING if params[P_OR_FAIL] else DONE
        if found == start and params[P_OR_FAIL]:
            return SKIP_TO_START
        allowed = ordinal[found]
    if slots[slot, K_FORBIDDEN_AT] != moment:
        slots[slot, K_FORBIDDEN_AT] = moment
        slots[slot, K_ALLOWED_BEFORE] = slots[slot, K_FIRST_ALLOWED]
    slots[slot, K_FIRST_ALLOWED] = max(slots[slot, K_FIRST_ALLOWED], allowed)
    return DONE
