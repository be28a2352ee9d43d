"""`why`, `broken` and `unmatched` on batch DataFrames say what they say of rows in memory."""

from __future__ import annotations

from typing import Any

import pytest
from explain.mistakes import SHOP
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid import InputError, Pattern, skip
from cepheid.explain.why.model import Kind
from cepheid.spark.batch import Found

STRICT = (
    Pattern.begin("cart").where("kind = 'cart'").next("buy").where("kind = 'buy' AND price > cart.price").within(100)
)
PAIR = (
    Pattern.begin("cart").where("kind = 'cart'").not_followed_by("help").where("kind = 'help' AND id > 3")
    .followed_by("buy").where("kind = 'buy'").within(100).skip(skip.past_last_event)
)  # fmt: skip
BY: dict[str, Any] = {"partition_by": "id", "order_by": "t"}


@pytest.fixture(scope="module")
def shop(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(SHOP, "id long, t long, kind string, price long, note string")  # type: ignore[type-var]


def test_counts_are_those_of_all_rows(shop: DataFrame) -> None:
    why, in_memory = STRICT.why(shop, **BY), STRICT.match_events(SHOP, **BY).why()
    assert (why.extent.events, why.extent.keys) == (64, 8)
    assert 0 < why.extent.followed_keys <= 4
    assert [one.fits for one in why.elements] == [one.fits for one in in_memory.elements]
    assert [one.parts for one in why.elements] == [one.parts for one in in_memory.elements]
    assert why.reasons[0].kind is Kind.STRICT
    assert "that were followed (conditions are counted over 64 rows of 8 keys)" in str(why)


def test_one_key(shop: DataFrame) -> None:
    why = PAIR.why(shop, **BY, key={"id": 5})
    assert (why.extent.events, why.matches, why.account.key) == (8, 0, {"id": 5})
    assert why.reasons[0].kind is Kind.NOT
    found = PAIR.match(shop, **BY)
    assert isinstance(found, Found)
    assert str(found.why(key={"id": 5})) == str(why)
    assert [row["fits"] for row in found.funnel(key={"id": 5}).rows] == [1, 1, 1]
    assert PAIR.why(shop, **BY, key={"id": 2}).matches == 1
    with pytest.raises(InputError, match="no row has it"):
        PAIR.why(shop, **BY, key={"id": 99})


def test_one_match_and_failed_runs_on_the_timeline(shop: DataFrame) -> None:
    found, in_memory = PAIR.match(shop, **BY, measures={"dear": "MAX(buy.price)"}), PAIR.match_events(SHOP, **BY)
    assert isinstance(found, Found)
    match_id = in_memory.matches[1]["match_id"]
    assert str(found.why(match_id)) == str(in_memory.why(match_id))
    with pytest.raises(InputError, match="no match has this match_id"):
        found.why("nothing")
    nothing = STRICT.match(shop, **BY)
    assert isinstance(nothing, Found)
    html = nothing.timeline(n=2).html
    assert html.count('class="lane failed"') == 2
    assert "the next event had to be buy" in html


def test_values_come_from_all_rows(shop: DataFrame) -> None:
    why = Pattern.begin("a").where("kind = 'Cart'").followed_by("b").within(9).why(shop, **BY)
    assert why.reasons[0].kind is Kind.CASE
    assert "'cart' on 8 rows" in why.reasons[0].text


def test_what_only_spark_computes_is_explained_with_its_values(shop: DataFrame) -> None:
    near = Pattern.begin("cart").where("levenshtein(kind, 'cart') = 0").next("buy").where("soundex(kind) = 'X000'")
    why = near.within(100).why(shop, **BY, key={"id": 1})
    assert [one.fits for one in why.elements] == [1, 0]
    assert why.reasons[0].kind is Kind.VALUE and why.reasons[0].element == "buy"
    assert "soundex(kind) takes" in why.reasons[0].text
    [run] = why.furthest
    assert str(run.near[0].false[0]).startswith("soundex(kind) = 'X000': ")
    column = Pattern.begin("cart").where(F.col("kind") == "cart").next("buy").where("kind = 'buy'").within(100)
    assert column.why(shop, **BY).reasons[0].kind is Kind.STRICT
    found = column.match(shop, **BY)
    assert isinstance(found, Found)
    told = [(row["id"], row["reason"], row["event"]["kind"]) for row in found.broken.collect()]
    assert sorted(told) == [(key, "strict link broken", "view") for key in range(8)]


def test_broken_and_unmatched(shop: DataFrame) -> None:
    found, in_memory = PAIR.match(shop, **BY), PAIR.match_events(SHOP, **BY)
    assert isinstance(found, Found)

    def sorted_by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows, key=lambda row: (row["id"], row.get("t", 0), row.get("start_time", 0)))

    assert len(in_memory.unmatched) == 64 - 2 * len(in_memory)
    assert sorted_by_key([row.asDict() for row in found.unmatched.collect()]) == sorted_by_key(in_memory.unmatched)
    assert {row["reason"] for row in in_memory.broken} == {"not violated"}
    assert [row["id"] for row in in_memory.broken] == [4, 5, 6, 7]
    collected = [row.asDict(recursive=True) for row in found.broken.collect()]
    assert sorted_by_key(collected) == sorted_by_key(in_memory.broken)
    assert collected[0]["event"]["kind"] == "help"
