"""The conformance cases on Spark: `pattern.match` on DataFrames, many cases a job.

In: cases. Out: an engine that has answered them all. Cases with the same pattern are partitions of one DataFrame, and
the DataFrames of several patterns are asked for in one job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from cases import Case, assignment
from engines import Answer, Engine, checked_tree
from spark.batch_answers import PARTITION, POSITION, Question, ask

from cepheid.errors import CepheidError, SkipError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATTERNS_PER_JOB = 20
NOTHING = pa.table({"t": pa.array([], pa.int64()), "id": pa.array([], pa.int64()), "name": pa.array([], pa.string())})
"""Rows for cases that have none: those that must be refused."""

Outcome: TypeAlias = Answer | Exception


def answered(spark: SparkSession, cases: Sequence[Case], **options: Any) -> Engine:
    """An engine that looks up what Spark has found for these cases; `options` go to every `match`."""
    outcomes: dict[str, Outcome] = {}
    failing = [case for case in cases if _must_fail(case)]
    groups = list(_by_pattern([case for case in cases if not _must_fail(case)]))
    jobs = [groups[begin : begin + PATTERNS_PER_JOB] for begin in range(0, len(groups), PATTERNS_PER_JOB)]
    for job in [*jobs, *([[case]] for case in failing)]:
        outcomes |= _outcomes(spark, job, options)

    def engine(case: Case) -> Answer:
        outcome = outcomes[case.id]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return engine


def _must_fail(case: Case) -> bool:
    """Whether the case would take others of its job down with it."""
    return "fails" in case.data or "reject" in case.data


def _by_pattern(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Cases that may share a DataFrame: same pattern, same columns, same wishes."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        schema = "" if not case.events else str(_rows([case]).schema)
        group = json.dumps([case.data["pattern"], schema, case.timeouts is not None], sort_keys=True)
        groups.setdefault(group, []).append(case)
    yield from groups.values()


def _outcomes(spark: SparkSession, groups: list[list[Case]], options: dict[str, Any]) -> dict[str, Outcome]:
    """What a job finds; if it fails, each of its groups is run alone, so that the others have their answers."""
    try:
        questions = [_question(group) for group in groups]
        decided = ask(spark, questions, **options)
    except Exception as error:
        if len(groups) == 1:
            return {case.id: _as_raised_by_the_engine(error) for case in groups[0]}
        return {name: outcome for group in groups for name, outcome in _outcomes(spark, [group], options).items()}
    answers: dict[str, Answer] = {case.id: Answer() for group in groups for case in group}
    for found in decided:
        case = groups[found.question][int(str(found.partition).split("/")[0])]
        taken = assignment(found.taken)
        if found.at is None:
            answers[case.id].matches.append(taken)
        else:
            answers[case.id].timeouts.append((taken, found.at))
    return dict(answers)


def _question(group: list[Case]) -> Question:
    return Question(checked_tree(group[0]), _rows(group), group[0].timeouts is not None)


def _rows(group: list[Case]) -> pa.Table:
    """The events of the cases, each case a partition; one with a key, a partition for each of its values."""
    partitions, positions, events = [], [], []
    for number, case in enumerate(group):
        key = case.data.get("partition_by")
        for position, event in enumerate(case.events):
            partitions.append(f"{number}/{event[key]}" if key else str(number))
            positions.append(position)
            events.append(event)
    names = list(dict.fromkeys(name for event in events for name in event))
    columns = {name: pa.array([event.get(name) for event in events]) for name in names} or {
        name: NOTHING[name] for name in NOTHING.column_names
    }
    return pa.table(
        {PARTITION: pa.array(partitions, pa.string()), POSITION: pa.array(positions, pa.int64()), **columns}
    )


def _as_raised_by_the_engine(error: Exception) -> Exception:
    """An error in a worker reaches the driver as Spark's own, with the original in its text."""
    if not isinstance(error, CepheidError) and "SkipError" in str(error):
        return SkipError(str(error))
    return error
