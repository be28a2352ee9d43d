"""Columns of values for the Arrow evaluator: the Arrow type of each Spark type, rows, and constants among them.

Comes in: record batches as they are stored (any integer width, dictionary-encoded, any unit of time). Goes out: arrays
of the one Arrow type that a Spark type is computed in. Called by the `vectorized` modules alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.expression import Call
from cepheid.conditions.types import DataType, Kind

Value: TypeAlias = Any
"""A `pa.Array` with one value per row, or a `pa.Scalar`: a constant."""
Mask: TypeAlias = npt.NDArray[np.bool_]


class NotVectorized(Exception):
    """Arrow cannot compute this as Spark would; the message names what. The evaluator by rows can."""


_ARROW_TYPES = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.BYTE: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
    Kind.INTERVAL: pa.duration("us"),
}


def arrow_type(data_type: DataType) -> Any:
    """The Arrow type that values of a Spark type are computed and returned in."""
    if data_type.kind is Kind.DECIMAL:
        return pa.decimal128(data_type.precision, data_type.scale)
    if data_type.kind not in _ARROW_TYPES:
        raise NotVectorized(f"values of type {data_type}")
    return _ARROW_TYPES[data_type.kind]


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows, column by column, as they are stored."""

    columns: dict[str, Any]
    length: int

    def read(self, name: str, data_type: DataType) -> Any:
        """A column in the Arrow type of its Spark type."""
        return stored_as(self.columns[name], data_type)

    def where(self, mask: Mask, names: Iterable[str]) -> Rows:
        """The rows that the mask chooses, with the named columns."""
        chosen = pa.array(mask)
        return Rows({name: self.columns[name].filter(chosen) for name in names}, int(mask.sum()))


def stored_as(stored: Any, data_type: DataType) -> Any:
    """A stored column in the Arrow type that its Spark type is computed in; other encodings are resolved."""
    if pa.types.is_dictionary(stored.type):
        stored = stored.cast(stored.type.value_type)
    if data_type.kind is Kind.OTHER or _is_long_text(stored.type):
        # Strings beyond 2 GiB have no other type; the kernels take both sorts side by side.
        return stored
    wanted = arrow_type(data_type)
    return stored if stored.type == wanted else stored.cast(wanted)


def _is_long_text(stored: Any) -> bool:
    return bool(pa.types.is_large_string(stored) or pa.types.is_large_binary(stored))


def fixed(call: Call, operand: Value) -> Any:
    """The value of an operand that Arrow takes only as a constant."""
    if not is_constant(operand):
        raise NotVectorized(f"{call.name} with anything but constants after the first argument")
    return operand.as_py()


def constant_of(value: Any, data_type: DataType) -> Any:
    """A Python value of a literal as an Arrow constant."""
    try:
        return pa.scalar(value, arrow_type(data_type))
    except (OverflowError, ValueError) as error:
        raise NotVectorized(f"the constant {value!r}") from error


def is_constant(value: Value) -> bool:
    return isinstance(value, pa.Scalar)


def filled(value: Value, length: int) -> Any:
    """An array of the value: a constant is repeated."""
    return pa.repeat(value, length) if is_constant(value) else value


def scattered(values: Any, mask: Mask) -> Any:
    """The values at the places that the mask chooses, NULL elsewhere."""
    places = np.zeros(len(mask), np.int64)
    places[mask] = np.arange(len(values))
    return values.take(pa.array(places, mask=~mask))


def is_set(condition: Value, length: int, unknown: bool) -> Mask:
    """Where a condition holds, with what is taken for unknown."""
    holds: Mask = pc.fill_null(filled(condition, length), unknown).to_numpy(zero_copy_only=False)
    return holds


def widened(value: Value, target: DataType) -> Value:
    """The value as one of a type that holds it exactly, as binding leaves it to evaluators to see to."""
    wanted, given = arrow_type(target), value.type
    if given == wanted or _is_long_text(given):
        return value
    if pa.types.is_decimal(given) and pa.types.is_decimal(wanted):
        whole_digits = wanted.precision - wanted.scale, given.precision - given.scale
        if wanted.scale < given.scale or whole_digits[0] < whole_digits[1]:
            raise NotVectorized(f"decimals of more digits than {target} has")
    return pc.cast(value, wanted)


def as_numpy(value: Value, length: int, in_place_of_null: Any) -> npt.NDArray[Any]:
    """The values for numpy, which knows no NULL."""
    array = filled(value, length)
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(in_place_of_null, array.type))
    plain: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return plain


def with_nulls_of(computed: npt.NDArray[Any], length: int, *operands: Value) -> Any:
    """What numpy computed, NULL where an operand is."""
    unknown = np.zeros(length, np.bool_)
    for operand in operands:
        array = filled(operand, length)
        if array.null_count:
            unknown |= array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(computed, mask=unknown)


def unscaled(decimals: Value, length: int) -> npt.NDArray[np.int64]:
    """The digits of decimals as whole numbers of 64 bits, 0 for NULL; refused where they do not fit."""
    array = filled(decimals, length)
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + length)]
    low, high = words[0::2], words[1::2]
    if array.null_count:
        known = array.is_valid().to_numpy(zero_copy_only=False)
        low, high = np.where(known, low, 0), np.where(known, high, 0)
    if np.any(high != low >> 63):
        raise NotVectorized("decimals of more than 18 digits")
    return low
