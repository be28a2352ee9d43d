"""Tables in memory → one table whose rows are an event and one of its keys (see `conditions.steps`).

In: Arrow tables, and the steps of a pattern. Out: `Events`, which the rest of the way handles like any rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import Schema
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.expression import Expression
from cepheid.conditions.steps import (
    Step,
    Steps,
    common_names,
    different_keys,
    different_types,
    plain_column,
    role_name,
)
from cepheid.engine.assignments import Integers
from cepheid.errors import InputError
from cepheid.rows.arrange import partition_codes
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Events:
    """Rows as a pattern reads them."""

    table: pa.Table
    schema: Schema
    partition_by: tuple[str, ...]
    columns: tuple[str, ...]
    """The columns of the events; the table may have further ones."""
    own: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By element: its events' columns, where not all events have the same."""
    keys: tuple[str, ...] = ()
    """What the keys are, for explanations, where they differ by element."""

    @classmethod
    def plain(cls, table: pa.Table, partition_by: tuple[str, ...], time_zone: str = "UTC") -> Events:
        """One table with one key for all elements."""
        schema = Schema.from_arrow(table.schema, time_zone)
        return cls(table, schema, partition_by, tuple(table.column_names))


def joined(
    pattern: PatternTree, tables: Sequence[pa.Table], steps: Steps, order_by: tuple[str, ...], time_zone: str = "UTC"
) -> Events:
    """The candidates of all steps, in the order of the tables and of their rows."""
    _check_tables(tables, steps, order_by)
    columns = [tuple(table.column_names) for table in tables]
    common_names(steps, columns)
    names = tuple(steps.key_name(place, columns) for place in range(len(steps.keys)))
    gathered = [
        _Entries.of(pattern, table, steps, step, place, time_zone)
        for number, table in enumerate(tables)
        for place, step in steps.of_table(number)
    ]
    begins = np.cumsum([0, *(table.num_rows for table in tables)])
    rows = np.concatenate([entries.rows + begins[entries.step.table] for entries in gathered])
    roles = np.concatenate([np.full(len(entries.rows), entries.place) for entries in gathered])
    keys = pa.table([_key(steps, place, gathered) for place in range(len(names))], names=list(names))
    codes, count = partition_codes(keys, names, frozenset()) if names else (np.zeros(len(rows), np.int64), 1)
    _, first, inverse = np.unique(rows * max(count, 1) + codes, return_index=True, return_inverse=True)
    everything = _concatenated(tables, steps)
    for place, name in enumerate(names):
        if name in everything.column_names and _is_array(everything.schema.field(name).type):
            raise steps.array_of_that_name(place)
    result = everything.drop_columns([name for name in names if name in everything.column_names])
    result = result.take(pa.array(rows[first]))
    for name in names:
        result = result.append_column(name, keys[name].take(pa.array(first)))
    for place in range(len(steps.steps)) if len(steps.steps) > 1 else ():
        is_candidate = np.zeros(len(first), bool)
        is_candidate[inverse[roles == place]] = True
        result = result.append_column(role_name(place), pa.array(is_candidate))
    schema = steps.schema(Schema.from_arrow(result.schema, time_zone), columns, [None] * len(tables))
    own = {element: columns[step.table] for step in steps.steps for element in step.elements}
    shown = tuple(dict.fromkeys(name for listed in columns for name in listed))
    return Events(result, schema, names, shown, own, steps.described())


@dataclass(frozen=True, slots=True)
class _Entries:
    """The events that a step may take, each with one of its keys."""

    step: Step
    place: int
    rows: Integers
    keys: tuple[pa.Array, ...]

    @classmethod
    def of(
        cls, pattern: PatternTree, table: pa.Table, steps: Steps, step: Step, place: int, time_zone: str
    ) -> _Entries:
        schema = Schema.from_arrow(table.schema, time_zone)
        rows, keys = np.arange(table.num_rows, dtype=np.int64), list[pa.Array]()
        for number in range(len(steps.keys)):
            values = _values(table, steps.bound(number, step, schema, pattern)).take(pa.array(rows))
            kept, values = _single(values)
            rows, keys = rows[kept], [key.take(pa.array(kept)) for key in keys]
            keys.append(values)
        return cls(step, place, rows, tuple(keys))


def _values(table: pa.Table, expression: Expression) -> pa.Array:
    """A key on each row; a column as it is, with its own type."""
    name = plain_column(expression)
    values = evaluate_or_fall_back(expression, table) if name is None else table[name].combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _single(values: pa.Array) -> tuple[Integers, pa.Array]:
    """The places that have a value, and the value; a place with an array has one for each value of it."""
    if not _is_array(values.type):
        places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        return places, values.take(pa.array(places))
    parents, flat = pc.list_parent_indices(values), pc.list_flatten(values)
    valid = flat.is_valid()
    return parents.filter(valid).cast(pa.int64()).to_numpy(), flat.filter(valid)


def _is_array(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _key(steps: Steps, place: int, gathered: Sequence[_Entries]) -> pa.ChunkedArray:
    """One key of all steps, which must be of one type."""
    first = gathered[0]
    types = [entries.keys[place].type for entries in gathered if not pa.types.is_null(entries.keys[place].type)]
    kind = types[0] if types else pa.null()
    for entries in gathered:
        given = entries.keys[place].type
        both = (kind, given)
        if kind == given or pa.types.is_null(given):
            continue
        if all(map(pa.types.is_integer, both)):
            kind = pa.int64()
        elif all(pa.types.is_string(one) or pa.types.is_large_string(one) for one in both):
            kind = pa.large_string()
        elif all(map(pa.types.is_timestamp, both)) and (kind.tz is None) == (given.tz is None):
            kind = pa.timestamp("us", kind.tz)
        else:
            raise different_keys(steps, place, (first.step, kind), (entries.step, given))
    return pa.chunked_array([entries.keys[place].cast(kind) for entries in gathered], kind)


def _check_tables(tables: Sequence[pa.Table], steps: Steps, order_by: tuple[str, ...]) -> None:
    if len(tables) > 1 and not order_by:
        raise InputError(
            "order_by is missing: the rows of several tables have no order among them.\n  Name the time of the events."
        )
    for number, table in enumerate(tables):
        if not table.column_names:
            raise InputError(
                f"{steps.called(number)} has no columns.\n"
                "  Give an Arrow table or a DataFrame, which has columns even without rows."
            )
        for name in order_by:
            if name.casefold() not in (column.casefold() for column in table.column_names):
                listed = ", ".join(table.column_names)
                raise InputError(
                    f"order_by={name!r} names no column of {steps.called(number)}.\n  Its columns are: {listed}."
                )


def _concatenated(tables: Sequence[pa.Table], steps: Steps) -> pa.Table:
    """All rows one below the other; what a table has no column for is NULL."""
    seen: dict[str, tuple[int, pa.DataType]] = {}
    for number, table in enumerate(tables):
        for column in table.schema:
            kind = column.type
            first, known = seen.setdefault(column.name, (number, kind))
            if known != kind and not pa.types.is_null(known) and not pa.types.is_null(kind):
                raise different_types(steps, column.name, (first, known), (number, kind))
            if pa.types.is_null(known):
                seen[column.name] = (number, kind)
    return pa.concat_tables(tables, promote_options="default")
