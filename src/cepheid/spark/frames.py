"""The columns of a DataFrame as a pattern needs them: found, and refused where they cannot serve.

In: a DataFrame's schema and names. Out: names as the DataFrame spells them, or an `InputError`.
"""

from __future__ import annotations

from inspect import signature

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, AtomicType, DataType, MapType, StringType, StructType

from cepheid.errors import InputError
from cepheid.rows.columns import distinct_columns, time_unit
from cepheid.syntax.tree import SpanUnit


def arrow_schema(schema: StructType) -> pa.Schema:
    """A DataFrame's columns as Arrow has them; which zone times are shown in makes no difference."""
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def refuse_names_by_case(schema: StructType) -> None:
    """Two columns of one name cannot be told apart in a condition."""
    seen: dict[str, str] = {}
    for name in schema.names:
        if name.lower() in seen:
            raise InputError(
                f"the DataFrame has two columns named {seen[name.lower()]!r} and {name!r}.\n"
                "  Rename or drop one of them before matching."
            )
        seen[name.lower()] = name


def partition_columns(schema: StructType, names: tuple[str, ...]) -> tuple[str, ...]:
    """The key: plain columns, of which equal values are equal in every process."""
    found = distinct_columns(schema.names, names, "partition_by")
    for name in found:
        kind = schema[name].dataType
        if not isinstance(kind, AtomicType):
            raise InputError(
                f"partition_by={name!r} has type {kind.simpleString()}, which cannot be a key.\n"
                f"  {_way_out(kind, name)}"
            )
        if isinstance(kind, StringType) and getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
            raise InputError(
                f"partition_by={name!r} is a string with the collation {kind.collation}; keys are compared byte by "
                f"byte.\n  Partition by a column of plain strings, such as lower({name})."
            )
    return found


def order_columns(schema: StructType, arrow: pa.Schema, names: tuple[str, ...]) -> tuple[str, ...]:
    """The order: the time first, then plain columns that break ties."""
    if not names:
        raise InputError(
            "order_by is missing: the rows of a DataFrame have no order by themselves.\n"
            '  Name the time of the events first, then columns that break ties: order_by=["ts", "id"].'
        )
    found = distinct_columns(schema.names, names, "order_by")
    time_unit(arrow.field(found[0]).type, found[0])
    for name in found[1:]:
        kind = schema[name].dataType
        if not isinstance(kind, AtomicType):
            raise InputError(
                f"order_by={name!r} has type {kind.simpleString()}, which cannot break ties.\n  {_way_out(kind, name)}"
            )
    return found


def unit_of(arrow: pa.Schema, order_by: tuple[str, ...]) -> SpanUnit:
    """What the time counts."""
    return time_unit(arrow.field(order_by[0]).type, order_by[0])


def _way_out(kind: DataType, name: str) -> str:
    if isinstance(kind, StructType) and kind.names:
        field = kind.names[0]
        return f"Make its fields columns first: events.withColumn('{name}_{field}', F.col('{name}.{field}'))."
    if isinstance(kind, ArrayType | MapType):
        return f"Take a plain value out of it first, such as {name}[0] or to_json({name})."
    return f"Make it a plain column first, such as CAST({name} AS STRING)."
