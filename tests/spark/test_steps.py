"""Keys by step and several tables on Spark: batches agree with rows in memory, streams follow the least watermark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cepheid import ConditionError, InputError, Pattern, StateError
from cepheid.spark import StateReader
from cepheid.spark.stream.accounts import accounts

NOON = datetime(2025, 1, 1, 12)
NET, PIPE = "ts timestamp, host_ip string, port int, id long", "ts timestamp, source_ip string, name string, id long"
BY_IP = {"ip": {"net": "host_ip", "pipe": "source_ip"}}
LATERAL = Pattern.begin("net").where("port = 445").followed_by("pipe").where("name = 'x'").within("20 seconds")


def at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


def sorted_ids(rows: list[Any], *names: str) -> list[tuple[Any, ...]]:
    def ids(value: Any) -> Any:
        return tuple(one["id"] for one in value) if isinstance(value, list) else value and value["id"]

    return sorted(
        tuple(ids(row[name]) if name in ("a", "b", "net", "pipe") else row[name] for name in names) for row in rows
    )


def test_tables_with_schemas_of_their_own(spark: SparkSession) -> None:
    net = spark.createDataFrame([(at(1), "A", 445, 1), (at(2), "B", 445, 2), (at(3), None, 445, 3)], NET)
    pipe = spark.createDataFrame([(at(5), "A", "x", 4), (at(6), "B", "y", 5), (at(7), None, "x", 6)], PIPE)
    found = LATERAL.match({"net": net, "pipe": pipe}, partition_by=BY_IP, order_by="ts")
    [row] = found.matches.collect()
    assert row.asDict(recursive=True) == {
        "ip": "A",
        "match_id": row["match_id"],
        "start_time": at(1),
        "end_time": at(5),
        "net": {"ts": at(1), "host_ip": "A", "port": 445, "id": 1},
        "pipe": {"ts": at(5), "source_ip": "A", "name": "x", "id": 4},
    }
    assert sorted_ids(found.timeouts.collect(), "ip", "net") == [("B", 2)]
    text = str(found.explain())
    assert "ip: host_ip for 'net' (__role_0) source_ip for 'pipe' (__role_1)" in text
    assert "role" not in str(found.timeline())
    measured = LATERAL.match(
        {"net": net, "pipe": pipe}, partition_by=BY_IP, order_by="ts", measures={"port": "net.port", "who": "upper(ip)"}
    )
    assert [(row["port"], row["who"]) for row in measured.matches.collect()] == [(445, "A")]
    in_memory = LATERAL.match_events(
        {"net": net.toPandas(), "pipe": pipe.toPandas()}, partition_by=BY_IP, order_by="ts"
    )
    assert [match["match_id"] for match in in_memory] == [row["match_id"]]

    with pytest.raises(ConditionError, match="there is no column `port`"):
        Pattern.begin("net").followed_by("pipe").where("port = 1").match(
            {"net": net, "pipe": pipe}, partition_by=BY_IP, order_by="ts"
        )
    with pytest.raises(InputError, match="'id' is bigint in the table of 'net', but string in the table of 'pipe'"):
        LATERAL.match(
            {"net": net, "pipe": pipe.withColumn("id", pipe.id.cast("string"))}, partition_by=BY_IP, order_by="ts"
        )
    with pytest.raises(InputError, match="host_ip is string for 'net', but id is bigint for 'pipe'"):
        LATERAL.match({"net": net, "pipe": pipe}, partition_by={"ip": {"net": "host_ip", "pipe": "id"}}, order_by="ts")
    with pytest.raises(InputError, match="names no column of the table of 'pipe'"):
        LATERAL.match({"net": net, "pipe": pipe.drop("ts")}, partition_by=BY_IP, order_by="ts")
    with pytest.raises(InputError, match="not a Spark DataFrame"):
        LATERAL.match({"net": net, "pipe": [1]}, partition_by=BY_IP, order_by="ts")  # type: ignore[dict-item]


ROWS = [
    {"t": 1, "id": 1, "x": 1, "y": None, "many": [1, 2]},
    {"t": 2, "id": 2, "x": 2, "y": 1, "many": [2, 2, None]},
    {"t": 3, "id": 3, "x": 1, "y": 2, "many": None},
    {"t": 4, "id": 4, "x": None, "y": 2, "many": []},
    {"t": 5, "id": 5, "x": 3, "y": 3, "many": [1, 3]},
    {"t": 6, "id": 6, "x": 2, "y": 1, "many": [3]},
]


@pytest.mark.parametrize(
    "keys",
    [
        {"k": {"a": "x", "b": "y"}},
        {"k": {"a": "x", "b": "many"}},
        {"k": "many"},
        {"k": {"a": "many", "b": "CAST(x AS BIGINT)"}, "l": {"a": "x", "b": "y"}},
        {"k": {"a": "CAST(x AS DOUBLE) * -0.0", "b": "CAST(0 AS DOUBLE)"}},
    ],
)
def test_one_dataframe_as_in_memory(spark: SparkSession, keys: Any) -> None:
    pattern = Pattern.begin("a").next("b").one_or_more()
    frame = spark.createDataFrame(ROWS, "t int, id long, x int, y int, many array<int>")
    names = (*keys, "a", "b")
    for shuffle in ("packed", "spark"):
        found = pattern.match(frame, partition_by=keys, order_by="t", buckets=2, shuffle=shuffle)
        expected = pattern.match_events(ROWS, partition_by=keys, order_by="t").matches
        assert sorted_ids(found.matches.collect(), *names) == sorted_ids(expected, *names)
        assert expected


def test_a_field_of_a_struct_is_a_key(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, "t int, id long, x int, y int, many array<int>")
    nested = frame.selectExpr("t", "id", "struct(x, y) AS p")
    found = Pattern.begin("a").next("b").match(nested, partition_by="p.x", order_by="t").matches.collect()
    expected = Pattern.begin("a").next("b").match_events(ROWS, partition_by="x", order_by="t", nulls="drop").matches
    assert expected
    assert sorted_ids(found, "x", "a", "b") == sorted_ids(expected, "x", "a", "b")


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Table:
    """A directory of files that a stream reads one at a time."""

    def __init__(self, spark: SparkSession, place: Path, ddl: str) -> None:
        place.mkdir()
        self.place, self.count = place, 0
        self.stream: DataFrame = spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1).json(str(place))

    def put(self, *rows: dict[str, Any]) -> None:
        lines = [json.dumps({**row, "ts": row["ts"] and at(row["ts"]).isoformat()}) for row in rows]
        self.count += 1
        hidden = self.place / f".{self.count}.json"
        hidden.write_text("\n".join(lines))
        os.utime(hidden, (1_700_000_000 + self.count, 1_700_000_000 + self.count))
        hidden.rename(self.place / f"{self.count:03}.json")


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Iterator[tuple[Table, Table]]:
    yield Table(spark, tmp_path / "net", NET), Table(spark, tmp_path / "pipe", PIPE)
    for query in spark.streams.active:
        query.stop()


def test_streams_follow_the_least_watermark(spark: SparkSession, tables: tuple[Table, Table], tmp_path: Path) -> None:
    net, pipe = tables
    checkpoint = str(tmp_path / "checkpoint")

    def found(keys: Any = BY_IP) -> Any:
        streams = {"net": net.stream, "pipe": pipe.stream}
        return LATERAL.match(streams, partition_by=keys, order_by=["ts", "id"], watermark="5 seconds")

    def run(flush: bool = False) -> Any:
        outputs: Any = {name: "memory" for name in ("matches", "timeouts", "late", "rejected")}
        query = found().start(**outputs, checkpoint=checkpoint, trigger="available now", flush=flush)
        query.awaitTermination()
        return query

    assert "the least of 2 tables: 5000 ms behind the latest event" in str(found().explain())
    net.put(
        {"ts": 1, "host_ip": "A", "port": 445, "id": 1},
        {"ts": 2, "host_ip": "B", "port": 445, "id": 2},
        {"ts": None, "host_ip": "A", "port": 445, "id": 3},
        {"ts": 100, "host_ip": None, "port": 445, "id": 4},  # joins nothing, but time moves on with it
    )
    pipe.put({"ts": 12, "source_ip": "A", "name": "x", "id": 5})
    query = run()
    # The watermark of `pipe` is 7 seconds after noon: its event at 12 is still pending, and B's time is not over.
    assert query.lastProgress.eventTime["watermark"] == "2025-01-01T12:00:07.000Z"
    assert spark.table("matches").count() == spark.table("timeouts").count() == spark.table("late").count() == 0
    assert [(row["id"], row["reason"]) for row in spark.table("rejected").collect()] == [(3, "no time")]
    for one in accounts(query):
        assert one.rows == one.irrelevant + one.late + one.rejected + one.handled + one.pending_change

    pipe.put(
        {"ts": 14, "source_ip": "B", "name": "x", "id": 6},
        {"ts": 90, "source_ip": "C", "name": "x", "id": 7},
    )
    net.put({"ts": 99, "host_ip": "D", "port": 445, "id": 10})  # after a restart, a silent table holds time back
    run()
    assert sorted_ids(spark.table("matches").collect(), "ip", "net", "pipe") == [("A", 1, 5), ("B", 2, 6)]
    pipe.put({"ts": 3, "source_ip": "A", "name": "x", "id": 8}, {"ts": 91, "source_ip": None, "name": "x", "id": 9})
    run()
    assert [(row["ip"], row["source_ip"], row["id"]) for row in spark.table("late").collect()] == [("A", "A", 8)]
    with pytest.raises(StateError, match="partition_by: was"):
        found({"ip": {"net": "host_ip", "pipe": "lower(source_ip)"}}).start(
            matches="memory", timeouts="memory", checkpoint=checkpoint
        )
    pending = StateReader(found(), checkpoint).pending().collect()
    assert sorted((row["ip"], row["id"]) for row in pending) == [("C", 7), ("D", 10)]
    with pytest.raises(StateError, match="elements have keys of their own"):
        StateReader.open(spark, checkpoint)


@pytest.mark.slow
def test_one_stream_with_keys_by_step(spark: SparkSession, tmp_path: Path) -> None:
    """An event is in two partitions; by a watermark of the stream's own, and by arrival."""
    table = Table(spark, tmp_path / "in", "ts timestamp, pid int, parent int, id long")
    table.put(
        {"ts": 1, "pid": 1, "parent": 0, "id": 1},
        {"ts": 2, "pid": 2, "parent": 1, "id": 2},
        {"ts": 3, "pid": 3, "parent": 2, "id": 3},
        {"ts": 4, "pid": None, "parent": 9, "id": 4},
    )
    pattern = Pattern.begin("a").next("b").within("20 seconds")
    keys = {"p": {"a": "pid", "b": "parent"}}
    own = pattern.match(table.stream.withWatermark("ts", "1 second"), partition_by=keys, order_by="ts")
    query = own.start(matches="memory", checkpoint=str(tmp_path / "own"), trigger="available now", flush=True)
    assert query.exception() is None
    assert sorted_ids(spark.table("matches").collect(), "p", "a", "b") == [(1, 1, 2), (2, 2, 3)]
    arrival = pattern.match(table.stream, partition_by=keys, time="arrival")
    query = arrival.start(matches="memory", checkpoint=str(tmp_path / "arrival"), trigger="available now", flush=True)
    assert query.exception() is None
    assert sorted_ids(spark.table("matches").collect(), "p", "a", "b") == [(1, 1, 2), (2, 2, 3)]
    with pytest.raises(InputError, match='time="arrival" asks for none'):
        pattern.match(table.stream.withWatermark("ts", "1 second"), partition_by="pid", time="arrival")
    with pytest.raises(InputError, match="has a watermark on 'ts', but time=\"arrival\" asks for none"):
        pattern.match(table.stream.withWatermark("ts", "1 second"), partition_by=keys, time="arrival")
    with pytest.raises(InputError, match="some of the tables are batches"):
        LATERAL.match({"net": table.stream, "pipe": spark.range(3)}, partition_by=BY_IP, order_by="ts")
