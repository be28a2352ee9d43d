"""The value of an expression on some rows, column by column: what to compute, on which rows, in which order.

Comes in: a bound expression that reads the current event alone, and rows. Goes out: an array, or a constant.
Called by `vectorized`, which says what an error from here means.

A part that may fail, such as a division, is computed only on the rows that need it: the right side of AND where the
left side is not false, a branch of CASE where it is taken, an operand where those before it are not NULL. The rows are
filtered, and the values put back in their places. Everything else is computed on all rows, which is quicker.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arithmetic import comes_second
from cepheid.conditions.arrow import arithmetic as vectorized_arithmetic
from cepheid.conditions.arrow import casting as vectorized_casting
from cepheid.conditions.arrow.comparison import compared
from cepheid.conditions.arrow.values import (
    Mask,
    NotVectorized,
    Rows,
    Value,
    arrow_type,
    constant_of,
    filled,
    is_constant,
    is_set,
    scattered,
    stored_as,
    widened,
)
from cepheid.conditions.constants import constant_value
from cepheid.conditions.expression import COMPARISONS, Call, Cast, Column, Expression, Field, Operation, Operator, walk
from cepheid.conditions.failing import can_fail
from cepheid.conditions.functions.table import function_of
from cepheid.conditions.types import BOOLEAN, Kind


@lru_cache(maxsize=8192)
def columns_of(expression: Expression) -> tuple[str, ...]:
    """The columns that an expression reads."""
    return tuple(dict.fromkeys(node.name for node in walk(expression) if isinstance(node, Column)))


def _where(expression: Expression, rows: Rows, mask: Mask) -> Any:
    """The values on the rows of the mask; elsewhere anything."""
    if not can_fail(expression) or mask.all():
        return value_of(expression, rows)
    if not mask.any():
        return pa.nulls(rows.length, arrow_type(expression.type))
    chosen = rows.where(mask, columns_of(expression))
    return scattered(filled(value_of(expression, chosen), chosen.length), mask)


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def value_of(expression: Expression, rows: Rows) -> Value:
    fixed = constant_value(expression)
    if fixed is not None:
        return constant_of(fixed[0], expression.type)
    if isinstance(expression, Column):
        return rows.read(expression.name, expression.type)
    encoded = _by_dictionary(expression, rows)
    if encoded is not None:
        return encoded
    if isinstance(expression, Cast):
        operand = filled(value_of(expression.operand, rows), rows.length)
        return vectorized_casting.converted(operand, expression.operand.type, expression.type, expression.zone)
    if isinstance(expression, Field):
        return rows_of_field(expression, value_of(expression.operand, rows))
    if isinstance(expression, Call):
        return _call(expression, rows)
    assert isinstance(expression, Operation)
    special = _SPECIAL.get(expression.operator)
    if special is not None:
        return special(expression, rows)
    if expression.operator in COMPARISONS and expression.operator is not Operator.NULL_SAFE_EQUAL:
        return compared(expression.operator, *_operands(expression.operands, rows))
    if comes_second(*expression.operands):
        right, left = _operands(expression.operands[::-1], rows)
    else:
        left, right = _operands(expression.operands, rows)
    return vectorized_arithmetic.computed(expression, left, right)


def _call(call: Call, rows: Rows) -> Any:
    function = function_of(call)
    if function.columns is None:
        raise NotVectorized(call.name)
    if function.skips_nulls:
        values = [value_of(operand, rows) for operand in call.operands]
        values[0] = filled(values[0], rows.length)
        return function.columns(call, *values)
    operands = _operands(call.operands, rows)
    if any(pa.types.is_null(operand.type) for operand in operands):
        return pa.nulls(rows.length, arrow_type(call.type))
    return function.columns(call, *operands)


def rows_of_field(expression: Field, structs: Any) -> Any:
    """The field of each struct, NULL where the struct is."""
    return stored_as(pc.struct_field(structs, expression.name), expression.type)


def _by_dictionary(expression: Expression, rows: Rows) -> Any | None:
    """Of a dictionary-encoded column each different value is computed once; None if that does not work here.

    The dictionary may hold values that no row has, so nothing that can fail is computed in this way.
    """
    names = columns_of(expression)
    stored = rows.columns[names[0]] if len(names) == 1 else None
    if not isinstance(stored, pa.DictionaryArray) or len(stored.dictionary) >= rows.length or can_fail(expression):
        return None
    different = pa.concat_arrays([stored.dictionary, pa.nulls(1, stored.dictionary.type)])
    values = filled(value_of(expression, Rows({names[0]: different}, len(different))), len(different))
    places = pc.fill_null(stored.indices.cast(pa.int64()), len(stored.dictionary))
    return values.take(places)


def _operands(operands: tuple[Expression, ...], rows: Rows) -> tuple[Value, ...]:
    """The operands of what gives NULL as soon as one of them is, of which at least one is an array."""
    values: list[Value] = []
    known = np.ones(rows.length, np.bool_)
    for operand in operands:
        value = _where(operand, rows, known)
        values.append(value)
        if any(map(can_fail, operands[len(values) :])):
            known &= filled(value, rows.length).is_valid().to_numpy(zero_copy_only=False)
    if all(map(is_constant, values)):
        values[0] = filled(values[0], rows.length)
    return tuple(values)


# ── three-valued logic and choices ───────────────────────────────────────────────────────────────────────────────────


def _and(expression: Operation, rows: Rows) -> Any:
    result = _truth(expression.operands[0], rows)
    for operand in expression.operands[1:]:
        needed = is_set(result, rows.length, True) if can_fail(operand) else None
        result = pc.and_kleene(result, _truth(operand, rows, needed))
    return result


def _or(expression: Operation, rows: Rows) -> Any:
    result = _truth(expression.operands[0], rows)
    for operand in expression.operands[1:]:
        needed = ~is_set(result, rows.length, False) if can_fail(operand) else None
        result = pc.or_kleene(result, _truth(operand, rows, needed))
    return result


def _truth(operand: Expression, rows: Rows, mask: Mask | None = None) -> Any:
    value = value_of(operand, rows) if mask is None else _where(operand, rows, mask)
    return filled(widened(value, BOOLEAN), rows.length)


def _not(expression: Operation, rows: Rows) -> Any:
    return pc.invert(_truth(expression.operands[0], rows))


def _is_null(expression: Operation, rows: Rows) -> Any:
    return pc.is_null(filled(value_of(expression.operands[0], rows), rows.length))


def _is_true(expression: Operation, rows: Rows) -> Any:
    return pc.fill_null(_truth(expression.operands[0], rows), False)


def _is_false(expression: Operation, rows: Rows) -> Any:
    return pc.invert(pc.fill_null(_truth(expression.operands[0], rows), True))


def _null_safe_equal(expression: Operation, rows: Rows) -> Any:
    """Unlike the other comparisons it looks at both sides always."""
    left, right = (value_of(operand, rows) for operand in expression.operands)
    return compared(Operator.NULL_SAFE_EQUAL, filled(left, rows.length), right)


def _in(expression: Operation, rows: Rows) -> Any:
    subject = filled(value_of(expression.operands[0], rows), rows.length)
    options = expression.operands[1:]
    if all(constant_value(option) is not None for option in options) and _is_hashed(expression):
        return _in_constants(expression, subject)
    result: Any = pa.repeat(pa.scalar(False), rows.length)
    for option in options:
        needed = subject.is_valid().to_numpy(zero_copy_only=False) & ~is_set(result, rows.length, False)
        result = pc.or_kleene(result, compared(Operator.EQUAL, subject, _where(option, rows, needed)))
    return result


def _is_hashed(expression: Operation) -> bool:
    """Whether Arrow's hash table finds what equality would; among doubles it does not (0.0 and -0.0)."""
    subject, *options = (operand.type for operand in expression.operands)
    if subject.kind is Kind.STRING:
        return all(option.kind in (Kind.STRING, Kind.NULL) for option in options)
    return subject.is_integral and all(option.is_integral or option.kind is Kind.NULL for option in options)


