"""Matching a row pattern: rows as columns in, matches as arrays out.

In: the tables of a row pattern and the values of its rows. Out: `RowMatches`, or the error that the scan ended with.
Knows nothing of Spark or of results; `row_measures` reads the matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.failing import can_fail
from cepheid.conditions.types import Kind
from cepheid.engine.columns import as_integers, as_numpy
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.kernel.row_patterns import scan
from cepheid.engine.row_values import Integers, Mask, RowValues, is_true
from cepheid.engine.tables.row_patterns import Near, RowTables
from cepheid.engine.tables.row_programs import MAXIMUM_READS, ROW
from cepheid.errors import CepheidError, EvaluationError
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.reference import Reference
from cepheid.rowpattern.search import Unmatched, budget_error, skip_error


@dataclass(frozen=True, slots=True)
class RowMatches:
    """The matches of all partitions in the order of the scan.

    `matches` has first row, length, number and partition of each; `labels`, one match after the other, twice the
    number of the variable, plus 1 in an exclusion; `offsets`, where the labels of a match begin. `unmatched` are the
    rows that begin no match and lie in none found before.
    """

    matches: Integers
    labels: npt.NDArray[np.int32]
    offsets: Integers
    unmatched: Mask


@dataclass(slots=True)
class Progress:
    """How far the scan of each partition is: the next row to start at, the number of the next match, up to which row
    rows lie in matches, and whether earlier rows of the partition are no longer at hand. A call moves it on."""

    places: Integers
    now: int | None = None
    """More rows may come, all later than this moment in microseconds; None: these are all."""
    stopped: int | None = None
    """The row that an error is about."""

    @classmethod
    def at_first(cls, bounds: Integers) -> Progress:
        """Before the first row of each partition, all of whose rows are at hand."""
        begins = bounds[:-1]
        return cls(np.stack((begins, np.ones_like(begins), begins, np.zeros_like(begins)), axis=1))


def match_rows(
    tables: RowTables,
    rows: RowValues,
    own: Mask | None,
    where: Callable[[int], str],
    progress: Progress | None = None,
) -> RowMatches:
    """Find all matches. `own`: which rows satisfy the own part of each variable, one column each, if that was computed
    elsewhere; `where` names a row in an error; `progress`: where to go on from, and whether more rows may come."""
    progress = progress or Progress.at_first(rows.bounds)
    values, known, texts = values_of(tables, rows)
    columns = RowColumns(values, known, allowed_of(tables, rows, own, progress), times_of(tables, rows))
    room = first_room(tables, rows.bounds)
    return scanned(tables, columns, texts, rows.bounds, progress, room, new_cursor(), where)[0]


class RowColumns(NamedTuple):
    """What the scan reads of the rows: values for tests, which of them are known, the variables that a row may have,
    and times where WITHIN asks for them."""

    values: Integers
    known: npt.NDArray[np.uint64]
    allowed: npt.NDArray[np.uint64]
    time: Integers


class Room(NamedTuple):
    """The arrays that the scan writes to."""

    ways: Integers
    path: Integers
    labels: npt.NDArray[np.int32]
    registers: Integers
    failed: npt.NDArray[np.uint8]
    states: Integers
    stamps: Integers
    matches: Integers
    all_labels: npt.NDArray[np.int32]
    unmatched: Mask


def new_cursor() -> Integers:
    """The place of a scan that has not begun."""
    cursor = np.zeros(r.C_SIZE, np.int64)
    cursor[r.C_IS_NEW] = 1
    return cursor


def scanned(
    tables: RowTables,
    columns: RowColumns,
    texts: Integers,
    bounds: Integers,
    progress: Progress,
    room: Room,
    cursor: Integers,
    where: Callable[[int], str],
) -> tuple[RowMatches, Room]:
    """Scan on from where the cursor is: the matches that are found, and the room, which may have grown."""
    cursor[r.C_OPEN], cursor[r.C_NOW] = progress.now is not None, progress.now or 0
    cursor[r.C_COUNT] = cursor[r.C_USED] = 0
    counters = np.zeros(r.Q_SIZE, np.int64)
    while True:
        status = scan(
            tables.instructions,
            tables.tests,
            tables.reads,
            tables.codes,
            tables.updates,
            tables.updates_of,
            texts[len(tables.texts) :],
            texts[: len(tables.texts)],
            columns.values,
            columns.known,
            columns.allowed,
            columns.time,
            bounds,
            tables.params,
            tables.ahead,
            progress.places,
            room,
            cursor,
            np.zeros((1, MAXIMUM_READS), np.int64),
            np.zeros(1, np.uint64),
            np.zeros((len(tables.codes) + 2, 2), np.int64),
            counters,
            np.zeros((1, 1), np.int32),  # nothing here counts different values by looking back at them
        )
        if status == r.DONE:
            count, used = cursor[r.C_COUNT], cursor[r.C_USED]
            return _found(room.matches[:count], room.all_labels[:used], room.unmatched), room
        if status not in _GROWING:
            is_skip = status in (r.NO_SUCH_LABEL, r.SKIP_TO_START)
            progress.stopped = int(cursor[r.C_START if is_skip else r.C_AT])
            raise _problem(status, tables, cursor, counters, where)
        room = _with_more(room, _GROWING[status])


_GROWING = {
    r.MORE_WAYS: ("ways",),
    r.MORE_PATH: ("path",),
    r.MORE_LABELS: ("labels",),
    r.MORE_REGISTERS: ("registers",),
    r.MORE_STATES: ("states", "stamps"),
    r.MORE_MATCHES: ("matches",),
    r.MORE_ALL_LABELS: ("all_labels",),
}
_FIRST_ROOM = 64


def first_room(tables: RowTables, bounds: Integers) -> Room:
    """Room to begin with for the rows of some partitions."""
    memory, width = tables.params[r.P_MEMORY], len(tables.initial)
    largest, count = int(np.diff(bounds).max(initial=0)), int(bounds[-1])
    remembers_places = memory in (r.BY_ROW, r.BY_ROW_OF_START)
    registers = np.zeros((_FIRST_ROOM, width), np.int64)
    registers[0] = tables.initial
    states = 1024 if memory == r.BY_STATE else 1
    return Room(
        np.zeros((_FIRST_ROOM, 4), np.int64),
        np.zeros(_FIRST_ROOM, np.int64),
        np.zeros(_FIRST_ROOM, np.int32),
        registers,
        np.zeros((largest + 1) * max(1, int(tables.params[r.P_SLOTS])) if remembers_places else 1, np.uint8),
        np.zeros((states, width + 2), np.int64),
        np.zeros(states, np.int64),
        np.zeros((max(_FIRST_ROOM, count // 2), 4), np.int64),  # what is not used costs nothing
        np.zeros(max(_FIRST_ROOM, 2 * count), np.int32),
        np.zeros(count, np.bool_),
    )


def _with_more(room: Room, names: tuple[str, ...]) -> Room:
    """Twice the room in some arrays, what they hold kept."""
    return room._replace(
        **{name: np.concatenate((array := getattr(room, name), np.zeros_like(array))) for name in names}
    )


def match_by_reference(bound: BoundRowPattern, rows: RowValues, max_steps: int) -> RowMatches:
    """The same by the literal evaluator, for what the machine cannot compute."""
    evaluator = Reference(bound, max_steps)
    listed = rows.table.to_pylist()
    numbers = {name: 2 * number for number, name in enumerate(bound.pattern.variables)}
    matches: list[tuple[int, int, int, int]] = []
    labels: list[int] = []
    unmatched = np.zeros(len(rows), bool)
    for partition, (begin, end) in enumerate(pairwise(rows.bounds.tolist())):
        for found in evaluator.found(listed[begin:end]):
            if isinstance(found, Unmatched):
                unmatched[begin + found.row] = True
            else:
                matches.append((begin + found.first, len(found.labels), found.number, partition))
                labels += [numbers[name] + out for name, out in zip(found.labels, found.excluded, strict=True)]
    return _found(np.array(matches, np.int64).reshape(len(matches), 4), np.array(labels, np.int32), unmatched)


def _found(matches: Integers, labels: npt.NDArray[np.int32], unmatched: Mask) -> RowMatches:
    return RowMatches(matches, labels, np.cumsum(matches[:, 1]) - matches[:, 1], unmatched)


def allowed_of(tables: RowTables, rows: RowValues, own: Mask | None, progress: Progress) -> npt.NDArray[np.uint64]:
    """A bit for each variable that the row may have, as far as the row and its neighbours tell."""
    bits = np.zeros(len(rows), np.min_scalar_type((1 << len(tables.own)) - 1))  # narrow ones are faster
    near = _Neighbours(tables, rows)
    scanned = _still_to_scan(rows, progress)
    for number, condition in enumerate(tables.own):
        holds = rows.holds(condition) if own is None else own[:, number]
        if scanned is not None:
            holds = holds & scanned
        test, ahead = tables.near[number], int(tables.tests[number, r.T_AHEAD])
        if test is not None:
            waits = _near_the_end(rows, ahead) & holds if ahead and progress.now is not None else None
            outcome = near.hold(test, holds if waits is None else holds & ~waits)
            if waits is not None:  # what is known of such a row: the parts that read no later one
                before = tables.near_before[number]
                outcome |= waits if before is None else near.hold(before, waits)
            holds = outcome
        bits |= holds.astype(bits.dtype) << bits.dtype.type(number)
    return bits.astype(np.uint64)


def _still_to_scan(rows: RowValues, progress: Progress) -> Mask | None:
    """Which rows are still to be looked at; None: all. Those before are there to be read."""
    skipped = progress.places[:, r.S_START] - rows.bounds[:-1]
    if not skipped.any():
        return None
    change = np.zeros(len(rows) + 1, np.int64)
    np.add.at(change, progress.places[:, r.S_START], 1)
    np.add.at(change, rows.bounds[1:], -1)
    result: Mask = np.cumsum(change)[:-1] > 0
    return result


def _near_the_end(rows: RowValues, distance: int) -> Mask:
    """Which rows have fewer than so many rows of their partition after them."""
    ends = np.repeat(rows.bounds[1:], np.diff(rows.bounds))
    result: Mask = np.arange(len(rows)) + distance >= ends
    return result


class _Neighbours:
    """What tests read of a row's neighbours, computed once for all of them."""

    def __init__(self, tables: RowTables, rows: RowValues) -> None:
        self._rows = rows
        self._columns = tables.near_columns
        self._shifted: dict[tuple[int, int], pa.Array] = {}

    def hold(self, test: Near, candidates: Mask) -> Mask:
        """Which of the candidates pass a test of the row and its neighbours. It is asked of them alone if it may
        fail."""
        table = pa.table({name: self._of(column, shift) for name, column, shift in test.names})
        if not can_fail(test.expression) or candidates.all():
            return candidates & is_true(evaluate_or_fall_back(test.expression, table))
        chosen = np.flatnonzero(candidates)
        outcome = is_true(evaluate_or_fall_back(test.expression, table.take(pa.array(chosen))))
        holds = np.zeros(len(self._rows), bool)
        holds[chosen[outcome]] = True
        return holds

    def _of(self, column: int, shift: int) -> pa.Array:
        if (column, shift) not in self._shifted:
            self._shifted[column, shift] = (
                self._rows.shifted(self._of(column, 0), shift) if shift else self._rows.of(self._columns[column])
            )
        return self._shifted[column, shift]


