"""MATCH_RECOGNIZE on Spark: a part of the recorded cases, types, functions that only Spark has, and whole queries."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conformance import run as conformance
from match_recognize.vendor_queries import DATABRICKS, FLINK

from cepheid import ConditionError, InputError, Limits, MalformedPatternError, RowPattern, sql
from cepheid.cli import main

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CASES = Path(__file__).parents[1] / "conformance" / "sql"
PRICES = [("A", day, float(price)) for day, price in enumerate([10, 8, 5, 7, 9, 9])] + [
    ("B", day, float(price)) for day, price in enumerate([3, 2, 4])
]
FALLS = """
    PARTITION BY symbol ORDER BY day
    MEASURES FIRST(day) AS since, LAST(DOWN.price) AS bottom, COUNT(*) AS n
    PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price)
"""


@pytest.fixture(scope="module")
def prices(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(PRICES, "symbol string, day int, price double")


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_recorded_cases(spark: SparkSession) -> None:
    cases = [case for name in ("probes", "random") for case in conformance.read_sql(CASES / f"{name}.jsonl.gz")][::75]
    tally = conformance.run_sql(cases, conformance.batch(spark))
    assert tally.problems == []
    assert tally.passes == len(cases) > 20


def test_types_are_those_of_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("k", 1, Decimal("1.50"), [1], 2.0), ("k", 2, Decimal("2.25"), [2, 3], None)],
        "p string, t int, d decimal(5,2), a array<int>, f float",
    )
    found = RowPattern.parse(
        "PARTITION BY p ORDER BY t MEASURES SUM(d) AS s, AVG(d) AS m, LAST(a) AS a, MAX(f) AS f, COUNT(*) AS n, "
        "ARRAY_AGG(d) AS all, CLASSIFIER() AS c, FIRST(t) AS t, AVG(t) AS mt PATTERN (A+)"
    ).match(frame)
    assert found.matches.dtypes == [
        ("p", "string"),
        ("s", "decimal(15,2)"),
        ("m", "decimal(9,6)"),
        ("a", "array<int>"),
        ("f", "float"),
        ("n", "bigint"),
        ("all", "array<decimal(5,2)>"),
        ("c", "string"),
        ("t", "int"),
        ("mt", "double"),
    ]
    [row] = found.matches.collect()
    assert tuple(row) == (
        "k",
        Decimal("3.75"),
        Decimal("1.875000"),
        [2, 3],
        2.0,
        2,
        [Decimal("1.50"), Decimal("2.25")],
        "A",
        1,
        1.5,
    )


def test_functions_that_only_spark_has(prices: DataFrame) -> None:
    found = RowPattern.parse(
        "PARTITION BY symbol ORDER BY day MEASURES hex(LAST(symbol)) AS h, LAST(soundex(symbol)) AS s, "
        "format_number(SUM(price), 1) AS total PATTERN (A B+) "
        "DEFINE A AS levenshtein(symbol, 'A') = 0, B AS B.price < PREV(B.price) AND bit_count(day) < 3"
    ).match(prices)
    assert rows(found.matches) == [("A", "41", "A000", "23.0")]
    with pytest.raises(MalformedPatternError, match="computed by Spark only"):
        RowPattern.parse("PARTITION BY symbol MEASURES soundex(symbol) AS s PATTERN (A)").match_events(
            [{"symbol": "x"}]
        )


def test_a_function_that_nobody_has(prices: DataFrame) -> None:
    clause = "PARTITION BY symbol ORDER BY day MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS price > PERV(price)"
    with pytest.raises(ConditionError, match=r"column 89: there is no function `perv`(.|\n)*did you mean `PREV`\?"):
        RowPattern.parse(clause).match(prices)


def test_all_rows(prices: DataFrame) -> None:
    found = RowPattern.parse(
        "PARTITION BY symbol ORDER BY day MEASURES MATCH_NUMBER() AS n, 10 / COUNT(*) AS c "
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE B AS B.price < A.price"
    ).match(prices.where("day < 4"))
    assert found.matches.columns == ["symbol", "day", "n", "c", "price"]
    assert rows(found.matches) == [
        ("A", 0, 1, 10.0, 10.0),
        ("A", 1, 1, 5.0, 8.0),
        ("A", 2, None, None, 5.0),
        ("A", 3, None, None, 7.0),
        ("B", 0, 1, 10.0, 3.0),
        ("B", 1, 1, 5.0, 2.0),
        ("B", 2, None, None, 4.0),
    ]


def test_what_the_machine_lacks_runs_by_the_reference(prices: DataFrame) -> None:
    found = RowPattern.parse(
        "PARTITION BY symbol ORDER BY day MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS COUNT(DISTINCT price) < 3"
    ).match(prices)
    assert rows(found.matches) == [("A", 2), ("A", 2), ("A", 2), ("B", 1), ("B", 2)]


def test_a_bucket_that_is_too_large_names_its_key(prices: DataFrame) -> None:
    whole = prices.coalesce(1)  # one cell, so that the bucket is refused with all its rows
    found = RowPattern.parse(FALLS).match(whole, limits=Limits(max_bucket_bytes=10), buckets=1)
    with pytest.raises(Exception, match=r"Its largest key so far is symbol = 'A' with 6 of 9 rows"):
        found.matches.collect()


@pytest.mark.parametrize("condition", ["price < 6", "price < 6 AND day >= 0", "price < 6 AND hex(day) IS NOT NULL"])
@pytest.mark.parametrize("key", ["CAST(ascii(symbol) AS SMALLINT)", "make_date(2025, 1, ascii(symbol) - 60)", "symbol"])
def test_whoever_computes_buckets_and_conditions(prices: DataFrame, condition: str, key: str) -> None:
    """Spark or the workers, by the types of keys and what conditions read; one key is NULL."""
    measures = "MEASURES FIRST(price) AS f, COUNT(L.price) AS n"
    clause = f"PARTITION BY k ORDER BY day {measures} PATTERN (A L+) DEFINE L AS {condition}"
    given = prices.selectExpr(f"CASE WHEN symbol <> 'B' THEN {key} END AS k", "day", "price").repartition(3)
    found = RowPattern.parse(clause).match(given, buckets=3).matches
    portable = RowPattern.parse(clause.replace("hex(day)", "day"))
    expected = portable.match_events(given.toArrow()).matches
    assert sorted(map(tuple, found.collect()), key=str) == sorted((tuple(row.values()) for row in expected), key=str)


@pytest.mark.parametrize("definition", ["", "DEFINE A AS TRUE"])
def test_a_pattern_that_reads_no_column_has_all_rows(prices: DataFrame, definition: str) -> None:
    found = RowPattern.parse(f"MEASURES COUNT(*) AS n PATTERN (A+) {definition}").match(prices)
    assert rows(found.matches) == [(len(PRICES),)]


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_documented_queries_run_unchanged(spark: SparkSession) -> None:
    for vendor in (*FLINK, *DATABRICKS):
        frame = spark.createDataFrame(vendor.rows)
        found = [tuple(row) for row in sql(vendor.query, spark, **{vendor.table: frame}).collect()]
        assert sorted(found, key=str) == sorted(vendor.expected, key=str), vendor.name


def test_a_query_with_tables_given_by_name(spark: SparkSession, prices: DataFrame) -> None:
    query = f"SELECT symbol, upper(symbol) AS u, n FROM trades MATCH_RECOGNIZE ({FALLS}) AS m WHERE m.bottom < 5"
    assert rows(sql(query, spark, trades=prices)) == [("B", "B", 2)]
    assert rows(sql(query, trades=prices)) == [("B", "B", 2)]


def test_views_joins_common_tables_and_nesting(spark: SparkSession, prices: DataFrame) -> None:
    prices.createOrReplaceTempView("price_view")
    query = f"""
        WITH cheap AS (SELECT * FROM price_view WHERE price < 10 AND symbol <> '{{x}}'),
             falls AS (SELECT * FROM cheap AS c MATCH_RECOGNIZE ({FALLS}) AS f)
        SELECT falls.symbol, falls.n, lengths.n AS longest
        FROM falls JOIN (
            SELECT * FROM falls
        ) MATCH_RECOGNIZE (PARTITION BY symbol MEASURES MAX(n) AS n PATTERN (X+)) lengths
        ON falls.symbol = lengths.symbol
    """
    assert rows(sql(query, spark)) == [("A", 2, 2), ("B", 2, 2)]


def test_statements_that_write(spark: SparkSession, prices: DataFrame) -> None:
    prices.createOrReplaceTempView("price_view")
    spark.sql("DROP TABLE IF EXISTS falls")
    sql(f"CREATE TABLE falls AS SELECT symbol, n FROM price_view MATCH_RECOGNIZE ({FALLS}) AS m", spark)
    assert rows(spark.table("falls")) == [("A", 3), ("B", 2)]
    spark.sql("DROP TABLE falls")


def test_a_query_without_a_clause_is_sparks(spark: SparkSession, prices: DataFrame) -> None:
    assert rows(sql("SELECT count(*) AS n FROM trades", spark, trades=prices)) == [(9,)]
    assert rows(sql("SELECT '{a}' AS s", spark)) == [("{a}",)]


def test_errors_show_the_place_in_the_query(spark: SparkSession, prices: DataFrame) -> None:
    query = "SELECT *\nFROM trades\nMATCH_RECOGNIZE (PARTITION BY symbol PATTERN (A) DEFINE A AS prize > 1)"
    with pytest.raises(MalformedPatternError, match=r"line 3, column 62: there is no column `prize`"):
        sql(query, spark, trades=prices)
    with pytest.raises(InputError, match="trades= is a list"):
        sql(query, spark, trades=[])


def test_the_command_line(
    spark: SparkSession, prices: DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices.write.csv(str(tmp_path / "prices.csv"), header=True)
    query = tmp_path / "falls.sql"
    query.write_text(f"SELECT symbol, n FROM trades MATCH_RECOGNIZE ({FALLS}) AS m ORDER BY 1;\n", encoding="utf-8")
    table = f"trades={tmp_path / 'prices.csv'}"
    assert main(["sql", str(query), "--table", table]) == 0
    assert "|A     |3  |" in capsys.readouterr().out
    assert main(["sql", str(query), "--table", table, "-o", str(tmp_path / "out")]) == 0
    assert rows(spark.read.parquet(str(tmp_path / "out"))) == [("A", 3), ("B", 2)]
    assert main(["sql", "SELECT * FROM trades MATCH_RECOGNIZE (PATTERN ())", "--table", table]) == 2
    assert "the empty pattern is written ()" in capsys.readouterr().err
