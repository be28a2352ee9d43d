"""Matches as a table: from which rows each variable took to structs and lists, to one row an event, or to measures.

In: the arranged events and, per match, its rows and their variables as flat arrays; the `Shape` of the result. Out: an
Arrow table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.engine.assignments import Assignments, Integers
from cepheid.errors import InputError
from cepheid.rows.arrange import Arranged
from cepheid.rows.identity import match_ids
from cepheid.rows.summaries import Summary, summarize
from cepheid.syntax.tree import SpanUnit


@dataclass(frozen=True, slots=True)
class Shape:
    """What the result looks like.

    One row a match: the partition columns, `match_id`, `start_time`, `end_time`, then `at` where the moment of decision
    is wanted, then one column per variable with the `columns` of its events: a struct for a variable that takes one
    event, a list of structs for one that may take more; none if `columns` is None. Every row: the partition columns,
    `match_id`, `variable`, `sequence` (from 1 on), then `at`, then the `columns`. Summaries come last.
    """

    variables: tuple[str, ...]
    looping: frozenset[str]
    columns: tuple[str, ...] | None
    with_moment: bool = False
    every_row: bool = False
    summaries: tuple[Summary, ...] = ()
    of_variable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that a variable's events have, where not all events have the same."""
    counts: bool = False
    """Matches are counted instead, and their summaries added up: see `counts`."""

    def columns_of(self, variable: str) -> tuple[str, ...]:
        """What is shown of a variable's events."""
        shown, own = self.columns or (), self.of_variable.get(variable)
        if own is None:
            return shown
        return own if set(own) <= set(shown) else tuple(name for name in shown if name in own)

    @property
    def own_columns(self) -> tuple[str, ...]:
        own = ("match_id", "variable", "sequence") if self.every_row else ("match_id", "start_time", "end_time")
        return (*own, "at") if self.with_moment else own

    def check_names(self, partition_by: tuple[str, ...], measures: Iterable[str] = ()) -> None:
        """Refuse two columns of one name."""
        named = [(name, "partition column") for name in partition_by]
        if not self.every_row and self.columns is not None:
            named += [(name, "variable") for name in self.variables]
        elif self.columns is not None:
            named += [(name, "column") for name in self.columns if name not in partition_by]
        named += [(name, "measure") for name in measures]
        taken_by_itself = tuple(dict.fromkeys((*self.own_columns, "at")))
        taken = {name.lower(): "column of the result's own" for name in taken_by_itself}
        for name, role in named:
            if name.lower() in taken:
                raise InputError(
                    f"{name!r} would name two columns of the result: a {role} and a {taken[name.lower()]}.\n"
                    f"  Rename one of them; {', '.join(taken_by_itself)} are the result's own."
                )
            taken[name.lower()] = role


def assemble(events: Arranged, found: Assignments, shape: Shape) -> pa.Table:
    """The table of the matches, in their order."""
    count = len(found.at)
    starts = _starts(found)
    names = match_ids(events, found.variable, found.row, starts)
    moments = moments_of(found.at, events) if shape.with_moment and events.order_by else None
    table = _every_row(events, found, shape, names, moments, starts) if shape.every_row else None
    if table is None:
        table = _one_row(events, found, shape, names, moments, starts)
    for summary in shape.summaries:
        mine = found.variable == summary.variable
        source = events.taken(() if summary.argument is None else (summary.argument,), found.row[mine])
        values = summarize(summary, source, found.match[mine], count)
        table = table.append_column(summary.name, values.take(pa.array(found.match)) if shape.every_row else values)
    return table