def values_of(tables: RowTables, rows: RowValues) -> tuple[Integers, npt.NDArray[np.uint64], Integers]:
    """The columns that tests read, as 64-bit integers; which of them are known; the ranks of the tables' strings and of
    the names of the variables."""
    fixed = pa.array([*tables.texts, *tables.variables], pa.string())
    arrays = [None if column == ROW else rows.of(column) for column in tables.columns]
    texts = [fixed]
    for array, column in zip(arrays, tables.columns, strict=True):
        if array is not None and column.type.kind is Kind.STRING:
            texts.append(pc.drop_null(array.cast(pa.string()).unique()))
    ranks = pc.unique(pa.chunked_array(texts))
    ranks = ranks.take(pc.sort_indices(ranks))
    values = np.zeros((len(rows), max(1, len(arrays))), np.int64)
    known = np.zeros(len(rows), np.uint64)
    for number, (array, column) in enumerate(zip(arrays, tables.columns, strict=True)):
        bit = np.uint64(1 << number)
        if array is None:
            values[:, number] = np.arange(len(rows))
            known |= bit
            continue
        if column.type.kind is Kind.STRING:
            array = pc.index_in(array.cast(pa.string()), ranks)
            values[:, number] = as_numpy(array.fill_null(0))
        else:
            values[:, number] = as_integers(array, column.type)
        known |= np.where(as_numpy(array.is_valid()), bit, np.uint64(0))
    codes: Integers = as_numpy(pc.index_in(fixed, ranks)).astype(np.int64)
    return values, known, codes


