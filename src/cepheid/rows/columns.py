"""The columns of a table as a pattern needs them: found by name, and refused where they cannot serve.

In: a table, and names as the caller gave them. Out: names as the table spells them, times as whole numbers, or an
`InputError`. Used in memory, and by Spark's plans for what does not depend on Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.automaton.model import Automaton
from cepheid.conditions.carets import did_you_mean
from cepheid.engine.assignments import Integers
from cepheid.errors import InputError
from cepheid.syntax.tree import Span, SpanUnit

_LAST_MOMENT = 2**63 - 2
"""The number after it means: never."""
_TEXTS_LOOKED_AT = 100_000


def column_named(columns: Sequence[str], name: str, argument: str) -> str:
    """The column as the table spells it (Spark's case rule)."""
    found = [column for column in columns if column.lower() == name.lower()]
    if found.count(name) == 1:
        return name
    if len(found) == 1:
        return found[0]
    same = "of that name" if name in found else "that differ only by case"
    problem = f"names {len(found)} columns {same}" if found else "names no column"
    near = None if found else did_you_mean(name, columns)
    hint = f"{near[:1].upper()}{near[1:]} " if near else ""
    raise InputError(f"{argument}={name!r} {problem}.\n  {hint}The columns are: {', '.join(columns)}.")


def distinct_columns(columns: Sequence[str], names: tuple[str, ...], argument: str) -> tuple[str, ...]:
    """Several columns, each once."""
    found = tuple(column_named(columns, name, argument) for name in names)
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{argument} names {twice!r} twice.\n  Name each column once.")
    return found


def shown_columns(columns: Sequence[str], names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of events that the result shows; all of them if none are named."""
    if names is None:
        return tuple(columns)
    if not names:
        raise InputError(
            "columns=[] leaves nothing to show of an event.\n  Name some columns, or leave columns= out for all."
        )
    return distinct_columns(columns, names, "columns")


def time_unit(kind: pa.DataType, name: str, offending: str = "") -> SpanUnit:
    """What the times of a column count; refuses a column that cannot hold times. `offending`: more about strings."""
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return SpanUnit.MICROSECOND
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return SpanUnit.ORDER
    remedy = "Order by a timestamp, a date or a number first; further columns break ties."
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):  # as times are in CSV files
        remedy += (
            f'\n  {offending}Strings become times with pd.to_datetime(df["{name}"], errors="coerce") of pandas, '
            f"datetime.fromisoformat of Python\n  or try_to_timestamp({name}) of Spark, with NULL for what is not a "
            'time; nulls="drop" leaves such rows out.'
        )
    raise InputError(
        f"order_by={name!r} has type {kind}; the first order column is the time of the events.\n  {remedy}"
    )


def times_of(table: pa.Table, order_by: tuple[str, ...]) -> tuple[Integers, SpanUnit | None]:
    """The time of each row, and what it counts; every order column has a value on every row."""
    if not order_by:
        return np.arange(table.num_rows, dtype=np.int64), None
    name, column = order_by[0], table[order_by[0]]
    unit = time_unit(column.type, name, _no_time(column))
    for one in order_by:
        _refuse_nulls(table, one)
    try:
        if unit is SpanUnit.MICROSECOND:
            column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)))
        times: Integers = column.cast(pa.int64()).combine_chunks().to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise InputError(
            f"order_by={name!r}: its values do not fit whole microseconds or whole numbers: {error}.\n"
            "  Round them first, or scale them to whole numbers."
        ) from error
    return times, unit


def check_range(time: Integers, automaton: Automaton) -> None:
    """Refuse times so near the end of what 64 bits hold that a window would reach beyond it."""
    if not len(time):
        return
    reach = _reach(automaton)
    first, last = int(time.min()), int(time.max())
    if first - reach < -_LAST_MOMENT or last + reach > _LAST_MOMENT:
        outermost = last if last + reach > _LAST_MOMENT else first
        raise InputError(
            f"the time {outermost} is so large that a window of the pattern reaches beyond what 64 bits hold.\n"
            "  Such times are usually placeholders for unknown: drop those rows, or give them their true time."
        )


def _reach(automaton: Automaton) -> int:
    """The longest of the pattern's windows."""
    reaches = [0 if not isinstance(automaton.window, Span) else automaton.window.length]
    for position in automaton.positions:
        takes = (*(way.take for way in position.continuations), *position.rivals)
        reaches += [take.gap for take in takes if take.gap is not None]
        reaches += [guard.window for end in position.endings for guard in end.nots if guard.window is not None]
    return ceil(max(reaches))


def canonical(column: pa.Array) -> pa.Array:
    """Equal values in equal bits, for what compares or hashes them: both zeros are 0.0, and NaN is one value."""
    if not pa.types.is_floating(column.type):
        return column
    not_a_number = pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), not_a_number, pc.add(column, pa.scalar(0.0, column.type)))


def without_nulls(table: pa.Table, order_by: tuple[str, ...]) -> pa.Table:
    """The rows that have a value in every order column."""
    for name in distinct_columns(table.column_names, order_by, "order_by"):
        if table[name].null_count:
            table = table.filter(table[name].is_valid())
    return table


def _refuse_nulls(table: pa.Table, name: str) -> None:
    nulls = table[name].null_count
    if nulls:
        rows = np.flatnonzero(table[name].is_null().to_numpy())[:3]
        raise InputError(
            f"order_by={name!r}: {nulls} of {table.num_rows} rows have no value there (first: rows {rows.tolist()}).\n"
            "  An event without a time or order has no place in the sequence. Give those rows a value, or say "
            'nulls="drop".'
        )


def _no_time(column: pa.ChunkedArray) -> str:
    """The first text of a column that is no time, where others are."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return ""
    texts = pc.unique(column.slice(0, _TEXTS_LOOKED_AT)).to_pylist()
    wrong = [text for text in texts if text is not None and not _is_time(text)]
    if not wrong or len(wrong) == sum(text is not None for text in texts):
        return ""
    row = pc.index(column, wrong[0]).as_py()
    return f"Row {row} holds {wrong[0]!r}, which is not a time, while other rows hold times.\n  "


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True
