"""The engines that conformance cases run on: each turns a case into an answer. Further engines are added to
`ENGINES`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from cases import Case, NotExpressible, assignment
from engine.kernel_answers import kernel_outcome

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import BoundConditions, Schema, bind
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import MalformedPatternError
from cepheid.reference import definition
from cepheid.reference.online import OnlineEvaluator
from cepheid.syntax.tree import PatternTree
from cepheid.syntax.validation import check

Taken: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass
class Answer:
    """What an engine found: matches in order, timeouts, and where a case asks for them, late events and times of
    matches."""

    matches: list[Taken] = field(default_factory=list)
    timeouts: list[tuple[Taken, float]] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    match_times: list[float] = field(default_factory=list)
    is_ordered: bool = False
    """Whether the matches are in the order of emission (rule 8)."""


class Unsupported(Exception):
    """The case is not for this engine."""


Engine: TypeAlias = Callable[[Case], Answer]


def checked_tree(case: Case) -> PatternTree:
    try:
        tree = case.tree
    except NotExpressible as error:
        raise MalformedPatternError(str(error), "there is no such pattern tree", "Write it otherwise.") from error
    check(tree)
    return tree


def schema_of(events: list[dict[str, Any]]) -> Schema:
    names = dict.fromkeys(name for event in events for name in event)
    return Schema.from_arrow(pa.schema([pa.field(n, pa.array([e.get(n) for e in events]).type) for n in names]))


def bound(case: Case) -> tuple[PatternTree, BoundConditions]:
    tree = checked_tree(case)
    return tree, bind(tree, schema_of(case.events) if case.events else None)


def reference(case: Case, is_end: bool = False) -> Answer:
    """Evaluator (b): the automaton run online. `is_end`: whether the input ends behind what the case says."""
    tree, conditions = bound(case)
    automaton = build(tree, conditions)
    if "watermarks" in case.data:
        return _arriving(case, automaton, is_end)
    if "partition_by" in case.data:
        return _keyed(case, automaton, is_end)
    evaluator = OnlineEvaluator(automaton)
    snapshots = set(case.data.get("snapshots", ()))
    for number, event in enumerate(case.events):
        if number in snapshots:
            evaluator = copy.deepcopy(evaluator)
        evaluator.handle(event, event["t"])
    if "advance_to" in case.data:
        evaluator.advance_time(case.data["advance_to"])
    if is_end or case.is_ended:
        evaluator.end_of_input()
    return _answer(evaluator, case.events)


def by_definition(case: Case) -> Answer:
    """Evaluator (a): the definition, literally."""
    if "watermarks" in case.data or "partition_by" in case.data:
        raise Unsupported
    tree, conditions = bound(case)
    events = case.events
    times = [event["t"] for event in events]
    advance_to = case.data.get("advance_to")
    outcome = definition.evaluate(tree, conditions, events, times, advance_to=advance_to, end_of_input=case.is_ended)
    return _answer(outcome, events)


def kernel(case: Case) -> Answer:
    """The compiled engine. Cases that it leaves to the reference are not for it; `Unsupported` says so."""
    if "watermarks" in case.data or "partition_by" in case.data:
        raise Unsupported
    tree, _ = bound(case)
    events = case.events
    if not events:
        return Answer()
    names = list(dict.fromkeys(name for event in events for name in event))
    table = pa.table({name: pa.array([event.get(name) for event in events]) for name in names})
    try:
        options = Options(timeouts=case.timeouts is not None)
        outcome = kernel_outcome(tree, table, options, case.data.get("advance_to"), case.is_ended)
    except NotCompiled as reason:
        raise Unsupported(str(reason)) from reason
    return _answer(outcome, events)


def operator(case: Case) -> Answer:
    """The stateful operator of streams, run by Spark's tester: the events come in disorder, in micro-batches."""
    from conformance.streams import BEGIN_MS, arrival, in_time
    from spark.stream.operator_stream import OperatorStream

    tree = in_time(bound(case)[0])
    if not case.events:
        return Answer()
    come = arrival(case)
    try:
        stream = OperatorStream(
            tree,
            come.schema,
            [come.partition_by],
            come.order_by,
            case.timeouts is not None,
            workers=len(case.id) % 3,
        )
    except NotCompiled as reason:
        raise Unsupported(str(reason)) from reason
    for rows, watermark in come.batches:
        stream.batch(pa.Table.from_pylist(rows, schema=come.schema), watermark + BEGIN_MS)
    if come.is_ended:
        stream.end()
    return stream_answer(stream.found)


