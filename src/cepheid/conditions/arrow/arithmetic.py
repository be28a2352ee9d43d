"""Arithmetic on whole columns by Spark's ANSI rules: overflow and division by zero are errors, NULL in is NULL out.

Comes in: an operation that binding has typed and the values of its operands, of which at least one is an array.
Goes out: an array of the operation's type. An `EvaluationError` from here says only that some row fails: `vectorized`
asks the evaluator by rows which, and with which values. Called by `vectorized` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import types
from cepheid.conditions.arrow.values import (
    NotVectorized,
    Value,
    arrow_type,
    as_numpy,
    is_constant,
    widened,
    with_nulls_of,
)
from cepheid.conditions.expression import Call, Operation, Operator
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import EvaluationError

_CHECKED: dict[Operator, Callable[[Value, Value], Any]] = {
    Operator.ADD: pc.add_checked,
    Operator.SUBTRACT: pc.subtract_checked,
    Operator.MULTIPLY: pc.multiply_checked,
}
_UNCHECKED: dict[Operator, Callable[[Value, Value], Any]] = {
    Operator.ADD: pc.add,
    Operator.SUBTRACT: pc.subtract,
    Operator.MULTIPLY: pc.multiply,
    Operator.DIVIDE: pc.divide,
}
_DAY = timedelta(days=1) // timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The portable evaluators compute with Python's moments, whose years go from 1 to 9999.
_FIRST_DAY, _LAST_DAY = ((day - _EPOCH.date()).days for day in (date.min, date.max))
_MOMENTS = (_FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1)


def computed(expression: Operation, left: Value, right: Value) -> Any:
    """The value of an arithmetic operation, row by row."""
    result = expression.type
    length = len(right) if is_constant(left) else len(left)
    if Kind.NULL in (operand.type.kind for operand in expression.operands):
        return pa.nulls(length, arrow_type(result))
    if result.is_integral:
        return _integral(expression, left, right, length)
    if result.is_fractional:
        return _fractional(expression, left, right, length)
    if result.kind is Kind.DECIMAL:
        return _decimal(expression, left, right)
    return _temporal(expression, left, right)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _integral(expression: Operation, left: Value, right: Value, length: int) -> Any:
    if any(operand.type.kind is Kind.DECIMAL for operand in expression.operands):
        raise NotVectorized(f"`{expression.operator.value}` on decimals")
    left, right = (widened(side, expression.type) for side in (left, right))
    if expression.operator in _CHECKED:
        return checked(_CHECKED[expression.operator], left, right)
    right = _without_zero(left, right)
    if expression.operator is Operator.INTEGER_DIVIDE:
        return checked(pc.divide_checked, left, right)
    divisor = as_numpy(right, length, 1)
    # The least number divided by -1 overflows; its remainder, like that of any number, is the same with 1.
    remainder = np.fmod(as_numpy(left, length, 0), np.where(divisor == -1, 1, divisor).astype(divisor.dtype))
    return with_nulls_of(remainder, length, left, right)


def checked(compute: Callable[..., Any], *operands: Value) -> Any:
    """What a checked kernel of Arrow computes; its refusal is an overflow."""
    try:
        return compute(*operands)
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"overflow: {error}") from error


def _without_zero(left: Value, right: Value) -> Value:
    """The divisor; an error if it is 0 where there is something to divide, NULL if there is not."""
    zero = pc.equal(right, pa.scalar(0, right.type))
    if not pc.any(zero if not is_constant(zero) else pa.array([zero.as_py()])).as_py():
        return right
    if pc.any(pc.and_(zero, pc.is_valid(left))).as_py():
        raise EvaluationError("division by zero")
    return pc.if_else(zero, pa.scalar(None, right.type), right)


def _fractional(expression: Operation, left: Value, right: Value, length: int) -> Any:
    # Floats of 32 bits are computed in 64 and rounded once more, which gives the same as computing in 32.
    left, right = (widened(side, types.DOUBLE) for side in (left, right))
    if expression.operator not in _CHECKED:
        right = _without_zero(left, right)
    if expression.operator is Operator.MODULO:
        with np.errstate(invalid="ignore"):
            remainder = np.fmod(as_numpy(left, length, 0.0), as_numpy(right, length, 1.0))
        result = with_nulls_of(remainder, length, left, right)
    else:
        result = _UNCHECKED[expression.operator](left, right)
    return result.cast(arrow_type(expression.type), safe=False)


def _decimal(expression: Operation, left: Value, right: Value) -> Any:
    if expression.operator not in _CHECKED:
        raise NotVectorized(f"`{expression.operator.value}` on decimals")
    # Up to 38 digits Arrow's result has Spark's type and is exact; beyond, Spark cuts digits and Arrow refuses.
    result = _UNCHECKED[expression.operator](left, right)
    if result.type != arrow_type(expression.type):
        raise NotVectorized(f"decimals cut to {expression.type}")
    return result


def with_sign(call: Call, value: Any) -> Any:
    """ABS and NEGATIVE."""
    absolute = call.name == "ABS"
    if call.type.is_integral:
        return checked(pc.abs_checked if absolute else pc.negate_checked, value)
    if call.type.kind is Kind.INTERVAL:
        return _as_interval(checked(pc.abs_checked if absolute else pc.negate_checked, _whole(value)))
    return (pc.abs if absolute else pc.negate)(value)


# ── moments and intervals, as whole days or microseconds ─────────────────────────────────────────────────────────────


def _temporal(expression: Operation, left: Value, right: Value) -> Any:
    first, second = (operand.type for operand in expression.operands)
    operator, result = expression.operator, expression.type
    if operator not in _CHECKED or first.is_fractional or second.is_fractional:
        raise NotVectorized(f"`{operator.value}` on intervals")
    if Kind.DECIMAL in (first.kind, second.kind):
        raise NotVectorized(f"`{operator.value}` on intervals and decimals")
    compute = _CHECKED[operator]
    if result.kind is Kind.DATE:
        moved = checked(compute, _days(left, first), _days(right, second))
        return _within(moved, (_FIRST_DAY, _LAST_DAY)).cast(pa.int32()).cast(pa.date32())
    if result.is_moment:
        return _within(checked(compute, _whole(left), _whole(right)), _MOMENTS).cast(arrow_type(result))
    if first.kind is Kind.DATE:
        return _as_interval(checked(pc.multiply_checked, compute(_whole(left), _whole(right)), _DAY))
    return _as_interval(checked(compute, _whole(left), _whole(right)))


def _whole(value: Value) -> Value:
    """Microseconds of a moment or an interval, days of a date, or the whole number itself."""
    if pa.types.is_date(value.type):
        value = pc.cast(value, pa.int32())
    return pc.cast(value, pa.int64())


def _days(value: Value, data_type: DataType) -> Value:
    # Binding lets only intervals of whole days meet a date; others make it a timestamp.
    return pc.divide(_whole(value), pa.scalar(_DAY)) if data_type.kind is Kind.INTERVAL else _whole(value)


def _within(moved: Any, limits: tuple[int, int]) -> Any:
    reached = pc.min_max(moved)
    least, largest = reached["min"].as_py(), reached["max"].as_py()
    if least is not None and (least < limits[0] or largest > limits[1]):
        raise EvaluationError("overflow: a moment outside of the years 1 to 9999")
    return moved


def _as_interval(microseconds: Any) -> Any:
    return microseconds.cast(pa.duration("us"))