def _one_row(
    events: Arranged,
    found: Assignments,
    shape: Shape,
    names: pa.Array,
    moments: pa.Array | None,
    starts: Integers,
) -> pa.Table:
    first, last = found.row[starts[:-1]], found.row[starts[1:] - 1]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name, column in _columns_of(events.taken(events.partition_by, first)):
        columns[name] = column
    columns["match_id"] = names
    if events.order_by:
        time = events.order_by[0]
        columns["start_time"] = events.taken((time,), first)[time]
        columns["end_time"] = events.taken((time,), last)[time]
    if moments is not None:
        columns["at"] = moments
    by_place = _by_place(found, starts)
    for number, name in enumerate(shape.variables if shape.columns is not None else ()):
        if by_place is not None and number in by_place and name not in shape.looping:
            columns[name] = _structs(events, shape.columns_of(name), np.ascontiguousarray(by_place[number]))
            continue
        mine = found.variable == number
        match, row = found.match[mine], found.row[mine]
        if name in shape.looping:
            columns[name] = _lists(events, shape.columns_of(name), match, row, len(names))
        else:
            columns[name] = _singles(events, shape.columns_of(name), match, row, len(names))
    return pa.table(columns)


def _starts(found: Assignments) -> Integers:
    """Where the entries of each match begin, and where the last one's end. Every match has entries."""
    if not len(found.at):
        return np.zeros(1, np.int64)
    return np.concatenate(([0], np.flatnonzero(np.diff(found.match)) + 1, [len(found.match)]))


def _by_place(found: Assignments, starts: Integers) -> dict[int, Integers] | None:
    """The rows of each variable, where all matches have the same variables in the same order: then they need not be
    looked for."""
    count = len(found.at)
    length = len(found.row) // max(1, count)
    if not count or count * length != len(found.row) or (starts != np.arange(count + 1) * length).any():
        return None
    variables = found.variable[:length]
    if len(set(variables)) < length or (found.variable.reshape(count, length) != variables).any():
        return None
    rows = found.row.reshape(count, length)
    return {int(variable): rows[:, place] for place, variable in enumerate(variables)}


def _every_row(
    events: Arranged,
    found: Assignments,
    shape: Shape,
    names: pa.Array,
    moments: pa.Array | None,
    starts: Integers,
) -> pa.Table:
    own = dict(_columns_of(events.taken(events.partition_by, found.row)))
    own["match_id"] = names.take(pa.array(found.match))
    own["variable"] = pa.array(shape.variables, pa.string()).take(pa.array(found.variable))
    own["sequence"] = pa.array(np.arange(len(found.match)) - starts[:-1][found.match] + 1, pa.int32())
    if moments is not None:
        own["at"] = moments.take(pa.array(found.match))
    further = [name for name in shape.columns or () if name not in events.partition_by]
    return pa.table({**own, **dict(_columns_of(events.taken(further, found.row)))})


def _columns_of(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return list(zip(table.column_names, table.columns, strict=True))


def moments_of(at: Integers, events: Arranged) -> pa.Array:
    """Moments as the time column has them."""
    kind = events.type_of(events.order_by[0])
    if events.unit is SpanUnit.MICROSECOND:
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        return pa.array(at, pa.int64()).cast(pa.timestamp("us", zone))
    return pa.array(at, pa.int64())


def _structs(events: Arranged, shown: tuple[str, ...], row: Integers) -> pa.StructArray:
    """The wanted columns of some rows."""
    taken = events.taken(shown, row)
    arrays = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in taken.columns]
    return pa.StructArray.from_arrays(arrays, fields=list(taken.schema))


def _singles(events: Arranged, shown: tuple[str, ...], match: Integers, row: Integers, count: int) -> pa.Array:
    """One struct per match, NULL where the variable took nothing."""
    structs = _structs(events, shown, row)
    if len(match) == count:  # every match has one, in their order
        return structs
    places = np.full(count, -1, np.int64)
    places[match] = np.arange(len(match))
    return structs.take(pa.array(places, mask=places < 0))


def _lists(events: Arranged, shown: tuple[str, ...], match: Integers, row: Integers, count: int) -> pa.Array:
    """One list of structs per match, empty where the variable took nothing."""
    offsets = np.searchsorted(match, np.arange(count + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), _structs(events, shown, row))
