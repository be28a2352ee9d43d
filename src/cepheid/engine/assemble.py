"""Matches as a table: from which rows each variable took to structs and lists.

In: the arranged events and, per match, its rows and their variables as flat arrays. Out: an Arrow table with the
partition columns, `match_id`, `start_time`, `end_time` (timeouts: `at`) and one column per variable, a struct for a
variable that takes one event and a list of structs for one that may take more.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.arrange import Arranged, Integers
from cepheid.errors import InputError
from cepheid.syntax.tree import SpanUnit

Words = npt.NDArray[np.uint64]

OWN_COLUMNS = ("match_id", "start_time", "end_time", "at")


@dataclass(frozen=True, slots=True)
class Assignments:
    """Which rows were taken by which variables: entry i belongs to match `match[i]` (ascending from 0)."""

    match: Integers
    variable: Integers
    row: Integers
    at: Integers
    """One per match: the moment of its decision."""


def assemble(
    events: Arranged,
    found: Assignments,
    variables: tuple[str, ...],
    looping: frozenset[str],
    with_moment: bool,
    ordinal: Integers | None = None,
) -> pa.Table:
    """The table of the matches, in their order; `with_moment` adds the column `at`.

    `ordinal`: each row's number among those with equal key and order values, where the table no longer shows it.
    """
    _refuse_clashes(events.partition_by, variables)
    count = len(found.at)
    starts = np.searchsorted(found.match, np.arange(count + 1))
    first, last = found.row[starts[:-1]], found.row[starts[1:] - 1]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in events.partition_by:
        columns[name] = events.table[name].take(pa.array(first))
    columns["match_id"] = _match_ids(events, found, starts, ordinal)
    if events.order_by:
        time = events.table[events.order_by[0]]
        columns["start_time"] = time.take(pa.array(first))
        columns["end_time"] = time.take(pa.array(last))
        if with_moment:
            columns["at"] = _moments(found.at, time.type, events.unit)
    structs = events.table.to_struct_array().combine_chunks()
    for number, name in enumerate(variables):
        mine = found.variable == number
        if name in looping:
            columns[name] = _lists(structs, found.match[mine], found.row[mine], count)
        else:
            columns[name] = _singles(structs, found.match[mine], found.row[mine], count)
    return pa.table(columns)


def _refuse_clashes(partition_by: tuple[str, ...], variables: tuple[str, ...]) -> None:
    taken = {name.lower() for name in OWN_COLUMNS}
    for name in (*partition_by, *variables):
        if name.lower() in taken:
            raise InputError(
                f"{name!r} would name two columns of the result.\n"
                f"  Rename the variable or the partition column; {', '.join(OWN_COLUMNS)} are the result's own."
            )
        taken.add(name.lower())


def _moments(at: Integers, kind: pa.DataType, unit: SpanUnit | None) -> pa.Array:
    if unit is SpanUnit.MICROSECOND:
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        return pa.array(at, pa.int64()).cast(pa.timestamp("us", zone))
    return pa.array(at, pa.int64())


def _singles(structs: pa.StructArray, match: Integers, row: Integers, count: int) -> pa.Array:
    """One struct per match, NULL where the variable took nothing."""
    rows = np.full(count, -1, np.int64)
    rows[match] = row
    return structs.take(pa.array(rows, mask=rows < 0))


def _lists(structs: pa.StructArray, match: Integers, row: Integers, count: int) -> pa.Array:
    """One list of structs per match, empty where the variable took nothing."""
    offsets = np.searchsorted(match, np.arange(count + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), structs.take(pa.array(row)))


def _match_ids(
    events: Arranged, found: Assignments, starts: npt.NDArray[np.intp], ordinal: Integers | None
) -> pa.Array:
    """A hash of the key and, per event, variable, time, tie columns and ordinal: the same for every run over the same
    events."""
    if not len(found.at):
        return pa.array([], pa.string())
    place = (np.arange(len(found.match)) - starts[:-1][found.match]).astype(np.uint64)
    event = _row_words(events, ordinal)[found.row]
    halves = []
    for seed in (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)):
        words = _mix(_mix(event ^ seed) + _mix(found.variable.astype(np.uint64) + seed) + place * seed)
        halves.append(np.add.reduceat(words, starts[:-1]))
    return pa.array([f"{high:016x}{low:016x}" for high, low in zip(*(half.tolist() for half in halves), strict=True)])


def _row_words(events: Arranged, ordinal: Integers | None) -> Words:
    """A word per row that tells it from every other: its key, its order values, and its ordinal among equal ones."""
    words = np.zeros(len(events.time), np.uint64)
    same = np.ones(max(0, len(words) - 1), bool)
    for name in (*events.partition_by, *events.order_by):
        values = _words_of(events.table[name].combine_chunks())
        words = _mix(words + values)
        same &= values[1:] == values[:-1]
    if ordinal is None:
        ordinal = ordinals_within(np.concatenate(([True], ~same))[: len(words)])
    return _mix(words + ordinal.astype(np.uint64))


def ordinals_within(begins: npt.NDArray[np.bool_]) -> Integers:
    """The place of each row behind the last one where something begins."""
    positions = np.arange(len(begins))
    return positions - np.maximum.accumulate(np.where(begins, positions, 0)) if len(begins) else positions


def _words_of(column: pa.Array) -> Words:
    """A word per value: equal for equal values, and the same in every process."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        if pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("us", kind.tz))
        plain = pc.fill_null(column.cast(pa.int64(), safe=False), 0).to_numpy(zero_copy_only=False)
        unknown = column.is_null().to_numpy(zero_copy_only=False)
        return _mix(plain.astype(np.uint64) + unknown.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93))
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    digests = [
        hashlib.blake2b(repr(value).encode(), digest_size=8).digest() for value in encoded.dictionary.to_pylist()
    ]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    words: Words = np.frombuffer(b"".join(digests), np.uint64)[codes]
    return words


def _mix(words: Words) -> Words:
    """The finalizer of SplitMix64: every bit of the input moves every bit of the output."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed
