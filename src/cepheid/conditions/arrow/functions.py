"""The functions of the portable subset on whole columns, as far as Arrow computes them as Spark does.

Comes in: an operation and the values of its operands, of which at least one is an array. Goes out: an array of the
operation's type. Called by `vectorized` alone; about its errors see `vectorized_arithmetic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.arithmetic import with_sign
from cepheid.conditions.arrow.values import (
    NotVectorized,
    Value,
    arrow_type,
    as_numpy,
    fixed_value,
    is_constant,
    with_nulls_of,
)
from cepheid.conditions.expression import Operation, Operator
from cepheid.conditions.functions import like_pattern
from cepheid.conditions.types import Kind
from cepheid.errors import EvaluationError

_LARGEST_LONG = (1 << 63) - 1
_PAST_LARGEST_LONG = float(1 << 63)
_LONGEST = (1 << 31) - 1
"""No text in Arrow has more characters, so that a longer slice is a slice to the end."""


def can_fail(expression: Operation) -> bool:
    """Whether some values make the function raise; if not, it may be computed on rows that do not need it."""
    operator, result = expression.operator, expression.type
    if operator in (Operator.ABS, Operator.NEGATE):
        return not (result.is_fractional or result.kind is Kind.DECIMAL)
    if operator in (Operator.FLOOR, Operator.CEIL):
        return expression.operands[0].type.is_fractional
    if operator is Operator.LIKE:
        return not _is_well_formed(expression)
    return operator in (Operator.ROUND, Operator.RLIKE)


def _is_well_formed(like: Operation) -> bool:
    fixed = [fixed_value(operand) for operand in like.operands[1:]]
    texts = [values[0] for values in fixed if values is not None and values[0] is not None]
    if len(texts) < len(fixed):
        return False
    try:
        like_pattern(*texts)
    except EvaluationError:
        return False
    return True


def computed(expression: Operation, operands: tuple[Value, ...]) -> Any:
    """The value of a function, row by row."""
    length = next(len(operand) for operand in operands if not is_constant(operand))
    if any(pa.types.is_null(operand.type) for operand in operands):
        return pa.nulls(length, arrow_type(expression.type))
    compute = _FUNCTIONS.get(expression.operator)
    if compute is None:
        raise NotVectorized(f"{expression.operator.value}")
    return compute(expression, *operands)


def _fixed(expression: Operation, operand: Value) -> Any:
    """The value of an operand that Arrow takes only as a constant."""
    if not is_constant(operand):
        raise NotVectorized(f"{expression.operator.value} with other than constants behind the first place")
    return operand.as_py()


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _like(expression: Operation, text: Any, *fixed: Value) -> Any:
    pattern, escape = (*(_fixed(expression, operand) for operand in fixed), "\\")[:2]
    if pattern is None or escape is None or text.null_count == len(text):
        return pa.nulls(len(text), pa.bool_())
    like_pattern(pattern, escape)
    return pc.match_like(text, _with_backslashes(pattern, escape))


def _with_backslashes(pattern: str, escape: str) -> str:
    """A well-formed pattern with the one escape character that Arrow knows."""
    rewritten = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters)
            rewritten += f"\\{following}" if following in "%_\\" else following
        else:
            rewritten += "\\\\" if character == "\\" else character
    return rewritten


def _in_other_case(expression: Operation, text: Any) -> Any:
    # Beyond ASCII one character may become several (ß, SS), which Arrow does not do.
    if not pc.all(pc.string_is_ascii(text)).as_py():
        if text.null_count < len(text):
            raise NotVectorized(f"{expression.operator.value} of other than ASCII text")
        return text
    return (pc.ascii_upper if expression.operator is Operator.UPPER else pc.ascii_lower)(text)


def _substring(expression: Operation, text: Any, *fixed: Value) -> Any:
    """Positions count from 1, from the end if negative; 0 is the first as well."""
    position, length = (*(_fixed(expression, operand) for operand in fixed), _LARGEST_LONG)[:2]
    if position is None or length is None:
        return pa.nulls(len(text), text.type)
    if position < 0:
        stop = position + length
        return pc.utf8_slice_codeunits(text, max(position, -_LONGEST), None if stop >= 0 else max(stop, -_LONGEST))
    start = max(position - 1, 0)
    stop = max(start + length, start)
    return pc.utf8_slice_codeunits(text, min(start, _LONGEST), min(stop, _LONGEST))


def _concatenated(expression: Operation, *texts: Value) -> Any:
    if any(pa.types.is_large_string(text.type) for text in texts):
        texts = tuple(pc.cast(text, pa.large_string()) for text in texts)
    separator = pa.scalar("", texts[0].type)
    return pc.binary_join_element_wise(*texts, separator)


def _length(expression: Operation, text: Any) -> Any:
    return pc.utf8_length(text).cast(pa.int32())


def _trimmed(expression: Operation, text: Any) -> Any:
    return pc.utf8_trim(text, " ")


# ── numbers and moments ──────────────────────────────────────────────────────────────────────────────────────────────


def _whole(expression: Operation, value: Any) -> Any:
    source = expression.operands[0].type
    if source.is_integral:
        return value.cast(pa.int64())
    if not source.is_fractional:
        raise NotVectorized(f"{expression.operator.value} of decimals")
    number = as_numpy(value, len(value), 0.0).astype(np.float64)
    whole = np.floor(number) if expression.operator is Operator.FLOOR else np.ceil(number)
    whole = np.where(np.isnan(whole), 0.0, whole)
    if not np.all((whole >= -_PAST_LARGEST_LONG) & (whole < _PAST_LARGEST_LONG)):
        raise EvaluationError("overflow: a number that does not fit into bigint")
    return with_nulls_of(whole.astype(np.int64), len(value), value)


def _rounded(expression: Operation, value: Any, *digits: Value) -> Any:
    wanted = _fixed(expression, digits[0]) if digits else 0
    if not expression.type.is_integral or wanted is None or wanted < 0:
        raise NotVectorized("ROUND of other than whole numbers")
    return value


def _part_of_moment(expression: Operation, value: Any) -> Any:
    if not pa.types.is_date(value.type):
        # The clock of UTC, without a look at time zones.
        value = value.cast(pa.int64()).cast(pa.timestamp("us"))
    return _PARTS[expression.operator](value).cast(pa.int32())


_PARTS: dict[Operator, Callable[[Any], Any]] = {
    Operator.YEAR: pc.year,
    Operator.MONTH: pc.month,
    Operator.DAY: pc.day,
    Operator.HOUR: pc.hour,
    Operator.MINUTE: pc.minute,
    Operator.SECOND: pc.second,
}
_FUNCTIONS: dict[Operator, Callable[..., Any]] = {
    Operator.ABS: with_sign,
    Operator.NEGATE: with_sign,
    Operator.ROUND: _rounded,
    Operator.FLOOR: _whole,
    Operator.CEIL: _whole,
    Operator.LIKE: _like,
    Operator.UPPER: _in_other_case,
    Operator.LOWER: _in_other_case,
    Operator.LENGTH: _length,
    Operator.CONCAT: _concatenated,
    Operator.SUBSTRING: _substring,
    Operator.TRIM: _trimmed,
    **dict.fromkeys(_PARTS, _part_of_moment),
}
