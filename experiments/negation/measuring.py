"""One measurement, as it runs in a Spark task: a plan over a stream, timed in CPU seconds.

In: Arrow batches of the stream (`t`, `type`), all of one task. Out: one row. Sequences are built and looked at one
part at a time, then dropped: a window of 900 events has about a million of them per event that ends one, and what
happens to results is not what the figures measure.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.columns import columns
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange
from experiments.negation.after import Sift, gaps_of, without_nots
from experiments.negation.ais import Pncep, Sase
from experiments.negation.query import LENGTH, components, pattern

COLUMNS = "events long, seconds double, intermediate long, results long"
STEADY = 100
"""Events for which the stacks are timed, once their window is full."""
REPEATS = {"pushed": 5, "after": 1}
"""The median counts. With negation pushed in a run takes a fraction of a second, with negation after a minute."""
NO_LIMIT = 10**9


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is run: the engine or the stacks, with negation pushed in or after, and the query."""

    method: str
    plan: str
    negated: int
    window: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stream = pa.Table.from_batches(list(batches)).sort_by("t")
        run = engine if self.method == "engine" else stacks
        run(stream.slice(0, 60), self.plan, self.negated, 20)  # loads what is compiled
        repeated = [run(stream, self.plan, self.negated, self.window) for _ in range(REPEATS[self.plan])]
        events, _, intermediate, results = repeated[0]
        seconds = median(seconds for _, seconds, _, _ in repeated)
        yield pa.RecordBatch.from_pydict(
            {"events": [events], "seconds": [seconds], "intermediate": [intermediate], "results": [results]}
        )


def engine(stream: pa.Table, plan: str, negated: int, window: int) -> tuple[int, float, int, int]:
    """The whole stream through the engine: events, CPU seconds, sequences built, results."""
    tree = pattern(negated, window).tree
    automaton = build(tree, bind(tree, Schema.from_arrow(stream.schema)))
    options = Options(max_runs=NO_LIMIT, max_matches_per_event=NO_LIMIT)
    is_after = plan == "after"
    gaps = gaps_of(automaton) if is_after else ()
    tables = tabulate(without_nots(automaton) if is_after else automaton, options)
    events = arrange(stream, (), ("t",))
    given = columns(events, tables)
    sift = Sift(gaps, tables, given)
    results = 0

    def count_and_drop(lengths: Any, variable: Any, row: Any) -> Any:
        nonlocal results
        results += int(sift(lengths, variable, row).sum()) if is_after else len(lengths)
        return np.zeros(len(lengths), bool)

    begun = time.process_time()
    match_partitions(tables, given, events.bounds, sift=count_and_drop)
    seconds = time.process_time() - begun
    return len(events.time), seconds, sift.intermediate if is_after else results, results


def stacks(stream: pa.Table, plan: str, negated: int, window: int) -> tuple[int, float, int, int]:
    """A full window without events that end a sequence, then a few events of every type, which are timed."""
    rows = stream.to_pylist()
    processor = Pncep(components(negated), window) if plan == "pushed" else Sase(components(negated), window)
    for row in rows[:window]:
        if row["type"] != LENGTH:
            consume(processor.scan(row, row["t"]))
    timed = rows[window : window + STEADY]
    begun = time.process_time()
    results = sum(consume(processor.scan(row, row["t"])) for row in timed)
    return len(timed), time.process_time() - begun, processor.intermediate, results


def consume(sequences: Iterator[Any]) -> int:
    """How many there are; each is built, none is kept."""
    return sum(1 for _ in sequences)
