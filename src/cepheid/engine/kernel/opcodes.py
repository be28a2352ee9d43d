"""The instructions of the stack machine, and how registers change. Plain numbers: `tables.programs` writes them without
importing compiled code, `machine` runs them."""

from __future__ import annotations

(
    CONSTANT,
    UNKNOWN,
    VALUE,
    REGISTER,
    ADD,
    SUBTRACT,
    MULTIPLY,
    NEGATE,
    ABSOLUTE,
    MODULO,
    INTEGER_DIVIDE,
    ADD_DOUBLE,
    SUBTRACT_DOUBLE,
    MULTIPLY_DOUBLE,
    DIVIDE_DOUBLE,
    NEGATE_DOUBLE,
    ABSOLUTE_DOUBLE,
    TO_DOUBLE,
    DECIMAL_TO_DOUBLE,
    CHECK_RANGE,
    EQUAL,
    LESS,
    LESS_OR_EQUAL,
    EQUAL_DOUBLE,
    LESS_DOUBLE,
    LESS_OR_EQUAL_DOUBLE,
    NULL_SAFE_EQUAL,
    NULL_SAFE_EQUAL_DOUBLE,
    NOT,
    AND,
    OR,
    IS_UNKNOWN,
    JUMP,
    JUMP_IF_FALSE,
    JUMP_IF_TRUE,
    JUMP_UNLESS_TRUE,
    JUMP_IF_KNOWN,
    DROP,
    AVERAGE,
    AVERAGE_DOUBLE,
) = range(40)

# how a register changes
COUNT_EVENTS, COUNT, SUM, SUM_DOUBLE, SMALLEST, LARGEST, SMALLEST_DOUBLE, LARGEST_DOUBLE, FIRST, LAST, FOLD = range(11)
