"""Events as the kernel reads them: bits of tests, times, and the values that conditions compare with earlier events.

In: arranged events and a pattern's tables. Out: `Columns`. The tests and values are computed here by the portable
evaluator; Spark computes them itself and hands over arrays of the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import Predicate, compile_predicate
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.expression import TRUE, Expression
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.conditions.types import DataType, Kind
from cepheid.engine.tables.model import ALLOWED, Tables
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import ConditionError, EvaluationError

FEW_ROWS = 32
"""Up to here a test is quicker row by row than by Arrow."""


class Events(Protocol):
    """Events as `rows.arrange` sorts them: a table, and a time for each row."""

    @property
    def table(self) -> pa.Table: ...

    @property
    def time(self) -> npt.NDArray[np.int64]: ...


class Columns(NamedTuple):
    """The arrays, in the form that the kernel takes; one row an event."""

    bits: npt.NDArray[np.uint64]
    """A word for each page of the pattern's predicates (see `pages`)."""
    time: npt.NDArray[np.int64]
    ordinal: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    known: npt.NDArray[np.uint64]
    forbidden: npt.NDArray[np.int64]
    """Where single starts are forbidden (`to_next`): the moment at which this event was, ALLOWED if at none."""
    before: npt.NDArray[np.int64]
    """For each negation at the start, ordinal and time of the last event before this one that satisfies it; for one
    that reads variables, row and time of the last one that may."""


def columns(events: Events, tables: Tables, texts: pa.Array | None = None) -> Columns:
    """Compute what a pattern reads of its events; `texts`: those that are known by their codes already."""
    values = values_of(events, tables)
    return columns_of(events.time, _bits(events.table, tables, len(events.time)), values, tables, texts)


def columns_of(
    time: npt.NDArray[np.int64],
    bits: npt.NDArray[np.uint64],
    values: Sequence[pa.Array | pa.ChunkedArray],
    tables: Tables,
    texts: pa.Array | None = None,
) -> Columns:
    """The columns from what was computed elsewhere: a bit for each predicate, and the values that the kernel reads."""
    count = len(time)
    if texts is None:
        texts = texts_in(values, tables, pa.array([], pa.string()))
        if tables.orders_texts:
            texts = texts.take(pc.sort_indices(texts))
    encoded, known = _values(values, tables.columns, count, texts)
    nots = tables.nots_before
    return Columns(
        bits=np.require(bits.reshape(count, len(tables.pages)), np.uint64, ["C", "W"]),
        time=np.require(time, np.int64, ["C", "W"]),
        ordinal=np.arange(count),
        values=encoded,
        known=known,
        forbidden=np.full(count if tables.forbids_single_starts else 1, ALLOWED),
        before=np.zeros((count if nots else 1, max(1, 2 * nots)), np.int64),
    )


def _bits(table: pa.Table, tables: Tables, count: int) -> npt.NDArray[np.uint64]:
    bits = np.zeros((count, len(tables.pages)), np.uint64)
    rows = table.to_pylist() if count <= FEW_ROWS else []
    for index, predicate in enumerate(tables.automaton.predicates):
        if predicate.own_event == TRUE:
            holds = np.ones(count, bool)
        elif rows:
            test = compile_predicate(Predicate(predicate.own_event, predicate.place))
            holds = np.array([test(row, NOTHING_TAKEN) for row in rows])
        else:
            holds = as_numpy(pc.fill_null(_tested(predicate, table), False))
        for number, page in enumerate(tables.pages):
            if index in page:
                bits[:, number] |= holds.astype(np.uint64) << np.uint64(page.index(index))
    return bits


def _tested(predicate: Predicate, table: pa.Table) -> pa.Array:
    """Where the own-event part of a predicate holds. If that fails, the row at fault is found one by one."""
    try:
        return evaluate_or_fall_back(predicate.own_event, table)
    except ConditionError as error:  # what only Spark computes
        raise ConditionError(predicate.place, error.problem, error.remedy) from None
    except EvaluationError:
        test = compile_predicate(Predicate(predicate.own_event, predicate.place))
        for row in table.to_pylist():
            test(row, NOTHING_TAKEN)
        raise


