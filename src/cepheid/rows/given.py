"""Rows as a user has them → an Arrow table.

In: dicts, a pandas DataFrame, an Arrow table, or anything else that gives itself as Arrow. Out: a table whose columns
have names of their own, or an `InputError` that names the row or the column at fault.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from cepheid.errors import InputError

_FORMS = "Give a list of dicts, a pandas DataFrame or an Arrow table; Spark DataFrames go to match()."


def to_table(rows: object) -> pa.Table:
    """Rows of any supported form as an Arrow table."""
    return _plain(_distinct(_table(rows)))


def _table(rows: object) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, str | os.PathLike):
        raise InputError(
            f"rows are {rows!r}, which is a string or a path.\n"
            "  Read the file first, for instance with pyarrow.csv.read_csv or pandas.read_parquet."
        )
    if type(rows).__module__.startswith("pyspark."):
        raise InputError(f"rows are a {type(rows).__name__} of Spark.\n  Use match() for Spark DataFrames.")
    if type(rows).__module__.split(".")[0] == "pandas" and hasattr(rows, "columns"):
        return _from_pandas(rows)
    if hasattr(rows, "__arrow_c_stream__"):  # polars, duckdb, readers of Arrow and others
        try:
            return pa.table(rows)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"rows are a {type(rows).__name__} without columns: {error}.\n  {_FORMS}") from error
    if isinstance(rows, Mapping | bytes) or not isinstance(rows, Iterable):
        raise InputError(f"rows are a {type(rows).__name__}.\n  {_FORMS}")
    return _from_dicts(list(rows))


def _from_dicts(listed: list[Any]) -> pa.Table:
    for number, row in enumerate(listed):
        if not isinstance(row, Mapping):
            raise InputError(
                f"row {number} is a {type(row).__name__}: {row!r}.\n  Each row is a dict from column to value."
            )
    names = list(dict.fromkeys(name for row in listed for name in row))
    return pa.table({str(name): _column(name, [row.get(name) for row in listed]) for name in names})


def _from_pandas(rows: Any) -> pa.Table:
    names = Counter(map(str, rows.columns))
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise InputError(f"the DataFrame has {names[twice]} columns named {twice!r}.\n  Rename or drop all but one.")
    try:
        return pa.Table.from_pandas(rows, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        columns = {str(name): _column(name, rows[name]) for name in rows.columns}  # says which column it is
        return pa.table(columns)


def _column(name: object, values: Any) -> pa.Array:
    try:
        return pa.array(values) if isinstance(values, list) else pa.Array.from_pandas(values)
    except OverflowError as error:
        raise InputError(
            f"column {name!r} holds a number or time that 64 bits cannot: {error}.\n"
            "  Give such numbers as decimal.Decimal or float."
        ) from error
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"column {name!r} holds values of different types: {error}.\n  Give it one type.") from error


def _distinct(table: pa.Table) -> pa.Table:
    twice = next((name for name, times in Counter(table.column_names).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"the rows have two columns named {twice!r}.\n  Rename or drop one of them.")
    return table


def _plain(table: pa.Table) -> pa.Table:
    """Views of strings as strings: Arrow cannot pick rows of a view yet."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type):
            kind = pa.large_string() if pa.types.is_string_view(field.type) else pa.large_binary()
            table = table.set_column(index, field.name, table.column(index).cast(kind))
    return table
