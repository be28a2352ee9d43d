"""The scan of one partition whose rows come in steps, at the cost of a scan of all of them at once.

In: at each step the new rows, with some before them. Out: the matches that are decided. Called by
`spark.stream.state.open_rows`, for partitions that have many rows after the start of an open match.

What is kept from step to step is the search itself (`engine.kernel.row_patterns` says why it can go on) and the columns
that the scan reads. A column is computed for new rows alone, since a row's own values do not change. Which variables a
row may have can also hang on its neighbours, so this is computed anew for the last rows, which a new one may be a
neighbour of. Strings are compared by their rank among those at hand, and new ones change the ranks: a pattern whose
tests read strings of other rows `can_go_on` not.

All this is memory of work that was done. Nothing of it is part of a saved state: without it the search begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.conditions.types import Kind
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.row_patterns import (
    Progress,
    RowColumns,
    RowMatches,
    allowed_of,
    first_room,
    new_cursor,
    scanned,
    times_of,
    values_of,
)
from cepheid.engine.row_values import Integers, Mask, RowValues
from cepheid.engine.tables.row_patterns import RowTables, rows_read_before
from cepheid.engine.tables.row_programs import ROW


def can_go_on(tables: RowTables) -> bool:
    """Whether a scan with these tables can go on with new rows."""
    return not any(column != ROW and column.type.kind is Kind.STRING for column in tables.columns)


class OpenScan:
    """The scan of one partition, as far as it is. `place` is its place, as `Progress` has it."""

    def __init__(self, tables: RowTables, place: Integers) -> None:
        self.tables = tables
        self.progress = Progress(place[None, :].copy())
        self.count = 0
        """How many rows are at hand."""
        self._ahead = int(tables.tests[:, r.T_AHEAD].max(initial=0))
        self._back = rows_read_before(tables.bound)
        self._has_within = tables.bound.pattern.within is not None
        self._bounds: Integers = np.zeros(2, np.int64)
        self._room = first_room(tables, self._bounds)
        self._cursor = new_cursor()
        self._cursor[r.C_KEEPS] = 1
        width = max(1, len(tables.columns))
        self._columns = RowColumns(
            np.zeros((0, width), np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.int64)
        )

    @property
    def start(self) -> int:
        """The row that the next match may begin at."""
        return int(self.progress.places[0, r.S_START])

    @property
    def start_time(self) -> int:
        """Its time, where WITHIN asks for it."""
        return int(self._columns.time[self.start])

    @property
    def steps(self) -> int:
        """How many instructions were tried so far."""
        return int(self._cursor[r.C_STEPS])

    @property
    def context(self) -> int:
        """How many of the rows at hand must come before new ones in the next step."""
        return min(self.count, self._ahead + self._back)

    def go_on(self, rows: RowValues, own: Mask, now: int | None, where: Callable[[int], str]) -> RowMatches:
        """Scan on. `rows`: the context and, after it, what is new; `own`: of these, as in `match_rows`; `now`: all rows
        to come are later, None if there are none."""
        context, first = self.context, self.count - self.context
        self.count = first + len(rows)
        self.progress.now, self.progress.stopped = now, None
        again = max(first, self.start, first + context - self._ahead)
        near = Progress(np.array([[again - first, 0, 0, 0]]), now)
        allowed = allowed_of(self.tables, rows, own, near)
        new = RowValues(rows.table.slice(context), np.array([0, len(rows) - context]), rows.computed)
        values, known, texts = values_of(self.tables, new)
        for number, column in enumerate(self.tables.columns):
            if column == ROW:
                values[:, number] += first + context
        old, begin = self._columns, first + context
        self._columns = RowColumns(
            _with(old.values, begin, values),
            _with(old.known, begin, known),
            _with(old.allowed, again, allowed[again - first :]),
            _with(old.time, begin, times_of(self.tables, new)) if self._has_within else old.time,
        )
        self._note_rows()
        self._bounds[1] = self.count
        found, self._room = scanned(
            self.tables, self._columns, texts, self._bounds, self.progress, self._room, self._cursor, where
        )
        self._cursor[[r.C_PARTITION, r.C_IS_NEW]] = 0
        unmatched = found.unmatched[: self.count].copy()
        self._room.unmatched[: self.count] = False
        return RowMatches(found.matches.copy(), found.labels.copy(), found.offsets, unmatched)

    def _note_rows(self) -> None:
        """Room for what is noted of each row."""
        slots = max(1, int(self.tables.params[r.P_SLOTS]))
        by_row = self.tables.params[r.P_MEMORY] in (r.BY_ROW, r.BY_ROW_OF_START)
        self._room = self._room._replace(
            failed=_with(self._room.failed, (self.count + 1) * slots if by_row else 0),
            unmatched=_with(self._room.unmatched, self.count),
        )


def _with(array: npt.NDArray[Any], begin: int, new: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """An array with `new` from `begin` on, or with room up to there; where it is too small one of twice the size."""
    end = begin + (0 if new is None else len(new))
    if end > len(array):
        larger = np.zeros((max(end, 2 * len(array)), *array.shape[1:]), array.dtype)
        larger[: len(array)] = array
        array = larger
    if new is not None:
        array[begin:end] = new
    return array
