"""The conformance cases through sets of rules: many cases at a time, each a rule over the events of all.

In: cases. Out: engines that have answered them all, as `spark_batch` does. The events of a set's cases lie in one table
with a key that tells them apart; of what a rule finds, only the matches of its own case's key are its answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from cases import Case, assignment
from ending import ended
from engines import Answer, Engine, Unsupported, checked_tree

from cepheid import PatternSet
from cepheid.errors import LimitError
from cepheid.rules import Rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_A_TIME = 50
CASE, PLACE = "case_of_event", "place_in_case"

Found = Iterable[dict[str, Any]]


def answered(cases: Sequence[Case], find: Callable[[PatternSet, pa.Table], Found]) -> Engine:
    """An engine that looks up what sets of cases have found; `find` gives the matches of a set as rows."""
    answers: dict[str, Answer] = {}
    for together in _sets(cases):
        answers |= _answers(together, find)

    def engine(case: Case) -> Answer:
        if case.id not in answers:
            raise Unsupported
        return answers[case.id]

    return engine


def _answers(cases: Sequence[Case], find: Callable[[PatternSet, pa.Table], Found]) -> dict[str, Answer]:
    rules = PatternSet([Rule(case.id, checked_tree(case), (CASE,)) for case in cases])
    answers = {case.id: Answer() for case in cases}
    try:
        found = find(rules, _rows(cases))
    except LimitError:  # a rule met the events of a case that was made for another one
        if len(cases) == 1:
            raise
        half = len(cases) // 2
        return _answers(cases[:half], find) | _answers(cases[half:], find)
    for match in found:
        if match[CASE] == match["rule"]:
            taken: dict[str, list[int]] = {}
            for one in match["events"]:
                taken.setdefault(one["variable"], []).append(one["event"]["id"])
            answers[match["rule"]].matches.append(assignment(taken))
    return answers


def in_memory(rules: PatternSet, rows: pa.Table) -> Found:
    """The matches of a set on rows in memory."""
    return rules.match_events(rows, order_by=["t", PLACE], columns=["id"]).matches


def on_batch(spark: SparkSession) -> Callable[[PatternSet, pa.Table], Found]:
    """What gives the matches of a set on a batch DataFrame."""

    def find(rules: PatternSet, rows: pa.Table) -> Found:
        found = rules.match(spark.createDataFrame(rows), order_by=["t", PLACE], columns=["id"], buckets=2)
        try:
            return list(found.matches.toArrow().to_pylist())
        except Exception as error:  # Spark tells the errors of its workers as text
            if "LimitError" in str(error):
                raise LimitError(str(error)) from error
            raise

    return find


def finite(cases: Iterable[Case]) -> list[Case]:
    """The cases that a set of finite inputs can be asked for, asked for their matches alone."""
    return [without_timeouts(ended(case)) for case in cases if "advance_to" not in case.data]


def on_operator(rules: PatternSet, rows: pa.Table) -> Found:
    """The matches of a set on the stateful operator of streams, without a JVM: events in micro-batches of any size."""
    from conformance.streams import BEGIN, in_time
    from spark.rules.rules_stream import RulesStream

    chance = random.Random(rules.names[0])
    times = [BEGIN + timedelta(milliseconds=time) for time in rows["t"].to_pylist()]
    rows = rows.append_column("ts", pa.array(times, pa.timestamp("us"))).sort_by([("t", "ascending")])
    stream = RulesStream(rows.schema, CASE, ["ts", PLACE])
    stream.start({rule.name: in_time(rule.tree) for rule in rules})
    begin, now = 0, 0
    while begin < rows.num_rows:
        size = chance.randint(1, rows.num_rows)
        part = rows.slice(begin, size)
        stream.batch(part, now, forget=chance.random() < 0.5)
        last = part["ts"][part.num_rows - 1].as_py() - datetime(1970, 1, 1)
        begin, now = begin + size, int(last / timedelta(milliseconds=1)) - 1
    stream.end()
    assert not stream.found["late"]
    return stream.found["matches"]


def without_timeouts(case: Case) -> Case:
    """The case, asked for its matches alone."""
    return Case({name: value for name, value in case.data.items() if name != "timeouts"})


def _sets(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Cases whose events have the same columns, so many at a time. Those that must fail would take others with them."""
    by_schema: dict[str, list[Case]] = {}
    for case in cases:
        is_plain = not {"reject", "fails", "partition_by", "watermarks"} & case.data.keys() and case.events
        if is_plain and not checked_tree(case).skip.or_fail:
            by_schema.setdefault(json.dumps(sorted(_columns(case).items())), []).append(case)
    for alike in by_schema.values():
        for begin in range(0, len(alike), AT_A_TIME):
            yield alike[begin : begin + AT_A_TIME]


def _columns(case: Case) -> dict[str, str]:
    names = dict.fromkeys(name for event in case.events for name in event)
    return {name: str(pa.array([event.get(name) for event in case.events]).type) for name in names}


def _rows(cases: Sequence[Case]) -> pa.Table:
    rows = [{**event, CASE: case.id, PLACE: place} for case in cases for place, event in enumerate(case.events)]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
