"""The forms of the result, the ways rows travel, and what is refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession

from cepheid import ConditionError, InputError, Pattern
from cepheid.spark import pack_workers
from cepheid.spark.sorted_rows import MatchSorted

NOON = datetime(2025, 1, 1, 12)
DDL = "card string, ts timestamp, id long, amount int, price double, cost decimal(10,2), place string"
KEYS: dict[str, Any] = {"partition_by": "card", "order_by": ["ts", "id"]}


def rows() -> list[Row]:
    made = []
    for number in range(600):
        made.append(
            Row(
                card=[None, "x", "y", "z"][number % 4],
                ts=NOON + timedelta(seconds=number // 8),
                id=number,
                amount=(number * 37) % 11 if number % 13 else None,
                price=((number * 53) % 17) / 4,
                cost=Decimal((number * 29) % 23) / 4,
                place=["Ulm", "Bonn", None][number % 3],
            )
        )
    return made


@pytest.fixture(scope="module")
def payments(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(rows(), DDL).repartition(3).cache()


LOOP = (
    Pattern.begin("small")
    .where("amount < 4")
    .one_or_more()
    .followed_by("large")
    .where("amount > 8")
    .within("20 seconds")
    .skip("past_last_event")
)

NARROW = Pattern.begin("a").where("amount = 1").followed_by("b").where("amount = 9").within("2 seconds")


def test_measures_are_what_spark_computes_over_the_events(payments: DataFrame) -> None:
    measures = {
        "n": "COUNT(small.*)",
        "total": "SUM(small.amount)",
        "mean": "AVG(small.cost)",
        "cost": "SUM(small.cost)",
        "most": "MAX(small.price)",
        "least": "MIN(small.place)",
        "first": "FIRST(small.id)",
        "second": "FIRST(small.id, 1)",
        "before": "LAST(small.id, 1)",
        "times": "SUM(small.price * 2) + large.amount",
        "hour": "date_format(large.ts, 'HH') || upper(card)",
    }
    found = LOOP.match(payments, measures=measures, **KEYS).matches
    # Over the structs, Spark's own functions for arrays say the same.
    by_hand = {
        "n": "CAST(size(small) AS BIGINT)",
        "total": "CAST(aggregate(small, 0L, (t, e) -> t + coalesce(e.amount, 0)) AS BIGINT)",
        "mean": "CAST(aggregate(small, CAST(0 AS DECIMAL(20,2)), (t, e) -> CAST(t + e.cost AS DECIMAL(20,2))) "
        "/ size(small) AS DECIMAL(14,6))",
        "cost": "aggregate(small, CAST(0 AS DECIMAL(20,2)), (t, e) -> CAST(t + e.cost AS DECIMAL(20,2)))",
        "most": "array_max(transform(small, e -> e.price))",
        "least": "array_min(transform(small, e -> e.place))",
        "first": "small[0].id",
        "second": "get(small, 1).id",
        "before": "get(small, size(small) - 2).id",
        "times": "aggregate(small, 0D, (t, e) -> t + e.price * 2) + large.amount",
        "hour": "date_format(large.ts, 'HH') || upper(card)",
    }
    expected = LOOP.match(payments, **KEYS).matches.selectExpr(
        "card", "match_id", "start_time", "end_time", *(f"{sql} AS {name}" for name, sql in by_hand.items())
    )
    assert found.columns == ["card", "match_id", "start_time", "end_time", *measures]
    assert [field.dataType for field in found.schema] == [field.dataType for field in expected.schema]
    assert {tuple(row) for row in found.collect()} == {tuple(row) for row in expected.collect()}
    assert found.count() > 10


def test_measures_and_structs_together(payments: DataFrame) -> None:
    found = LOOP.match(payments, measures={"n": "COUNT(small.*)"}, columns=["id"], **KEYS).matches
    row = found.first()
    assert row is not None
    assert found.columns == ["card", "match_id", "start_time", "end_time", "small", "large", "n"]
    assert len(row["small"]) == row["n"] and set(row["large"].asDict()) == {"id"}


def test_a_row_for_each_event(payments: DataFrame) -> None:
    every = LOOP.match(payments, rows="all", measures={"n": "COUNT(small.*)"}, columns=["amount", "card"], **KEYS)
    ones = LOOP.match(payments, **KEYS).matches.collect()
    assert every.matches.columns == ["card", "match_id", "variable", "sequence", "amount", "n"]
    expected = set()
    for one in ones:
        taken = [("small", event["amount"]) for event in one["small"]] + [("large", one["large"]["amount"])]
        for number, (variable, amount) in enumerate(taken, start=1):
            expected.add((one["card"], one["match_id"], variable, number, amount, len(one["small"])))
    assert {tuple(row) for row in every.matches.collect()} == expected
    assert "at" in every.timeouts.columns


def test_only_what_is_needed_travels(payments: DataFrame) -> None:
    says = LOOP.match(payments, measures={"n": "COUNT(small.*)"}, **KEYS).explain()
    assert "columns that travel: card, ts, id\n" in str(says)


@pytest.mark.parametrize("timeouts", [False, True])
@pytest.mark.parametrize("name", ["loop", "any", "no key", "ties"])
def test_both_ways_to_shuffle_give_the_same_rows(payments: DataFrame, name: str, timeouts: bool) -> None:
    pattern, arguments = LOOP, dict(KEYS)
    if name == "any":
        pattern = Pattern.begin("a").where("amount = 1").followed_by_any("b").where("place <> LAST(a.place)")
        pattern = pattern.within("9 seconds")
    elif name == "no key":
        pattern, arguments = NARROW, {"order_by": ["ts", "id"]}
    elif name == "ties":  # eight events a second: their other columns decide
        arguments = {"partition_by": "place", "order_by": "ts"}
    packed, by_spark = (
        pattern.match(payments, shuffle=way, buckets=3, **arguments)  # type: ignore[arg-type]
        for way in ("packed", "spark")
    )
    one = (packed.timeouts if timeouts else packed.matches).collect()
    other = (by_spark.timeouts if timeouts else by_spark.matches).collect()
    assert one and sorted(map(str, one)) == sorted(map(str, other))


def test_ties_that_only_nested_columns_break(spark: SparkSession) -> None:
    """Both shuffles order them alike, by a hash."""
    stream = (
        spark.range(60).selectExpr("id DIV 6 AS t", "struct(id % 6 AS n) AS s", "array(id % 6) AS l").repartition(3)
    )
    pair = Pattern.begin("a").next("b").skip("past_last_event")
    packed, by_spark = (
        {(row["a"]["t"], row["a"]["s"]["n"], row["b"]["s"]["n"]) for row in found.matches.collect()}
        for found in (pair.match(stream, order_by="t", shuffle=way) for way in ("packed", "spark"))  # type: ignore[arg-type]
    )
    assert len(packed) == 30 and packed == by_spark


def test_state_is_carried_over_the_edges_of_batches(payments: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of seven rows cut every key many times."""
    expected = sorted(row["match_id"] for row in LOOP.match(payments, **KEYS).matches.collect())
    monkeypatch.setattr(pack_workers, "PACKED_ROWS", 7)
    plan = LOOP.match(payments, shuffle="spark", **KEYS)._plan
    tables = plan.tables(timeouts=False)
    work = MatchSorted(tables, plan.partition_by, plan.order_by, plan.output.shape(False), False)
    table = plan._prepared(timeouts=False).coalesce(1).sortWithinPartitions("card", "ts", "id").toArrow()
    found = [row["match_id"] for part in work(table.to_batches(max_chunksize=7)) for row in part.to_pylist()]
    assert sorted(found) == expected


