"""The columns of the arrays that cohorts add to, or lay out otherwise than, the kernel's (`layout`).

A cohort is a row of `runs` whose node is the root of a set of histories. The first columns are those of a run and of
its node, so that the functions which show an event to a run serve both.
"""

from __future__ import annotations

from cepheid.engine.kernel.layout import N_START, Q_SIZE, R_SIZE, X_SIZE

# cohorts: the columns of runs, and these
E_TWIN = R_SIZE
"""The next cohort of the same bucket of `twins`."""
E_BUCKET = R_SIZE + 1
E_PLACE = R_SIZE + 2
E_SIZE = R_SIZE + 3
WAITING, FRESH, LOOSE = range(3)
"""In the list of its position; among the fresh ones; in neither, to be placed before the event is done."""

# nodes: a history's last event, the set of histories before it, their latest start; then its place in a set
H_VARIABLE = N_START + 1
H_LEFT = N_START + 2
H_RIGHT = N_START + 3
H_WEIGHT = N_START + 4
"""How many histories the set below this node has."""
H_SIZE = N_START + 5

# counters: those of the kernel, and these
Q_STAGE = Q_SIZE
Q_CHANGED = Q_SIZE + 1
"""Cohorts whose continuations or rivals the event has changed."""
Q_ENTRIES = Q_SIZE + 2
"""Events of listed matches that wait to be fetched."""
Q_FOUND = Q_SIZE + 3
"""Nodes of the graph that is being listed."""
Q_DEPTH = Q_SIZE + 4
Q_TOP = Q_SIZE + 5
"""Where the part of `targets` ends that is in use."""
Q_EMITTED = Q_SIZE + 6
Q_WANTED = Q_SIZE + 7
"""How many entries of `targets`, or of a single match, are needed, where they are too few."""
Q_CHECK_AT = Q_SIZE + 8
"""How many histories there may be before those that are over are collected."""
Q_ALIKE = Q_SIZE + 9
"""Whether any two nodes of the graph have the same event and variable."""
Q_COUNTS = Q_SIZE + 10
"""Whether matches are counted instead of listed."""
Q_COHORT_SIZE = Q_SIZE + 11

# how far an event has been handled
TO_BE_SHOWN, TO_BE_DRAWN, TO_BE_LISTED = range(3)

# the graph of what one event completes, from the starts on: nodes as they are found
F_NODE = 0
F_KEY = 1
F_OUT = 2
"""How many edges leave it."""
F_RANK = 3
F_SIZE = 4

# the same, in the order of event and variable
V_EVENT = 0
V_VARIABLE = 1
V_FIRST = 2
V_END = 3
"""Where the nodes that edges lead to stand in `targets`."""
V_FILLED = 4
V_SIZE = 5

# a listing's levels: one for each event of the match under way
Y_CURSOR = 0
Y_END = 1
Y_TOP = 2
Y_EVENT = 3
Y_VARIABLE = 4
Y_SIZE = 5

# for each node, sums over the partial matches of its set: their number, then each sum. Of a sum: the variable whose
# events it adds up, and whether in doubles.

# for each node, the first history of its set: its node, the length and the start of its own
B_FIRST = 0
B_LENGTH = 1
B_START = 2
B_SIZE = 3

FEW = 8
LONGEST = 32
"""So many matches, of so many events each, are listed one by one."""

FULL = 8
"""Why the kernel stopped: what was listed is to be fetched, or the listing needs more room."""
STACK = 128
"""Room for two right spines: a spine has at most as many nodes as its set's weight has binary digits."""

COHORT_WIDTHS = {
    "CohortPool": {
        "runs": E_SIZE,
        "extra": X_SIZE,
        "created": 5,
        "nodes": H_SIZE,
        "best": B_SIZE,
        "found": F_SIZE,
        "order": 2,
        "ranked": V_SIZE,
        "levels": Y_SIZE,
        "taken": 2,
        "stack": 2,
    }
}
"""As `layout.WIDTHS`."""
