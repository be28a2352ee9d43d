"""What may go wrong with a stream's rows, its columns or its checkpoint, end to end on Spark: told, never silent."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from spark.stream.test_streaming import begun

from cepheid import Pattern, StateError
from cepheid.spark import StateReader

RISING = (
    Pattern.begin("a")
    .where("name = 'a'")
    .followed_by("b")
    .where("name = 'b' AND price > COUNT(a.*)")
    .within("20 seconds")
)
DDL = "key string, ts timestamp, id long, name string, price long"


class Stream:
    """A directory of JSON lines that a query reads one file at a time, and one checkpoint."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.place, self.count = spark, place, 0
        self.checkpoint = str(place / "checkpoint")
        (place / "in").mkdir()

    def put(self, *lines: str) -> None:
        self.count += 1
        file = self.place / "in" / f"{self.count:03}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (1_700_000_000 + self.count, 1_700_000_000 + self.count))  # Spark reads the oldest first

    def found(self, ddl: str = DDL, mode: str = "PERMISSIVE", **more: Any) -> Any:
        reader = self.spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1).option("mode", mode)
        stream = reader.json(str(self.place / "in"))
        return RISING.match(stream, partition_by="key", order_by=["ts", "id"], watermark="1 second", **more)

    def run(self, **more: Any) -> dict[str, list[dict[str, Any]]]:
        """What comes out of everything that is there."""
        rows: dict[str, list[dict[str, Any]]] = {"matches": [], "late": [], "rejected": []}

        def into(kind: str) -> Callable[[Any, int], None]:
            return lambda given, batch: rows[kind].extend(row.asDict(recursive=True) for row in given.collect())

        query = self.found(**more).start(
            **{kind: into(kind) for kind in rows},
            checkpoint=self.checkpoint,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        return rows


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Iterator[Stream]:
    yield Stream(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


def event(second: int | str, id: int | str, name: str, price: int | str, key: str = "k") -> str:
    time = f'"2025-01-01T12:00:{second:02}"' if isinstance(second, int) else second
    return f'{{"key": "{key}", "ts": {time}, "id": {id}, "name": "{name}", "price": {price}}}'


def test_poisoned_rows_are_rejected_and_the_others_go_on(stream: Stream) -> None:
    """A field of a wrong type is NULL to Spark's reader: it satisfies nothing, and as a time or an order it is told."""
    stream.put(
        event(1, 1, "a", 0),
        event(2, 2, "b", '"much"'),
        event('"yesterday"', 3, "b", 9),
        event("[1]", 4, "b", 9),
        event(3, '"five"', "b", 9),
        "no JSON at all",
        event('"9999-12-31T23:59:59"', 7, "b", 9),
        event('"1901-01-01T00:00:00"', 8, "b", 9),
        event('"-290308-01-01T00:00:00"', 9, "b", 9),
        event("null", 10, "b", 9),
        event(4, 11, "b", 5),
        event(30, 12, "q", 5),  # moves time on
    )
    found = stream.run()
    assert [(match["a"]["id"], match["b"]["id"]) for match in found["matches"]] == [(1, 11)]
    assert found["late"] == []
    reasons = sorted((row["id"] or 0, row["reason"]) for row in found["rejected"])
    assert reasons[:2] == [(0, "no time"), (0, "no value in an order column")]
    assert [reason for id, reason in reasons if id in (3, 4, 10)] == ["no time"] * 3
    assert dict(reasons)[7] == "a time further ahead than max_ahead"
    assert dict(reasons)[8] == "a time before 1970"
    assert dict(reasons)[9] in ("no time", "a time before 1970")
    assert len(reasons) == 8


@pytest.mark.slow
def test_a_reader_that_refuses_bad_rows_stops_the_query_and_nothing_is_lost(stream: Stream) -> None:
    stream.put(event(1, 1, "a", 0))
    stream.put(event(2, 2, "b", '"much"'), event(3, 3, "b", 5), event(30, 4, "q", 5))
    with pytest.raises(StreamingQueryException, match="MALFORMED_RECORD"):
        stream.run(mode="FAILFAST")
    found = stream.run()
    assert [(match["a"]["id"], match["b"]["id"]) for match in found["matches"]] == [(1, 3)]


def test_a_changed_type_is_refused_with_the_difference_and_the_choices(stream: Stream) -> None:
    """Of a column that is shown, and of one that only a condition or only a measure reads."""
    price = DDL.replace("price long", "price double")
    measured = {"measures": {"total": "SUM(b.price)"}}
    for number, more in enumerate(({}, {"columns": ["id"]}, measured)):
        stream.checkpoint = str(stream.place / f"checkpoint-{number}")
        begun(stream.found(**more), Path(stream.checkpoint))
        with pytest.raises(StateError, match="start with a new checkpoint") as refused:
            stream.run(ddl=price, **more)
        assert "price bigint" in str(refused.value) and "price double" in str(refused.value)
        assert "Go on with what it was written for" in str(refused.value)


GARBAGE = [
    (
        "identity",
        "no JSON",
        "the identity of the checkpoint .* is damaged: 'no JSON' does not say what the state belongs to",
    ),
    ("identity", '{"pattern": "f1", "buckets": [0]}', "has format 1, this version of Cepheid reads format 3"),
    (
        "identity",
        '{"format": 2, "pattern": "f1", "buckets": [0]}',
        "has format 2, .*\n.*new checkpoint, and the events",
    ),
    ("plan", "{}", "the plan that the checkpoint .* keeps is damaged"),
]
"""What Cepheid keeps beside Spark's files, and what is said of it."""


@pytest.mark.parametrize("damages", [["changed"], pytest.param(["truncated", "missing"], marks=pytest.mark.slow)])
def test_a_damaged_checkpoint_is_told(stream: Stream, damages: list[str]) -> None:
    """Of copies of a checkpoint, the files of the state, as a failing disk would leave them, and what Cepheid keeps.
    With the good one the query goes on."""
    stream.put(event(1, 1, "a", 0))
    stream.run()
    stream.put(event(2, 2, "b", 5), event(30, 3, "q", 5))
    good = stream.checkpoint
    for damage in damages:
        copied(stream, good, damage)  # Spark has nothing of the copy in memory
        spoilt = 0
        for file in (Path(stream.checkpoint) / "state").rglob("*"):
            if file.suffix in (".changelog", ".zip", ".sst"):
                (file.parent / f".{file.name}.crc").unlink(
                    missing_ok=True
                )  # else Hadoop's checksum notices it before us
                spoil(file, damage)
                spoilt += 1
        assert spoilt
        with pytest.raises(StateError) as told:
            stream.run()
        assert re.search(r"is damaged|incomplete|cannot be read: .* A file is damaged or missing", str(told.value))
        assert "Restore" in str(told.value) and len(str(told.value)) < 800 and told.value.__suppress_context__
    for number, (name, garbage, message) in enumerate(GARBAGE):
        copied(stream, good, f"garbage-{number}")
        for file in (Path(stream.checkpoint) / "cepheid" / name).iterdir():
            file.unlink() if file.suffix == ".crc" else file.write_text(garbage)
        if name == "identity":
            with pytest.raises(StateError, match=message):
                stream.run()
        with pytest.raises(StateError, match=message):
            StateReader.open(stream.spark, stream.checkpoint)
    stream.checkpoint = good
    found = stream.run()
    assert [(match["a"]["id"], match["b"]["id"]) for match in found["matches"]] == [(1, 2)]


def copied(stream: Stream, good: str, name: str) -> None:
    """Let the stream go on with a copy of a checkpoint."""
    stream.checkpoint = str(stream.place / name)
    shutil.copytree(good, stream.checkpoint)


def spoil(file: Path, damage: str) -> None:
    content = bytearray(file.read_bytes())
    if damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)
    else:
        file.unlink()
