"""Conditions and measures on Spark: what is read across events means what it means in memory, the rest is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid import ConditionError, InputError, Pattern, one_of
from cepheid.conditions import Schema, compile_expression, parse
from cepheid.conditions.checking import Checker
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.conditions.scope import Scope

START = datetime(2024, 7, 1, 21, 30, tzinfo=UTC)
NAMES = ("Ann", "bob", "ANN", "Bob", "ann", "zoë")
DDL = (
    "id int, kind string, name string, n int, digits string, x double, ts timestamp, day date, ip string, "
    "geo struct<lat:double,lon:double>, tags array<string>, `else` int, `p.q` int"
)
ROWS = [
    {
        "id": number,
        "kind": "a" if number % 3 == 0 else "b",
        "name": None if number == 10 else NAMES[number % 6],
        "n": number * 7 % 5,
        "digits": str(number * 7 % 4) if number % 3 else "none",
        "x": [1.5, 0.0, -0.0, math.nan, 2.5][number % 5],
        "ts": START + timedelta(minutes=25 * number),
        "day": date(2024, 7, 1) + timedelta(days=number // 4),
        "ip": f"10.{number}.0.1",
        "geo": {"lat": 50.0 + number / 10, "lon": 8.0 - number / 7},
        "tags": ["p", "q"][: number % 3],
        "else": number % 2,
        "p.q": number % 3,
    }
    for number in range(14)
]
# What is read of earlier events by functions, orders, fields of structs, counts of different values.
ACROSS = [
    "lower(name) = lower(a.name)",
    "name > a.name",
    "name <= MAX(a.name) AND a.name <> 'Ann'",
    "datediff(day, a.day) >= 1 AND timestampdiff(HOUR, a.ts, ts) < 4",
    "HOUR(ts) = HOUR(a.ts) + 1",
    "geo.lat > a.geo.lat + 0.45D",
    "geo_km(a.geo.lat, a.geo.lon, geo.lat, geo.lon) BETWEEN 30e0 AND 60e0",
    "`else` > a.`else` AND p.q > a.p.q",
    "CAST(digits AS INT) > a.n",
    "COUNT(DISTINCT a.n) >= 2 AND n > 1",
    "COUNT(DISTINCT lower(a.name)) = 2",
    "COUNT(DISTINCT a.x) = 2",
    "STDDEV(a.n) > 0.9D",
    "cidr_match(ip, '10.0.0.0/13', '192.168.0.0/16') AND n <> a.n",
    "array_join(tags, '+') RLIKE '(^|[+])q' AND n <> a.n",
    "array_contains(tags, 'q') AND startswith(ip, '10.1') AND size(tags) > a.n",
    "exists(tags, t -> t = 'q' AND n > 1) AND n <> a.n",
    "size(filter(tags, t -> t <> 'p')) > a.n",
    "size(transform(a.tags, t -> upper(t))) < n",
]
OF_ITEMS = [
    "exists(tags, t -> t LIKE 'a%')",
    "exists(numbers, n -> n > limit)",
    "exists(numbers, n -> 12 DIV n = 3)",
    "exists(numbers, n -> n IS NULL)",
    "forall(numbers, n -> n > limit)",
    "forall(tags, T -> length(t) = 1 OR t IS NULL)",
    "filter(numbers, n -> n % 2 = 0)",
    "filter(numbers, (n, i) -> i > 0 AND n >= i)",
    "transform(numbers, (n, i) -> n * 10 + i)",
    "transform(tags, tag -> concat(tag, '!', limit))",
    "transform(orders, o -> o.id)",
    "exists(orders, o -> exists(o.prices, p -> p > o.id + limit))",
    "size(filter(orders, o -> forall(o.prices, p -> p < 5))) = 1",
    "array_contains(transform(moments, m -> HOUR(m)), 23)",
    "array_join(transform(filter(tags, t -> t > 'a'), t -> upper(t)), '+')",
]
ARGUMENTS: dict[str, Any] = {"order_by": ["ts", "id"]}


def pattern(condition: str) -> Pattern:
    again = Pattern.begin("a").where("kind = 'a'").times_or_more(1).followed_by("b")
    return again.where("kind = 'b'", condition).within("4 hours")


def taken(matches: list[Any]) -> list[tuple[tuple[int, ...], int]]:
    return sorted((tuple(event["id"] for event in match["a"]), match["b"]["id"]) for match in matches)


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in ROWS], DDL).repartition(2).cache()


@contextmanager
def in_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_conditions_across_events_mean_the_same(frame: DataFrame) -> None:
    several = 0
    for condition in ACROSS:
        expected = taken(pattern(condition).match_events(ROWS, **ARGUMENTS).matches)
        found = taken(pattern(condition).match(frame, **ARGUMENTS).matches.collect())
        assert found == expected, condition
        several += 0 < len(found) < 30
    assert several == len(ACROSS)


def test_functions_of_items_give_what_spark_gives(spark: SparkSession) -> None:
    columns = "tags array<string>, numbers array<int>, limit int, orders array<struct<id:int,prices:array<double>>>"
    rows: list[tuple[Any, ...]] = [
        (["a", "b"], [1, 2, 3], 2, [(1, [1.0, 9.5]), (2, [])], [START]),
        (["ab", None], [None, 4], 4, [(1, [4.0, None])], [START + timedelta(hours=2), None]),
        ([], [], 0, [], []),
        (None, None, 1, None, None),
        (["c", "a"], [4, 0], None, [(None, [1.0]), None], [None]),
        (["b"], [6, 4, 0], 1, [(3, None)], [START + timedelta(minutes=100)]),
    ]
    frame = spark.createDataFrame(rows, f"{columns}, moments array<timestamp>").coalesce(1)
    table = frame.toArrow()
    checker = Checker(Scope("condition", Schema.from_arrow(table.schema), (), (), frozenset()))
    computed = [compile_expression(checker.bind(parse(text))) for text in OF_ITEMS]
    expected = [tuple(compute(event, NOTHING_TAKEN) for compute in computed) for event in table.to_pylist()]
    found = frame.selectExpr(*OF_ITEMS).collect()
    for number, text in enumerate(OF_ITEMS):
        assert [row[number] for row in expected] == [row[number] for row in found], text


@pytest.mark.slow
def test_conditions_across_events_on_a_stream(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    """All of them in one query: each is an alternative with a name of its own."""
    parts = [Pattern.begin(f"b{i}").where("kind = 'b'", condition) for i, condition in enumerate(ACROSS)]
    every = Pattern.begin("a").where("kind = 'a'").times_or_more(1).followed_by_any(one_of(*parts)).within("4 hours")
    frame.write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "events"))
    query = every.match(stream, **ARGUMENTS).start(
        matches="memory", checkpoint=str(tmp_path / "checkpoint"), trigger="available now", flush=True
    )
    assert query.exception() is None

    def answers(matches: list[Any]) -> list[str]:
        names = [f"b{i}" for i in range(len(ACROSS))]
        return sorted(
            f"{[one['id'] for one in match['a']]} {name} {match[name]['id']}"
            for match in matches
            for name in names
            if match[name] is not None
        )

    expected = answers(every.match_events(ROWS, **ARGUMENTS).matches)
    assert answers(spark.table("matches").collect()) == expected
    assert {line.split()[-2] for line in expected} == {f"b{i}" for i in range(len(ACROSS))}


def test_functions_that_only_spark_knows_are_columns_of_their_events(frame: DataFrame) -> None:
    by_spark = pattern("date_trunc('HOUR', ts) = LAST(date_trunc('HOUR', a.ts)) + INTERVAL 1 HOUR")
    plain = pattern("HOUR(ts) = HOUR(a.ts) + 1 OR HOUR(ts) = 0 AND HOUR(a.ts) = 23")
    found = taken(by_spark.match(frame, **ARGUMENTS).matches.collect())
    assert found == taken(plain.match_events(ROWS, **ARGUMENTS).matches) != []
    column = Pattern.begin("a").where(F.col("kind") == "a").followed_by("b")
    column = column.where("kind = 'b' AND LAST(soundex(a.name)) = soundex(name)")
    same = Pattern.begin("a").where("kind = 'a'").followed_by("b")
    same = same.where("kind = 'b' AND lower(a.name) = lower(name)")
    ids = [(row["a"]["id"], row["b"]["id"]) for row in column.match(frame, **ARGUMENTS).matches.collect()]
    assert sorted(ids) == sorted(
        (match["a"]["id"], match["b"]["id"]) for match in same.match_events(ROWS, **ARGUMENTS).matches
    )


def test_what_cannot_be_computed_of_an_event_that_does_not_ask_for_it_is_left_alone(frame: DataFrame) -> None:
    # `digits` is no number where kind is 'a'.
    found = pattern("CAST(digits AS INT) > a.n").match(frame, **ARGUMENTS).matches
    assert found.count() > 0


def test_clocks_are_those_of_the_session(spark: SparkSession, frame: DataFrame) -> None:
    condition = "DAY(ts) = DAY(a.ts) AND a.ts >= TIMESTAMP '2024-07-02 00:00:00' AND HOUR(ts) < 4"
    with in_zone(spark, "Europe/Berlin"):
        found = taken(pattern(condition).match(frame, **ARGUMENTS).matches.collect())
    assert found == taken(pattern(condition).match_events(ROWS, time_zone="Europe/Berlin", **ARGUMENTS).matches) != []
    in_utc = taken(pattern(condition).match(frame, **ARGUMENTS).matches.collect())
    assert in_utc == taken(pattern(condition).match_events(ROWS, **ARGUMENTS).matches) != found


def test_measures_are_any_expression_over_variables(frame: DataFrame) -> None:
    measures = {
        "days": "datediff(b.day, a.day)",
        "minutes": "timestampdiff(MINUTE, FIRST(a.ts), b.ts)",
        "month": "date_format(b.day, 'yyyy-MM')",
        "different": "COUNT(DISTINCT a.x)",
        "spread": "round(STDDEV(a.n), 3)",
        "north": "b.geo.lat - FIRST(a.geo.lat)",
        "far": "round(geo_km(FIRST(a.geo.lat), FIRST(a.geo.lon), b.geo.lat, b.geo.lon), 1)",
    }
    wanted = pattern("n = 4").match(frame, measures=measures, **ARGUMENTS).matches
    in_memory = {name: text for name, text in measures.items() if name != "month"}
    expected = pattern("n = 4").match_events(ROWS, measures=in_memory, **ARGUMENTS).matches
    found = {row["match_id"]: row.asDict() for row in wanted.collect()}
    assert len(found) == len(expected) > 3
    for match in expected:
        mine = found[match["match_id"]]
        assert mine["month"] == "2024-07"
        assert {name: mine[name] for name in in_memory} == pytest.approx({name: match[name] for name in in_memory})


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (lambda: F.rand() > 0.5, r"rand\(\) gives another value each time"),
        (lambda: F.expr("uuid() > name"), r"uuid\(\) gives another value each time"),
        (lambda: F.current_timestamp() > F.col("ts"), r"current_timestamp\(\) gives another value each time"),
        (lambda: F.expr("unix_timestamp() > 5"), r"unix_timestamp\(\) gives another value each time"),
        (lambda: F.expr("reflect('java.lang.Math', 'random') > '0.5'"), r"reflect\(\) runs any code"),
        (lambda: F.udf(lambda n: True, "boolean").asNondeterministic()(F.col("n")), "gives another value each time"),
        (lambda: F.col("nothing") > 1, "Spark refuses"),
    ],
    ids=["rand", "uuid", "now", "unix_timestamp", "reflect", "udf", "unknown"],
)
def test_a_column_that_is_no_condition_is_refused(frame: DataFrame, column: Any, problem: str) -> None:
    with pytest.raises(ConditionError, match=problem) as caught:
        Pattern.begin("a").where(column()).match(frame, **ARGUMENTS)
    assert caught.value.element == "element 'a'"


def test_what_spark_does_not_know_is_said_before_anything_runs(frame: DataFrame) -> None:
    with pytest.raises(ConditionError, match=r"Spark refuses it: .*lowr"):
        Pattern.begin("a").where("lowr(name) = 'x'").match(frame, **ARGUMENTS)
    with pytest.raises(ConditionError, match="this is a value of type timestamp, not a condition"):
        Pattern.begin("a").where("date_trunc('DAY', ts)").match(frame, **ARGUMENTS)


def test_long_decimals_across_events_are_refused_before_anything_runs(spark: SparkSession) -> None:
    money = [(START, Decimal("1.50")), (START + timedelta(seconds=1), Decimal("2.50"))]
    frame = spark.createDataFrame(money, "ts timestamp, amount decimal(20,2)")
    with pytest.raises(InputError, match=r"a decimal\(20,2\), beside earlier events") as caught:
        Pattern.begin("a").followed_by("b").where("amount > a.amount").match(frame, order_by="ts")
    assert "CAST(… AS DECIMAL(18,2))" in str(caught.value)
    cast = "CAST(amount AS DECIMAL(18,2)) > LAST(CAST(a.amount AS DECIMAL(18,2)))"
    assert Pattern.begin("a").followed_by("b").where(cast).match(frame, order_by="ts").matches.count() == 1


def test_a_struct_as_a_key_names_a_way_that_works(frame: DataFrame) -> None:
    with pytest.raises(InputError, match=r"events.withColumn\('geo_lat', F.col\('geo.lat'\)\)"):
        Pattern.begin("a").match(frame, partition_by="geo", **ARGUMENTS)
    keyed = frame.withColumn("geo_lat", F.col("geo.lat"))
    assert Pattern.begin("a").match(keyed, partition_by="geo_lat", **ARGUMENTS).matches.count() == len(ROWS)


@pytest.mark.parametrize("condition", ["x > 5e0", "x IS NULL", "x = CAST('NaN' AS DOUBLE)"])
def test_nan_means_what_it_means_on_spark(spark: SparkSession, condition: str) -> None:
    """Of dicts NaN is NaN, of pandas it is NULL, as `createDataFrame` reads the two."""
    dicts = [{"t": 1, "x": math.nan}, {"t": 2, "x": None}, {"t": 3, "x": 7.0}]
    wanted = Pattern.begin("a").where(condition)
    for rows in (dicts, pd.DataFrame(dicts)):
        on_spark = wanted.match(spark.createDataFrame(rows), order_by="t").matches.collect()
        in_memory = wanted.match_events(rows, order_by="t").matches
        assert sorted(row["a"]["t"] for row in on_spark) == sorted(match["a"]["t"] for match in in_memory)
