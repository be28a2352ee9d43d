"""Rows of any form as plain dicts, and times as numbers on an axis.

In: dicts, Arrow, pandas, or what Spark collects. Out: lists of dicts, whose structs are dicts and whose arrays are
lists. Used by timelines; nothing here imports pandas or Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from cepheid.errors import InputError

PlainRow: TypeAlias = dict[str, Any]

_EPOCH = datetime(1970, 1, 1)


def plain_rows(given: object) -> list[PlainRow]:
    """Rows as dicts."""
    if isinstance(given, pa.RecordBatch | pa.Table):
        return list(given.to_pylist())
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # pandas
        given = given.to_dict("records")
    if hasattr(given, "collect") or isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        raise InputError(
            f"rows are a {type(given).__name__}.\n"
            "  Give a list of dicts, an Arrow table, a pandas DataFrame, or what a Spark DataFrame's collect() returns."
        )
    rows = []
    for number, row in enumerate(given):
        plain = _plain(row)
        if not isinstance(plain, dict):
            raise InputError(f"row {number} is a {type(row).__name__}.\n  Each row is a dict from column to value.")
        rows.append(plain)
    return rows


def as_number(moment: Any) -> float | None:
    """A time on an axis: microseconds for timestamps and dates, the number itself for numbers; None for neither."""
    if hasattr(moment, "to_pydatetime"):  # pandas' Timestamp
        moment = moment.to_pydatetime()
    if hasattr(moment, "item"):  # a value of numpy
        moment = moment.item()
    if isinstance(moment, datetime):
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return float((moment - _EPOCH) / timedelta(microseconds=1))
    if isinstance(moment, date):
        return (datetime.combine(moment, time()) - _EPOCH) / timedelta(microseconds=1)
    if isinstance(moment, int | float | Decimal) and not isinstance(moment, bool):
        return float(moment)
    return None


def is_time(moment: Any) -> bool:
    """Whether a value is a moment rather than a plain number."""
    return isinstance(moment, date) or hasattr(moment, "to_pydatetime") or type(moment).__name__ == "datetime64"


def from_number(number: float) -> datetime:
    """The moment at a place of an axis of times."""
    return _EPOCH + timedelta(microseconds=number)


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):  # Spark's Row
        value = value.asDict()
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if hasattr(value, "tolist") and getattr(value, "shape", ()) != ():  # an array of numpy
        value = list(value)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
