"""Matching rows in memory, without Spark.

In: a checked tree and rows as dicts, a pandas DataFrame or an Arrow table. Out: `Found`. Called by the face, for
tests and notebooks; `explain.why` prepares rows and runs a pattern over them in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import BoundConditions, bind
from cepheid.engine.assignments import Assignments
from cepheid.engine.columns import columns, may_be_taken
from cepheid.engine.counts import counted
from cepheid.engine.matcher import count_partitions, match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.errors import InputError, MalformedPatternError
from cepheid.options import EVERYTHING, Asked
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.outcome import Match, Timeout
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.assemble import Shape, assemble
from cepheid.rows.columns import check_range, distinct_columns, shown_columns, without_nulls
from cepheid.rows.counts import counts_table, refuse_other_measures, summed_of
from cepheid.rows.given import to_table
from cepheid.rows.measured import Measured
from cepheid.rows.steps import Events
from cepheid.syntax.tree import PatternTree, SpanUnit
from cepheid.syntax.windows import lengths

logger = logging.getLogger("cepheid.engine")
_TOLD: set[str] = set()
"""Reasons for the slow way that the log has named already."""


class Found:
    """What a pattern found in rows. Timeouts are looked for when they are first asked for."""

    def __init__(self, matches_table: pa.Table, find_timeouts: Callable[[], pa.Table]) -> None:
        self.matches_table = matches_table
        """One row per match, in the order of their emission, partition by partition."""
        self._find_timeouts = find_timeouts

    @cached_property
    def timeouts_table(self) -> pa.Table:
        """One row per partial match that ran out of time, with the moment `at` which it did."""
        return self._find_timeouts()

    @property
    def matches(self) -> list[dict[str, Any]]:
        """The matches as dicts."""
        return listed(self.matches_table, "matches_table")

    @property
    def timeouts(self) -> list[dict[str, Any]]:
        """The partial matches that ran out of time as dicts."""
        return listed(self.timeouts_table, "timeouts_table")

    def __repr__(self) -> str:
        return f"Found({self.matches_table.num_rows} matches)"


def listed(table: pa.Table, name: str) -> list[dict[str, Any]]:
    """The rows of a result as dicts; `name` is what holds them where Python cannot."""
    try:
        return list(table.to_pylist())
    except (OverflowError, ValueError) as error:  # Python's years end with 9999
        raise InputError(
            f"a time of the result is one that Python's datetime cannot hold: {error}.\n"
            f"  The Arrow table holds it: found.{name}."
        ) from error


def match_rows(
    tree: PatternTree,
    rows: object,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    options: Options,
    asked: Asked = EVERYTHING,
    nulls: str = "error",
    time_zone: str = "UTC",
) -> Found:
    """Run a pattern over all rows; the end of the rows is the end of the input (rule 10). `rows` may be `Events`, which
    know their key."""
    given = rows if isinstance(rows, Events) else Events.plain(to_table(rows), partition_by, time_zone)
    if not given.table.column_names:  # an empty list says nothing of its columns
        return Found(pa.table({}), lambda: pa.table({}))
    keys, events, automaton = prepared(tree, given, order_by, nulls)
    measured = Measured(dict(asked.measures), tree, given.schema, keys)
    every_row = asked.rows == "all"
    bare = bool(measured.measures) and not every_row and asked.columns is None
    shown = None if bare else shown_columns(given.columns, asked.columns)

    def found(timeouts: bool) -> pa.Table:
        decided = run(automaton, events, replace(options, timeouts=timeouts))[timeouts]
        read = measured.read(events, measured.taken(decided), automaton.variables)
        summaries = measured.summaries(automaton, read)
        shape = Shape(automaton.variables, automaton.looping, shown, timeouts, every_row, summaries, given.own)
        shape.check_names(events.partition_by, measured.names)
        return measured.finished(assemble(read, decided, shape))

    return Found(found(timeouts=False), lambda: found(timeouts=True))


def count_rows(
    tree: PatternTree,
    rows: object,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    options: Options,
    measures: tuple[tuple[str, str], ...] = (),
    nulls: str = "error",
    time_zone: str = "UTC",
) -> pa.Table:
    """How many matches end with each event: the partition columns, `end_time`, `matches` and the totals of measures, a
    row an event that ends any."""
    given = rows if isinstance(rows, Events) else Events.plain(to_table(rows), partition_by, time_zone)
    if not given.table.column_names:
        return pa.table({})
    keys, events, automaton = prepared(tree, given, order_by, nulls)
    measured = Measured(dict(measures), tree, given.schema, keys)
    refuse_other_measures(measured.measures)
    try:
        tables = tabulate(automaton, options)
        cells = columns(events, tables)
        read = measured.read(events, lambda some: may_be_taken(cells, tables, some), automaton.variables)
        summaries = measured.summaries(automaton, read)
        counts = count_partitions(tables, cells, events.bounds, summed_of(read, summaries), events.where)
    except NotCompiled:
        found, _ = run(automaton, events, options)
        read = measured.read(events, measured.taken(found), automaton.variables)
        summaries = measured.summaries(automaton, read)
        counts = counted(found, summed_of(read, summaries))
    return measured.finished(counts_table(read, counts, summaries))


def prepared(
    tree: PatternTree,
    given: Events,
    order_by: tuple[str, ...],
    nulls: str,
    conditions: BoundConditions | None = None,
) -> tuple[tuple[str, ...], Arranged, Automaton]:
    """The columns of the rows' key, the rows in their order, and the pattern for them; `conditions`: those of the
    pattern, if they are bound already."""
    table = without_nulls(given.table, order_by) if nulls == "drop" else given.table
    keys = distinct_columns(table.column_names, given.partition_by, "partition_by")
    events = arrange(table, keys, order_by)
    check_units(tree, events.unit, events.order_by[0] if events.order_by else "")
    automaton = build(tree, bind(tree, given.schema) if conditions is None else conditions)
    check_range(events.time, automaton)
    return keys, events, automaton


def check_units(tree: PatternTree, unit: SpanUnit | None, column: str) -> None:
    """Durations need timestamps or dates; plain numbers need a number to order by. `unit`: what the column counts."""
    for span, place, _ in lengths(tree):
        if span.unit is unit:
            continue
        if unit is None:
            problem, remedy = (
                "a window in time, but nothing says when events happened.",
                "Name the time column with order_by=.",
            )
        elif span.unit is SpanUnit.MICROSECOND:
            problem = f"a window given as a duration, but {column!r} holds plain numbers."
            remedy = "Give the window as a number in that column's unit, or order by a timestamp."
        else:
            problem = f"a window of {span.length} without unit, but {column!r} holds times."
            remedy = 'Give the window as a duration, such as "10 minutes".'
        raise MalformedPatternError(place, problem, remedy)


def run(automaton: Automaton, events: Arranged, options: Options) -> tuple[Assignments, Assignments]:
    """The engine's answer, or the reference's where the engine cannot compute a condition."""
    try:
        tables = tabulate(automaton, options)
        return match_partitions(tables, columns(events, tables), events.bounds, where=events.where)
    except NotCompiled as reason:
        if str(reason) not in _TOLD:
            _TOLD.add(str(reason))
            logger.warning("the pattern is run by the reference evaluator, which is slow: it has %s", reason)
        return run_reference(automaton, events)


def run_reference(automaton: Automaton, events: Arranged) -> tuple[Assignments, Assignments]:
    """The reference evaluator's answer, for what the engine cannot compute."""
    rows = events.table.to_pylist()
    times = events.time.tolist()
    matches: list[tuple[int, Match]] = []
    timeouts: list[tuple[int, Timeout]] = []
    bounds = events.bounds.tolist()
    for begin, end in pairwise(bounds):
        evaluator = OnlineEvaluator(automaton)
        for row in range(begin, end):
            evaluator.handle(rows[row], times[row])
        evaluator.end_of_input()
        matches += [(begin, match) for match in evaluator.matches]
        timeouts += [(begin, timeout) for timeout in evaluator.timeouts]
    return _flat(matches, automaton.variables), _flat(timeouts, automaton.variables)


def _flat(found: Sequence[tuple[int, Match | Timeout]], variables: tuple[str, ...]) -> Assignments:
    numbers = {name: number for number, name in enumerate(variables)}
    match, variable, row = [], [], []
    for count, (begin, item) in enumerate(found):
        for index, name in item.taken:
            match.append(count)
            variable.append(numbers[name])
            row.append(begin + index)
    at = [int(item.at) for _, item in found]
    return Assignments(*(np.array(column, np.int64) for column in (match, variable, row, at)))