def stream(case: Case) -> Answer:
    """A streaming query on Spark: the events come in disorder, in micro-batches."""
    from conformance.spark_streams import found_by_spark
    from conformance.streams import arrival, in_time

    tree = in_time(bound(case)[0])
    if not case.events:
        return Answer()
    return stream_answer(found_by_spark(tree, arrival(case), case.timeouts is not None))


ENGINES: dict[str, Engine] = {
    "reference": reference,
    "definition": by_definition,
    "kernel": kernel,
    "operator": operator,
    "stream": stream,
}


def stream_answer(found: dict[str, list[dict[str, Any]]]) -> Answer:
    """What came out of a stream, with times as the corpora count them."""
    from conformance.streams import BEGIN

    def taken(row: dict[str, Any]) -> Taken:
        own = {name: value for name, value in row.items() if isinstance(value, dict | list)}
        return assignment({n: [e["id"] for e in ([v] if isinstance(v, dict) else v)] for n, v in own.items()})

    def moment(row: dict[str, Any]) -> float:
        return (row["at"].replace(tzinfo=None) - BEGIN).total_seconds() * 1000

    return Answer(
        [taken(row) for row in found["matches"]],
        [(taken(row), round(moment(row))) for row in found["timeouts"]],
        [row["id"] for row in found["late"]],
        [round(moment(row)) for row in found["matches"]],
    )


def _answer(outcome: Any, events: list[dict[str, Any]]) -> Answer:
    return Answer(
        [_named(match.taken, events) for match in outcome.matches],
        [(_named(timeout.taken, events), timeout.at) for timeout in outcome.timeouts],
        match_times=[match.at for match in outcome.matches],
        is_ordered=True,
    )


def _named(taken: tuple[tuple[int, str], ...], events: list[dict[str, Any]]) -> Taken:
    by_variable: dict[str, list[int]] = {}
    for index, variable in taken:
        by_variable.setdefault(variable, []).append(events[index]["id"])
    return assignment(by_variable)


@dataclass
class _Partition:
    """One key's evaluator, and the events that it has been given."""

    evaluator: OnlineEvaluator
    events: list[dict[str, Any]] = field(default_factory=list)

    def handle(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.evaluator.handle(event, event["t"])


def _keyed(case: Case, automaton: Automaton, is_end: bool) -> Answer:
    partitions: dict[object, _Partition] = {}
    for event in case.events:
        key = event[case.data["partition_by"]]
        partitions.setdefault(key, _Partition(OnlineEvaluator(automaton))).handle(event)
    return _together(partitions, is_end)


def _arriving(case: Case, automaton: Automaton, is_end: bool) -> Answer:
    """Events in the order of arrival wait until a watermark has passed them; those behind it are late."""
    watermarks = [(count, inf if mark == "max" else mark) for count, mark in case.data["watermarks"]]
    if is_end:
        watermarks.append((len(case.events), inf))
    snapshots = set(case.data.get("snapshots", ()))
    key, tie = case.data.get("partition_by"), case.data.get("tie_order")
    partitions: dict[object, _Partition] = {}
    waiting: list[dict[str, Any]] = []
    late: list[int] = []
    now = -inf

    def order(event: dict[str, Any]) -> tuple[float, object]:
        return event["t"], event[tie] if tie else 0

    for arrived in range(len(case.events) + 1):
        for _, mark in (pair for pair in watermarks if pair[0] == arrived):
            if mark <= now:
                continue
            now = mark
            for event in sorted((event for event in waiting if event["t"] <= now), key=order):
                partition = partitions.setdefault(event[key] if key else None, _Partition(OnlineEvaluator(automaton)))
                partition.handle(event)
            waiting = [event for event in waiting if event["t"] > now]
            for partition in partitions.values():
                partition.evaluator.advance_time(now)
        if arrived in snapshots:
            partitions = copy.deepcopy(partitions)
        if arrived < len(case.events):
            event = case.events[arrived]
            if event["t"] <= now:
                late.append(event["id"])
            else:
                waiting.append(event)
    return _together(partitions, is_end, late)


def _together(partitions: dict[object, _Partition], is_end: bool, late: list[int] | None = None) -> Answer:
    whole = Answer(late=late or [])
    for partition in partitions.values():
        if is_end:
            partition.evaluator.end_of_input()
        answer = _answer(partition.evaluator, partition.events)
        whole.matches += answer.matches
        whole.timeouts += answer.timeouts
        whole.match_times += answer.match_times
    return whole
