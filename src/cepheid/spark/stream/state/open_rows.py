"""The rows of one key of a stream that has many rows after the start of an open match.

In: new rows of the key, and how far the watermark is. Out: rows of the result. Called by `row_bucket`, which handles
all other keys together: that costs a little for each row that is kept, at every step. Here a step costs something
for itself, and then follows what it brings: rows stay in the pieces in which they came, and the scan goes on with its
search (`engine.open_scan`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.open_scan import OpenScan
from cepheid.engine.row_values import RowValues
from cepheid.engine.tables.representation import NotCompiled
from cepheid.rowpattern.model import RowsPerMatch
from cepheid.rows.row_order import OrderedRows
from cepheid.rows.row_patterns import described, do_not_fit
from cepheid.spark.row_workers import RowWork


class OpenRows:
    """The rows of one key, the first of them first, and its scan. `place` says where that is."""

    def __init__(self, work: RowWork, rows: pa.Table, place: Integers) -> None:
        assert work.tables is not None
        self.work = work
        self.scan = OpenScan(work.tables, place)
        self._pieces = [rows]

    @property
    def names(self) -> list[str]:
        """The columns of the rows."""
        return list(self._pieces[0].column_names)

    def all(self) -> OrderedRows:
        """All rows, in one piece from now on."""
        self._pieces = [pa.concat_tables(self._pieces).combine_chunks()]
        return OrderedRows(self._pieces[0], np.array([0, self._pieces[0].num_rows]))

    def go_on(self, rows: pa.Table | None, now: int | None) -> pa.Table | None:
        """What is decided when these rows have come."""
        new = [] if rows is None else [rows]
        before = self._last(self.scan.context) if self.scan.count else self._pieces
        tail = pa.concat_tables([self._pieces[0].slice(0, 0), *before, *new]).combine_chunks()
        self._pieces += new
        values = RowValues(tail, np.array([0, tail.num_rows]), self.work.computed)
        own = self.work.own(values)
        assert own is not None
        try:
            found = self.scan.go_on(values, own, now, self._described)
        except NotCompiled as reason:
            raise do_not_fit(reason) from reason
        shows_unmatched = self.work.bound.pattern.rows is RowsPerMatch.ALL_WITH_UNMATCHED
        if not len(found.matches) and not (shows_unmatched and found.unmatched.any()):
            return None
        return self.work.result(self.all().values(self.work.computed), found)

    def _described(self, row: int) -> str:
        return described(self.work.bound, self.all().values(), row)

    def _last(self, count: int) -> list[pa.Table]:
        """The last rows, in pieces."""
        found: list[pa.Table] = []
        for piece in reversed(self._pieces):
            if not count:
                break
            taken = min(count, piece.num_rows)
            found.insert(0, piece.slice(piece.num_rows - taken))
            count -= taken
        return found
