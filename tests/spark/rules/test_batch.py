"""Sets of rules on batch DataFrames: the same answers as each rule by itself, in one scan."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cepheid import Limits, Pattern, PatternSet
from cepheid.errors import CepheidError

EVENTS = pa.table(
    {
        "stock": ["x", "x", "y", "x", "y", None, None],
        "shop": ["p", "q", "p", "p", "q", "p", "q"],
        "t": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int64()),
        "price": pa.array([3, 12, 8, 2, None, 1, 30], pa.int64()),
        "name": ["a", "b", "c", "a", "b", "a", "b"],
    }
)
RISE = Pattern.parse("low[price < 5] ~> high[price > 6]")
CLAUSE = """
    MEASURES FIRST(price) + 1 AS first, upper(LAST(B.name)) AS last, MATCH_NUMBER() AS n, AVG(B.price) AS mean
    AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{1,2}) DEFINE A AS price < 9, B AS name <> A.name AND t > PREV(t)
"""
RULES = (
    PatternSet({"by stock": RISE}, partition_by="stock")
    .add("by shop", RISE, partition_by="shop", severity="high", tags=["one", "two"])
    .add("all", RISE, measures={"twice": "2 * SUM(high.price)", "o'clock": "FIRST(low.name)"})
    .add(
        "larger", "a ~> b[price > a.price * 2 AND upper(name) = 'B']", partition_by="stock", measures={"n": "SUM(b.t)"}
    )
    .add("next", "low[price < 5] -> b[name = 'b']", partition_by="shop")
    .add("rows by shop", f"PARTITION BY shop {CLAUSE}")
    .add("rows", CLAUSE, severity="low")
)


def answers(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(
        (row["rule"], row["match_id"], row["stock"], row["shop"], str(sorted(row["measures"].items()))) for row in rows
    )


def test_a_set_finds_what_it_finds_in_memory(spark: SparkSession) -> None:
    found = RULES.match(spark.createDataFrame(EVENTS), order_by="t")
    rows = [row.asDict(recursive=True) for row in found.matches.collect()]
    memory = RULES.match_events(EVENTS, order_by="t").matches
    assert answers(rows) == answers(memory)
    assert found.matches.columns == list(memory[0])
    by_id = {(row["rule"], row["match_id"]): row for row in rows}
    for match in memory:
        row = by_id[match["rule"], match["match_id"]]
        assert (row["events"], row["tags"], row["severity"]) == (match["events"], match["tags"], match["severity"])
    assert {row["rule"]: row["matches"] for row in found.counts.collect()} == RULES.match_events(
        EVENTS, order_by="t"
    ).counts


def test_one_rule_is_typed_as_by_itself(spark: SparkSession) -> None:
    found = RULES.match(spark.createDataFrame(EVENTS), order_by="t")
    alone = RULES.match_events(EVENTS, order_by="t")["rows by shop"].matches
    assert alone and sorted(map(str, (row.asDict() for row in found["rows by shop"].matches.collect()))) == sorted(
        map(str, alone)
    )
    [match] = found["all"].matches.orderBy("start_time").limit(1).collect()
    assert (match["twice"], match["o'clock"]) == (24, "a")
    [by_shop] = [row for row in found["by shop"].matches.collect() if row["start_time"] == 1]
    assert by_shop["high"]["price"] == 8
    with pytest.raises(CepheidError, match="no rule 'nothing'"):
        found["nothing"]


def test_one_scan_and_one_move_of_the_rows(spark: SparkSession, tmp_path: Any) -> None:
    spark.createDataFrame(EVENTS).write.parquet(str(tmp_path / "events"))
    found = RULES.match(spark.read.parquet(str(tmp_path / "events")), order_by="t")
    plan = found.matches._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan") == 1
    assert plan.count("Exchange") == 1


def test_timeouts_come_out_with_their_rule(spark: SparkSession) -> None:
    rules = PatternSet({"soon": "low[price < 5] ~> high[price > 100] within 2"}, partition_by="stock")
    [row, *_] = rules.match(spark.createDataFrame(EVENTS), order_by="t").timeouts.orderBy("at").collect()
    assert (row["rule"], row["at"], [event["variable"] for event in row["events"]]) == ("soon", 3, ["low"])


def test_errors_name_the_rule(spark: SparkSession) -> None:
    rows = spark.createDataFrame(EVENTS)
    with pytest.raises(CepheidError, match="rule 'wrong', element 'a'"):
        RULES.add("wrong", "a[prize > 1]").match(rows, order_by="t")
    with pytest.raises(Exception, match="1 rows have no value in the order columns t, price"):
        RULES.match(rows, order_by=["t", "price"]).matches.collect()
    assert RULES.match(rows, order_by=["t", "price"], nulls="drop").matches.count() > 0
    with pytest.raises(Exception, match="rule 'all': the event at t = 7"):
        RULES.match(rows, order_by="t", limits=Limits(max_runs=1)).matches.collect()


def test_many_conditions_need_several_words(spark: SparkSession) -> None:
    texts = {f"rule {n}": f"low[price < {n}] ~> high[price > {n} AND length(name) < {n % 7 + 1}]" for n in range(150)}
    rules = PatternSet(texts, partition_by="shop")
    found = rules.match(spark.createDataFrame(EVENTS), order_by="t", columns="price")
    counts = Counter(row["rule"] for row in found.matches.collect())
    for name in ("rule 3", "rule 7", "rule 10", "rule 149"):
        single = Pattern.parse(texts[name]).match_batch(
            spark.createDataFrame(EVENTS), partition_by="shop", order_by="t"
        )
        assert counts[name] == single.matches.count()
    assert "150 rules" in str(found.explain())


def test_ties_go_by_what_the_events_hold(spark: SparkSession) -> None:
    """Events of one key and moment, some of which differ only in what does not travel: whatever their order, the answer
    is the same, and it is that of memory where the columns tell them apart."""
    rows = [{"k": "x", "t": 1 + n // 6, "n": n % 3, "name": "ab"[n % 2]} for n in range(24)]
    rules = PatternSet({"pair": "a[name = 'a'] ~> b[name = 'b']", "three": "a[n > 0]{3}"}, partition_by="k")

    def found(rows: list[dict[str, Any]], **more: Any) -> list[Any]:
        matches = rules.match(spark.createDataFrame(rows), order_by="t", buckets=2, **more).matches
        return sorted((row["rule"], row["match_id"], str(row["events"])) for row in matches.collect())

    assert found(rows, columns="t") == found(rows[::-1], columns="t")
    assert found(rows) == found(rows[1::2] + rows[::2])
