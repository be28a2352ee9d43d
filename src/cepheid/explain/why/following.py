"""Following runs: some partitions are run again by the reference evaluator, which writes down what happens to each run.

In: the arranged rows, the automaton, and where each element's own condition holds. Out: a `Trace` for each partition
that was followed. Which ones, if there are too many rows: those in which the most elements have an event that fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.automaton.model import Automaton
from cepheid.explain.why.counting import Mask
from cepheid.reference.tracing import MOST_STEPS, Fate, Trace, TracedRun, trace
from cepheid.rows.arrange import Arranged

MOST_ROWS = 10_000
"""Rows that are followed if nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Followed:
    """One partition: its place among the arranged rows, and what happened in it."""

    partition: int
    begin: int
    end: int
    """All its rows; fewer may have been handled."""
    record: Trace


def choose(events: Arranged, masks: Sequence[Mask], most_rows: int) -> list[int]:
    """The partitions to follow: all if they fit, and else those in which the most elements have an event that fits."""
    bounds = events.bounds
    count = len(bounds) - 1
    if bounds[-1] <= most_rows or count <= 1:
        return list(range(count))
    fitting = np.zeros(count, np.int64)
    for mask in masks:
        fitting += np.add.reduceat(mask.astype(np.int64), bounds[:-1]) > 0
    sizes = np.diff(bounds)
    order = np.lexsort((np.arange(count), -fitting))
    inside = np.cumsum(sizes[order]) <= most_rows
    inside[0] = True
    return sorted(int(partition) for partition in order[inside])


def follow(events: Arranged, automaton: Automaton, partitions: Sequence[int], most_rows: int) -> list[Followed]:
    """Follow every run of some partitions, as long as the work is not too much."""
    bounds = events.bounds
    followed: list[Followed] = []
    steps = MOST_STEPS
    for partition in partitions:
        begin, end = int(bounds[partition]), int(bounds[partition + 1])
        shown = min(end, begin + most_rows)
        rows = events.taken(events.column_names, np.arange(begin, shown)).to_pylist()
        record = trace(automaton, rows, events.time[begin:shown].tolist(), steps, is_end=shown == end)
        steps = max(1_000, steps - record.steps)
        followed.append(Followed(partition, begin, end, record))
    return followed


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What runs did at each variable, over all partitions that were followed."""

    waited: Counter[int]
    took: Counter[int]
    ended: dict[int, Counter[Fate]]
    culprits: Counter[int]
    """Runs that a not or until ended, by its predicate."""


def count_runs(automaton: Automaton, followed: Sequence[Followed]) -> RunCounts:
    """Every run is counted once by what took it, and once more by what it waited for if it ended there."""
    waited, took, culprits = Counter[int](), Counter[int](), Counter[int]()
    ended: dict[int, Counter[Fate]] = {}
    first = {way.take.variable for way in automaton.positions[0].continuations}
    for one in followed:
        waited.update(dict.fromkeys(first, one.record.handled))
        for run in one.record.runs:
            took[run.variable] += 1
            waited.update({take.variable for take in run.waits})
            if is_lost(run):
                ended.setdefault(ended_at(run), Counter())[run.fate] += 1
                if run.end is not None and run.end.culprit is not None and run.fate in (Fate.NOT, Fate.UNTIL):
                    culprits[run.end.culprit] += 1
    return RunCounts(waited, took, ended, culprits)


def is_lost(run: TracedRun) -> bool:
    """Whether it neither matched nor went on."""
    return run.fate not in (Fate.MATCHED, Fate.WENT_ON)


def ended_at(run: TracedRun) -> int:
    """The variable that a lost run is counted at: what it waited for last, or else what took last."""
    return run.variable if run.awaited is None else run.awaited
