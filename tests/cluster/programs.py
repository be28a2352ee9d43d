"""Drivers for a cluster: `python programs.py batch|large|dynamic [PLACE]`. Each prints one line of JSON.

* `large`: a batch job that lasts for seconds; touches PLACE when it begins;
* `dynamic`: batch jobs with pauses in which executors are given back, with the number of executors beside each answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cepheid import Pattern

SIZE = 300_000
PATTERN = (
    Pattern.begin("a")
    .where("kind = 0")
    .followed_by("b")
    .where("kind = 1 AND price > a.price")
    .one_or_more()
    .followed_by("c")
    .where("kind = 2")
    .within(900)
    .skip("past_last_event")
)
KEYS: dict[str, Any] = {"partition_by": "key", "order_by": "t"}
PARTS = 24
"""Tasks of each stage: with two executors of one core there is always one in the midst of its work."""


def row(number: int) -> dict[str, int]:
    """One event, made by arithmetic that SQL has as well."""
    return {"key": number % 997, "t": number // 997, "kind": number * 7919 % 31 % 3, "price": number * 104729 % 101}


MADE = ("id % 997 AS key", "id div 997 AS t", "id * 7919 % 31 % 3 AS kind", "id * 104729 % 101 AS price")


def summary(matches: list[dict[str, Any]]) -> dict[str, int]:
    """Matches in a form that is short and tells one from the other."""
    found = Counter(f"{match['key']}:{match['start_time']}-{match['end_time']}" for match in matches)
    return {"matches": found.total(), "distinct": len(found), "sum": sum(map(_number, found.elements()))}


def _number(name: str) -> int:
    return int.from_bytes(name.encode(), "big") % 1_000_000_007


def expected(size: int = SIZE) -> dict[str, int]:
    return summary(PATTERN.match_events([row(number) for number in range(size)], **KEYS).matches)


def session() -> SparkSession:
    return SparkSession.builder.master(os.environ["CEPHEID_TEST_MASTER"]).getOrCreate()


def made(spark: SparkSession, size: int = SIZE) -> DataFrame:
    return spark.range(size).repartition(PARTS).selectExpr(*MADE)


def answer(rows: DataFrame) -> dict[str, int]:
    found = PATTERN.match(rows, buckets=PARTS, **KEYS).matches
    return summary([match.asDict() for match in found.select("key", "start_time", "end_time").collect()])


def large(place: Path) -> dict[str, Any]:
    rows = made(session())
    place.touch()
    return answer(rows)


def dynamic() -> dict[str, Any]:
    """Twice the same job; between them no executor is left."""
    spark, said = session(), []
    for _ in range(2):
        found = answer(made(spark))
        said.append({"answer": found, "executors": executors(spark)})
        until = time.monotonic() + 120
        while executors(spark) and time.monotonic() < until:
            time.sleep(0.2)
        said.append({"executors": executors(spark)})
    return {"said": said}


def executors(spark: SparkSession) -> int:
    """How many there are beside the driver."""
    context: Any = spark.sparkContext
    return int(context._jsc.sc().statusTracker().getExecutorInfos().__len__()) - 1


if __name__ == "__main__":
    program, *arguments = sys.argv[1:]
    print(json.dumps(large(Path(arguments[0])) if program == "large" else dynamic()))
