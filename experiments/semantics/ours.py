"""Cepheid's answers to all queries, by one Spark job: a DataFrame of queries, each run on the whole stream.

In: queries and the stream. Out: `Answer`s. Called by `run.py`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from query_groups import STREAM, Query

from cepheid import Pattern

CONFORMANCE = Path(__file__).parents[2] / "tests" / "conformance"
Taken = tuple[tuple[str, tuple[int, ...]], ...]
"""A match: variables in the order of their names, each with the events that it took."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine found for one query, in the order of emission, and the CPU milliseconds that it took."""

    matches: tuple[Taken, ...]
    milliseconds: float
    endless: bool = False


def taken(match: dict[str, list[int]]) -> Taken:
    """A match in its one form."""
    return tuple(sorted((name, tuple(events)) for name, events in match.items() if events))


def on_spark(spark: SparkSession, queries: Sequence[Query], tasks: int) -> dict[str, Answer]:
    """All queries in one job of so many tasks."""
    for module in ("ours.py", "query_groups.py"):
        spark.sparkContext.addPyFile(str(Path(__file__).parent / module))
    rows = [(query.id, to_json(query.pattern)) for query in queries]
    asked = spark.createDataFrame(rows, "id string, pattern string").repartition(tasks)
    answered = asked.mapInArrow(answer_batches, "id string, matches string, milliseconds double").collect()
    return {
        row["id"]: Answer(tuple(taken(match) for match in json.loads(row["matches"])), row["milliseconds"])
        for row in answered
    }


def to_json(pattern: dict[str, Any]) -> str:
    """A query's pattern in Cepheid's own JSON form."""
    # Not at the top: Spark's workers import this module, and have no tests.
    if str(CONFORMANCE) not in sys.path:
        sys.path.append(str(CONFORMANCE))
    from cases import pattern_tree

    return Pattern(pattern_tree(pattern)).to_json()


def answer_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in Spark's workers: each row is a query."""
    stream = pa.Table.from_pylist(STREAM)
    Pattern.begin("first").match_events(stream, order_by="t")  # the kernel is loaded before the clock runs
    for batch in batches:
        found = [answer(text, stream) for text in batch.column("pattern").to_pylist()]
        matches, milliseconds = zip(*found, strict=True) if found else ((), ())
        yield pa.record_batch(
            [batch.column("id"), pa.array(matches, pa.string()), pa.array(milliseconds, pa.float64())],
            ["id", "matches", "milliseconds"],
        )


def answer(text: str, stream: pa.Table) -> tuple[str, float]:
    """One query, from its text to its matches: these as JSON, and the CPU milliseconds that it took."""
    begun = time.process_time()
    pattern = Pattern.from_json(text)
    rows = pattern.match_events(stream, order_by="t").matches
    spent = 1000 * (time.process_time() - begun)
    matches = [
        {name: [event["id"] for event in _events(row[name])] for name in row if name in ("ps", "pl")} for row in rows
    ]
    return json.dumps(matches), spent


def _events(value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