def test_as_a_step_of_a_chain(payments: DataFrame) -> None:
    chained = payments.where("id < 300").transform(LOOP.as_transform(**KEYS)).select("match_id")
    assert chained.count() == LOOP.match(payments.where("id < 300"), **KEYS).matches.count() > 0


@pytest.mark.parametrize("elements", [62, 80])
def test_so_many_elements_that_masks_fill_words(spark: SparkSession, elements: int) -> None:
    numbers = list(range(elements))
    stream = spark.createDataFrame(
        [(k, n, n) for k in "pq" for n in numbers if (k, n) != ("q", elements - 3)], "k string, t int, n int"
    )
    pattern = Pattern.begin("e0").where("n = 0")
    for number in numbers[1:]:
        pattern = pattern.followed_by(f"e{number}").where(f"n = {number}")
    found = pattern.match(stream, partition_by="k", order_by="t", columns="n", buckets=4)
    [match] = found.matches.collect()
    assert match["k"] == "p" and match[f"e{elements - 1}"]["n"] == elements - 1


def test_one_giant_key_and_empty_buckets(spark: SparkSession) -> None:
    stream = spark.range(5_000).selectExpr(
        "IF(id % 500 = 7, CAST(id AS STRING), 'giant') AS k", "id AS t", "id % 3 AS n"
    )
    pattern = Pattern.begin("a").where("n = 0").next("b").where("n = 1").skip("past_last_event")
    found = pattern.match(stream, partition_by="k", order_by="t", buckets=64)
    assert (
        found.matches.count() == pattern.match(stream, partition_by="k", order_by="t", buckets=1).matches.count() > 1600
    )


