"""What the measures of a row pattern read of its matches, for all rows of the result at once.

In: matches, rows, reads. Out: for each row of the result its row of the input, its match and its place there (`Shown`);
for each read an array. Whoever calls computes the outer expressions: the Arrow evaluator in memory, Spark on Spark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.arrow.values import NotVectorized, arrow_type
from cepheid.conditions.expression import Column, Expression, walk
from cepheid.conditions.types import Kind
from cepheid.engine.columns import as_integers, as_numpy
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.kernel.row_measures import folded, labels_at, members, rows_at
from cepheid.engine.row_patterns import RowMatches
from cepheid.engine.row_values import Integers, Mask, RowValues, as_array
from cepheid.engine.tables.row_patterns import mask_of
from cepheid.errors import EvaluationError
from cepheid.rowpattern.evaluation import aggregated
from cepheid.rowpattern.expression import LABEL, NUMBER, Folded, Function, Value, mentions
from cepheid.rowpattern.model import RowPattern, RowsPerMatch

_PLAIN = {Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.INTERVAL, Kind.DOUBLE}


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows of the result, in the order of the scan. `match` is -1 for an unmatched row; `place` is that of the
    current row in its match, -1 where no row is visible."""

    row: Integers
    match: Integers
    place: Integers

    def matched(self) -> Shown:
        """Those that belong to a match: of the others every measure is NULL (rule 6.6)."""
        chosen = self.match >= 0
        return Shown(self.row[chosen], self.match[chosen], self.place[chosen])

    def with_unmatched(self, values: pa.Array) -> pa.Array:
        """Values of the rows that belong to a match, for all rows: NULL for the others."""
        is_matched = self.match >= 0
        if is_matched.all():
            return values
        return values.take(pa.array(np.cumsum(is_matched) - 1, mask=~is_matched))


def shown_rows(found: RowMatches, mode: RowsPerMatch) -> Shown:
    """Which rows come out (rules 6.2 to 6.6)."""
    first, length = found.matches[:, 0], found.matches[:, 1]
    count = np.arange(len(first))
    if mode is RowsPerMatch.ONE:
        return Shown(first, count, length - 1)
    match = np.repeat(count, length)
    place = np.arange(len(match)) - np.repeat(found.offsets, length)
    visible = found.labels & 1 == 0
    match, place = match[visible], place[visible]
    if mode is not RowsPerMatch.ALL_OMIT_EMPTY:
        empty = np.flatnonzero(length == 0)
        match, place = np.concatenate((match, empty)), np.concatenate((place, np.full(len(empty), -1)))
    row = first[match] + np.maximum(place, 0)
    at = first[match]
    if mode is RowsPerMatch.ALL_WITH_UNMATCHED:
        unmatched = np.flatnonzero(found.unmatched)
        nothing = np.full(len(unmatched), -1)
        row, at = np.concatenate((row, unmatched)), np.concatenate((at, unmatched))
        match, place = np.concatenate((match, nothing)), np.concatenate((place, nothing))
    order = np.argsort(at, kind="stable")
    return Shown(row[order], match[order], place[order])


