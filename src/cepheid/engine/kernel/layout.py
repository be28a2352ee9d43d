"""The columns of the kernel's flat arrays.

The kernel keeps its records in a few two-dimensional arrays, one row a record, so that a record lies in one cache
line and calls pass few arguments. These names are the columns of those arrays; `tables` and `pool` make the arrays,
`kernel` reads them.
"""

from __future__ import annotations

# params: one number each
P_POSITIONS = 0
"""Positions that runs wait at; behind them follow the endings, which are waited at as well."""
P_WITHIN = 1
P_COUNT = 2
P_SKIP = 3
P_SKIP_VARIABLE = 4
P_OR_FAIL = 5
P_AMBIGUOUS = 6
P_TIMEOUTS = 7
P_TIMED = 8
"""Whether anything must be decided when time passes: timeouts asked for, or nots at the end."""
P_DOMINANCE = 9
P_NOT_BEFORE = 10
"""Number of nots at the start."""
P_MAX_RUNS = 11
P_MAX_MATCHES = 12
P_REGISTERS = 13
P_BRANCH = 14
"""How many children one run can have at one event at most, endings included."""
P_INDEXED = 15
"""Whether any position has an index."""
P_NOT_BEFORE_READS = 16
"""Whether a not at the start reads variables."""
P_LINGERS = 17
"""Whether a run whose start is forbidden stays to the end of that moment: it may time out then (rule 9). Only count
windows and bounds since a variable end in the midst of a moment."""
P_ONCE_PER = 18
"""The least time between two reported matches (rule 19); 0 without one."""
P_SINCE = 19
"""Whether anything has a bound since a variable: it may be out of time on arrival (rule 17)."""
P_PASSES = 20
"""Whether an event that concerns no run, and starts none, has no effect at all (`occupied`)."""
P_SIZE = 21

# positions (and endings)
S_CONTINUATIONS = 0
S_CONTINUATIONS_END = 1
S_RIVALS = 2
S_RIVALS_END = 3
S_ACCEPTS = 4
"""AT_ONCE: a match ends here; PERHAPS: an ending may have nothing to wait for on arrival; 0: neither."""
S_ENDINGS = 5
S_ENDINGS_END = 6
"""The endings of a position, in `lists`. Of an ending: the ways on which whole loops would take (rule 16)."""
S_FRESH = 7
"""Whether the event right behind the last taken one means something special here: strict links, not_next."""
S_GAP = 8
"""Whether a continuation or rival has a bound since the previous event."""
S_PROGRAMS = 9
S_PROGRAMS_END = 10
"""The predicates looked at here that read variables, in `lists`: the bit of each in the page, then its number."""
S_INDEX = 11
"""The register of an equality that every predicate looked at here asks for, so that runs are found by its value; or
-1."""
S_INDEX_COLUMN = 12
S_PAGE = 13
"""The page of bits that holds all predicates looked at here."""
S_HAVING = 14
S_HAVING_END = 15
"""The havings asked on arrival here (rule 15), in `lists`: the number of each, where its program begins and ends."""
S_NEEDED = 16
"""Of an ending: bits of the havings that must hold for it."""
S_SINCE = 17
"""Whether a continuation or rival has a bound since a variable."""
S_GUARDED = 18
"""Whether a continuation can end at an event before it takes it (`stepping.is_lost`): an until, a not_next, a greedy
loop or a bound on time stands here."""
S_SIZE = 19

# continuations and rivals: numbers
C_VARIABLE = 0
C_KIND = 1
C_TARGET = 2
C_GAP = 3
C_RIVALS = 4
"""Bits of the position's rivals that bind this continuation."""
C_NEEDED = 5
"""Bits of the havings that must hold on arrival for this continuation to be open."""
C_SINCE = 6
C_SINCE_END = 7
"""Bounds since variables, in `lists`: the variable, then the length."""
C_SIZE = 8

# continuations and rivals: sets of predicates, as bits
B_TAKES = 0
B_OVER = 1
B_REFUSED = 2
B_NOT_NEXT = 3
B_NOT_FOLLOWED = 4
"""What cannot be passed over: nots, and the other elements that a relaxed link leads to (rule 13)."""
B_SIZE = 5

STRICT, RELAXED, ANY = 0, 1, 2
AT_ONCE, PERHAPS = 1, 2
NOT_NEXT, NOT_FOLLOWED = 0, 1
NO_SKIP, TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(5)
DOMINANCE_OFF, DOMINANCE_PER_START, DOMINANCE_OVERALL = range(3)

