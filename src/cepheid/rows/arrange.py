"""Events as columns, sorted: what a matcher reads.

In: an Arrow table, the partition columns and the order columns. Out: `Arranged`: the table sorted by (partition,
order), with a partition number and an integer time for each row. Nothing here knows of patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Integers
from cepheid.engine.sorting import grouped_by_time
from cepheid.errors import InputError
from cepheid.rows.columns import canonical, distinct_columns, times_of
from cepheid.syntax.tree import SpanUnit

__all__ = ["Arranged", "Integers", "arrange"]


class Arranged:
    """Rows sorted by partition, then by the order columns.

    The rows themselves stay where they were: columns that only matches show are read for the rows of matches alone.
    """

    def __init__(
        self,
        source: pa.Table,
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
        partition: Integers,
        time: Integers,
        unit: SpanUnit | None,
        order: Integers | None = None,
        ordinals: Integers | None = None,
        begins: npt.NDArray[np.bool_] | None = None,
        encoded: frozenset[str] = frozenset(),
    ) -> None:
        self._source = source
        self.partition_by = partition_by
        self.order_by = order_by
        self.partition = partition
        """Ascending from 0, one number per partition."""
        self.time = time
        """Microseconds for timestamps and dates, the number itself for numbers; the row's number where nothing orders
        them."""
        self.unit = unit
        """What `time` counts; None where the rows have no order column."""
        self._order = order
        """Which row of the source each row is; None where they are sorted as they are."""
        self._ordinals = ordinals
        self._begins = begins
        """Which rows differ from the one before by partition or time, where that is known."""
        self._encoded = encoded
        """Columns that are dictionaries here only, not in a result."""

    @cached_property
    def table(self) -> pa.Table:
        """All rows, sorted."""
        return self._source if self._order is None else self._source.take(pa.array(self._order))

    @property
    def column_names(self) -> list[str]:
        return list(self._source.column_names)

    def type_of(self, name: str) -> pa.DataType:
        return self._source.schema.field(name).type

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of all rows, sorted."""
        return self._source[name] if self._order is None else self._source[name].take(pa.array(self._order))

    def taken(self, names: Iterable[str], rows: Integers) -> pa.Table:
        """Some columns of some rows."""
        places = rows if self._order is None else self._order[rows]
        taken = self._source.select(list(names)).take(pa.array(places))
        for place, name in enumerate(taken.column_names):
            if name in self._encoded:
                taken = taken.set_column(place, name, taken[name].cast(taken[name].type.value_type))
        return taken

    def with_column(self, name: str, rows: Integers, values: pa.Array) -> Arranged:
        """The same rows with one column more, which has values on some of them and is NULL elsewhere."""
        place = np.full(len(self.time), -1, np.int64)
        place[rows if self._order is None else self._order[rows]] = np.arange(len(rows))
        wider = copy(self)
        wider._source = self._source.append_column(name, values.take(pa.array(place, mask=place < 0)))
        wider.__dict__.pop("table", None)
        return wider

    def restricted(self, rows: Integers) -> Arranged:
        """Some of the rows, in their order."""
        if len(rows) == len(self.time):
            return self
        order = rows if self._order is None else self._order[rows]
        partition, time = self.partition[rows], self.time[rows]
        return Arranged(
            self._source, self.partition_by, self.order_by, partition, time, self.unit, order, encoded=self._encoded
        )

    @property
    def bounds(self) -> Integers:
        """Where each partition begins, and the end of the last."""
        if not len(self.partition):
            return np.zeros(1, np.int64)
        changes = np.flatnonzero(np.diff(self.partition)) + 1
        return np.concatenate(([0], changes, [len(self.partition)])).astype(np.int64)

    @cached_property
    def ordinals(self) -> Integers:
        """Each row's number among those that neither the partition nor the order columns tell apart."""
        if self._ordinals is not None:
            return self._ordinals
        places = np.arange(len(self.time))
        if not self.order_by:
            return places
        begins = _begins(self.partition, self.time) if self._begins is None else self._begins.copy()
        if begins.all():
            return np.zeros(len(places), np.int64)
        if len(self.order_by) > 1:
            tied = np.flatnonzero(~begins)
            before, after = (self.taken(self.order_by[1:], rows) for rows in (tied - 1, tied))
            for name in self.order_by[1:]:
                begins[tied] |= pc.not_equal(before[name], after[name]).to_numpy(zero_copy_only=False)
        return places - np.maximum.accumulate(np.where(begins, places, 0))

    def where(self, partition: int, row: int) -> str:
        """How an error calls a partition and an event of it."""
        names = (*self.partition_by, *self.order_by[:1])
        if not names or not len(self.time):
            return f"row {row}"
        [values] = self.taken(names, np.array([min(row, len(self.time) - 1)])).to_pylist()
        return "the event at " + ", ".join(f"{name} = {values[name]!r}" for name in names)


