"""Numbers that the tables of a row pattern and its compiled matcher agree on. Nothing here is compiled."""

from __future__ import annotations

from cepheid.engine.kernel.layout import OVERFLOW as OVERFLOW
from cepheid.engine.kernel.layout import Q_PROBLEM as Q_PROBLEM
from cepheid.engine.kernel.layout import Q_SIZE as Q_SIZE

# what a read gives: columns of its record, then its kinds
R_KIND, R_SOURCE, R_OFFSET, R_SHIFT, R_COLUMN, R_SIZE = range(6)
READ_VALUE, READ_LABEL, READ_REGISTER, READ_NUMBER, READ_TEXT = range(5)
# where a read's row is: so many rows before the current one, so many after the first, or in a register
FROM_CURRENT, FROM_START, IN_REGISTER = range(3)

# the test of a variable: its code and its reads, begin -1 where there is none; how many rows after the row the test of
# its neighbours reads
T_CODE_BEGIN, T_CODE_END, T_READS_BEGIN, T_READS_END, T_AHEAD, T_SIZE = range(6)

# a measure that reads rows after others: which rows it counts (the bits of their labels, 0 for all), from the first or
# from the last, how many of them it passes by, how many rows it goes on from there
A_LABELS, A_FROM_FIRST, A_OFFSET, A_SHIFT, A_SIZE = range(5)

# an instruction: what the row pattern's program says, and the number of its place among those that are remembered or -1
I_CODE, I_FIRST, I_SECOND, I_SLOT, I_SIZE = range(5)

# what the matcher remembers of ways that failed, as `rowpattern.splitting.Remembers` numbers it
FORGET, BY_STATE, BY_ROW_OF_START, BY_ROW = range(4)

(
    P_SKIP,
    P_SKIP_MASK,
    P_MEMORY,
    P_SLOTS,
    P_FIRST_MASK,
    P_WITHIN,
    P_BUDGET,
    P_SIZE,
) = range(8)
PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = range(4)
NO_WITHIN = -1

# how the scan ended: with all partitions, with an error, or for lack of room
DONE, NO_SUCH_LABEL, SKIP_TO_START, OVER_BUDGET, FAILED = range(5)
MORE_WAYS, MORE_PATH, MORE_LABELS, MORE_REGISTERS, MORE_STATES, MORE_MATCHES, MORE_ALL_LABELS = range(5, 12)
# how a search ended that depends on rows which may still come
OPEN = 12

# where the scan of a partition is: its next row to start at, the number of its next match, up to which row rows lie in
# matches, and whether rows of the partition precede those at hand
S_START, S_NUMBER, S_COVERED, S_CUT, S_SIZE = range(5)

# where the scan is. C_OPEN: whether more rows may come, each later than C_NOW. C_KEEPS: whether a search that is open
# is kept for the next call; C_KEPT: whether one was kept, and whether it has noted the place where it goes on. C_STEPS:
# how many instructions were tried
(
    C_PARTITION,
    C_START,
    C_IS_NEW,
    C_NUMBER,
    C_COVERED,
    C_COUNT,
    C_USED,
    C_STAMP,
    C_AT,
    C_VARIABLE,
    C_OPEN,
    C_NOW,
    C_KEEPS,
    C_KEPT,
    C_PC,
    C_ROW,
    C_FLAGS,
    C_WAITING,
    C_TRAIL,
    C_NOTED,
    C_SPENT,
    C_STEPS,
    C_SIZE,
) = range(23)
KEPT, KEPT_NOTED = 1, 2

# what is measured over the rows of a match
COUNT_ROWS, COUNT_KNOWN, SUM_WHOLE, SUM_DOUBLE, LEAST_WHOLE, MOST_WHOLE, LEAST_DOUBLE, MOST_DOUBLE = range(8)
