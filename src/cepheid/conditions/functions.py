"""The functions of the portable subset on values that are not NULL, by Spark's rules.

Comes in: an operation. Goes out: a function of its operands' values. Called by `evaluation` alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from cepheid.conditions import types
from cepheid.conditions.casting import EXACT, as_naive, cast, fit_integer, fit_interval, single, with_plain_zero
from cepheid.conditions.expression import Operation, Operator
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import EvaluationError

_LARGEST_LONG = (1 << 63) - 1


def function(expression: Operation) -> Callable[..., Any]:
    """What the operation computes from its operands' values."""
    result = expression.type
    match expression.operator:
        case Operator.NEGATE:
            return lambda value: _negated(_number(value), result)
        case Operator.ABS:
            return lambda value: _absolute(_number(value), result)
        case Operator.ROUND:
            return lambda value, digits=0: _round(_number(value), digits, result)
        case Operator.FLOOR:
            return lambda value: _whole(_number(value), ROUND_FLOOR)
        case Operator.CEIL:
            return lambda value: _whole(_number(value), ROUND_CEILING)
    return _PLAIN[expression.operator]


def _number(value: Any) -> Any:
    """Spark reads a string as a double where a number is needed."""
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


def _whole(value: Any, rounding: str) -> Any:
    if isinstance(value, timedelta):
        raise EvaluationError(f"{value} is not a number")
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            raise EvaluationError(f"overflow: {value} does not fit into {types.LONG}")
        return fit_integer(math.floor(value) if rounding is ROUND_FLOOR else math.ceil(value), types.LONG)
    return with_plain_zero(value.to_integral_value(rounding)) if isinstance(value, Decimal) else value


def _text(value: Any) -> str:
    text: str = cast(value, types.STRING)
    return text


def _substring(value: Any, position: int, length: int = _LARGEST_LONG) -> str:
    """Positions count from 1, from the end if negative; 0 is the first as well."""
    text = _text(value)
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _length(value: Any) -> int:
    return len(value) if isinstance(value, bytes) else len(_text(value))


def _like(value: Any, pattern: str, escape: str = "\\") -> bool:
    return like_pattern(pattern, escape).fullmatch(_text(value)) is not None


@lru_cache(maxsize=1024)
def like_pattern(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    """The regular expression of a LIKE pattern: `%` any text, `_` one character, the escape makes them plain."""
    expression = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None or following not in ("%", "_", escape):
                problem = f"the pattern '{pattern}' is wrong: '{escape}' must stand before %, _ or itself"
                raise EvaluationError(problem)
            expression += re.escape(following)
        else:
            expression += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    return re.compile(expression, re.DOTALL)


@lru_cache(maxsize=1024)
def _regular_expression(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise EvaluationError(f"'{pattern}' is not a regular expression: {error}") from error


def _moment(value: Any) -> datetime:
    """A timestamp as its UTC clock shows it."""
    return as_naive(value if isinstance(value, datetime) else cast(value, types.TIMESTAMP))


_PLAIN: dict[Operator, Callable[..., Any]] = {
    Operator.LIKE: _like,
    Operator.RLIKE: lambda value, pattern: _regular_expression(pattern).search(_text(value)) is not None,
    Operator.UPPER: lambda value: _text(value).upper(),
    Operator.LOWER: lambda value: _text(value).lower(),
    Operator.LENGTH: _length,
    Operator.CONCAT: lambda *values: "".join(map(_text, values)),
    Operator.SUBSTRING: _substring,
    Operator.TRIM: lambda value: _text(value).strip(" "),
    Operator.YEAR: lambda value: cast(value, types.DATE).year,
    Operator.MONTH: lambda value: cast(value, types.DATE).month,
    Operator.DAY: lambda value: cast(value, types.DATE).day,
    Operator.HOUR: lambda value: _moment(value).hour,
    Operator.MINUTE: lambda value: _moment(value).minute,
    Operator.SECOND: lambda value: _moment(value).second,
}