def arrange(
    table: pa.Table,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    by_all_columns: bool = False,
    encoded: frozenset[str] = frozenset(),
) -> Arranged:
    """Sort a table for matching.

    Rows that the order columns do not tell apart keep the order they came in, or, if that order is by chance, go by
    all other columns that can be sorted by (rule 12). `encoded`: partition columns that came as dictionaries without
    doubles, and are plain in what is read of the result.
    """
    partition_by = distinct_columns(table.column_names, partition_by, "partition_by")
    order_by = distinct_columns(table.column_names, order_by, "order_by")
    time, unit = times_of(table, order_by)
    breakers = list(order_by[1:])
    if by_all_columns:
        breakers += [
            field.name
            for field in table.schema
            if field.name not in (*partition_by, *order_by) and can_be_sorted(field.type)
        ]
    if not partition_by and not breakers and not np.any(time[1:] < time[:-1]):  # sorted already
        return Arranged(table, (), order_by, np.zeros(len(time), np.int64), time, unit)
    codes, count = partition_codes(table, partition_by, encoded)
    order, bounds = grouped_by_time(codes, count, time)
    partition = np.repeat(np.arange(count), np.diff(bounds))
    time = time[order]
    begins = _begins(partition, time)
    order = _ties_broken(table, order, begins, breakers, order_by)
    return Arranged(table, partition_by, order_by, partition, time, unit, order, begins=begins, encoded=encoded)


def _begins(partition: Integers, time: Integers) -> npt.NDArray[np.bool_]:
    """Which rows differ from the one before."""
    begins = np.ones(len(time), bool)
    begins[1:] = (partition[1:] != partition[:-1]) | (time[1:] != time[:-1])
    return begins


def _ties_broken(
    table: pa.Table,
    order: Integers,
    begins: npt.NDArray[np.bool_],
    breakers: list[str],
    order_by: tuple[str, ...],
) -> Integers:
    """Sort those rows further that have their partition and time in common with a neighbour."""
    if not breakers or begins.all():
        return order
    tied = ~begins
    tied[:-1] |= ~begins[1:]
    places = np.flatnonzero(tied)
    rows = order[places]
    keys: dict[str, Any] = {"group": pa.array(np.cumsum(begins)[places])}
    values = table.select(breakers).take(pa.array(rows))
    keys |= {f"key{number}": values[name] for number, name in enumerate(breakers)}
    try:
        by_values = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    except pa.ArrowException as error:
        raise InputError(f"order_by={list(order_by)}: rows cannot be sorted by these columns: {error}") from error
    order = order.copy()
    order[places] = rows[by_values]
    return order


def can_be_sorted(kind: pa.DataType) -> bool:
    """Whether rows can be sorted by a column of this type."""
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind))


def partition_codes(table: pa.Table, partition_by: tuple[str, ...], encoded: frozenset[str]) -> tuple[Integers, int]:
    """A number per row from 0 on, equal for equal keys, and how many there are; NULL is a key like any other."""
    codes, count = np.zeros(table.num_rows, np.int64), min(1, table.num_rows)
    for name in partition_by:
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(column.type) and name not in encoded:  # it may hold a value twice
            column = column.cast(column.type.value_type)
        own, size = _encoded(canonical(column), name)
        if count <= 1:
            codes, count = own, size
        else:
            codes, count = _encoded(pa.array(codes * size + own), name)
    return codes, count


def codes_by_number(column: pa.ChunkedArray) -> tuple[Integers, int] | None:
    """A number per row, not below 0, in the order of the keys, and above all of them how many there may be; None unless
    the keys are integers that lie close together. To look each key up costs ten times as much."""
    if not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    least, most = pc.min_max(column).as_py().values()
    if most - least >= 4 * len(column):
        return None
    numbers = column.cast(pa.int64()).combine_chunks().to_numpy(zero_copy_only=False)
    return (numbers, most + 1) if 0 <= most - least <= most < 4 * len(column) else (numbers - least, most - least + 1)


def _encoded(column: pa.Array, name: str) -> tuple[Integers, int]:
    if pa.types.is_dictionary(column.type):
        size = len(column.dictionary)
        own: Integers = pc.fill_null(column.indices.cast(pa.int64()), size).to_numpy(zero_copy_only=False)
        return own, size + bool(column.null_count)
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
    except pa.ArrowException as error:
        raise InputError(
            f"partition_by={name!r} has type {column.type}, which cannot be a key.\n"
            "  Partition by plain columns: numbers, strings, dates, timestamps, booleans or binary."
        ) from error
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary)
