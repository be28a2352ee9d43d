"""What `pattern.match` finds on a real DataFrame, for many patterns in one Spark job.

In: questions, each a pattern and rows of several partitions. Out: per question the matches and timeouts, by the ids of
the events taken. Called by the conformance runner and by tests that compare with other engines.

A Spark job costs far more than the few rows of a question, so the results of many patterns are put into one form
(question, partition, moment, ids by variable) and asked for together. Each pattern still has the plan that a user gets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid import Pattern
from cepheid.syntax.tree import PatternTree

PARTITION, TIME, POSITION, ID = "partition_of_question", "t", "position_in_partition", "id"
"""Columns that the rows of a question must have."""


@dataclass(frozen=True, slots=True)
class Question:
    """A pattern on rows; `timeouts`: whether these are asked for as well as matches."""

    tree: PatternTree
    rows: pa.Table
    timeouts: bool
    buckets: int = 1


@dataclass(frozen=True, slots=True)
class Decided:
    """One match, or one timeout (then `at` is its moment)."""

    question: int
    partition: Any
    at: int | None
    taken: dict[str, list[int]]


def ask(spark: SparkSession, questions: Sequence[Question], **options: Any) -> list[Decided]:
    """Run all questions as one job; `options` go to every `match`."""
    parts = [part for number, question in enumerate(questions) for part in _parts(spark, number, question, options)]
    if not parts:
        return []
    return [_decided(row) for row in _united(parts).collect()]


def _parts(spark: SparkSession, number: int, question: Question, options: dict[str, Any]) -> list[DataFrame]:
    found = Pattern(question.tree).match(
        spark.createDataFrame(question.rows),
        partition_by=PARTITION,
        order_by=[TIME, POSITION],
        buckets=question.buckets,
        **options,
    )
    wanted = [(found.matches, F.lit(None))] + ([(found.timeouts, F.col("at"))] if question.timeouts else [])
    return [_in_one_form(frame, number, at.cast("bigint")) for frame, at in wanted]


def _in_one_form(found: DataFrame, number: int, at: Any) -> DataFrame:
    own = {PARTITION, "match_id", "start_time", "end_time", "at"}
    variables = [name for name in found.columns if name not in own]
    ids = F.struct(*(F.col(f"`{name}`.`{ID}`").alias(name) for name in variables))
    key = F.to_json(F.struct(F.col(PARTITION)))
    return found.select(
        F.lit(number).alias("question"), key.alias("key"), at.alias("at"), F.to_json(ids).alias("taken")
    )


def _united(parts: list[DataFrame]) -> DataFrame:
    """The union as a balanced tree: Spark analyses a chain of unions again at every link."""
    while len(parts) > 1:
        pairs = [parts[index : index + 2] for index in range(0, len(parts), 2)]
        parts = [pair[0].unionAll(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def _decided(row: Any) -> Decided:
    taken = {name: ids if isinstance(ids, list) else [ids] for name, ids in json.loads(row["taken"]).items()}
    return Decided(row["question"], json.loads(row["key"]).get(PARTITION), row["at"], taken)
