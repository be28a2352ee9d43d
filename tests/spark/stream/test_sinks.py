"""What writes the outputs of a stream, given the rows of a micro-batch; and what is refused as a sink."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cepheid import InputError
from cepheid.spark import files, table
from cepheid.spark.stream.sinks import MergedTable, Output, WrittenFiles, writer


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
