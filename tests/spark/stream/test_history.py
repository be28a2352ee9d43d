"""A history before a stream: as if the stream had begun with it, each event once, whatever is interrupted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from spark.stream.test_streaming import A_B, DDL, NOON, Source, begun, ids, source

from cepheid import InputError, StateError
from cepheid.spark.stream.accounts import accounts

__all__ = ["source"]  # a fixture

KEYS: dict[str, Any] = {"partition_by": "key", "order_by": ["ts", "id"], "watermark": "5 seconds"}
PAST = [
    ("x", 0, 1, "a"),
    ("x", 5, 2, "b"),
    ("y", 6, 3, "a"),
    ("y", 7, 4, "q"),
    ("z", 8, 5, "a"),
    ("z", None, 6, "a"),
]


def history(spark: SparkSession, rows: list[tuple[str, int | None, int, str]] = PAST) -> DataFrame:
    moments = [(key, None if t is None else NOON + timedelta(seconds=t), id, name) for key, t, id, name in rows]
    return spark.createDataFrame(moments, DDL)


def run(spark: SparkSession, stream: DataFrame, place: Path, **more: Any) -> Any:
    found = A_B.match(stream, **KEYS)
    sinks = {"matches": "memory", "timeouts": "memory", "rejected": "memory", **more}
    query = found.start(checkpoint=str(place), trigger="available now", **sinks)
    query.awaitTermination()
    return query


def test_a_history_comes_first_and_once(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    # The stream has two events of the history once more, and goes on with what completes its runs.
    source.put(("z", 8, 5, "a"), ("y", 7, 4, "q"), ("y", 9, 7, "b"))
    query = run(spark, source.stream, place, history=history(spark))
    for one in accounts(query):
        assert one.rows == one.irrelevant + one.late + one.rejected + one.handled + one.pending_change
    assert sum(one.rows for one in accounts(query)) == len(PAST) + 3
    assert [row["reason"] for row in spark.table("rejected").collect()] == ["no time"]
    matches = spark.table("matches").collect()
    source.put(("z", 20, 8, "b"), ("w", 60, 9, "a"))
    run(spark, source.stream, place, history=history(spark))  # the same program, started again
    matches += spark.table("matches").collect()
    source.put(("w", 100, 10, "q"))
    run(spark, source.stream, place)
    matches += spark.table("matches").collect()
    assert ids(matches, "a", "b") == [(1, 2), (3, 7), (5, 8)]
    assert ids(spark.table("timeouts").collect(), "a") == [(9,)]
    with pytest.raises(StateError, match="partition_by: was key"):
        A_B.match(source.stream, order_by="ts").start(matches="memory", timeouts="memory", checkpoint=str(place))


def test_a_seam_and_an_interruption(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    """The history goes beyond the seam, the stream begins before it; the first micro-batch fails after its write."""
    place, failed = tmp_path / "checkpoint", []
    source.put(("x", 0, 1, "a"), ("x", 5, 2, "b"), ("y", 6, 3, "a"), ("y", 9, 7, "b"), ("v", 90, 11, "q"))
    past = history(spark, [*PAST, ("x", 6, 12, "b")])

    def write(rows: DataFrame, batch: int) -> None:
        if not failed:
            failed.append(batch)
            raise RuntimeError("the disk is full")
        rows.write.mode("overwrite").json(str(tmp_path / "out" / str(batch)))

    given = {"history": past, "seam": NOON + timedelta(seconds=6), "matches": write, "timeouts": None, "rejected": None}
    with pytest.raises(StreamingQueryException, match="the disk is full"):
        run(spark, source.stream, place, **given)
    assert failed
    run(spark, source.stream, place, **given)
    found = spark.read.json(str(tmp_path / "out" / "*")).collect()
    assert sorted((row["a"]["id"], row["b"]["id"]) for row in found) == [(1, 2), (3, 7)]


def test_what_is_refused(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    past = history(spark)
    source.put(("x", 1, 1, "a"))

    def start(place: str = "new", **more: Any) -> Any:
        match = {name: more.pop(name) for name in ("time",) if name in more}
        keys = {"partition_by": "key"} if match else KEYS
        return A_B.match(source.stream, **keys, **match).start(
            matches="memory", checkpoint=str(tmp_path / place), trigger="available now", **more
        )

    for more, message in (
        ({"history": source.stream}, "history is a stream"),
        ({"history": [1]}, "history is of type list"),
        ({"history": past.drop("name")}, "history has no column 'name'"),
        (
            {"history": past.selectExpr("key", "ts", "CAST(id AS INT) id", "name")},
            "'id' is int, but bigint in the stream",
        ),
        ({"history": past, "seam": "soon"}, "seam='soon' is not a moment of 'ts'"),
        ({"seam": NOON}, "there is none"),
        ({"history": past.where("false")}, "no event with a usable time"),
        ({"history": past, "time": "arrival"}, 'time="arrival" has none'),
    ):
        with pytest.raises(InputError, match=message):
            start(**more)
    begun(A_B.match(source.stream, **KEYS), tmp_path / "begun")
    with pytest.raises(StateError, match="begun without a history"):
        start("begun", history=past)