def test_a_bucket_that_is_too_large_names_its_largest_key(payments: DataFrame) -> None:
    with pytest.raises(PythonException, match=r"(?s)max_bucket_bytes=2,000.*largest key so far is card = .*shuffle="):
        LOOP.match(payments, max_bucket_bytes=2_000, **KEYS).matches.collect()


def test_rows_without_a_time(spark: SparkSession) -> None:
    given = [("p", None, 1), ("q", None, 2), ("p", NOON, 1), ("q", NOON, 3)]
    stream = spark.createDataFrame(given, "k string, ts timestamp, n int")
    pattern = Pattern.begin("a").where("n > 0")
    with pytest.raises(PythonException, match=r"(?s)2 rows have no value .*'k': '.', 'ts': None"):
        pattern.match(stream, partition_by="k", order_by="ts").matches.collect()
    with pytest.raises(PythonException, match="2 rows have no value"):
        pattern.match(stream, partition_by="k", order_by="ts", shuffle="spark", buckets=1).matches.collect()
    assert pattern.match(stream, partition_by="k", order_by="ts", nulls="drop").matches.count() == 2


def test_keys_of_all_plain_types(spark: SparkSession) -> None:
    keys = "1.5F, -0.0D, 1Y, 2S, 3, 4L, DATE'2025-01-01', TIMESTAMP'2025-01-01 00:00:00', true, X'00ff', 1.25, 'k'"
    keys += ", CAST(NULL AS INT)"
    names = [f"k{number}" for number in range(13)]
    stream = spark.sql(f"SELECT stack(2, 1, {keys}, 2, {keys.replace('-0.0D', '0.0D')}) AS (t, {', '.join(names)})")
    pair = Pattern.begin("a").next("b")
    for name in names:
        assert pair.match(stream, partition_by=name, order_by="t", columns="t").matches.count() == 1, name
    assert pair.match(stream, partition_by=names, order_by="t", columns="t", shuffle="spark").matches.count() == 1


def test_what_is_refused(payments: DataFrame, spark: SparkSession) -> None:
    nested = payments.selectExpr("*", "struct(id) AS s", "array(id) AS l", "'x' COLLATE UNICODE_CI AS c")
    with pytest.raises(InputError, match=r"partition_by='s' has type struct<id:bigint>(?s:.*)F\.col\('s\.id'\)"):
        LOOP.match(nested, partition_by="s", order_by="ts")
    with pytest.raises(InputError, match="collation UNICODE_CI"):
        LOOP.match(nested, partition_by="c", order_by="ts")
    with pytest.raises(InputError, match=r"order_by='l' has type array<bigint>, which cannot break ties"):
        LOOP.match(nested, order_by=["ts", "l"])
    with pytest.raises(InputError, match="the first order column is the time"):
        LOOP.match(payments, order_by="place")
    with pytest.raises(InputError, match="names 'ts' twice"):
        LOOP.match(payments, order_by=["ts", "TS"])
    with pytest.raises(
        InputError, match="would name two columns of the result: a measure and a column of the result's"
    ):
        LOOP.match(payments, measures={"match_id": "COUNT(small.*)"}, **KEYS)
    with pytest.raises(InputError, match="'card' would name two columns"):
        Pattern.begin("card").match(payments, **KEYS)
    with pytest.raises(InputError, match="two columns named 'id' and 'ID'"):
        LOOP.match(payments.selectExpr("*", "1 AS ID"), **KEYS)
    with pytest.raises(ConditionError, match=r"measure 'x': `amount` does not say whose events"):
        LOOP.match(payments, measures={"x": "amount + 1"}, **KEYS)
    for argument, wrong in (("rows", "some"), ("shuffle", "fast"), ("nulls", "keep"), ("buckets", 0)):
        with pytest.raises(InputError, match=f"{argument}="):
            LOOP.match(payments, **{argument: wrong}, **KEYS)
    with pytest.raises(InputError, match=r"columns=\[\]"):
        LOOP.match(payments, columns=[], **KEYS)
    with pytest.raises(InputError, match="time='arrival' needs a streaming DataFrame"):
        LOOP.match(payments, time="arrival", **KEYS)
    with pytest.raises(InputError, match="match_events"):
        LOOP.match(payments.toPandas(), **KEYS)
