"""Rows of a table in the order of a MATCH_RECOGNIZE clause: by partition, then by ORDER BY (rule 2).

In: an Arrow table, the partition columns and the order columns. Out: `OrderedRows`. NULL is a partition like any other;
in the order it comes where the clause says; NaN is the largest double, as in Spark. Ties keep the order they came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.expression import Expression
from cepheid.engine.assignments import Integers
from cepheid.engine.row_values import RowValues
from cepheid.engine.sorting import grouped_by_time
from cepheid.errors import InputError
from cepheid.rowpattern.model import Sort
from cepheid.rows.arrange import can_be_sorted, codes_by_number, partition_codes


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows in order; partition p has the rows `bounds[p]` to `bounds[p + 1]`."""

    source: pa.Table
    bounds: Integers
    order: Integers | None = None
    """Which row of the source each row is; None where they are in order as they are."""

    @property
    def table(self) -> pa.Table:
        """All rows, in order."""
        return self.values().table

    def values(self, computed: Mapping[Expression, str] | None = None) -> RowValues:
        """Expressions over the rows; `computed`: those whose values are columns."""
        return RowValues(self.source, self.bounds, computed or {}, self.order)


def ordered(
    table: pa.Table,
    partition_by: tuple[str, ...],
    order_by: tuple[Sort, ...],
    encoded: frozenset[str] = frozenset(),
    by_number: bool = False,
) -> OrderedRows:
    """The rows of a table in order. `encoded`: partition columns that came as dictionaries without doubles;
    `by_number`: partitions may be in any order, not only in that of their first rows, which is faster for numbers."""
    numbered = codes_by_number(table[partition_by[0]]) if by_number and len(partition_by) == 1 else None
    codes, count = partition_codes(table, partition_by, encoded) if numbered is None else numbered
    rows = in_order(table, codes, count, order_by)
    if numbered is None:
        return rows
    filled = np.concatenate(([True], np.diff(rows.bounds) > 0))  # no partition has some of the numbers
    return OrderedRows(rows.source, rows.bounds[filled], rows.order)


def in_order(
    table: pa.Table, codes: Integers, count: int, order_by: tuple[Sort, ...], by_all_columns: bool = False
) -> OrderedRows:
    """The rows of a table by the number of their partition, then by ORDER BY. `by_all_columns`: ties came in an order
    by chance, and go by all other columns that can be sorted by."""
    times = _times(table, order_by)
    order, bounds = grouped_by_time(codes, count, np.zeros(len(codes), np.int64) if times is None else times)
    if times is None or (by_all_columns and _has_ties(codes[order], times[order])):
        order = _sorted(table, codes, order_by, by_all_columns)
    return OrderedRows(table, bounds, None if _is_as_it_was(order) else order)


def _is_as_it_was(order: Integers) -> bool:
    """Whether no row moves. The first rows mostly tell."""
    return all(np.array_equal(order[:count], np.arange(min(count, len(order)))) for count in (1_000, len(order)))


def _has_ties(codes: Integers, times: Integers) -> bool:
    return bool(np.any((codes[1:] == codes[:-1]) & (times[1:] == times[:-1])))


def _times(table: pa.Table, order_by: tuple[Sort, ...]) -> Integers | None:
    """Numbers that have the order of the rows, where one column of whole numbers or times decides it."""
    if not order_by:
        return np.zeros(table.num_rows, np.int64)
    if len(order_by) > 1:
        return None
    column = table[order_by[0].column.parts[0]]
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif not pa.types.is_integer(kind) or pa.types.is_uint64(kind):
        return None
    if column.null_count:
        return None
    numbers: Integers = column.cast(pa.int64()).combine_chunks().to_numpy(zero_copy_only=False)
    return ~numbers if order_by[0].descending else numbers  # ~ turns the order round, for the least number too


def _sorted(table: pa.Table, codes: Integers, order_by: tuple[Sort, ...], by_all_columns: bool) -> Integers:
    keys = {"partition": pa.array(codes)}
    directions = [("partition", "ascending")]
    for number, sort in enumerate(order_by):
        column = table[sort.column.parts[0]].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.null_count:
            keys[f"null{number}"] = column.is_null()
            directions.append((f"null{number}", "descending" if sort.nulls_first else "ascending"))
        way = "descending" if sort.descending else "ascending"
        if pa.types.is_floating(column.type):
            keys[f"nan{number}"] = pc.is_nan(column)
            directions.append((f"nan{number}", way))
        keys[f"key{number}"] = column
        directions.append((f"key{number}", way))
    if by_all_columns:
        for name in table.column_names:
            if can_be_sorted(table.schema.field(name).type):
                keys[f"tie {name}"] = table[name].combine_chunks()
                directions.append((f"tie {name}", "ascending"))
    try:
        order: Integers = pc.sort_indices(pa.table(keys), sort_keys=directions).to_numpy().astype(np.int64)
    except pa.ArrowException as error:
        names = ", ".join(sort.column.parts[0] for sort in order_by)
        raise InputError(f"rows cannot be sorted by {names}: {error}.\n  Order by plain columns.") from error
    return order
