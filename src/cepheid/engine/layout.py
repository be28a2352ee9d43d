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
P_START_BRANCH = 14
P_ENDINGS = 15
"""How many endings one position has at most."""
P_SIZE = 16

# positions (and endings)
S_CONTINUATIONS = 0
S_CONTINUATIONS_END = 1
S_RIVALS = 2
S_RIVALS_END = 3
S_ACCEPTS = 4
S_ENDINGS = 5
S_ENDINGS_END = 6
S_FRESH = 7
"""Whether the event right behind the last taken one means something special here: strict links, not_next."""
S_BRANCH = 8
"""How many children one run can have at one event."""
S_GAP = 9
"""Whether a continuation or rival has a bound since the previous event."""
S_IS_ENDING = 10
S_SIMPLE = 11
"""One continuation without untils, nots or rivals: the short way through `step`."""
S_INDEX = 12
"""Register slot of an equality that all predicates of the position ask for, or -1."""
S_INDEX_COLUMN = 13
S_SIZE = 14

# continuations and rivals
C_VARIABLE = 0
C_PREDICATE = 1
C_KIND = 2
C_TARGET = 3
C_GAP = 4
C_OVER = 5
C_OVER_END = 6
C_REFUSED = 7
C_REFUSED_END = 8
C_NOT_NEXT = 9
C_NOT_NEXT_END = 10
C_NOT_FOLLOWED = 11
C_NOT_FOLLOWED_END = 12
C_RIVALS = 13
"""Bits of the position's rivals that bind this continuation."""
C_SIZE = 14

STRICT, RELAXED, ANY = 0, 1, 2
NOT_NEXT, NOT_FOLLOWED = 0, 1
NO_SKIP, TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(5)
DOMINANCE_OFF, DOMINANCE_PER_START, DOMINANCE_OVERALL = range(3)

# guards: the nots of endings
G_KIND = 0
G_PREDICATE = 1
G_WINDOW = 2
G_SIZE = 3

# runs
R_NEXT = 0
R_NODE = 1
R_POSITION = 2
R_GENERATION = 3
R_SIZE = 4

# nodes of the shared buffer: a partial match is a node and what it points back to
N_EVENT = 0
N_PREVIOUS = 1
N_START = 2
N_DEPTH = 3
N_VARIABLE = 4
N_STATE = 5
"""Bit 0: complete. The rest counts open places and waiting endings, in units of OPEN and PENDING."""
N_SIZE = 6
COMPLETE = 1
OPEN = 2
PENDING = 1 << 16

# timers
T_DUE = 0
T_RUN = 1
T_GENERATION = 2
T_CHILD = 3
T_SIBLING = 4
T_SIZE = 5

# slots: what is kept of a partition beside its lists
K_FRESH = 0
K_LIVE = 1
K_FIRST_ALLOWED = 2
K_ORDINAL = 3
K_FORBIDDEN_AT = 4
K_TIMERS = 5
K_COUNT_TIMERS = 6
K_SIZE = 7

# counters
Q_FREE_RUN = 0
Q_USED_RUNS = 1
Q_USED_NODES = 2
Q_FREE_TIMER = 3
Q_USED_TIMERS = 4
Q_MATCHES = 5
Q_TIMEOUTS = 6
Q_LIVE = 7
Q_CREATED = 8
Q_CANDIDATES = 9
Q_PROBLEM = 10
"""Where a limit was exceeded or an evaluation failed: the position, predicate or variable."""
Q_PROBLEM_VALUE = 11
Q_SIZE = 12

# why the kernel stopped
DONE = 0
GROW = 1
TOO_MANY_RUNS = 2
TOO_MANY_MATCHES = 3
SKIP_TARGET_MISSING = 4
SKIP_TO_START = 5
OVERFLOW = 6
DIVISION_BY_ZERO = 7

NEVER = 2**63 - 1
NONE = -1
