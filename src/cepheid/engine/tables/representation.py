"""How values lie in the 64 bits of the stack machine.

In: types and constants. Out: their representation: whole numbers (also dates, times and decimals, scaled), doubles,
codes of strings; or `NotCompiled`, where they have none. Called by whatever writes or feeds programs.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from cepheid.conditions.types import DataType, Kind

MAXIMUM_DIGITS = 18
"""Decimals up to this precision always fit 64 bits; sums of them may not, which is noticed when it happens."""
EXACT_DIGITS = 15
"""Decimals up to this precision become doubles without a rounding of their own."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INTEGERS = {Kind.BYTE: 2**7 - 1, Kind.SHORT: 2**15 - 1, Kind.INT: 2**31 - 1, Kind.LONG: 2**63 - 1}
AS_INTEGER = {*INTEGERS, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.INTERVAL, Kind.DECIMAL}


class NotCompiled(Exception):
    """The machine cannot compute this; the message says what."""


def scale_of(data_type: DataType) -> int:
    return data_type.scale if data_type.kind is Kind.DECIMAL else 0


def representation(data_type: DataType) -> str:
    """How values of a type lie in 64 bits; raises where they do not."""
    if data_type.is_fractional:
        return "double"
    if data_type.kind is Kind.STRING:
        return "code"
    if data_type.kind is Kind.DECIMAL and data_type.scale > MAXIMUM_DIGITS:
        raise NotCompiled(f"values of type {data_type}")
    if data_type.kind in AS_INTEGER or data_type.kind is Kind.NULL:
        return "integer"
    raise NotCompiled(f"values of type {data_type}")


def encode(value: Any, data_type: DataType) -> int:
    """A constant as the machine holds it."""
    if data_type.is_fractional:
        return int(np.float64(value).view(np.int64))
    if isinstance(value, bool | int) and data_type.kind is not Kind.DECIMAL:
        return int(value)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, Decimal | int) and data_type.kind is Kind.DECIMAL:
        scaled = int(Decimal(value).scaleb(data_type.scale))
        if abs(scaled) < 2**63:
            return scaled
    raise NotCompiled(f"the constant {value!r} of type {data_type}")
