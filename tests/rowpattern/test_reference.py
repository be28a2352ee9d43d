"""The literal evaluator on what the corpus does not ask: DISTINCT, FILTER, WITHIN, budgets, conditions that fail."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from cepheid.conditions import Schema
from cepheid.errors import EvaluationError, LimitError, MalformedPatternError, SkipError
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import bind
from cepheid.rows.given import to_table
from cepheid.rows.row_order import ordered
from cepheid.rows.row_patterns import by_reference


def found(clause: str, rows: list[dict[str, Any]] | pa.Table, **options: int) -> list[dict[str, Any]]:
    table = to_table(rows)
    bound = bind(read(clause), Schema.from_arrow(table.schema))
    return list(by_reference(bound, ordered(table, bound.partition_by, bound.order_by), **options).to_pylist())


def values(*numbers: int | None) -> list[dict[str, Any]]:
    return [{"t": place, "v": number} for place, number in enumerate(numbers)]


def test_distinct_and_filter() -> None:
    clause = (
        "ORDER BY t MEASURES COUNT(DISTINCT v) AS d, SUM(DISTINCT v) AS s, COUNT(*) FILTER (WHERE v > 1) AS f, "
        "SUM(A.v) FILTER (WHERE A.v > 1) AS g, COUNT_IF(v > 1) AS c, BOOL_AND(v > 0) AS e, BOOL_OR(v > 2) AS o, "
        "COLLECT_SET(v) AS u, ARRAY_AGG(DISTINCT v) AS w PATTERN (A+)"
    )
    assert found(clause, values(1, 2, 2, None, 1)) == [
        {"d": 2, "s": 3, "f": 2, "g": 4, "c": 2, "e": True, "o": False, "u": [1, 2], "w": [1, 2]}
    ]


def test_distinct_in_define() -> None:
    clause = "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS COUNT(DISTINCT v) <= 2"
    assert found(clause, values(1, 2, 1, 3, 3, 4)) == [{"n": 3}, {"n": 3}]


def test_aggregate_over_labels() -> None:
    clause = (
        "ORDER BY t MEASURES SUM(CASE WHEN CLASSIFIER() = 'B' THEN v END) AS b, MAX(CLASSIFIER(U)) AS m, "
        "LAST(CLASSIFIER() || CAST(v AS STRING)) AS l PATTERN (A B+ C) SUBSET U = (A, B) DEFINE B AS v < 10"
    )
    assert found(clause, values(1, 2, 3, 10)) == [{"b": 5, "m": "B", "l": "C10"}]


def test_within_is_less_than() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"t": begin + timedelta(minutes=minute), "v": minute} for minute in (0, 30, 60)]
    clause = "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+) WITHIN INTERVAL '{}' MINUTE"
    assert found(clause.format(60), rows) == [{"n": 2}, {"n": 1}]
    assert found(clause.format(61), rows) == [{"n": 3}]


def test_an_empty_table_has_no_match() -> None:
    """Rule 2.1."""
    table = pa.table({"v": pa.array([], pa.int64())})
    assert found("MEASURES COUNT(*) AS n PATTERN (())", table) == []


def test_null_and_nan_have_their_place_in_the_order() -> None:
    rows = [{"w": value} for value in (float("nan"), None, 1.0, float("inf"))]
    labels = "MEASURES ARRAY_AGG(CAST(COALESCE(w, 0.0D) AS STRING)) AS all PATTERN (A+)"
    assert found(f"ORDER BY w {labels}", rows) == [{"all": ["0.0", "1.0", "Infinity", "NaN"]}]
    assert found(f"ORDER BY w DESC {labels}", rows) == [{"all": ["NaN", "Infinity", "1.0", "0.0"]}]
    assert found(f"ORDER BY w DESC NULLS FIRST {labels}", rows) == [{"all": ["0.0", "NaN", "Infinity", "1.0"]}]


def test_a_search_that_explodes_is_given_up() -> None:
    clause = "ORDER BY t MEASURES COUNT(*) AS n PATTERN ((A | B)* C) DEFINE C AS SUM(A.v) < 0"
    with pytest.raises(LimitError, match=r"begins at row 0 of its partition went back more than 5,000 times"):
        found(clause, values(*range(1, 30)), max_steps=5_000)


def test_a_failing_condition_names_the_variable() -> None:
    with pytest.raises(EvaluationError, match=r"DEFINE A: .*zero"):
        found("ORDER BY t MEASURES A.v AS v PATTERN (A) DEFINE A AS 1 / v > 0", values(0))


def test_skip_errors_say_what_to_do() -> None:
    clause = "ORDER BY t MEASURES COUNT(*) AS n AFTER MATCH SKIP TO {} PATTERN (A B?) DEFINE B AS v > 5"
    with pytest.raises(SkipError, match="no row of the match has that label"):
        found(clause.format("B"), values(1, 2))
    with pytest.raises(SkipError, match="first row of the match"):
        found(clause.format("FIRST A"), values(1, 2))


def test_what_only_spark_computes_is_refused_by_name() -> None:
    with pytest.raises(MalformedPatternError, match=r"line 1, column \d+: `levenshtein` is computed by Spark only"):
        found("MEASURES levenshtein(A.s, A.s) AS v PATTERN (A)", [{"s": "x"}])


def test_long_matches_do_not_recurse() -> None:
    assert found("ORDER BY t MEASURES COUNT(*) AS n PATTERN ((A | B)+)", values(*range(3_000))) == [{"n": 3_000}]
