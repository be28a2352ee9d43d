"""Functions of dates and timestamps. A clock is read where a timestamp is brought to one without a zone: see `Cast`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import types
from cepheid.conditions.arrow.values import Value
from cepheid.conditions.casting import as_aware, as_naive, cast
from cepheid.conditions.expression import Call
from cepheid.conditions.functions.definition import Arguments, Function, Instruction, Typed, never, plainly
from cepheid.conditions.types import DataType, Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _clock(value: Any) -> datetime:
    return as_naive(value if isinstance(value, datetime) else cast(value, types.TIMESTAMP))


def _day(value: Any) -> date:
    day: date = cast(value, types.DATE)
    return day


def _microseconds(value: Any) -> int:
    return (as_aware(cast(value, types.TIMESTAMP)) - _EPOCH) // _MICROSECOND


def _of_moments(target: DataType, result: DataType) -> Callable[[Arguments], Typed]:
    return lambda arguments: (tuple(arguments.moment(one, target) for one in arguments.operands), result)


def _of_timestamp(arguments: Arguments) -> Typed:
    (operand,) = arguments.operands
    if operand.type.kind in (Kind.TIMESTAMP, Kind.UNKNOWN, Kind.NULL):
        return (operand,), types.LONG
    problem = f"{arguments.name} needs a timestamp, this is a {operand.type}"
    raise arguments.error(operand.span, problem, "cast it with CAST(… AS TIMESTAMP)")


def _part(names: tuple[str, ...], target: DataType, of_row: Callable[[Any], int], of_column: Any) -> Function:
    return Function(
        names,
        1,
        1,
        _of_moments(target, types.INT),
        plainly(of_row),
        lambda call, value: of_column(value).cast(pa.int32()),
        never,
    )


def _days_between(call: Call, end: Value, start: Value) -> Any:
    return pc.subtract(*(pc.cast(side, pa.int32()) for side in (end, start)))


FUNCTIONS = (
    _part(("YEAR",), types.DATE, lambda value: _day(value).year, pc.year),
    _part(("MONTH",), types.DATE, lambda value: _day(value).month, pc.month),
    _part(("DAY", "DAYOFMONTH"), types.DATE, lambda value: _day(value).day, pc.day),
    # Spark counts from Sunday, 1, to Saturday, 7.
    _part(
        ("DAYOFWEEK",),
        types.DATE,
        lambda value: _day(value).isoweekday() % 7 + 1,
        lambda value: pc.day_of_week(value, count_from_zero=False, week_start=7),
    ),
    _part(("HOUR",), types.TIMESTAMP_NTZ, lambda value: _clock(value).hour, pc.hour),
    _part(("MINUTE",), types.TIMESTAMP_NTZ, lambda value: _clock(value).minute, pc.minute),
    _part(("SECOND",), types.TIMESTAMP_NTZ, lambda value: _clock(value).second, pc.second),
    Function(
        ("DATEDIFF", "DATE_DIFF"),
        2,
        2,
        _of_moments(types.DATE, types.INT),
        plainly(lambda end, start: (_day(end) - _day(start)).days),
        _days_between,
        never,
        Instruction.SUBTRACT,
    ),
    Function(
        ("UNIX_MICROS",),
        1,
        1,
        _of_timestamp,
        plainly(_microseconds),
        lambda call, value: value.cast(pa.int64()),
        never,
        Instruction.AS_IT_IS,
    ),
)
