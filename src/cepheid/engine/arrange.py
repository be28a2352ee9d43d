"""Events as columns, sorted: what a matcher reads.

In: an Arrow table, the partition columns and the order columns. Out: `Arranged`: the table sorted by (partition,
order), with a partition number and an integer time for each row. Nothing here knows of patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import InputError
from cepheid.syntax.tree import SpanUnit

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arranged:
    """Rows sorted by partition, then by the order columns."""

    table: pa.Table
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    partition: Integers
    """Ascending from 0, one number per partition."""
    time: Integers
    """Microseconds for timestamps and dates, the number itself for numbers; the row's number where nothing orders
    them."""
    unit: SpanUnit | None
    """What `time` counts; None where the rows have no order column."""

    @property
    def bounds(self) -> Integers:
        """Where each partition begins, and the end of the last."""
        if not len(self.partition):
            return np.zeros(1, np.int64)
        changes = np.flatnonzero(np.diff(self.partition)) + 1
        return np.concatenate(([0], changes, [len(self.partition)])).astype(np.int64)

    def where(self, partition: int, row: int) -> str:
        """How an error calls a partition and an event of it."""
        row = min(row, self.table.num_rows - 1)
        named = [f"{name} = {self.table[name][row].as_py()!r}" for name in (*self.partition_by, *self.order_by[:1])]
        return "the event at " + ", ".join(named) if named else f"row {row}"


def arrange(table: pa.Table, partition_by: tuple[str, ...], order_by: tuple[str, ...]) -> Arranged:
    """Sort a table for matching. Rows that the order columns do not tell apart keep the order they came in."""
    partition_by = tuple(column_named(table.column_names, name, "partition_by") for name in partition_by)
    order_by = tuple(column_named(table.column_names, name, "order_by") for name in order_by)
    for name in order_by:
        _refuse_nulls(table, name)
    if not partition_by and len(order_by) == 1:
        time, unit = _times(table, order_by)
        if not np.any(time[1:] < time[:-1]):  # sorted already
            return Arranged(table, (), order_by, np.zeros(len(time), np.int64), time, unit)
    codes = _partition_codes(table, partition_by)
    keys: dict[str, Any] = {"partition": pa.array(codes)}
    keys |= {f"order{number}": table[name] for number, name in enumerate(order_by)}
    try:
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    except pa.ArrowException as error:
        raise InputError(f"order_by={list(order_by)}: rows cannot be sorted by these columns: {error}") from error
    ordered = table.take(order)
    time, unit = _times(ordered, order_by)
    numbers = codes[order.to_numpy()]
    if len(numbers):
        numbers = np.concatenate(([0], np.cumsum(np.diff(numbers) != 0))).astype(np.int64)
    return Arranged(ordered, partition_by, order_by, numbers, time, unit)


def column_named(columns: Sequence[str], name: str, argument: str) -> str:
    """The column as the table spells it (Spark's case rule)."""
    found = [column for column in columns if column.lower() == name.lower()]
    if name in found:
        return name
    if len(found) == 1:
        return found[0]
    problem = f"names {len(found)} columns that differ only by case" if found else "names no column"
    raise InputError(f"{argument}={name!r} {problem}.\n  The columns are: {', '.join(columns)}.")


def _refuse_nulls(table: pa.Table, name: str) -> None:
    nulls = table[name].null_count
    if nulls:
        rows = np.flatnonzero(table[name].is_null().to_numpy())[:3]
        raise InputError(
            f"order_by={name!r}: {nulls} of {table.num_rows} rows have no value there (first: rows {rows.tolist()}).\n"
            "  An event without a time or order has no place in the sequence; drop those rows or give them a value."
        )


def _partition_codes(table: pa.Table, partition_by: tuple[str, ...]) -> Integers:
    """A number per row, equal for equal keys; NULL is a key like any other."""
    codes = np.zeros(table.num_rows, np.int64)
    for name in partition_by:
        column = table[name].combine_chunks()
        try:
            encoded = pc.dictionary_encode(column, null_encoding="encode")
        except pa.ArrowException as error:
            raise InputError(
                f"partition_by={name!r} has type {column.type}, which cannot be a key.\n"
                "  Partition by plain columns: numbers, strings, dates, timestamps, booleans or binary."
            ) from error
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        size = max(1, len(encoded.dictionary))
        _, codes = np.unique(codes * size + encoded.indices.to_numpy(zero_copy_only=False), return_inverse=True)
    return codes.astype(np.int64)


def time_unit(kind: pa.DataType, name: str) -> SpanUnit:
    """What times of an order column count; refuses a column that cannot hold times."""
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return SpanUnit.MICROSECOND
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return SpanUnit.ORDER
    raise InputError(
        f"order_by={name!r} has type {kind}; the first order column is the time of the events.\n"
        "  Order by a timestamp, a date or a number first; further columns break ties."
    )


def _times(table: pa.Table, order_by: tuple[str, ...]) -> tuple[Integers, SpanUnit | None]:
    if not order_by:
        return np.arange(table.num_rows, dtype=np.int64), None
    name, column = order_by[0], table[order_by[0]]
    unit = time_unit(column.type, name)
    try:
        if unit is SpanUnit.MICROSECOND:
            column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)))
        return _integers(column), unit
    except pa.ArrowException as error:
        raise InputError(
            f"order_by={name!r}: its values do not fit whole microseconds or whole numbers: {error}.\n"
            "  Round them first, or scale them to whole numbers."
        ) from error


def _integers(column: pa.ChunkedArray) -> Integers:
    result: Integers = column.cast(pa.int64()).combine_chunks().to_numpy(zero_copy_only=False)
    return result