class MeasureReads:
    """Computes reads over the matches of one run."""

    def __init__(self, pattern: RowPattern, rows: RowValues, found: RowMatches, shown: Shown) -> None:
        self._pattern = pattern
        self._rows = rows
        self._found = found
        self._shown = shown
        self._labels = pa.array(pattern.variables, pa.string())

    def number(self) -> pa.Array:
        """MATCH_NUMBER() for each row of the result (rule 5.8)."""
        return pa.array(self._found.matches[self._shown.match, 2], pa.int64())

    def of(self, read: Value | Folded) -> pa.Array:
        """The read for each row of the result."""
        return self._value(read) if isinstance(read, Value) else self._folded(read)

    # ── navigation ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, read: Value) -> pa.Array:
        found, shown, place = self._found, self._shown, read.place
        rows = rows_at(
            found.matches,
            found.offsets,
            found.labels,
            self._rows.bounds,
            shown.match,
            shown.place,
            np.uint64(mask_of(self._pattern, place.variable)),
            place.from_first,
            place.offset,
            place.shift,
            place.final,
        )
        return self._argument(read.argument, rows, shown.match)

    def _argument(self, argument: Expression, rows: Integers, match: Integers) -> pa.Array:
        """An expression over one row, at the rows found for some matches; NULL where the row is -1."""
        if not (mentions(argument, LABEL) or mentions(argument, NUMBER)):
            return self._rows.at(argument, rows)
        labels = labels_at(self._found.matches, self._found.offsets, self._found.labels, match, rows)
        label = self._labels.take(pa.array(np.maximum(labels, 0), mask=labels < 0))
        if isinstance(argument, Column) and argument.name == LABEL:
            return label
        there = np.flatnonzero(rows >= 0)
        names = {node.name for node in walk(argument) if isinstance(node, Column)} - {LABEL, NUMBER}
        taken = self._rows.taken(sorted(names), rows[there])
        columns = dict(zip(taken.column_names, taken.columns, strict=True))
        columns[LABEL] = label.take(pa.array(there))
        columns[NUMBER] = pa.array(self._found.matches[match[there], 2], pa.int64())
        values = as_array(evaluate_or_fall_back(argument, pa.table(columns)))
        places = np.cumsum(rows >= 0) - 1
        return values.take(pa.array(np.maximum(places, 0), mask=rows < 0))

    # ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _folded(self, read: Folded) -> pa.Array:
        is_count = read.function is Function.COUNT and not read.distinct
        if read.argument is None or (is_count and self._rows.is_known(read.argument)):
            return pa.array(self._fold(read, r.COUNT_ROWS, np.zeros(1, np.int64), np.zeros(1, bool))[0])
        kind = read.argument.type
        is_plain = (kind.is_integral or kind.kind in _PLAIN) and not mentions(read.argument, LABEL)
        listed = read.distinct or read.function in (Function.ARRAY_AGG, Function.STDDEV)
        if not is_plain or listed or mentions(read.argument, NUMBER):
            return self._of_members(read)
        values, known = self._numbers(read.argument)
        if read.function is Function.COUNT:
            return pa.array(self._fold(read, r.COUNT_KNOWN, values, known)[0])
        is_double = kind.is_fractional
        if read.function is Function.AVG:
            if not is_double:
                return self._of_members(read)
            total, valid = self._fold(read, r.SUM_DOUBLE, values, known)
            count, _ = self._fold(read, r.COUNT_KNOWN, values, known)
            return pa.array(total.view(np.float64) / np.maximum(count, 1), mask=~valid)
        kinds = {
            Function.SUM: (r.SUM_WHOLE, r.SUM_DOUBLE),
            Function.MIN: (r.LEAST_WHOLE, r.LEAST_DOUBLE),
            Function.MAX: (r.MOST_WHOLE, r.MOST_DOUBLE),
        }
        total, valid = self._fold(read, kinds[read.function][is_double], values, known)
        return _decoded(total, valid, arrow_type(read.type))

    def _fold(self, read: Folded, kind: int, values: Integers, known: Mask) -> tuple[Integers, Mask]:
        found, shown = self._found, self._shown
        mask = np.uint64(mask_of(self._pattern, read.variable))
        results, valid, overflows = folded(
            found.matches, found.offsets, found.labels, shown.match, shown.place, mask, read.final, kind, values, known
        )
        if overflows:
            raise EvaluationError(f"overflow in {read}.\n  Cast to a wider type.")
        return results, valid

    def _numbers(self, argument: Expression) -> tuple[Integers, Mask]:
        """The argument on the rows of matches, as numbers for all rows, and where it is known."""
        inside = np.zeros(len(self._rows) + 1, np.int64)
        np.add.at(inside, self._found.matches[:, 0], 1)
        np.add.at(inside, self._found.matches[:, 0] + self._found.matches[:, 1], -1)
        rows = np.flatnonzero(np.cumsum(inside)[:-1] > 0)
        array = self._rows.at(argument, rows)
        values, known = np.zeros(len(self._rows), np.int64), np.zeros(len(self._rows), bool)
        values[rows], known[rows] = as_integers(array, argument.type), as_numpy(array.is_valid())
        return values, known

    def _of_members(self, read: Folded) -> pa.Array:
        """An aggregate over lists of rows, for what has no place in 64 bits."""
        assert read.argument is not None
        found, shown = self._found, self._shown
        mask = np.uint64(mask_of(self._pattern, read.variable))
        begins, rows = members(found.matches, found.offsets, found.labels, shown.match, shown.place, mask, read.final)
        match = np.repeat(shown.match, np.diff(begins))
        values = self._argument(read.argument, rows, match)
        if read.function is Function.ARRAY_AGG and not read.distinct:
            kept = as_numpy(values.is_valid())
            places = np.concatenate(([0], np.cumsum(kept)))[begins]
            return pa.ListArray.from_arrays(pa.array(places, pa.int32()), pc.drop_null(values))
        listed = values.to_pylist()
        results = []
        for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
            known_values = [value for value in listed[begin:end] if value is not None]
            results.append(aggregated(read, known_values))
        return pa.array(results, _result_type(read, values.type))


def _result_type(read: Folded, argument: pa.DataType) -> pa.DataType | None:
    if read.function is Function.ARRAY_AGG:
        return pa.list_(argument)
    try:
        return arrow_type(read.type)
    except NotVectorized:
        return None


def _decoded(values: Integers, valid: Mask, kind: pa.DataType) -> pa.Array:
    """Numbers of the kernel as values of a type."""
    if pa.types.is_floating(kind):
        return pa.array(values.view(np.float64), mask=~valid).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(values != 0, mask=~valid)
    numbers = pa.array(values, mask=~valid)
    return numbers.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else numbers.cast(kind)


def compile_measures(found: RowMatches, bounds: Integers) -> None:
    """Have the compiled functions ready for the arrays that they will be given."""
    shown = shown_rows(found, RowsPerMatch.ONE)
    common = (found.matches, found.offsets, found.labels)
    rows_at(*common, bounds, shown.match, shown.place, np.uint64(1), True, 0, 0, True)
    labels_at(*common, shown.match, shown.row)
    folded(
        *common, shown.match, shown.place, np.uint64(1), True, r.COUNT_ROWS, np.zeros(1, np.int64), np.zeros(1, bool)
    )
    members(*common, shown.match, shown.place, np.uint64(1), True)
