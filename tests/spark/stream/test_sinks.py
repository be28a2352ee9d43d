"""What writes the outputs of a stream, given the rows of a micro-batch; and what is refused as a sink."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructType

from cepheid import InputError
from cepheid.spark import files, table
from cepheid.spark.frames import arrow_schema
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.stream.operator import KIND
from cepheid.spark.stream.outputs import OutputRows
from cepheid.spark.stream.query import Router
from cepheid.spark.stream.sinks import MergedTable, Output, WrittenFiles, writer
from cepheid.spark.stream.state.format import table_bytes


def test_files_keep_columns_of_any_name_and_a_replay_overwrites(spark: SparkSession, tmp_path: Path) -> None:
    sink = files(str(tmp_path / "out"))
    write = WrittenFiles(sink, "unused", query_id="the-query")
    rows = spark.createDataFrame([(7, "mine")], "batch int, query string")
    write(rows, 3)
    write(rows, 3)
    write(spark.createDataFrame([(8, "yours")], rows.schema), 12)
    found = sink.read(spark)
    assert found.columns == ["batch", "query"]
    assert sorted(map(tuple, found.collect())) == [(7, "mine"), (8, "yours")]
    assert found.collect() == spark.read.option("recursiveFileLookup", True).parquet(sink.path).collect()


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_files_of_an_output_that_stays_empty_can_be_read(spark: SparkSession, tmp_path: Path, format: str) -> None:
    sink = files(str(tmp_path / "out"), format)
    schema = spark.createDataFrame([], "key string, n long").schema
    writer(spark, Output("matches", schema, ("key",)), sink, "unused")
    writer(spark, Output("matches", schema, ("key",)), sink, "unused")  # as a restart does
    assert sink.read(spark).count() == 0
    assert format == "json" or sink.read(spark).schema == schema


def test_a_merge_tells_rows_apart_by_all_columns_of_its_key() -> None:
    merge = MergedTable("lake.found", ("match_id", "sequence")).statement("new")
    assert merge == (
        "MERGE INTO lake.found AS target USING new AS given ON target.match_id <=> given.match_id AND "
        "target.sequence <=> given.sequence WHEN NOT MATCHED THEN INSERT *"
    )
    assert table("t").key is None and table("t", "a").key == ("a",) and table("t", ["a", "b"]).key == ("a", "b")
    with pytest.raises(InputError, match="no column to tell rows apart"):
        table("t", [])


def test_rows_that_nothing_tells_apart_are_refused_by_a_table(spark: SparkSession) -> None:
    schema = spark.createDataFrame([], "id long").schema
    with pytest.raises(InputError, match="tells the rows of 'late' apart"):
        writer(spark, Output("late", schema, None), table("nowhere"), "unused")
    spark.createDataFrame([(1,)], "id long").write.mode("overwrite").saveAsTable("by_id")
    with pytest.raises(InputError, match="the table has no column 'other'"):
        writer(spark, Output("late", schema, None), table("by_id", "other"), "unused")


@pytest.mark.parametrize("small", [1 << 20, None, 0], ids=["all small", "one large", "all large"])
def test_rows_are_the_same_wherever_they_are_made(spark: SparkSession, small: int | None) -> None:
    """Small cells are unpacked in the driver, those of a kind with a large one by workers."""
    schema = _schema(
        spark,
        "key STRING, at TIMESTAMP, local TIMESTAMP_NTZ, amount DECIMAL(12,2), day DATE, raw BINARY, "
        "taken ARRAY<STRUCT<ts: TIMESTAMP, n: BIGINT>>, one STRUCT<ok: BOOLEAN, x: DOUBLE>",
    )
    moment = datetime(2025, 3, 30, 1, 30, tzinfo=UTC)
    rows = [
        {
            "key": None if number == 3 else f"k{number}",
            "at": moment,
            "local": moment.replace(tzinfo=None),
            "amount": Decimal("1.50"),
            "day": moment.date(),
            "raw": bytes([number]),
            "taken": [{"ts": moment, "n": number}, {"ts": None, "n": None}],
            "one": None if number % 2 else {"ok": True, "x": 0.5},
        }
        for number in range(40)
    ]
    whole = pa.Table.from_pylist(rows, arrow_schema(schema))
    cells = [("matches", table_bytes(whole.slice(0, 1))), ("matches", table_bytes(whole.slice(1)))]
    cells += [("late", table_bytes(pa.table({"key": ["l"]}))), ("counts", b"")]
    sizes = [len(payload) for kind, payload in cells if kind == "matches"]
    found: dict[str, list[Row]] = {}
    router = Router(
        {
            "matches": OutputRows("matches", schema, ("key",), (("total", "amount * 2"), ("taken", "taken"))),
            "late": OutputRows("late", _schema(spark, "key STRING, at TIMESTAMP")),
            "rejected": OutputRows("rejected", schema),
        },
        {
            kind: lambda given, batch, kind=kind: found.setdefault(kind, given.orderBy("key").collect())
            for kind in ("matches", "late", "rejected")
        },
        max(sizes) - 1 if small is None else small,
    )
    router(spark.createDataFrame(cells, f"`{KIND}` string, `{PAYLOAD}` binary"), 0)
    assert [tuple(row) for row in found["late"]] == [("l", None)]
    assert "rejected" not in found
    matches = [row.asDict(recursive=True) for row in found["matches"]]
    assert len(matches) == 40 and all(set(row) == {"key", "total", "taken"} for row in matches)
    expected = sorted(rows, key=lambda row: row["key"] or "")
    assert [row["key"] for row in matches] == [row["key"] for row in expected]
    assert {row["total"] for row in matches} == {Decimal("3.00")}
    assert [row["taken"][0]["n"] for row in matches] == [row["taken"][0]["n"] for row in expected]
    assert {row["taken"][0]["ts"].timestamp() for row in matches} == {moment.timestamp()}


def _schema(spark: SparkSession, columns: str) -> StructType:
    return spark.createDataFrame([], columns).schema
