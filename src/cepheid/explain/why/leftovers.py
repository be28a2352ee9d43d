"""What is in no match: runs that were broken, and rows that no match took.

In: arranged rows and an automaton, or which rows matches took. Out: Arrow tables. Called by what `match_events` returns
and by Spark's workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Automaton
from cepheid.engine.assignments import Integers
from cepheid.errors import LimitError
from cepheid.explain.why.following import is_lost
from cepheid.reference.tracing import Fate, TracedRun, trace
from cepheid.rows.arrange import Arranged
from cepheid.syntax.tree import Event

_BY_TIME = (Fate.TIME, Fate.WAITING, Fate.CUT)
MOST_STEPS = 20_000_000
"""So often may an event be shown to a run, partition by partition, before `broken` gives up."""


def broken_schema(columns: pa.Schema, partition_by: tuple[str, ...], order_by: tuple[str, ...]) -> pa.Schema:
    """The columns of `broken`: the key, what the run took and when, why it ended, and the event that ended it."""
    time = columns.field(order_by[0]).type if order_by else pa.int64()
    step = pa.struct([("variable", pa.string()), ("time", time)])
    return pa.schema(
        [
            *(pa.field(name, columns.field(name).type) for name in partition_by),
            ("start_time", time),
            ("end_time", time),
            ("reason", pa.string()),
            ("waited_for", pa.string()),
            ("taken", pa.list_(step)),
            ("event", pa.struct(list(columns))),
        ]
    )


def broken(automaton: Automaton, events: Arranged, columns: pa.Schema) -> pa.Table:
    """A row for each run that became no match, went on in no longer one, and did not end by time."""
    rows: list[dict[str, Any]] = []
    shown = BrokenRow(automaton, events.partition_by, tuple(columns.names), events.order_by[:1])
    for begin, end in pairwise(events.bounds.tolist()):
        partition = events.taken(events.column_names, np.arange(begin, end)).to_pylist()
        record = trace(automaton, partition, events.time[begin:end].tolist(), MOST_STEPS)
        if record.handled < len(partition):
            raise LimitError(
                f"broken: {events.where(0, begin)} belongs to a key whose runs are too many to follow.\n"
                "  Give the pattern a window or a skip strategy, or ask with why(), which follows some of them."
            )
        rows += [shown.of(run, partition.__getitem__) for run in record.runs if is_broken(run)]
    return pa.Table.from_pylist(rows, broken_schema(columns, events.partition_by, events.order_by))


def is_broken(run: TracedRun) -> bool:
    """Whether a run became no match, went on in no longer one, and did not end by time."""
    return is_lost(run) and run.fate not in _BY_TIME


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """What `broken` shows of a run."""

    automaton: Automaton
    keys: tuple[str, ...]
    names: tuple[str, ...]
    """The columns that are shown of the event that ended it."""
    time: tuple[str, ...]

    def of(self, run: TracedRun, row: Callable[[int], Event]) -> dict[str, Any]:
        """The row of `broken` for a run; `row`: the events of its partition by index."""

        def moment(index: int) -> Any:
            return row(index)[self.time[0]] if self.time else index

        variables = self.automaton.variables
        awaited = " or ".join(dict.fromkeys(variables[take.variable] for take in run.waits))
        event = None if run.end is None else run.end.event
        return {
            **{name: row(run.start)[name] for name in self.keys},
            "start_time": moment(run.start),
            "end_time": moment(run.last),
            "reason": run.fate.value,
            "waited_for": awaited or None,
            "taken": [{"variable": variables[taker], "time": moment(index)} for index, taker in run.taken],
            "event": None if event is None else {name: row(event)[name] for name in self.names},
        }


def unmatched(events: Arranged, taken: Integers, names: list[str]) -> pa.Table:
    """The rows that no match took, in their order."""
    left = np.ones(len(events.time), bool)
    left[taken] = False
    return events.taken(names, np.flatnonzero(left))
