"""What a stream keeps for negations at the start that read variables: a window of the events that may violate them.

In: a pool and held events. Out: marks on the events that must stay, and their new numbers. Called by
`state` when it forgets events.

For a negation that reads no variables the kernel keeps the ordinal and time of the last event, but no row. One that
reads variables is decided when a match is complete, so the events that pass its test on the event alone are chained
through `Columns.before`, the latest first, and stay as long as a later match may reach back to them (rule 7).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cepheid.conditions.types import Kind
from cepheid.engine.assignments import Integers
from cepheid.engine.columns import Columns
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.cohort_pool import CohortPool
from cepheid.engine.runs.pool import Pool
from cepheid.engine.tables.model import Tables


def mark_needed(
    tables: Tables, pool: Pool | CohortPool, held: Columns, next_ordinal: Integers, is_kept: npt.NDArray[np.bool_]
) -> None:
    """Mark the events that a negation at the start may still ask for."""
    params = tables.arrays.params
    for index in _reading(tables):
        slots = np.flatnonzero(pool.slots[:, l.K_BEFORE + 2 * index] != l.NONE)
        rows = pool.slots[slots, l.K_BEFORE + 2 * index]
        while len(rows):
            if params[l.P_COUNT] != l.NEVER:
                in_reach = next_ordinal[slots] - held.ordinal[rows] < params[l.P_COUNT]
            else:  # unsigned: the difference of any two times fits
                passed = pool.slots[slots, l.K_NOW].astype(np.uint64) - held.time[rows].astype(np.uint64)
                in_reach = passed < params[l.P_WITHIN].astype(np.uint64)
            is_kept[rows[in_reach]] = True
            rows = held.before[rows, 2 * index]
            goes_on = in_reach & (rows != l.NONE)
            slots, rows = slots[goes_on], rows[goes_on]


def renumber(tables: Tables, pool: Pool | CohortPool, held: Columns, new_number: Integers) -> None:
    """Let the chains lead to the new numbers of their events; `new_number`: NONE for an event that is forgotten."""
    for rows in chains(tables, pool.slots, held.before):
        known = rows != l.NONE
        rows[known] = new_number[rows[known]]


def chains(tables: Tables, slots: Integers, before: Integers) -> Iterator[Integers]:
    """The columns that lead from slots and from events to earlier events, NONE where there is none."""
    for index in _reading(tables):
        yield slots[:, l.K_BEFORE + 2 * index]
        yield before[:, 2 * index]


def text_columns(tables: Tables) -> list[int]:
    """The columns of held events that hold codes of strings and are read again: by negations at the start, or to count
    different values (rule 18)."""
    texts = [index for index, expression in enumerate(tables.columns) if expression.type.kind is Kind.STRING]
    return texts if tables.arrays.params[l.P_NOT_BEFORE_READS] else [i for i in texts if i in tables.compared]


def _reading(tables: Tables) -> Iterator[int]:
    """The numbers of the negations at the start that read variables."""
    if tables.arrays.params[l.P_NOT_BEFORE_READS]:
        for index, predicate in enumerate(tables.arrays.not_before[:, l.F_PREDICATE]):
            if tables.arrays.programs[predicate, 0] < tables.arrays.programs[predicate, 1]:
                yield index
