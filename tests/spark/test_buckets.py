"""Keys are spread evenly over tasks, and their number follows the size of the input."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cepheid import Pattern
from cepheid.spark.buckets import BYTES_A_BUCKET, MOST_BUCKETS, bucket_count, estimated_bytes, murmur3, spread_ids


@pytest.mark.parametrize(("count", "partitions"), [(1, 1), (8, 8), (7, 3), (64, 16), (3, 5)])
def test_ids_are_spread_evenly(count: int, partitions: int) -> None:
    ids = spread_ids(count, partitions)
    assert len(set(ids)) == count
    tasks = [murmur3(number) % partitions for number in ids]
    # The first id is of the first task, and so on in turns.
    assert tasks == [turn % partitions for turn in range(count)]


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    numbers = [*range(50), 2**31 - 1, -1, -(2**31)]
    frame = spark.createDataFrame([(number,) for number in numbers], "n int").select("n", F.hash("n"))
    assert {row[0]: row[1] for row in frame.collect()} == {number: murmur3(number) for number in numbers}


def test_spark_sends_each_id_to_a_task_of_its_own(spark: SparkSession) -> None:
    ids = spread_ids(6, 6)
    frame = spark.createDataFrame([(number,) for number in ids], "n int").repartition(6, "n")
    places = {row[0]: row[1] for row in frame.select("n", F.spark_partition_id()).collect()}
    assert [places[number] for number in ids] == list(range(6))


def test_without_repartition_by_id_buckets_go_to_tasks_of_their_own(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark 4.0 has no `repartitionById`; on a newer one it is hidden here."""
    kind = type(spark.range(1))
    if hasattr(kind, "repartitionById"):
        from pyspark.sql import DataFrame

        monkeypatch.delattr(kind, "repartitionById")
        monkeypatch.delattr(DataFrame, "repartitionById", raising=False)
    frame = spark.range(200).selectExpr("id % 40 AS k", "id AS t", "id % 2 AS n")
    found = Pattern.begin("a").where("n >= 0").match(frame, partition_by="k", order_by="t", columns="t", buckets=4)
    placed = found.matches.select("k", F.pmod(F.xxhash64("k"), F.lit(4)), F.spark_partition_id()).collect()
    assert len(placed) == 200
    by_bucket = {(bucket, task) for _, bucket, task in placed}
    assert Counter(task for _, task in by_bucket) == {0: 1, 1: 1, 2: 1, 3: 1}


def test_the_size_of_the_input(spark: SparkSession, tmp_path: Path) -> None:
    size = estimated_bytes(spark.range(1_000))  # printed as 7.8 KiB
    assert size is not None and 7_900 < size < 8_100
    place = str(tmp_path / "rows")
    spark.range(1_000).write.parquet(place)
    written = sum(path.stat().st_size for path in Path(place).glob("*.parquet"))
    size = estimated_bytes(spark.read.parquet(place))
    assert size is not None and 0.9 * written < size < 1.1 * written
    # The product of two sizes that are past belief.
    unknown = spark.range(1 << 40).crossJoin(spark.range(1 << 40).withColumnRenamed("id", "other"))
    assert estimated_bytes(unknown) is None


def test_the_number_of_buckets() -> None:
    assert bucket_count(None, 3) == 12
    assert bucket_count(0, 3) == 3
    assert bucket_count(3 * BYTES_A_BUCKET, 3) == 3
    assert bucket_count(3 * BYTES_A_BUCKET + 1, 3) == 6
    assert bucket_count(1 << 60, 3) == MOST_BUCKETS