def _in_constants(expression: Operation, subject: Any) -> Any:
    values = [value for option in expression.operands[1:] for value in constant_value(option) or ()]
    known = [value for value in values if value is not None]
    wider = pa.int64() if pa.types.is_integer(subject.type) else subject.type
    found = pc.is_in(subject.cast(wider), value_set=pa.array(known, wider))
    if len(known) < len(values):
        found = pc.if_else(found, True, pa.scalar(None, pa.bool_()))
    return pc.if_else(pc.is_valid(subject), found, pa.scalar(None, pa.bool_()))


def _case(expression: Operation, rows: Rows) -> Any:
    *pairs, otherwise = expression.operands
    open_rows = np.ones(rows.length, np.bool_)
    chosen: list[tuple[Any, Value]] = []
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        taken = is_set(_truth(condition, rows, open_rows), rows.length, False) & open_rows
        chosen.append((pa.array(taken), widened(_where(value, rows, taken), expression.type)))
        open_rows &= ~taken
    result = filled(widened(_where(otherwise, rows, open_rows), expression.type), rows.length)
    for taken_rows, value in chosen:
        result = pc.if_else(taken_rows, value, result)
    return result


def _coalesce(expression: Operation, rows: Rows) -> Any:
    first, *others = expression.operands
    result = filled(widened(value_of(first, rows), expression.type), rows.length)
    for operand in others:
        if not result.null_count:
            break
        missing = result.is_null().to_numpy(zero_copy_only=False)
        result = pc.coalesce(result, widened(_where(operand, rows, missing), expression.type))
    return result


_SPECIAL = {
    Operator.AND: _and,
    Operator.OR: _or,
    Operator.NOT: _not,
    Operator.IS_NULL: _is_null,
    Operator.IS_TRUE: _is_true,
    Operator.IS_FALSE: _is_false,
    Operator.NULL_SAFE_EQUAL: _null_safe_equal,
    Operator.IN: _in,
    Operator.CASE: _case,
    Operator.COALESCE: _coalesce,
}
