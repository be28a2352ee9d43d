"""The face for SQL without Spark: parse, match in memory, explain, draw, JSON."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from cepheid import InputError, LimitError, Limits, MalformedPatternError, RowPattern

V_SHAPE = """
    PARTITION BY symbol ORDER BY day
    MEASURES STRT.day AS start_day, LAST(DOWN.price) AS bottom, LAST(UP.price) AS top
    PATTERN (STRT DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
"""
PRICES = [
    {"symbol": symbol, "day": day, "price": price}
    for symbol, prices in {"A": [10, 8, 5, 7, 9, 9], "B": [3, 2, 4]}.items()
    for day, price in enumerate(prices)
]
FOUND = [
    {"symbol": "A", "start_day": 0, "bottom": 5, "top": 9},
    {"symbol": "B", "start_day": 0, "bottom": 2, "top": 4},
]


def test_rows_of_every_form() -> None:
    pattern = RowPattern.parse(V_SHAPE)
    for rows in (PRICES, list(reversed(PRICES)), pd.DataFrame(PRICES), pa.Table.from_pylist(PRICES)):
        assert sorted(pattern.match_events(rows).matches, key=lambda match: str(match["symbol"])) == FOUND
    assert pattern.match_events([]).matches == []
    assert pattern.match_events(PRICES).matches_table.schema.field("top").type == pa.int64()


def test_the_columns_must_be_there() -> None:
    with pytest.raises(MalformedPatternError, match="there is no column `symbol`"):
        RowPattern.parse(V_SHAPE).match_events([{"day": 1, "price": 2}])


def test_text_and_json_read_back() -> None:
    pattern = RowPattern.parse(V_SHAPE)
    assert RowPattern.parse(str(pattern)) == pattern
    assert RowPattern.from_json(pattern.to_json()) == pattern
    within = RowPattern.parse(
        'PARTITION BY p ORDER BY t PATTERN ("a" B) WITHIN INTERVAL 90 MINUTES SUBSET U = (B, "a")'
    )
    assert RowPattern.from_json(within.to_json()) == within
    assert hash(within) == hash(RowPattern.from_json(within.to_json()))
    for wrong in ("", "{}", '{"row_pattern": {"version": 99}}'):
        with pytest.raises(MalformedPatternError, match="row pattern as JSON"):
            RowPattern.from_json(wrong)


def test_explain_says_where_conditions_are_computed() -> None:
    pattern = RowPattern.parse(
        "PATTERN (STRT A B) DEFINE A AS v > 1 AND v < PREV(v), B AS PREV(CLASSIFIER(), 2) = 'STRT'".replace(
            "PATTERN", "MEASURES COUNT(*) AS n PATTERN", 1
        )
    )
    told = pattern.explain()
    assert "the row alone, by Spark:               v > 1" in told
    assert "with its neighbours, on whole columns: v < PREV(v)" in told
    assert "Every way is tried" in told
    assert any("PARTITION BY" in warning for warning in told.warnings)
    assert any("exponentially" in warning for warning in told.warnings)
    assert not any("exponentially" in warning for warning in RowPattern.parse(V_SHAPE).explain().warnings)


def test_diagram() -> None:
    pattern = RowPattern.parse("PARTITION BY p PATTERN (A (B | {- C -})* D?) DEFINE B AS v > 1")
    drawn = str(pattern.diagram())
    assert drawn.startswith("<svg")
    for text in ("the first that fits", "not shown", "any number", "optional", "v &gt; 1", "any row", "PAST LAST ROW"):
        assert text in drawn
    assert str(pattern.diagram("mermaid")).startswith("flowchart LR")
    assert "digraph" in str(pattern.diagram("dot"))
    assert "╭─ not shown ─" in str(pattern.diagram("text"))
    with pytest.raises(InputError, match="'svg', 'mermaid', 'dot', 'text'"):
        pattern.diagram("png")  # type: ignore[arg-type]


def test_limits() -> None:
    pattern = RowPattern.parse("MEASURES COUNT(*) AS n PATTERN ((A | B)* C) DEFINE C AS PREV(CLASSIFIER(), 9) = 'X'")
    with pytest.raises(LimitError, match="more than 1,000 times"):
        pattern.match_events([{"v": 1}] * 30, limits=Limits(max_steps=1_000))


def test_what_is_no_text() -> None:
    with pytest.raises(InputError, match="not text"):
        RowPattern.parse(3)  # type: ignore[arg-type]
