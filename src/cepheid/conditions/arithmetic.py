"""Comparison and arithmetic on two values that are not NULL, by Spark's ANSI rules.

Comes in: an operator and the type of its result. Goes out: a function of two Python values. Where the type is unknown
the values decide, as a schema would have. Called by `evaluation` and `folding`.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Hashable
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TypeAlias

from cepheid.conditions import types
from cepheid.conditions.casting import (
    BEYOND_THE_CALENDAR,
    EXACT,
    as_aware,
    cast,
    fit_decimal,
    fit_integer,
    fit_interval,
    shown,
    single,
)
from cepheid.conditions.expression import Expression, Operator
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import EvaluationError

Binary: TypeAlias = Callable[[Any, Any], Any]

_PYTHON: dict[Operator, Binary] = {
    Operator.ADD: python.add,
    Operator.SUBTRACT: python.sub,
    Operator.MULTIPLY: python.mul,
}
_EXACT: dict[Operator, Binary] = {
    Operator.ADD: EXACT.add,
    Operator.SUBTRACT: EXACT.subtract,
    Operator.MULTIPLY: EXACT.multiply,
    Operator.DIVIDE: EXACT.divide,
}
_MICROSECOND = timedelta(microseconds=1)


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1. NaN equals NaN and is the largest (rule 11); values of two types are brought to one first."""
    if type(left) is not type(right):
        left, right = _brought_together(left, right)
    if isinstance(left, float) and (left != left or right != right):
        return int(left != left) - int(right != right)
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        if isinstance(left, datetime) and isinstance(right, datetime):  # one with a zone, one without
            return compare(as_aware(left), as_aware(right))
        raise _mismatch("compare", left, right) from None


def equal(left: Any, right: Any) -> bool:
    """Whether two values are equal, whatever their types."""
    return bool(left == right) if type(left) is type(right) is str else compare(left, right) == 0


def equality_key(value: Any) -> Hashable:
    """What is the same for equal values and differs for others, so that a set can hold them: NaN equals NaN, -0.0 is
    0.0, and moments are equal whatever their zones."""
    if isinstance(value, float):
        return ("NaN",) if value != value else value + 0.0
    if isinstance(value, datetime) and value.tzinfo is not None:
        return as_aware(value)
    if isinstance(value, list | dict):
        raise EvaluationError(f"{shown(value)} cannot be compared")
    return (value,) if isinstance(value, bool) else value  # to Python True is 1