def _values(
    arrays: Sequence[pa.Array | pa.ChunkedArray], expressions: tuple[Expression, ...], count: int, texts: pa.Array
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    if not expressions:
        return np.zeros((1, 1), np.int64), np.zeros(1, np.uint64)
    values = np.zeros((count, len(expressions)), np.int64)
    known = np.zeros(count, np.uint64)
    for index, (array, expression) in enumerate(zip(arrays, expressions, strict=True)):
        if expression.type.kind is Kind.STRING:
            array = pc.index_in(array.cast(pa.string()), texts)
            values[:, index] = as_numpy(pc.fill_null(array, 0))
        else:
            values[:, index] = as_integers(array, expression.type)
        known |= np.where(as_numpy(array.is_valid()), np.uint64(1 << index), np.uint64(0))
    return values, known


def may_be_taken(columns: Columns, tables: Tables, variables: Sequence[int]) -> npt.NDArray[np.int64]:
    """The events that some variables may take, as far as the events alone tell."""
    takes = [way.take for position in tables.automaton.positions for way in position.continuations]
    wanted = {take.predicate for take in takes if take.variable in variables}
    result = np.zeros(len(columns.time), bool)
    for number, page in enumerate(tables.pages):
        bits = sum(1 << page.index(predicate) for predicate in wanted if predicate in page)
        result |= columns.bits[:, number] & np.uint64(bits) != 0
    return np.flatnonzero(result)


def values_of(events: Events, tables: Tables) -> list[pa.Array | pa.ChunkedArray]:
    """What the kernel compares of each event."""
    return [evaluate_or_fall_back(expression, events.table) for expression in tables.columns]


def texts_in(values: Sequence[pa.Array | pa.ChunkedArray], tables: Tables, known: pa.Array) -> pa.Array:
    """All strings among the values, after those known before."""
    found = [known]
    for array, expression in zip(values, tables.columns, strict=True):
        if expression.type.kind is Kind.STRING:
            distinct = array.cast(pa.string()).unique()
            found.append(pc.drop_null(distinct))
    return pa.chunked_array(found).unique()


def nothing_held(tables: Tables) -> Columns:
    """The columns of no events, for a stream that begins."""
    width = max(1, len(tables.columns))
    nots = max(1, 2 * tables.nots_before)
    none = np.zeros(0, np.int64)
    unsigned = np.zeros(0, np.uint64)
    return Columns(
        np.zeros((0, len(tables.pages)), np.uint64),
        none,
        none,
        np.zeros((0, width), np.int64),
        unsigned,
        none,
        np.zeros((0, nots), np.int64),
    )


def joined(parts: Sequence[Columns], tables: Tables) -> Columns:
    """Events one after the other, held ones first. Columns that the pattern does not read are those of the last part:
    they stay a single row."""
    needed = _needed(tables)
    return Columns(
        **{
            name: np.concatenate([getattr(part, name) for part in parts]) if name in needed else last
            for name, last in parts[-1]._asdict().items()
        }
    )


def selected(columns: Columns, rows: npt.NDArray[np.int64], tables: Tables) -> Columns:
    """Some of the events."""
    needed = _needed(tables)
    return Columns(
        **{
            name: np.ascontiguousarray(column[rows]) if name in needed else column
            for name, column in columns._asdict().items()
        }
    )


def _needed(tables: Tables) -> set[str]:
    """The columns that have a row for each event."""
    needed = {"bits", "time", "ordinal"}
    if tables.columns:
        needed |= {"values", "known"}
    if tables.forbids_single_starts:
        needed.add("forbidden")
    if tables.nots_before:
        needed.add("before")
    return needed


def as_integers(array: pa.Array, data_type: DataType) -> npt.NDArray[np.int64]:
    """Values as 64-bit integers, in the representation of `programs`."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    if data_type.is_fractional:
        doubles: npt.NDArray[np.float64] = as_numpy(pc.fill_null(array.cast(pa.float64()), 0.0))
        return np.ascontiguousarray(doubles).view(np.int64)
    if data_type.kind is Kind.DECIMAL:
        return scaled(array, data_type.scale)
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    elif pa.types.is_duration(array.type):
        array = array.cast(pa.duration("us")).cast(pa.int64())
    elif pa.types.is_date(array.type):
        array = array.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    result: npt.NDArray[np.int64] = as_numpy(pc.fill_null(array.cast(pa.int64()), 0))
    return result


def scaled(array: pa.Array, scale: int) -> npt.NDArray[np.int64]:
    """Decimals times their scale, read from the low half of their 128 bits."""
    wide = array.cast(pa.decimal128(38, scale))
    halves = np.frombuffer(wide.buffers()[1], np.int64)[2 * wide.offset : 2 * (wide.offset + len(wide))]
    low, high = halves[0::2], halves[1::2]
    valid = as_numpy(wide.is_valid())
    if np.any((low >> 63 != high) & valid):
        raise NotCompiled("decimals of more than 18 digits in the data")
    return np.where(valid, low, 0)


def as_numpy(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    result: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return result
