"""Spark batch and the reference evaluator on random patterns and data: several keys, NULL among them, equal times.

A Spark job costs as much as thousands of rows, so each example draws several patterns and runs them as one job on many
partitions. The data come from a drawn seed: Hypothesis then has few numbers to change when it looks for a smaller
example.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark.batch_answers import PARTITION, POSITION, Decided, Question, ask
from syntax.strategies import patterns

from cepheid import Pattern, skip
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.errors import SkipError
from cepheid.reference.online import OnlineEvaluator
from cepheid.syntax.tree import PatternTree

KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "strings": (pa.string(), ["", "p", "q", "Q", "p ", "Ω", None]),
    "integers": (pa.int64(), [0, 1, -1, 2**62, 7, None]),
    "dates": (pa.date32(), [0, 1, -400, 20_000, None]),
}
Expected = Counter[tuple[int, Any, Any, tuple[tuple[str, tuple[int, ...]], ...]]]


def made_up_rows(kind: str, seed: int) -> pa.Table:
    """Rows of many partitions, mixed; in a partition several have the same time, and a position tells them apart."""
    chance = random.Random(seed)
    key_type, keys = KEYS[kind]
    rows = []
    for key in keys:
        time = chance.randrange(-5, 5)
        for position in range(chance.choice([0, 1, 5, 9, 9, 12])):
            time += chance.choice([0, 0, 1, 1, 2, 5])
            price = chance.choice([None, *range(10)])
            rows.append((key, time, position, len(rows), chance.choice("abcd"), price))
    chance.shuffle(rows)
    names = (PARTITION, "t", POSITION, "id", "name", "price")
    types = (key_type, pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.int64())
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(names)})


def expected(number: int, question: Question) -> Expected:
    """What the reference evaluator finds, partition by partition."""
    automaton = build(question.tree, bind(question.tree, Schema.from_arrow(question.rows.schema)))
    rows = sorted(question.rows.to_pylist(), key=lambda row: (row["t"], row[POSITION]))
    found: Expected = Counter()
    for key in {row[PARTITION] for row in rows}:
        events = [row for row in rows if row[PARTITION] == key]
        evaluator = OnlineEvaluator(automaton)
        for event in events:
            evaluator.handle(event, event["t"])
        evaluator.end_of_input()
        for match in evaluator.matches:
            found[number, key, None, _by_variable(match.taken, events)] += 1
        for timeout in evaluator.timeouts if question.timeouts else ():
            found[number, key, timeout.at, _by_variable(timeout.taken, events)] += 1
    return found


def _by_variable(taken: Any, events: list[dict[str, Any]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    ids: dict[str, list[int]] = {}
    for index, variable in taken:
        ids.setdefault(variable, []).append(events[index]["id"])
    return tuple(sorted((variable, tuple(taken)) for variable, taken in ids.items()))


def as_counted(decided: list[Decided], questions: list[Question]) -> Expected:
    found: Expected = Counter()
    for one in decided:
        taken = tuple(sorted((variable, tuple(ids)) for variable, ids in one.taken.items() if ids))
        found[one.question, _key(one.partition, questions[one.question]), one.at, taken] += 1
    return found


def _key(value: Any, question: Question) -> Any:
    """A key as Arrow gives it; it travelled as JSON."""
    kind = question.rows.schema.field(PARTITION).type
    return pa.array([value]).cast(kind)[0].as_py() if value is not None else None


def without_failing(tree: PatternTree) -> PatternTree:
    """The same without `or_fail`: one failing partition would end the job of all."""
    return replace(tree, skip=replace(tree.skip, or_fail=False)) if tree.skip.or_fail else tree


def is_for_the_engine(tree: PatternTree) -> bool:
    try:
        tabulate(build(tree, bind(tree, Schema.from_arrow(made_up_rows("strings", 0).schema))), Options())
    except NotCompiled:
        return False
    return True


trees = patterns().map(without_failing).filter(is_for_the_engine)
questions = st.builds(
    lambda tree, kind, seed, timeouts, buckets: Question(tree, made_up_rows(kind, seed), timeouts, buckets),
    trees,
    st.sampled_from(sorted(KEYS)),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([1, 3]),
)


@settings(
    max_examples=max(2, settings().max_examples // 50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(st.lists(questions, min_size=8, max_size=12))
def test_batch_and_reference_agree(spark: SparkSession, asked: list[Question]) -> None:
    wanted: Expected = sum((expected(number, question) for number, question in enumerate(asked)), Counter())
    assert as_counted(ask(spark, asked), asked) == wanted


@pytest.mark.parametrize("kind", KEYS)
def test_the_data_have_what_they_should(kind: str) -> None:
    tables = [made_up_rows(kind, seed) for seed in range(20)]
    assert any(None in table[PARTITION].to_pylist() for table in tables)
    ties = [Counter(zip(table[PARTITION].to_pylist(), table["t"].to_pylist(), strict=True)) for table in tables]
    assert all(max(counted.values()) > 1 for counted in ties)


def test_an_error_of_a_partition_reaches_the_driver(spark: SparkSession) -> None:
    never = Pattern.begin("a").followed_by("b").where("name = 'z'").optional().skip(skip.to_first("b", or_fail=True))
    with pytest.raises(Exception, match=r"(?s)skip.*`?b`?") as raised:
        ask(spark, [Question(never.tree, made_up_rows("strings", 1), timeouts=False)])
    assert SkipError.__name__ in str(raised.value)
