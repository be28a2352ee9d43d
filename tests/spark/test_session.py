"""The options that make a session cheaper for patterns: who gets them, and that nobody's own are touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cepheid import Pattern
from cepheid.spark import SESSION_OPTIONS
from cepheid.spark.session import missing_options

[(NAME, VALUE)] = SESSION_OPTIONS.items()
DDL = "key string, ts timestamp, kind string"
EVENTS = "SELECT 'k' AS key, timestamp '2025-01-01' AS ts, 'a' AS kind"
PATTERN = Pattern.begin("a").where("kind = 'a'").within("1 minute")


@pytest.fixture(autouse=True)
def unset(spark: SparkSession) -> Iterator[None]:
    spark.conf.unset(NAME)
    yield
    spark.conf.unset(NAME)


def test_an_explanation_names_what_is_missing(spark: SparkSession) -> None:
    found = PATTERN.match(spark.sql(EVENTS), partition_by="key", order_by="ts")
    assert f'spark.conf.set("{NAME}", "{VALUE}")' in str(found.explain())
    spark.conf.set(NAME, VALUE)
    assert NAME not in str(found.explain())


@pytest.mark.parametrize("own", [None, pytest.param("1m", marks=pytest.mark.slow)])
def test_a_query_takes_them_for_itself(spark: SparkSession, tmp_path: Path, own: str | None) -> None:
    spark.sql(EVENTS).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(DDL).parquet(str(tmp_path / "in"))
    if own:
        spark.conf.set(NAME, own)
    seen = []

    def note(rows: DataFrame, batch: int) -> None:
        seen.append(rows.sparkSession.conf.get(NAME))

    found: Any = PATTERN.match(stream, partition_by="key", order_by="ts")
    found.start(matches=note, checkpoint=str(tmp_path / "checkpoint"), flush=True)
    assert set(seen) == {own or VALUE}
    assert spark.conf.get(NAME, None) == own


def test_what_somebody_has_set_is_not_missing(spark: SparkSession) -> None:
    assert missing_options(spark) == SESSION_OPTIONS
    spark.conf.set(NAME, "1m")
    assert missing_options(spark) == {}