def _brought_together(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values of different Python types as values of one, as `promotion.common` does for types."""
    if isinstance(left, str) != isinstance(right, str):
        target = _type_beside_string(right if isinstance(left, str) else left)
        return cast(left, target), cast(right, target)
    if isinstance(left, bool) or isinstance(right, bool):
        raise _mismatch("compare", left, right)
    if isinstance(left, date) and isinstance(right, date):
        return as_aware(cast(left, types.TIMESTAMP)), as_aware(cast(right, types.TIMESTAMP))
    if isinstance(left, float) and isinstance(right, Decimal | int):
        return left, float(right)
    if isinstance(right, float) and isinstance(left, Decimal | int):
        return float(left), right
    return left, right


def _type_beside_string(other: Any) -> DataType:
    if isinstance(other, bool):
        return types.BOOLEAN
    if isinstance(other, int):
        return types.LONG
    if isinstance(other, float | Decimal):
        return types.DOUBLE
    if isinstance(other, datetime):
        return types.TIMESTAMP if other.tzinfo is not None else types.TIMESTAMP_NTZ
    if isinstance(other, date):
        return types.DATE
    return types.BINARY if isinstance(other, bytes) else types.STRING


def _mismatch(verb: str, left: Any, right: Any) -> EvaluationError:
    return EvaluationError(
        f"cannot {verb} {shown(left)} and {shown(right)}: one is {_called(left)}, one {_called(right)}"
    )


def _called(value: Any) -> str:
    return {str: "a string", bool: "a boolean", int: "a number", float: "a number", Decimal: "a number"}.get(
        type(value), f"a {type(value).__name__}"
    )


def operation(operator: Operator, result: DataType) -> Binary:
    """The arithmetic of an operator whose result is of the given type."""
    if result.is_integral:
        return _integral(operator, result)
    if result.is_fractional:
        exact = _fractional(operator)
        return exact if result.kind is Kind.DOUBLE else lambda left, right: single(exact(left, right))
    if result.kind is Kind.DECIMAL:
        return _decimal(operator, result)
    if result.is_moment or result.kind is Kind.INTERVAL:
        return _temporal(operator)
    return _by_values(operator)


def _division_by_zero(left: Any, operator: Operator) -> EvaluationError:
    return EvaluationError(f"division by zero: {shown(left)} {operator.value} 0")


def _integral(operator: Operator, result: DataType) -> Binary:
    if operator in _PYTHON:
        compute = _PYTHON[operator]
        limit = 1 << (result.bits - 1)

        def checked(left: int, right: int) -> int:
            value: int = compute(left, right)
            if -limit <= value < limit:
                return value
            raise EvaluationError(f"overflow: {left} {operator.value} {right} does not fit into {result}")

        return checked

    def divided(left: Any, right: Any) -> int:
        """Towards zero, as in Java; the remainder has the sign of the left side."""
        if right == 0:
            raise _division_by_zero(left, operator)
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            return fit_integer(int(EXACT.divide_int(Decimal(left), Decimal(right))), result)
        if operator is Operator.MODULO:
            remainder: int = abs(left) % abs(right)
            return -remainder if left < 0 else remainder
        quotient = abs(left) // abs(right)
        return fit_integer(quotient if (left < 0) == (right < 0) else -quotient, result)

    return divided


def _fractional(operator: Operator) -> Binary:
    if operator in _PYTHON:
        return _PYTHON[operator]

    def divided(left: float, right: float) -> float:
        if right == 0:
            raise _division_by_zero(left, operator)
        if operator is Operator.DIVIDE:
            return left / right
        return math.nan if math.isinf(left) else math.fmod(left, right)

    return divided


def _decimal(operator: Operator, result: DataType) -> Binary:
    if operator is Operator.MODULO:

        def remainder(left: Any, right: Any) -> Decimal:
            if right == 0:
                raise _division_by_zero(left, operator)
            return fit_decimal(EXACT.remainder(Decimal(left), Decimal(right)), result)

        return remainder
    compute = _EXACT[operator]

    def rounded(left: Any, right: Any) -> Decimal:
        if right == 0 and operator is Operator.DIVIDE:
            raise _division_by_zero(left, operator)
        return fit_decimal(compute(Decimal(left), Decimal(right)), result)

    return rounded


def _temporal(operator: Operator) -> Binary:
    def moved(left: Any, right: Any) -> Any:
        try:
            computed = _of_times(operator, left, right)
            return fit_interval(computed) if isinstance(computed, timedelta) else computed
        except OverflowError:
            beyond = f" {BEYOND_THE_CALENDAR}" if isinstance(left, date) or isinstance(right, date) else ""
            raise EvaluationError(f"overflow: {left} {operator.value} {right}{beyond}") from None
        except TypeError:
            raise _mismatch("compute with", left, right) from None

    return moved


def _of_times(operator: Operator, left: Any, right: Any) -> Any:
    if operator in (Operator.MULTIPLY, Operator.DIVIDE):
        return _scaled(operator, left, right)
    if operator not in (Operator.ADD, Operator.SUBTRACT):
        raise TypeError(operator)
    compute = _PYTHON[operator]
    if type(left) is date or type(right) is date:
        # Python adds only intervals to dates; Spark also whole numbers, which are days.
        left, right = (timedelta(days=side) if isinstance(side, int) else side for side in (left, right))
        if isinstance(left, timedelta) != isinstance(right, timedelta):
            interval = left if isinstance(left, timedelta) else right
            if interval % timedelta(days=1):
                left, right = (cast(side, types.TIMESTAMP) if type(side) is date else side for side in (left, right))
    if isinstance(left, date) and isinstance(right, date) and type(left) is not type(right):
        left, right = cast(left, types.TIMESTAMP), cast(right, types.TIMESTAMP)
    elif isinstance(left, datetime) and isinstance(right, datetime):
        left, right = as_aware(left), as_aware(right)
    return compute(left, right)


def _scaled(operator: Operator, left: Any, right: Any) -> timedelta:
    """An interval times or by a number, rounded half up to microseconds."""
    swapped = operator is Operator.MULTIPLY and isinstance(right, timedelta)
    interval, factor = (right, left) if swapped else (left, right)
    if not (isinstance(interval, timedelta) and isinstance(factor, int | float | Decimal)):
        raise TypeError(operator)
    if operator is Operator.DIVIDE and factor == 0:
        raise _division_by_zero(left, operator)
    whole = interval // _MICROSECOND
    if isinstance(factor, float):
        # Spark computes in doubles, with what they lose of a long interval.
        double = whole * factor if operator is Operator.MULTIPLY else whole / factor
        if not math.isfinite(double):
            raise EvaluationError(f"overflow: {shown(left)} {operator.value} {shown(right)}")
        microseconds = Decimal(double)
    else:
        microseconds = _EXACT[operator](Decimal(whole), Decimal(factor))
    return timedelta(microseconds=int(microseconds.to_integral_value(ROUND_HALF_UP)))


def _by_values(operator: Operator) -> Binary:
    """The type is unknown: each pair of values decides it."""

    def compute(left: Any, right: Any) -> Any:
        return operation_for(operator, left, right)

    whole = operation(operator, types.LONG) if operator is not Operator.DIVIDE else None
    fractional = _fractional(operator) if operator is not Operator.INTEGER_DIVIDE else None

    def fast(left: Any, right: Any) -> Any:
        if type(left) is int and type(right) is int and whole is not None:
            return whole(left, right)
        if type(left) is float and type(right) is float and fractional is not None:
            return fractional(left, right)
        return compute(left, right)

    return fast


def operation_for(operator: Operator, left: Any, right: Any) -> Any:
    """The operation as `promotion.arithmetic` would type it for values like these."""
    if isinstance(left, bool) or isinstance(right, bool):
        raise _mismatch("compute with", left, right)
    if isinstance(left, date | timedelta) or isinstance(right, date | timedelta):
        return _temporal(operator)(left, right)
    if isinstance(left, str) or isinstance(right, str):
        other = right if isinstance(left, str) else left
        target = types.LONG if isinstance(other, int) and operator is not Operator.DIVIDE else types.DOUBLE
        left, right = (cast(side, target) if isinstance(side, str) else side for side in (left, right))
    if not (isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal)):
        raise _mismatch("compute with", left, right)
    kinds = {type(left), type(right)}
    if Decimal in kinds and float not in kinds:
        return _of_decimals(operator, Decimal(left), Decimal(right))
    whole = isinstance(left, int) and isinstance(right, int) and operator is not Operator.DIVIDE
    if whole or operator is Operator.INTEGER_DIVIDE:
        return _integral(operator, types.LONG)(left, right)
    return _fractional(operator)(float(left), float(right))


def _of_decimals(operator: Operator, left: Decimal, right: Decimal) -> Any:
    if operator is Operator.INTEGER_DIVIDE:
        return _integral(operator, types.LONG)(left, right)
    scales = [max(0, -int(side.as_tuple().exponent)) for side in (left, right)]
    digits = len(right.as_tuple().digits)
    scale = {
        Operator.MULTIPLY: sum(scales),
        Operator.DIVIDE: max(6, scales[0] + digits + 1),
    }.get(operator, max(scales))
    return _decimal(operator, DataType(Kind.DECIMAL, types.MAX_PRECISION, min(scale, types.MAX_PRECISION)))(left, right)


def comes_second(left: Expression, right: Expression) -> bool:
    """Whether Spark turns the operands round, so that the second decides first whether there is a value or an error:
    it has one function for an interval times a number, and one for a moment that is moved."""
    if right.type.kind is Kind.INTERVAL:
        return left.type.is_numeric
    return right.type.is_moment and not left.type.is_moment
