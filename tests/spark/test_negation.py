"""Negation on batch DataFrames: random patterns, and every place by name, give what the definition gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from syntax.strategies import negation_patterns

from cepheid import InputError, Pattern, SkipError
from cepheid.conditions import Schema, bind
from cepheid.conditions.types import LONG, STRING
from cepheid.reference import definition
from cepheid.syntax.tree import PatternTree

SCHEMA = Schema.of([("key", LONG), ("t", LONG), ("name", STRING), ("price", LONG)])
streams = st.lists(
    st.tuples(st.integers(1, 2), st.integers(1, 3), st.sampled_from("abcd"), st.one_of(st.integers(0, 9), st.none())),
    min_size=4,
    max_size=24,
)
Found = set[tuple[tuple[str, int], ...]]


def by_definition(tree: PatternTree, rows: list[dict[str, Any]]) -> Found:
    found: Found = set()
    for key in {row["key"] for row in rows}:
        events = [row for row in rows if row["key"] == key]
        times = [row["t"] for row in events]
        outcome = definition.evaluate(tree, bind(tree, SCHEMA), events, times, end_of_input=True)
        found |= {tuple((name, times[index]) for index, name in match.taken) for match in outcome.matches}
    return found


def by_spark(spark: SparkSession, pattern: Pattern, rows: list[dict[str, Any]], **options: Any) -> Found:
    frame = spark.createDataFrame(
        [(row["key"], row["t"], row["name"], row["price"]) for row in rows],
        "key long, t long, name string, price long",
    )
    matches = pattern.match(frame, partition_by="key", order_by="t", buckets=2, **options).matches
    variables = [name for name in matches.columns if name not in ("key", "match_id", "start_time", "end_time")]
    found: Found = set()
    for row in matches.collect():
        taken = []
        for name in variables:
            events = row[name] if isinstance(row[name], list) else [row[name]] if row[name] else []
            taken += [(name, event["t"]) for event in events]
        found.add(tuple(sorted(taken, key=lambda entry: entry[1])))
    return found


def stream_of(drawn: list[tuple[int, int, str, int | None]]) -> list[dict[str, Any]]:
    """Times are different for all events, so that one names its event."""
    rows, time = [], 0
    for key, step, name, price in drawn:
        time += step
        rows.append({"key": key, "t": time, "name": name, "price": price})
    return rows


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(negation_patterns(), streams)
def test_random_patterns(spark: SparkSession, tree: PatternTree, drawn: list[tuple[int, int, str, int | None]]) -> None:
    rows = stream_of(drawn)
    try:
        expected = by_definition(tree, rows)
    except SkipError:
        return
    try:
        assert by_spark(spark, Pattern(tree), rows) == expected
    except InputError as error:
        assert "the engine cannot run this pattern" in str(error)


A, B, C = "name = 'a'", "name = 'b'", "name = 'c'"
A_B = Pattern.begin("a").where(A).not_followed_by("x").where(C).followed_by_any("b").where(B).within(9)
PLACES = {
    "between": A_B,
    "next": Pattern.begin("a").where(A).not_next("x").where(C).followed_by("b").where(B).within(9),
    "reads": Pattern.begin("a").where(A).not_followed_by("x").where("price < a.price").followed_by_any("b").where(B),
    "in a row": Pattern.begin("a")
    .where(A)
    .not_followed_by("x")
    .where(C, "price > 4")
    .not_followed_by("y")
    .where("name = 'd'")
    .followed_by_any("b")
    .where(B)
    .within(9),
    "at the end": Pattern.begin("a").where(A).not_followed_by("x").where("price > a.price").within(4),
    "at the end, own window": Pattern.begin("a")
    .where(A)
    .followed_by("b")
    .where(B)
    .not_followed_by("x")
    .where(C)
    .within(3, since="previous"),
    "at the end, next": Pattern.begin("a").where(A).not_next("x").where(C),
    "at the start": Pattern.not_before("x").where(C).begin("a").where(A).followed_by("b").where(B).within(9),
    "at the start, reads": Pattern.not_before("x")
    .where("name = 'c' AND price < b.price")
    .begin("a")
    .where(A)
    .followed_by_any("b")
    .where(B)
    .within(20),
    "behind a loop": Pattern.begin("a")
    .where(A)
    .one_or_more()
    .not_followed_by("x")
    .where(C)
    .followed_by("b")
    .where(B)
    .within(20),
}
_CHANCE = random.Random(3)
ROWS = stream_of(
    [
        (_CHANCE.randint(1, 2), _CHANCE.randint(1, 2), _CHANCE.choice("abcd"), _CHANCE.choice([None, *range(10)]))
        for _ in range(80)
    ]
)


@pytest.mark.parametrize("place", PLACES)
def test_every_place(spark: SparkSession, place: str) -> None:
    expected = by_definition(PLACES[place].tree, ROWS)
    assert expected
    assert by_spark(spark, PLACES[place], ROWS) == expected