def times_of(tables: RowTables, rows: RowValues) -> Integers:
    """The times of the rows in microseconds, where WITHIN asks for them."""
    if tables.bound.pattern.within is None:
        return np.zeros(1, np.int64)
    column = rows.column(tables.bound.order_names[0])
    if column.null_count:
        raise EvaluationError("WITHIN: rows without a time.\n  Give every row a time, or leave such rows out.")
    return as_numpy(column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.int64()))


def _problem(
    status: int, tables: RowTables, cursor: Integers, counters: Integers, where: Callable[[int], str]
) -> CepheidError:
    """The error that the scan ended with."""
    at = int(cursor[r.C_AT])
    skip = tables.bound.pattern.skip.variable or ""
    if status == r.NO_SUCH_LABEL:
        return skip_error(skip, at, "no row of the match has that label")
    if status == r.SKIP_TO_START:
        return skip_error(skip, at, "that is the first row of the match, where it would be found again")
    if status == r.OVER_BUDGET:
        return budget_error(where(at), int(tables.params[r.P_BUDGET]))
    variable = tables.variables[int(cursor[r.C_VARIABLE])]
    what = "overflow" if counters[r.Q_PROBLEM] == r.OVERFLOW else "division by zero"
    remedy = "Cast to a wider type." if what == "overflow" else "Guard the division, for instance with CASE."
    condition = tables.bound.defines.get(variable)
    return EvaluationError(f"DEFINE {variable}: {what} at {where(at)}\n  in: {condition}\n  {remedy}")
