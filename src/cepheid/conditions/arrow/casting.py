"""Casts of whole columns by Spark's ANSI rules: what does not fit is an error.

Comes in: values and the types from and to. Goes out: values of the new type. Casts from and to text are done here only
where Arrow writes what Spark writes. Called by `vectorized` alone; about its errors see `vectorized_arithmetic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.values import NotVectorized, arrow_type, as_numpy, unscaled, with_nulls_of
from cepheid.conditions.types import MAX_PRECISION, TIMESTAMP_NTZ, DataType, Kind
from cepheid.errors import EvaluationError

_DIGITS = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INT: 10, Kind.LONG: 19}
_DAY = 86_400_000_000
_SECOND = 1_000_000
_EXACT_WHOLE = 1 << 53
_PAST_LARGEST_LONG = float(1 << 63)
_EXACT_TENS = 22
"""The powers of ten up to this one are doubles, too."""


def converted(values: Any, source: DataType, target: DataType, zone: str = "UTC") -> Any:
    """An array of values as values of another type, timestamps by the clock of a zone."""
    if source.kind is Kind.NULL:
        return pa.nulls(len(values), arrow_type(target))
    if source.kind is target.kind and source.kind is not Kind.DECIMAL:
        return values
    if zone != "UTC" and source.kind is Kind.TIMESTAMP and target.kind in (Kind.DATE, Kind.TIMESTAMP_NTZ):
        values, source = pc.local_timestamp(values.cast(pa.timestamp("us", zone))), TIMESTAMP_NTZ
        if target == source:
            return values
    elif zone != "UTC":
        raise NotVectorized(f"a cast from {source} to {target} by the clock of {zone}")
    convert = _FROM.get(source.kind)
    result = convert(values, source, target) if convert is not None else None
    if result is None:
        raise NotVectorized(f"a cast from {source} to {target}")
    return result


def _from_boolean(values: Any, source: DataType, target: DataType) -> Any:
    if target.is_integral or target.is_fractional or target.kind is Kind.STRING:
        return values.cast(arrow_type(target))
    return None


def _from_integral(values: Any, source: DataType, target: DataType) -> Any:
    if target.is_integral:
        return _fitting(values, arrow_type(target))
    if target.kind is Kind.FLOAT and not _is_exact(as_numpy(values, len(values), 0)):
        raise NotVectorized(f"a cast from {source} of more than 15 digits to {target}")
    if target.is_fractional:
        return values.cast(arrow_type(target), safe=False)
    if target.kind is Kind.DECIMAL:
        digits = _DIGITS[source.kind] + target.scale
        if digits > MAX_PRECISION:
            return None
        return _fitting(values.cast(pa.decimal128(digits, target.scale)), arrow_type(target))
    if target.kind is Kind.BOOLEAN:
        return pc.not_equal(values, pa.scalar(0, values.type))
    return values.cast(pa.string()) if target.kind is Kind.STRING else None


def _is_exact(whole: npt.NDArray[np.integer[Any]]) -> bool:
    """Whether doubles hold all of these numbers, so that what is computed from them is rounded once."""
    return bool(np.all((whole <= _EXACT_WHOLE) & (whole >= -_EXACT_WHOLE)))


def _fitting(values: Any, wanted: Any) -> Any:
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"overflow: {error}") from error


def _from_fractional(values: Any, source: DataType, target: DataType) -> Any:
    if target.is_fractional:
        return values.cast(arrow_type(target), safe=False)
    if target.kind is Kind.BOOLEAN:
        return pc.not_equal(values, pa.scalar(0.0, values.type))
    if not target.is_integral:
        return None
    whole = np.trunc(as_numpy(values, len(values), 0.0).astype(np.float64))
    limit = 1 << (target.bits - 1)
    # The double of the largest bigint is the next number, which therefore passes for it. NaN is neither.
    if not np.all((whole >= float(-limit)) & (whole <= float(limit - 1))):
        raise EvaluationError(f"overflow: a number that does not fit into {target}")
    past_largest = whole == _PAST_LARGEST_LONG
    numbers = np.where(past_largest, limit - 1, np.where(past_largest, 0.0, whole).astype(np.int64))
    return with_nulls_of(numbers, len(values), values).cast(arrow_type(target))


def _from_decimal(values: Any, source: DataType, target: DataType) -> Any:
    length = len(values)
    if target.kind is Kind.DECIMAL:
        # Fewer digits after the point need Spark's rounding.
        return _fitting(values, arrow_type(target)) if target.scale >= source.scale else None
    if target.kind is Kind.BOOLEAN:
        return pc.not_equal(values, pa.scalar(0, values.type))
    if target.is_integral and source.scale < _DIGITS[Kind.LONG]:
        whole = pc.divide(with_nulls_of(unscaled(values, length), length, values), pa.scalar(10**source.scale))
        return _fitting(whole, arrow_type(target))
    if not target.is_fractional:
        return None
    digits = unscaled(values, length)
    if source.scale > _EXACT_TENS or not _is_exact(digits):
        raise NotVectorized(f"a cast from {source} of more than 15 digits to {target}")
    number = digits.astype(np.float64) / float(10**source.scale)
    return with_nulls_of(number, length, values).cast(arrow_type(target), safe=False)


def _from_date(values: Any, source: DataType, target: DataType) -> Any:
    if target.is_moment:
        microseconds = pc.multiply_checked(values.cast(pa.int32()).cast(pa.int64()), pa.scalar(_DAY))
        return microseconds.cast(arrow_type(target))
    return values.cast(pa.string()) if target.kind is Kind.STRING else None


def _from_timestamp(values: Any, source: DataType, target: DataType) -> Any:
    microseconds = values.cast(pa.int64())
    if target.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return microseconds.cast(arrow_type(target))
    length = len(values)
    if target.kind is Kind.DATE:
        days = as_numpy(microseconds, length, 0) // _DAY
        return with_nulls_of(days.astype(np.int32), length, values).cast(pa.date32())
    if target.is_integral:
        seconds = as_numpy(microseconds, length, 0) // _SECOND
        return _fitting(with_nulls_of(seconds, length, values), arrow_type(target))
    return None


def _from_string(values: Any, source: DataType, target: DataType) -> Any:
    return values.cast(pa.binary()) if target.kind is Kind.BINARY else None


_FROM: dict[Kind, Callable[[Any, DataType, DataType], Any]] = {
    Kind.BOOLEAN: _from_boolean,
    Kind.BYTE: _from_integral,
    Kind.SHORT: _from_integral,
    Kind.INT: _from_integral,
    Kind.LONG: _from_integral,
    Kind.FLOAT: _from_fractional,
    Kind.DOUBLE: _from_fractional,
    Kind.DECIMAL: _from_decimal,
    Kind.STRING: _from_string,
    Kind.DATE: _from_date,
    Kind.TIMESTAMP: _from_timestamp,
    Kind.TIMESTAMP_NTZ: _from_timestamp,
}
