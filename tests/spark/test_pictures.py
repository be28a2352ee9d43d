"""What a plan on a DataFrame says of itself, and the timeline of what it finds."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession

from cepheid import Pattern
from cepheid.explain import timeline

NOON = datetime(2025, 1, 1, 12)
PAIR = (
    Pattern.begin("a")
    .where("name = 'a'")
    .not_followed_by("n")
    .where("name = 'n'")
    .followed_by("b")
    .where("name = 'b' AND price > AVG(a.price)")
    .within("1 hour")
)
ROWS = [
    ("p", NOON, "a", 1.0, "x"),
    ("p", NOON + timedelta(minutes=1), "z", 5.0, "x"),
    ("p", NOON + timedelta(minutes=9), "b", 2.0, "x"),
    ("q", NOON, "a", 1.0, "x"),
    ("q", NOON + timedelta(minutes=3), "n", 1.0, "x"),
    ("q", NOON + timedelta(minutes=4), "b", 9.0, "x"),
    (None, NOON, "a", 1.0, "x"),
    (None, NOON + timedelta(minutes=2), "b", 9.0, "x"),
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "key string, ts timestamp_ntz, name string, price double, more string")


def test_an_explanation_says_how_spark_runs_it(frame: DataFrame) -> None:
    found = PAIR.match(frame, partition_by="key", order_by="ts", columns=["price"], buckets=3)
    text = str(found.explain())
    for said in ("runs on:", "Spark, batch", "3 buckets of keys", "dropped first", "1 mask of 3 conditions", "packed"):
        assert said in text
    assert "columns that travel: key, ts, price\n" in text
    assert "computed by Spark for each event: price" in text  # types are known here
    assert found.explain().warnings == ()


def test_a_timeline_collects_only_what_it_draws(frame: DataFrame) -> None:
    found = PAIR.match(frame, partition_by="key", order_by="ts", measures={"much": "MAX(b.price)"})
    html = found.timeline().html
    assert found.timeline().partitions == 2
    assert "key = p" in html and "key = None" in html
    assert "key = q" not in html  # it has no match, so its rows stay where they are
    assert "b\n2025-01-01 12:09:00" in html
    assert "z" in html and "no n" in html


def test_collected_rows_can_be_drawn(frame: DataFrame) -> None:
    matches = PAIR.match(frame, partition_by="key", order_by="ts").matches
    by_rows = timeline(matches.orderBy("key").collect(), events=frame.collect(), pattern=PAIR)
    by_pandas = timeline(matches.orderBy("key").toPandas(), events=frame.collect(), pattern=PAIR)
    assert by_rows.html == by_pandas.html
    assert by_rows.partitions == 3
    assert "would violate not n" in by_rows.html


def test_nothing_found(frame: DataFrame) -> None:
    nothing = Pattern.begin("a").where("name = 'nobody'").match(frame, partition_by="key", order_by="ts")
    assert "No matches." in nothing.timeline().html


def test_what_was_found_shows_itself(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    found = PAIR.match_batch(frame, partition_by="key", order_by="ts")
    assert found.count() == 2
    found.show(1)
    assert "only showing top 1 row" in capsys.readouterr().out
    html = found._repr_html_()
    assert "2 matches" in html and html.count("<tr>") == 3 and "ts 2025-01-01 12:00:00" in html
    many = Pattern.begin("a").match_batch(frame.union(frame), order_by="ts")._repr_html_()
    assert "more than 10 rows" in many and many.count("<tr>") == 11
