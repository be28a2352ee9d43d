"""Patterns on batch DataFrames give what they give on rows in memory."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cepheid import ConditionError, InputError, MalformedPatternError, Pattern, skip

NOON = datetime(2025, 1, 1, 12)
DDL = "key string, ts timestamp, id long, name string, price double"


def made_up_rows(count: int = 400, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {
            "key": chance.choice(["p", "q", "r", None, "s"]),
            "ts": NOON + timedelta(seconds=chance.randrange(200)),
            "id": number,
            "name": chance.choice("abcd"),
            "price": chance.choice([1.0, 2.5, 7.25, None]),
        }
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return made_up_rows()


@pytest.fixture(scope="module")
def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([Row(**row) for row in rows], DDL).repartition(3)


def named(rows: Any) -> set[tuple[Any, ...]]:
    return {(row["key"], row["match_id"], row["start_time"].replace(tzinfo=None)) for row in rows}


A, B, C = "name = 'a'", "name = 'b'", "name = 'c'"
PATTERNS = {
    "relaxed": Pattern.begin("a").where(A).followed_by("b").where(B).within("20 seconds"),
    "strict": Pattern.begin("a").where(A).next("b").where(B).next("c").where(C),
    "loop": Pattern.begin("a")
    .where(A)
    .one_or_more()
    .followed_by("b")
    .where(B)
    .within("10 seconds")
    .skip("past_last_event"),
    "any": Pattern.begin("a").where(A).followed_by_any("b").where(B).followed_by_any("c").where(C).within("9 seconds"),
    "not": Pattern.begin("a").where(A).not_followed_by("x").where(C).followed_by("b").where(B).within("30 seconds"),
    "not at the end": Pattern.begin("a").where(A).not_followed_by("x").where(B).within("10 seconds"),
    "variables": Pattern.begin("a")
    .where(A)
    .followed_by("b")
    .where("name = 'b' AND price > LAST(a.price)")
    .within("1 minute"),
    "any event": Pattern.begin("a").followed_by("b").where("id = LAST(a.id) + 1").skip(skip.to_next),
    "count window": Pattern.begin("a").where(A).followed_by("b").where(B).within(events=3),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_dataframe_gives_what_rows_give(name: str, frame: DataFrame, rows: list[dict[str, Any]]) -> None:
    expected = PATTERNS[name].match_events(rows, partition_by="key", order_by=["ts", "id"])
    found = PATTERNS[name].match(frame, partition_by="key", order_by=["ts", "id"], buckets=3)
    assert expected.matches
    assert named(found.matches.collect()) == named(expected.matches)


def test_timeouts(frame: DataFrame, rows: list[dict[str, Any]]) -> None:
    expected = PATTERNS["relaxed"].match_events(rows, partition_by="key", order_by=["ts", "id"]).timeouts
    found = PATTERNS["relaxed"].match(frame, partition_by="key", order_by=["ts", "id"]).timeouts.collect()
    assert expected
    assert {(row["match_id"], row["at"]) for row in found} == {(row["match_id"], row["at"]) for row in expected}


def test_without_a_key_all_rows_are_one_partition(frame: DataFrame, rows: list[dict[str, Any]]) -> None:
    expected = PATTERNS["relaxed"].match_events(rows, order_by=["ts", "id"]).matches
    found = PATTERNS["relaxed"].match(frame, order_by=["ts", "id"])
    assert {row["match_id"] for row in found.matches.collect()} == {row["match_id"] for row in expected}
    assert any("nothing is parallel" in warning for warning in found.explain().warnings)


def test_columns_and_functions_that_only_spark_knows(frame: DataFrame, rows: list[dict[str, Any]]) -> None:
    by_column = Pattern.begin("a").where(F.col("name") == "a").where("price > 2").followed_by("b")
    by_column = by_column.where("soundex(name) = soundex('b')").within("20 seconds")
    plain = Pattern.begin("a").where("name = 'a' AND price > 2").followed_by("b").where(B).within("20 seconds")
    expected = plain.match_events(rows, partition_by="key", order_by=["ts", "id"]).matches
    found = by_column.match(frame, partition_by="key", order_by=["ts", "id"]).matches.collect()
    assert named(found) == named(expected)


def test_rows_are_dropped_early_only_where_that_changes_nothing(frame: DataFrame) -> None:
    def says(pattern: Pattern) -> str:
        return str(pattern.match(frame, partition_by="key", order_by=["ts", "id"]).explain())

    assert "dropped first" in says(PATTERNS["not"])
    for name in ("strict", "any event", "count window"):
        assert "all rows travel" in says(PATTERNS[name])


def test_types_survive(spark: SparkSession) -> None:
    ddl = "ts timestamp_ntz, money decimal(10,2), tags array<string>, place struct<city:string>, raw binary, day date"
    row = (NOON, Decimal("1.50"), ["p"], Row(city="Ulm"), bytearray(b"\x00"), NOON.date())
    frame = spark.createDataFrame([row], ddl)
    matches = Pattern.begin("a").followed_by("b").one_or_more().optional().match(frame, order_by="ts").matches
    assert matches.schema["a"].dataType == frame.schema
    [match] = matches.collect()
    assert tuple(match["a"]) == row
    assert match["b"] == []


def test_no_rows_and_no_matches(frame: DataFrame) -> None:
    pattern = PATTERNS["relaxed"]
    assert pattern.match(frame.where("false"), partition_by="key", order_by="ts").matches.count() == 0
    never = Pattern.begin("a").where("name = 'z'")
    assert never.match(frame, partition_by="key", order_by="ts").matches.count() == 0


def test_what_is_refused(frame: DataFrame, spark: SparkSession) -> None:
    pattern = PATTERNS["relaxed"]
    with pytest.raises(InputError, match="order_by is missing"):
        pattern.match(frame, partition_by="key")
    with pytest.raises(InputError, match=r"partition_by='kee' names no column"):
        pattern.match(frame, partition_by="kee", order_by="ts")
    with pytest.raises(MalformedPatternError, match="holds plain numbers"):
        pattern.match(frame, partition_by="key", order_by="id")
    with pytest.raises(ConditionError, match="did you mean `price`"):
        Pattern.begin("a").where("prise > 1").match(frame, order_by="ts")
    with pytest.raises(InputError, match="a Python callable"):
        Pattern.begin("a").where(lambda event, taken: True).match(frame, order_by="ts")
    unknown = spark.createDataFrame([(None, "a"), (NOON, "a")], "ts timestamp, name string")
    with pytest.raises(PythonException, match="1 rows have no value in the order columns ts"):
        Pattern.begin("a").match(unknown, order_by="ts").matches.collect()


def test_parameters_are_values(frame: DataFrame) -> None:
    """Also inside functions that only Spark knows, and whatever a text holds."""
    pattern = Pattern.begin("a").where("soundex(name) = soundex(:who) AND price > :low").followed_by("b")
    pattern = pattern.where("name <> :odd AND price > a.price + :low").within("1 hour")
    found = pattern.bind(who="a", low=-5.5, odd="' OR \\n -- \"").match(frame, partition_by="key", order_by="ts")
    plain = Pattern.begin("a").where("soundex(name) = soundex('a') AND price > -5.5D").followed_by("b")
    plain = plain.where("price > a.price - 5.5D").within("1 hour")
    expected = plain.match(frame, partition_by="key", order_by="ts").matches
    assert sorted(map(str, found.matches.collect())) == sorted(map(str, expected.collect())) != []
    with pytest.raises(ConditionError, match="`:low` has no value"):
        pattern.bind(who="a").match(frame, partition_by="key", order_by="ts")
