"""The stack machine for what conditions read of variables.

In: code from `programs`, the values of the current event, the registers of a run. Out: whether the condition holds;
new registers when an event is taken. Called by the kernel only.

A value is 64 bits and a flag that says it is known. Whole numbers, scaled decimals, times, truth values and codes of
strings are integers; doubles are kept by their bits. Truth is three-valued: unknown is a value that is not known.
Overflow and division by zero are noted in the counters and stop the kernel behind the event.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled
from cepheid.engine.kernel.layout import (
    DIVISION_BY_ZERO,
    N_EVENT,
    N_PREVIOUS,
    N_STATE,
    NONE,
    OVERFLOW,
    Q_PROBLEM,
    VARIABLE,
)
from cepheid.engine.kernel.opcodes import *

_SMALLEST_INTEGER = -(2**63)


@compiled
def add_checked(counters, left, right):
    total = left + right
    if ((left ^ total) & (right ^ total)) < 0:
        counters[Q_PROBLEM] = OVERFLOW
    return total


@compiled
def magnitude(number):
    return np.uint64(number) if number >= 0 else np.uint64(0) - np.uint64(number)


@compiled
def multiply_checked(counters, left, right):
    limit = np.uint64(2**63 - 1) + np.uint64((left < 0) != (right < 0))
    if left != 0 and magnitude(right) > limit // magnitude(left):
        counters[Q_PROBLEM] = OVERFLOW
    return left * right


@compiled
def as_double(bits):
    return np.int64(bits).view(np.float64)


@compiled
def as_bits(double):
    return np.float64(double).view(np.int64)


@compiled
def compare_doubles(left, right):
    """-1, 0 or 1 as Spark orders doubles: NaN equals NaN and is the largest; both zeros are equal."""
    if left == right:
        return 0
    if np.isnan(left):
        return 0 if np.isnan(right) else 1
    if np.isnan(right) or left < right:
        return -1
    return 1


@compiled
def compares(comparison, left, right):
    """What one of the six comparisons, from EQUAL to LESS_OR_EQUAL_DOUBLE, says of two known values."""
    if comparison > LESS_OR_EQUAL:
        order = compare_doubles(as_double(left), as_double(right))
        comparison -= EQUAL_DOUBLE - EQUAL
    else:
        order = np.int64(left > right) - np.int64(left < right)
    if comparison == EQUAL:
        return order == 0
    return order < 0 or (order == 0 and comparison == LESS_OR_EQUAL)


@compiled
def evaluate(codes, values, values_known, registers, stack, counters, begin, end, event, run):
    """Whether a program leaves true on the stack. The commonest one, a value of the event beside a register, needs no
    stack."""
    if end - begin == 3 and EQUAL <= codes[end - 1, 0] <= LESS_OR_EQUAL_DOUBLE:
        if codes[begin, 0] == REGISTER and codes[begin + 1, 0] == VALUE:
            register, column = codes[begin, 1], codes[begin + 1, 1]
            valid = np.uint64(registers[run, registers.shape[1] - 1]) >> np.uint64(register)
            if valid & values_known[event] >> np.uint64(column) & np.uint64(1) == 0:
                return False
            return compares(codes[end - 1, 0], registers[run, register], values[event, column])
    top = execute(codes, values, values_known, registers, stack, counters, begin, end, event, run)
    return stack[top, 1] != 0 and stack[top, 0] != 0


@compiled
def execute(codes, values, values_known, registers, machine_stack, counters, begin, end, event, run):
    """Run a program; returns the place of its result on the stack: a value, and whether it is known.

    The last column of the registers holds a bit for each of them that is known.
    """
    stack, known = machine_stack[:, 0], machine_stack[:, 1]
    registers_known = np.uint64(registers[run, registers.shape[1] - 1])
    top = -1
    at = begin
    while at < end:
        code, operand = codes[at, 0], codes[at, 1]
        at += 1
        if code == CONSTANT:
            top += 1
            stack[top] = operand
            known[top] = 1
        elif code == UNKNOWN:
            top += 1
            stack[top] = 0
            known[top] = 0
        elif code == VALUE:
            top += 1
            stack[top] = values[event, operand]
            known[top] = np.int64(values_known[event] >> np.uint64(operand) & np.uint64(1))
        elif code == REGISTER:
            top += 1
            stack[top] = registers[run, operand]
            known[top] = np.int64(registers_known >> np.uint64(operand) & np.uint64(1))
        elif code == NEGATE:
            if known[top] and stack[top] == _SMALLEST_INTEGER:
                counters[Q_PROBLEM] = OVERFLOW
            stack[top] = -stack[top]
        elif code == ABSOLUTE:
            if known[top] and stack[top] == _SMALLEST_INTEGER:
                counters[Q_PROBLEM] = OVERFLOW
            stack[top] = abs(stack[top])
        elif code == NEGATE_DOUBLE:
            stack[top] = as_bits(-as_double(stack[top]))
        elif code == ABSOLUTE_DOUBLE:
            stack[top] = as_bits(abs(as_double(stack[top])))
        elif code == SQUARE_ROOT:
            stack[top] = as_bits(np.sqrt(as_double(stack[top])))
        elif code == ARC_SINE:
            stack[top] = as_bits(np.arcsin(as_double(stack[top])))
        elif code == TO_DOUBLE:
            stack[top] = as_bits(np.float64(stack[top]))
        elif code == DECIMAL_TO_DOUBLE:
            stack[top] = as_bits(np.float64(stack[top]) / np.float64(operand))
        elif code == CHECK_RANGE:
            if known[top] and (stack[top] > operand or stack[top] < -operand - codes[at - 1, 2]):
                counters[Q_PROBLEM] = OVERFLOW
        elif code == NOT:
            stack[top] = 1 - stack[top]
        elif code == IS_UNKNOWN:
            stack[top] = 1 - known[top]
            known[top] = 1
        elif code == JUMP:
            at = begin + operand
        elif code == JUMP_IF_FALSE:
            if known[top] and stack[top] == 0:
                at = begin + operand
        elif code == JUMP_IF_TRUE:
            if known[top] and stack[top] != 0:
                at = begin + operand
        elif code == JUMP_UNLESS_TRUE:
            if not (known[top] and stack[top] != 0):
                at = begin + operand
            top -= 1
        elif code == JUMP_IF_KNOWN:
            if known[top]:
                at = begin + operand
        elif code == DROP:
            top -= 1
        else:
            top -= 1
            both(counters, stack, known, code, operand, top)
    return top


@compiled
def both(counters, stack, known, code, operand, top):
    """An operation on the two topmost values, whose result replaces them."""
    left, right = stack[top], stack[top + 1]
    left_known, right_known = known[top], known[top + 1]
    if code == AND:
        if (left_known and left == 0) or (right_known and right == 0):
            stack[top] = 0
            known[top] = 1
        else:
            known[top] = left_known & right_known
            stack[top] = 1
        return
    if code == OR:
        if (left_known and left != 0) or (right_known and right != 0):
            stack[top] = 1
            known[top] = 1
        else:
            known[top] = left_known & right_known
            stack[top] = 0
        return
    if code in (NULL_SAFE_EQUAL, NULL_SAFE_EQUAL_DOUBLE):
        if left_known and right_known:
            if code == NULL_SAFE_EQUAL:
                stack[top] = left == right
            else:
                stack[top] = compare_doubles(as_double(left), as_double(right)) == 0
        else:
            stack[top] = left_known == right_known
        known[top] = 1
        return
    known[top] = left_known & right_known
    if not known[top]:
        return
    if code == ADD:
        stack[top] = add_checked(counters, left, right)
    elif code == SUBTRACT:
        difference = left - right
        if ((left ^ right) & (left ^ difference)) < 0:
            counters[Q_PROBLEM] = OVERFLOW
        stack[top] = difference
    elif code == MULTIPLY:
        stack[top] = multiply_checked(counters, left, right)
    elif code in (MODULO, INTEGER_DIVIDE):
        if right == 0:
            counters[Q_PROBLEM] = DIVISION_BY_ZERO
            return
        if right == -1:
            if code == INTEGER_DIVIDE and left == _SMALLEST_INTEGER:
                counters[Q_PROBLEM] = OVERFLOW
            stack[top] = 0 if code == MODULO else -left
            return
        quotient = left // right
        if quotient < 0 and quotient * right != left:
            quotient += 1  # towards zero, as Spark divides
        stack[top] = left - quotient * right if code == MODULO else quotient
    elif code == ADD_DOUBLE:
        stack[top] = as_bits(as_double(left) + as_double(right))
    elif code == SUBTRACT_DOUBLE:
        stack[top] = as_bits(as_double(left) - as_double(right))
    elif code == MULTIPLY_DOUBLE:
        stack[top] = as_bits(as_double(left) * as_double(right))
    elif code == DIVIDE_DOUBLE:
        if as_double(right) == 0:
            counters[Q_PROBLEM] = DIVISION_BY_ZERO
            return
        stack[top] = as_bits(as_double(left) / as_double(right))
    elif code == AVERAGE:
        if right == 0:
            known[top] = 0
        else:
            stack[top] = as_bits(np.float64(left) / np.float64(right))
    elif code == AVERAGE_DOUBLE:
        if right == 0:
            known[top] = 0
        else:
            stack[top] = as_bits(as_double(left) / np.float64(right))
    else:
        stack[top] = compares(code, left, right)


@compiled
def is_new(values, values_known, nodes, node, variable, column, value, kind):
    """Whether no event that the variable took up to a node has the value in a column (rule 18)."""
    while node != NONE:
        earlier = nodes[node, N_EVENT]
        if nodes[node, N_STATE] & VARIABLE == variable and values_known[earlier] >> np.uint64(column) & np.uint64(1):
            other = values[earlier, column]
            if other == value:
                return False
            if kind == COUNT_DISTINCT_DOUBLE and compare_doubles(as_double(other), as_double(value)) == 0:
                return False
        node = nodes[node, N_PREVIOUS]
    return True


@compiled
def update_registers(
    codes,
    updates,
    updates_of,
    values,
    values_known,
    registers,
    stack,
    counters,
    parent,
    child,
    variable,
    event,
    nodes,
    node,
):
    """The registers of a run after a variable took an event (rule 11: NULLs are skipped).

    `node` is the last of the nodes that hold what the parent took: different values are counted by looking at them.
    """
    last = registers.shape[1] - 1
    for register in range(last):
        registers[child, register] = registers[parent, register]
    valid = np.uint64(registers[parent, last])
    for index in range(updates_of[variable, 0], updates_of[variable, 1]):
        kind, register, depth, column = updates[index, 0], updates[index, 1], updates[index, 2], updates[index, 3]
        bit = np.uint64(1) << np.uint64(register)
        if kind == COUNT_EVENTS:
            registers[child, register] += 1
            continue
        if column >= 0:
            is_known = (values_known[event] >> np.uint64(column)) & np.uint64(1) != 0
            new = values[event, column]
        else:
            top = execute(
                codes,
                values,
                values_known,
                registers,
                stack,
                counters,
                updates[index, 4],
                updates[index, 5],
                event,
                parent,
            )
            is_known = stack[top, 1] != 0
            new = stack[top, 0]
        if kind == FOLD:
            registers[child, register] = new
            valid = valid | bit if is_known else valid & ~bit
            continue
        if not is_known:
            continue
        old = registers[child, register]
        is_first = not valid & bit
        if kind == COUNT:
            registers[child, register] = old + 1
        elif kind == COUNT_DISTINCT or kind == COUNT_DISTINCT_DOUBLE:
            if is_new(values, values_known, nodes, node, variable, column, new, kind):
                registers[child, register] = old + 1
        elif kind == LAST:
            for place in range(depth - 1, 0, -1):
                registers[child, register + place] = registers[child, register + place - 1]
                if (valid >> np.uint64(register + place - 1)) & np.uint64(1):
                    valid |= np.uint64(1) << np.uint64(register + place)
            registers[child, register] = new
        elif kind == FIRST:
            for place in range(depth):
                following = np.uint64(1) << np.uint64(register + place)
                if not valid & following:
                    registers[child, register + place] = new
                    valid |= following
                    break
            continue
        elif is_first:
            registers[child, register] = new
        elif kind == SUM:
            registers[child, register] = add_checked(counters, old, new)
        elif kind == SUM_DOUBLE:
            registers[child, register] = as_bits(as_double(old) + as_double(new))
        elif kind == SMALLEST:
            registers[child, register] = min(old, new)
        elif kind == LARGEST:
            registers[child, register] = max(old, new)
        elif kind == SMALLEST_DOUBLE:
            if compare_doubles(as_double(new), as_double(old)) < 0:
                registers[child, register] = new
        elif kind == LARGEST_DOUBLE:
            if compare_doubles(as_double(new), as_double(old)) > 0:
                registers[child, register] = new
        valid |= bit
    registers[child, last] = np.int64(valid)