# guards: the nots of endings
G_KIND = 0
G_PREDICATE = 1
G_WINDOW = 2
G_SIZE = 3

# nots at the start
F_PAGE = 0
F_BIT = 1
"""Where its test on the event alone stands among the event's bits."""
F_PREDICATE = 2
F_SIZE = 3

# runs
R_NEXT = 0
R_NODE = 1
R_POSITION = 2
R_OPEN = 3
"""Bits of the continuations that are still open; of an ending, WAITS and perhaps FORESTALLED. 0: the run is over."""
R_CHAIN = 4
"""The next run with the same place in the index."""
R_SIZE = 5
WAITS = 1
FORESTALLED = 2
"""A not at the start is violated, so that nothing is emitted when the ending is decided."""
WHOLE = 2
"""From this bit on, one for each whole loop of the ending that may still take an event."""

# what only some patterns need of a run
X_GENERATION = 0
X_RIVALS = 1
"""Bits of the rivals that may still take an event."""
X_SIZE = 2

# nodes of the shared buffer: a partial match is a node and what it points back to
N_EVENT = 0
N_PREVIOUS = 1
N_START = 2
N_DEPTH = 3
N_STATE = 4
"""The variable that took the event, whether the match is complete, and counts of open places and waiting endings."""
N_SIZE = 5
VARIABLE = (1 << 10) - 1
COMPLETE = 1 << 10
OPEN = 1 << 11
PENDING = 1 << 21

# timers
T_DUE = 0
T_RUN = 1
T_GENERATION = 2
T_CHILD = 3
T_SIBLING = 4
T_SIZE = 5

# slots: what is kept of a partition
K_FRESH = 0
K_LIVE = 1
K_FIRST_ALLOWED = 2
"""The ordinal of the first start that no match forbids."""
K_FORBIDDEN_AT = 3
"""The moment at which a match last forbade starts."""
K_TIMERS = 4
K_COUNT_TIMERS = 5
K_NOW = 6
"""Where time stands; NONE before the first event."""
K_ALLOWED_BEFORE = 7
"""What K_FIRST_ALLOWED was before that moment."""
K_SILENT_UNTIL = 8
"""The moment from which on a match is reported again (rule 19)."""
K_BEFORE = 9
"""From here on, two numbers for each not at the start: ordinal and time of the last event that satisfied it. Of a not
that reads variables: row and time of the last event that passes its test on the event alone."""

# lists of a partition: three numbers for each position
L_HEAD = 0
L_LENGTH = 1
L_SWEPT = 2
L_SIZE = 3

# counters
Q_FREE_RUN = 0
Q_USED_RUNS = 1
Q_USED_NODES = 2
Q_FREE_TIMER = 3
Q_USED_TIMERS = 4
Q_MATCHES = 5
Q_TIMEOUTS = 6
Q_CREATED = 7
Q_CANDIDATES = 8
Q_PROBLEM = 9
Q_PROBLEM_VALUE = 10
"""How many matches one event had, where that was too many; the predicate that failed."""
Q_NEEDED = 11
"""Where the pool has no room: how many runs and nodes the next event may create,"""
Q_NEEDED_WAITING = 12
"""and how many waiting runs time may decide before it."""
Q_SIZE = 13

# what comes behind the last event
AS_IT_IS, ADVANCE, END = range(3)

# why the kernel stopped
DONE = 0
GROW = 1
TOO_MANY_RUNS = 2
TOO_MANY_MATCHES = 3
SKIP_TARGET_MISSING = 4
SKIP_TO_START = 5
OVERFLOW = 6
DIVISION_BY_ZERO = 7
STOPPED = -2
"""Between two events, since it is run by Python and takes long (`entrances`)."""

NEVER = 2**63 - 1
NONE = -1

WIDTHS = {
    "Arrays": {
        "positions": S_SIZE,
        "ways": C_SIZE,
        "sets": B_SIZE,
        "rivals": C_SIZE,
        "rival_sets": B_SIZE,
        "guards": G_SIZE,
        "programs": 2,
        "code": 3,
        "updates": 6,
        "updates_of": 2,
        "not_before": F_SIZE,
    },
    "Pool": {
        "runs": R_SIZE,
        "extra": X_SIZE,
        "nodes": N_SIZE,
        "timers": T_SIZE,
        "created": 6,
        "spare": 4,
        "matches": 3,
        "timeouts": 3,
        "stack": 2,
    },
}
"""How many columns arrays have, of those whose columns are the same for all patterns: machine code takes these numbers
for granted (`compiling.borrowed`; `tests/engine/test_indices` compares them with what there is)."""
