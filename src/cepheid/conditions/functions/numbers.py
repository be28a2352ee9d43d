"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.conditions import types
from cepheid.conditions.arrow.arithmetic import with_sign
from cepheid.conditions.arrow.values import NotVectorized, Value, as_numpy, fixed, with_nulls_of
from cepheid.conditions.casting import EXACT, cast, fit_integer, fit_interval, single, with_plain_zero
from cepheid.conditions.expression import Call, Literal
from cepheid.conditions.functions.definition import (
    Arguments,
    Function,
    Instruction,
    Rows,
    Typed,
    always,
    never,
    of_doubles,
)
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import EvaluationError

_PAST_LARGEST_LONG = float(1 << 63)


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_sign(arguments: Arguments) -> Typed:
    (operand,) = arguments.operands
    number = arguments.number(operand, or_interval=True)
    return (number,), types.DOUBLE if number.type.kind is Kind.NULL else number.type


def _of_rounding(arguments: Arguments) -> Typed:
    first, *rest = arguments.operands
    number = arguments.number(first)
    digits = tuple(arguments.whole(operand, literal_alone=True) for operand in rest)
    if number.type.kind is Kind.DECIMAL:
        wanted = digits[0].value if digits and isinstance(digits[0], Literal) else 0
        scale = min(number.type.scale, max(wanted or 0, 0))
        return (number, *digits), _decimal_of_scale(number.type, scale)
    return (number, *digits), types.DOUBLE if number.type.kind is Kind.NULL else number.type


def _of_whole_part(arguments: Arguments) -> Typed:
    (operand,) = arguments.operands
    number = arguments.number(operand)
    if number.type.kind is Kind.DECIMAL and number.type.scale > 0:
        return (number,), _decimal_of_scale(number.type, 0)
    keeps = number.type.kind in (Kind.DECIMAL, Kind.UNKNOWN)
    return (number,), number.type if keeps else types.LONG


def _decimal_of_scale(source: DataType, scale: int) -> DataType:
    return types.decimal(min(source.precision - source.scale + scale + 1, types.MAX_PRECISION), scale)


# ── by rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _number(value: Any) -> Any:
    """Where types were unknown: Spark reads a string as a double where a number is needed."""
    if isinstance(value, str):
        return cast(value, types.DOUBLE)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | timedelta):
        raise EvaluationError(f"{value!r} is not a number")
    return value


def _negated(value: Any, result: DataType) -> Any:
    if isinstance(value, Decimal):
        # Python's minus would round to the digits of its context.
        return with_plain_zero(value.copy_negate())
    return _fitting(-value, result)


def _absolute(value: Any, result: DataType) -> Any:
    return value.copy_abs() if isinstance(value, Decimal) else _fitting(abs(value), result)


def _fitting(computed: Any, result: DataType) -> Any:
    if isinstance(computed, int):
        return fit_integer(computed, result if result.is_integral else types.LONG)
    return fit_interval(computed) if isinstance(computed, timedelta) else computed


def _round(value: Any, digits: int, result: DataType) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if isinstance(value, timedelta):
        raise EvaluationError(f"{value} is not a number")
    # The digits that a double shows, not those it is made of: 2.675 is rounded to 2.68, as in Spark.
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, EXACT) if _has_more(exact, digits) else exact
    rounded = with_plain_zero(rounded)
    if isinstance(value, float):
        return single(float(rounded)) if result.kind is Kind.FLOAT else float(rounded)
    if isinstance(value, int):
        return _fitting(int(rounded), result)
    return rounded.quantize(Decimal(1).scaleb(-max(digits, 0)), context=EXACT) if digits < 0 else rounded


def _has_more(value: Decimal, digits: int) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and -exponent > digits


def _whole_part(value: Any, rounding: str) -> Any:
    if isinstance(value, timedelta):
        raise EvaluationError(f"{value} is not a number")
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            raise EvaluationError(f"overflow: {value} does not fit into {types.LONG}")
        return fit_integer(math.floor(value) if rounding is ROUND_FLOOR else math.ceil(value), types.LONG)
    return with_plain_zero(value.to_integral_value(rounding)) if isinstance(value, Decimal) else value


def _of_double(compute: Callable[[float], float]) -> Rows:
    """A function of the reals: what it is not defined for is NaN, as in Java."""

    def computed(value: Any) -> float:
        double: float = cast(value, types.DOUBLE)
        try:
            return compute(double)
        except ValueError:
            return math.nan

    return lambda call: computed


# ── by columns ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _whole_parts(call: Call, value: Any) -> Any:
    source = call.operands[0].type
    if source.is_integral:
        return value.cast(pa.int64())
    if not source.is_fractional:
        raise NotVectorized(f"{call.name} of decimals")
    number = as_numpy(value, len(value), 0.0).astype(np.float64)
    whole = np.floor(number) if call.name == "FLOOR" else np.ceil(number)
    whole = np.where(np.isnan(whole), 0.0, whole)
    if not np.all((whole >= -_PAST_LARGEST_LONG) & (whole < _PAST_LARGEST_LONG)):
        raise EvaluationError("overflow: a number that does not fit into bigint")
    return with_nulls_of(whole.astype(np.int64), len(value), value)


def _rounded(call: Call, value: Any, *digits: Value) -> Any:
    wanted = fixed(call, digits[0]) if digits else 0
    if not call.type.is_integral or wanted is None or wanted < 0:
        raise NotVectorized("ROUND of other than whole numbers")
    return value


# ── the entries ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _sign_can_fail(call: Call) -> bool:
    return not (call.type.is_fractional or call.type.kind is Kind.DECIMAL)


def _whole_part_can_fail(call: Call) -> bool:
    return not call.operands[0].type.is_integral and call.operands[0].type.kind is not Kind.DECIMAL


def _real(names: tuple[str, ...], compute: Callable[[float], float], kernel: Instruction | None = None) -> Function:
    # By rows only: numpy's functions may differ from the C library's in the last digit.
    return Function(names, 1, 1, of_doubles, _of_double(compute), None, never, kernel)


FUNCTIONS = (
    Function(
        ("ABS",),
        1,
        1,
        _of_sign,
        lambda call: lambda value: _absolute(_number(value), call.type),
        with_sign,
        _sign_can_fail,
        Instruction.ABSOLUTE,
    ),
    Function(
        ("NEGATIVE",),
        1,
        1,
        _of_sign,
        lambda call: lambda value: _negated(_number(value), call.type),
        with_sign,
        _sign_can_fail,
        Instruction.NEGATE,
    ),
    Function(
        ("ROUND",),
        1,
        2,
        _of_rounding,
        lambda call: lambda value, digits=0: _round(_number(value), digits, call.type),
        _rounded,
        always,
    ),
    Function(
        ("FLOOR",),
        1,
        1,
        _of_whole_part,
        lambda call: lambda value: _whole_part(_number(value), ROUND_FLOOR),
        _whole_parts,
        _whole_part_can_fail,
    ),
    Function(
        ("CEIL", "CEILING"),
        1,
        1,
        _of_whole_part,
        lambda call: lambda value: _whole_part(_number(value), ROUND_CEILING),
        _whole_parts,
        _whole_part_can_fail,
    ),
    _real(("SQRT",), math.sqrt, Instruction.SQUARE_ROOT),
    _real(("SIN",), math.sin),
    _real(("COS",), math.cos),
    _real(("ASIN",), math.asin, Instruction.ARC_SINE),
    _real(("RADIANS",), math.radians),
)
