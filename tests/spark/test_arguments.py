"""Arguments of `match` that only a DataFrame has, given wrongly; and what the two kinds of DataFrame return."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid import CepheidError, InputError, Limits, Pattern
from cepheid.spark.batch import Found
from cepheid.spark.stream.found import FoundInStream

PAIR = Pattern.begin("a").where("n > 0").followed_by("b").where("n > a.n").within("1 hour")


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    rows = [("x", datetime(2025, 1, 1, 10), 1), ("x", datetime(2025, 1, 1, 11), 2)]
    return spark.createDataFrame(rows, "k string, ts timestamp, n int")


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> DataFrame:
    rate = spark.readStream.format("rate").load()
    return rate.selectExpr("'x' AS k", "timestamp AS ts", "CAST(value AS INT) AS n")


NO_COUNTS = (0, -1, "5", 1.5, True, 10**30)
COMMON: list[tuple[str, Any]] = [
    *(("partition_by", value) for value in (F.col, [F.col], 1, {"k": 1}, ["k", "k"], "kk")),
    *(("order_by", value) for value in (None, (), F.col, 1, [1], "k", "tss", ["ts", "ts"])),
    *(("measures", value) for value in (["COUNT(a.*)"], "COUNT(a.*)", {"x": 1}, {"x": F.col}, {1: "COUNT(a.*)"})),
    *(("columns", value) for value in ([], [1], F.col, "nn")),
    *(("rows", value) for value in ("some", None, 1)),
    *(("timeouts", value) for value in ("yes", 1, None)),
    *(("buckets", value) for value in (*NO_COUNTS, 10**6)),
    *(("max_runs", value) for value in NO_COUNTS),
    *(("max_matches_per_event", value) for value in NO_COUNTS),
    *(("max_bucket_bytes", value) for value in NO_COUNTS),
    *(("limits", value) for value in (5, {"max_runs": 1})),
    ("watermrk", "5 minutes"),
]
BATCH: list[tuple[str, Any]] = [
    *(("shuffle", value) for value in ("fast", None, 1)),
    *(("nulls", value) for value in ("keep", None)),
    ("time", "arrival"),
]
STREAM: list[tuple[str, Any]] = [
    *(("time", value) for value in ("late", None, 1)),
    *(("id", value) for value in ("", " ", 5)),
    *(("watermark", value) for value in ("soon", "5", "", 5, ["1 minute"])),
    *(("max_ahead", value) for value in ("soon", "", 5)),
    ("shuffle", "spark"),
    ("nulls", "drop"),
]


def ids(cases: list[tuple[str, Any]]) -> list[str]:
    """Names that are the same in every process: a function is shown with its address."""
    return [f"{name}-{value}".replace(str(F.col), "Column") for name, value in cases]


def given(value: Any) -> Any:
    """Columns need a Spark, which is not there when the cases are listed."""
    if value is F.col:
        return F.col("k")
    if isinstance(value, list):
        return [given(one) for one in value]
    return {name: given(one) for name, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(("argument", "value"), [*COMMON, *BATCH], ids=ids([*COMMON, *BATCH]))
def test_on_a_batch(frame: DataFrame, argument: str, value: Any) -> None:
    with pytest.raises(CepheidError, match=argument):
        PAIR.match(frame, **{"partition_by": "k", "order_by": "ts", argument: given(value)})


@pytest.mark.parametrize(("argument", "value"), [*COMMON, *STREAM], ids=ids([*COMMON, *STREAM]))
def test_on_a_stream(stream: DataFrame, argument: str, value: Any) -> None:
    with pytest.raises(CepheidError, match=argument):
        PAIR.match(stream, **{"partition_by": "k", "order_by": "ts", argument: given(value)})


def test_each_kind_has_a_method_of_its_own(frame: DataFrame, stream: DataFrame) -> None:
    keys: dict[str, Any] = {"partition_by": "k", "order_by": "ts"}
    assert isinstance(PAIR.match_batch(frame, limits=Limits(max_runs=5), **keys), Found)
    assert isinstance(PAIR.match_stream(stream, watermark="5 minutes", **keys), FoundInStream)
    assert isinstance(PAIR.match(frame, watermark="5 minutes", max_runs=5, **keys), Found)
    assert isinstance(PAIR.match(stream, watermark="5 minutes", max_runs=5, **keys), FoundInStream)
    with pytest.raises(InputError, match=r"match_batch\(\) was given a stream"):
        PAIR.match_batch(stream, **keys)
    with pytest.raises(InputError, match=r"match_stream\(\) was given a batch"):
        PAIR.match_stream(frame, **keys)
    with pytest.raises(InputError, match=r"Use match\(\) for Spark DataFrames"):
        PAIR.match_events(frame, **keys)


@pytest.mark.parametrize("shuffle", ["packed", "spark"])
def test_times_at_the_end_of_the_range(spark: SparkSession, shuffle: Any) -> None:
    numbers = spark.sql("SELECT 1 AS n, 9223372036854775807 AS t")
    with pytest.raises(PythonException, match="the time 9223372036854775807 is so large"):
        Pattern.begin("a").followed_by("b").within(10).match(numbers, order_by="t", shuffle=shuffle).matches.collect()
