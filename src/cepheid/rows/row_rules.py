"""A row pattern as one of the rules of a set: it shares the order and the sorted rows of the others.

In: a clause of MATCH_RECOGNIZE, the order of the set, arranged rows. Out: what its matches took, in the form of all
rules, and what its measures read. Called in memory and by Spark's workers.

A set shows a match as one row, whatever ROWS PER MATCH says, with all rows of the match as `events`. A match without
rows is no event that a rule could tell of, and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheid.conditions.expression import Expression, Name
from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.row_measures import MeasureReads, shown_rows
from cepheid.engine.row_patterns import RowMatches
from cepheid.engine.row_values import Mask, RowValues
from cepheid.engine.tables.row_patterns import RowTables
from cepheid.errors import InputError
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.model import RowPattern, RowsPerMatch, Sort
from cepheid.rows.arrange import Arranged
from cepheid.rows.row_patterns import found_in, measured


def in_set(clause: RowPattern, order_by: tuple[str, ...], rows: RowsPerMatch = RowsPerMatch.ONE) -> RowPattern:
    """The clause in the order of a set, where it has none itself. One with another order is refused."""
    given = tuple(sort.column.parts[0].lower() for sort in clause.order_by)
    plain = all(not sort.descending and sort.nulls_first for sort in clause.order_by)
    if clause.order_by and (given != tuple(name.lower() for name in order_by) or not plain):
        own = ", ".join(sort.column.parts[0] + (" DESC" if sort.descending else "") for sort in clause.order_by)
        raise InputError(
            f"its clause says ORDER BY {own}, but the set is ordered by {', '.join(order_by) or 'nothing'}.\n"
            "  The rules of a set share one order: leave ORDER BY out, or run this one by itself with RowPattern."
        )
    order = clause.order_by or tuple(Sort(Name((name,))) for name in order_by)
    return replace(clause, order_by=order, rows=rows)


@dataclass(frozen=True, slots=True)
class RowsTaken:
    """What a row pattern found in arranged rows."""

    assignments: Assignments
    reads: MeasureReads

    def measured(self, bound: BoundRowPattern) -> list[pa.Array]:
        """The measures, computed here."""
        return measured(bound, self.reads, len(self.assignments.at))


def taken_by(
    bound: BoundRowPattern,
    tables: RowTables | None,
    events: Arranged,
    own: Mask | None = None,
    computed: Mapping[Expression, str] | None = None,
) -> RowsTaken:
    """The matches in arranged rows. `own`: which rows satisfy the own part of each variable; `computed`: expressions
    whose values are columns."""
    values = RowValues(events.table, events.bounds, computed or {})
    return taken_of(bound, values, found_in(bound, tables, values, own), events.time)


def taken_of(bound: BoundRowPattern, values: RowValues, found: RowMatches, time: Integers) -> RowsTaken:
    """What matches took of rows, whose times are given."""
    filled = found.matches[:, 1] > 0
    found = replace(found, matches=found.matches[filled], offsets=found.offsets[: len(filled)][filled])
    first, length = found.matches[:, 0], found.matches[:, 1]
    match = np.repeat(np.arange(len(first)), length)
    place = np.arange(len(match)) - np.repeat(np.cumsum(length) - length, length)
    labels = found.labels[np.repeat(found.offsets, length) + place]
    at = time[first + length - 1]
    assignments = Assignments(match, (labels >> 1).astype(np.int64), first[match] + place, at)
    return RowsTaken(assignments, MeasureReads(bound.pattern, values, found, shown_rows(found, RowsPerMatch.ONE)))
