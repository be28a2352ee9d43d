"""The Arrow evaluator by example: what it computes without going through the rows, what it refuses, how it fails."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.conditions import Schema, bind, parse
from cepheid.conditions.arrow import evaluation as vectorized
from cepheid.conditions.arrow.evaluation import NotVectorized, evaluate, evaluate_or_fall_back
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Expression, SparkColumn
from cepheid.conditions.scope import Scope
from cepheid.errors import ConditionError, EvaluationError, InputError
from cepheid.syntax.tree import Element, Link, PatternTree, Sequence, SqlText, Variable

NAN = float("nan")
ROUNDED = ("1.5", "-2.3", None, "0.0", "5.0")
TABLE = pa.table(
    {
        "name": ["a", "b", None, "añ%", ""],
        "n": pa.array([1, -7, None, 2**31 - 1, 0], pa.int32()),
        "m": pa.array([3, None, -(2**63), 5, 0], pa.int64()),
        "d": [1.0, NAN, None, float("inf"), -0.0],
        "price": pa.array(
            [Decimal("1.50"), Decimal("-2.25"), None, Decimal("0.00"), Decimal("5.00")], pa.decimal128(9, 2)
        ),
        "flag": [True, False, None, True, False],
        "at": pa.array([datetime(2024, 1, 1, hour, 30, tzinfo=UTC) for hour in range(4)] + [None]),
    }
)


def bound(text: str, table: pa.Table = TABLE) -> Expression:
    """The expression as a condition on the columns of a table binds it."""
    scope = Scope("condition", Schema.from_arrow(table.schema), (), (), frozenset())
    return Checker(scope).bind(parse(text))


def values(text: str, table: pa.Table = TABLE) -> list[Any]:
    return list(evaluate(bound(text, table), table).to_pylist())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = 'a'", [True, False, None, False, False]),
        ("name <> 'a'", [False, True, None, True, True]),
        ("name <=> NULL", [False, False, True, False, False]),
        ("name < 'b'", [True, False, None, True, True]),
        ("name IN ('a', 'b')", [True, True, None, False, False]),
        ("name IN ('a', NULL)", [True, None, None, None, None]),
        ("n NOT IN (1, 3000000000)", [False, True, None, True, True]),
        ("d IN (0, 1)", [True, False, None, False, True]),
        ("name LIKE 'a%'", [True, False, None, True, False]),
        ("name LIKE '__!%' ESCAPE '!'", [False, False, None, True, False]),
        ("name IS NULL", [False, False, True, False, False]),
        ("n > 0.5", [True, False, None, True, False]),
        ("n = d", [True, False, None, False, True]),
        ("m >= n", [True, None, None, False, True]),
        ("price > 1", [True, False, None, False, True]),
        ("price = 1.5", [True, False, None, False, False]),
        ("price < 1.5D", [False, True, None, True, False]),
        ("n BETWEEN -7 AND 1", [True, True, None, False, True]),
        ("d > 1", [False, True, None, True, False]),
        ("d <= CAST('NaN' AS DOUBLE)", [True, True, None, True, True]),
        ("d = d", [True, True, None, True, True]),
        ("flag AND n > 0", [True, False, None, True, False]),
        ("flag OR n IS NULL", [True, False, True, True, False]),
        ("NOT flag", [False, True, None, False, True]),
        ("flag IS NOT TRUE", [False, True, True, False, True]),
        ("n + m", [4, None, None, 2**31 + 4, 0]),
        ("n - 1L", [0, -8, None, 2**31 - 2, -1]),
        ("n * 1.5D", [1.5, -10.5, None, 1.5 * (2**31 - 1), 0.0]),
        ("n / 2", [0.5, -3.5, None, (2**31 - 1) / 2, 0.0]),
        ("n % 4", [1, -3, None, 3, 0]),
        ("n DIV 4", [0, -1, None, 2**29 - 1, 0]),
        ("price + n", [Decimal("2.50"), Decimal("-9.25"), None, Decimal("2147483647.00"), Decimal("5.00")]),
        ("ABS(n)", [1, 7, None, 2**31 - 1, 0]),
        ("COALESCE(n, m, 0)", [1, -7, -(2**63), 2**31 - 1, 0]),
        ("CASE WHEN n > 0 THEN 1 WHEN n > -7 THEN 2 WHEN n = -7 THEN 3 ELSE 4 END", [1, 3, 4, 1, 2]),
        ("CASE WHEN n > 0 THEN 'up' WHEN n < 0 THEN 'down' END", ["up", "down", None, "up", None]),
        ("IF(flag, n, price)", [Decimal("1.00"), Decimal("-2.25"), None, Decimal("2147483647.00"), Decimal("5.00")]),
        ("LEAST(0D, d)", [0.0, 0.0, 0.0, 0.0, 0.0]),
        ("LEAST(d, 0D)", [0.0, 0.0, 0.0, 0.0, -0.0]),
        ("-d", [-1.0, NAN, None, -float("inf"), 0.0]),
        ("GREATEST(n, 0)", [1, 0, 0, 2**31 - 1, 0]),
        ("UPPER(CONCAT('x', CAST(n AS STRING)))", ["X1", "X-7", None, "X2147483647", "X0"]),
        ("LENGTH(name)", [1, 1, None, 3, 0]),
        ("at >= TIMESTAMP '2024-01-01 01:30:00'", [False, True, True, True, None]),
        ("at - INTERVAL '2' HOUR < DATE '2024-01-01'", [True, True, False, False, None]),
        ("HOUR(at)", [0, 1, 2, 3, None]),
        ("1 < 2", [True] * 5),
        ("NULL", [None] * 5),
    ],
)
def test_common_expressions_are_computed_by_columns(
    text: str, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorized, "_row_by_row", lambda *_: pytest.fail("went through the rows"))
    assert [str(value) for value in values(text)] == [str(value) for value in expected]


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("n - 0Y", pa.int32()),
        ("name", pa.string()),
        ("price * price", pa.decimal128(19, 4)),
        ("CASE WHEN flag THEN 1Y ELSE 2S END", pa.int16()),
        ("at - at", pa.duration("us")),
        ("CAST(at AS DATE)", pa.date32()),
        ("COALESCE(at, at)", pa.timestamp("us", "UTC")),
        ("CAST(d AS FLOAT)", pa.float32()),
        ("NULL", pa.null()),
    ],
)
def test_the_result_has_the_type_of_the_expression(text: str, arrow: Any) -> None:
    assert evaluate(bound(text), TABLE).type == arrow
    assert evaluate(bound(text), TABLE.slice(0, 0)).type == arrow
    assert evaluate_or_fall_back(bound(text), TABLE.slice(0, 0)).type == arrow


# ── what guards what ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n <> 0 AND 2 / n > 1", [True, False, None, False, False]),
        ("n = 0 OR 2 / n > 1", [True, False, None, False, True]),
        ("CASE WHEN n = 0 THEN 0 ELSE 10 DIV n END", [10, -1, None, 0, 0]),
        ("CASE WHEN n <> 0 THEN 10 DIV n END", [10, -1, None, 0, None]),
        ("COALESCE(NULLIF(n, 0), 1 DIV (n + 1), -1)", [1, -7, -1, 2**31 - 1, 1]),
        ("n IN (1, -7, 0, 5 DIV n, 2147483647)", [True, True, None, True, True]),
        ("(NULLIF(n, 0) - (7 DIV n))", [-6, -6, None, 2**31 - 1, None]),
        ("NULLIF(n, 2147483647) < n + 1", [True, True, None, None, True]),
    ],
)
def test_what_is_not_needed_cannot_fail(text: str, expected: list[Any]) -> None:
    assert values(text) == expected


def test_unknown_does_not_stop_what_comes_behind_it() -> None:
    table = pa.table({"flag": pa.nulls(2, pa.bool_()), "n": [1, 2]})
    assert values("flag AND 8 DIV n > 7", table) == [None, False]
    assert values("flag OR 8 DIV n > 7", table) == [True, None]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2 / n > 1", "division by zero: 2.0 / 0"),
        ("n IS NULL OR 1 % n = 0", "division by zero: 1 % 0"),
        ("n + 1 > 0", "overflow: 2147483647 + 1 does not fit into int"),
        ("m - 1 > 0", "does not fit into bigint"),
        ("ABS(m) > 0", "overflow"),
        ("CAST(m AS INT) = 3", "overflow"),
        ("CAST(d AS INT) = 3", "cannot cast nan to int"),
        ("CAST(d * 1e19D AS BIGINT) = 3", "overflow"),
        ("CAST(CAST(n AS DOUBLE) + 1 AS INT) = 3", "overflow: 2147483648 does not fit into int"),
        ("FLOOR(d / 0.0001) = 3", "overflow: inf does not fit into bigint"),
        ("CAST(at + INTERVAL '3000000' DAY AS DATE) IS NULL", "overflow"),
    ],
)
def test_a_failure_is_told_as_the_evaluator_by_rows_tells_it(text: str, problem: str) -> None:
    expression = bound(text)
    for compute in (evaluate, evaluate_or_fall_back):
        with pytest.raises(EvaluationError) as raised:
            compute(expression, TABLE)
        assert problem in str(raised.value)
        assert f"in: {expression}" in str(raised.value)


def test_a_failure_shows_the_values_of_its_row() -> None:
    with pytest.raises(EvaluationError, match=r"with: m = 0, n = 0"):
        evaluate(bound("m / n > 0"), TABLE)


# ── how columns are stored ───────────────────────────────────────────────────────────────────────────────────────────


def test_dictionaries_are_computed_once_per_value_and_keep_their_nulls() -> None:
    indices = pa.array([0, 1, None, 2, 0, 1, 3], pa.int8())
    codes = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b", None, "a"]))
    table = pa.table({"code": codes, "n": list(range(7))})
    assert values("code = 'a'", table) == [True, False, None, None, True, False, True]
    assert values("code IS NULL", table) == [False, False, True, True, False, False, False]
    assert values("COALESCE(code, 'b') = 'b' AND n > 0", table) == [False, True, True, True, False, True, False]
    assert values("code", table) == ["a", "b", None, None, "a", "b", "a"]


def test_a_value_that_only_the_dictionary_has_cannot_fail() -> None:
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 1, 1, 1]), pa.array([0, 5]))
    assert values("10 DIV number", pa.table({"number": numbers})) == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (pa.array([1, 2], pa.uint8()), "c + 1 = 2"),
        (pa.array([1, 2], pa.uint32()), "c - 1L = 0"),
        (pa.array([1, 2**64 - 1], pa.uint64()), "ABS(c) = 1"),
        (pa.array([1.0, 2.0], pa.float16()), "c = 1"),
        (pa.array(["x", "y"], pa.large_string()), "CONCAT(c, 'z') = 'xz' AND c IN ('x')"),
        (pa.array(["x", "y"], pa.string_view()), "c = 'x'"),
        (pa.array([b"x", b"y"], pa.binary(1)), "c <= CAST('x' AS BINARY)"),
        (pa.array([1000, 2000], pa.timestamp("ns")), "c = TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'"),
        (pa.array([3600, 7200], pa.timestamp("s", "America/New_York")), "HOUR(c) = 1"),
        (pa.array([1, 2], pa.duration("ms")), "c = INTERVAL '0.001' SECOND"),
        (pa.array([Decimal(1), Decimal(2)], pa.decimal256(20, 2)), "c = 1.0"),
    ],
)
def test_stored_types_that_spark_has_under_another_name(stored: Any, text: str) -> None:
    assert values(text, pa.table({"c": stored})) == [True, False]


def test_times_finer_than_a_microsecond_are_not_cut() -> None:
    with pytest.raises(NotVectorized):
        values("c = c", pa.table({"c": pa.array([1001], pa.timestamp("ns"))}))


def test_chunks_are_joined_in_order() -> None:
    many = pa.concat_tables([TABLE.slice(start, 2) for start in (0, 2, 4)] * 3)
    assert values("n", many) == TABLE["n"].to_pylist() * 3
    large = pa.table({"n": np.arange(300_000)})
    assert evaluate(bound("n + 1", large), large).equals(pa.array(np.arange(1, 300_001)))


def test_moments_of_any_zone_are_instants() -> None:
    """The night in which New York's clocks were set back: half past one came twice."""
    night = [datetime(2024, 11, 3, hour, 30, tzinfo=UTC) for hour in (5, 6)]
    zoned = pa.timestamp("us", "America/New_York")
    table = pa.table({"at": pa.array([night[0]] * 2, zoned), "later": pa.array(night, zoned)})
    assert values("later > at", table) == [False, True]
    assert values("later - at", table) == [timedelta(0), timedelta(hours=1)]
    by_rows = bound("CAST(CAST(later AS STRING) AS TIMESTAMP) > at", table)
    assert evaluate_or_fall_back(by_rows, table).to_pylist() == [False, True]


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("CAST(c AS DOUBLE) > 0", "900719925474099.3"),
        ("CAST(c AS BIGINT) > 0", "1000000000000000000.0"),
        ("CAST(CAST(c AS BIGINT) AS FLOAT) > 0", "9007199254740993.0"),
    ],
)
def test_casts_that_would_round_twice_or_lose_digits_are_left_to_the_rows(text: str, digits: str) -> None:
    table = pa.table({"c": pa.array([Decimal(digits)], pa.decimal128(38, 1))})
    with pytest.raises(NotVectorized):
        values(text, table)
    assert evaluate_or_fall_back(bound(text, table), table).to_pylist() == [True]


def test_the_double_of_the_largest_bigint_is_cast_to_it() -> None:
    table = pa.table({"d": [float(1 << 63), -float(1 << 63), 1.5, None]})
    assert values("CAST(d AS BIGINT)", table) == [(1 << 63) - 1, -(1 << 63), 1, None]
    assert values("CAST(CAST(d AS FLOAT) AS BIGINT)", table) == [(1 << 63) - 1, -(1 << 63), 1, None]
    with pytest.raises(EvaluationError, match="overflow"):
        values("CAST(d AS BIGINT)", pa.table({"d": [float((1 << 63) + (1 << 11))]}))


def test_what_lies_under_a_null_is_not_computed_with() -> None:
    """Arrow keeps some number in the place of a NULL; here it is one that would overflow or divide by zero."""
    known = pa.py_buffer(bytes([0b01]))
    hidden = [pa.py_buffer(np.array(numbers, np.int64)) for numbers in ([1, 2**63 - 1], [1, 0])]
    left, right = (pa.Array.from_buffers(pa.int64(), 2, [known, buffer]) for buffer in hidden)
    table = pa.table({"m": left, "k": right})
    for text in ("m + 1", "m * 2 - 1", "m DIV k", "1 % k + m - m", "-m + 2", "CAST(m AS INT)", "ABS(m)"):
        assert values(text, table) in ([1, None], [2, None], [0, None]), text
    wide = pa.Array.from_buffers(pa.decimal128(38, 0), 2, [known, pa.py_buffer(np.array([1, 0, 0, 1], np.int64))])
    assert values("CAST(c AS BIGINT)", pa.table({"c": wide})) == [1, None]


def test_patterns_with_backslashes_and_another_escape() -> None:
    table = pa.table({"path": ["c:\\x", "c:x", "c:%", None]})
    assert values(r"path LIKE 'c:\\%' ESCAPE '!'", table) == [True, False, False, None]
    assert values("path LIKE 'c:!%' ESCAPE '!'", table) == [False, False, True, None]


def test_wide_decimals_keep_their_digits() -> None:
    wide = Decimal("-12345678901234567890123456789012345678")
    table = pa.table({"c": pa.array([wide], pa.decimal128(38, 0))})
    assert values("ABS(c)", table) == [wide.copy_negate()]


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "named", "expected"),
    [
        ("ROUND(d, 1) > 0", "ROUND", [True, True, None, True, False]),
        ("price / 3 > 0", "`/` on decimals", [True, False, None, False, True]),
        ("name RLIKE 'a+'", "RLIKE", [True, False, None, True, False]),
        ("CAST(d AS STRING) = '1.0'", "a cast from double to string", [True, False, None, False, False]),
        ("CAST(CAST(n AS STRING) AS INT) = 1", "a cast from string to int", [True, False, None, False, False]),
        ("UPPER(name) = 'A'", "UPPER of other than ASCII text", [True, False, None, False, False]),
        ("name LIKE name", "LIKE with anything but constants", [True, True, None, True, True]),
        ("CAST(price AS DECIMAL(9, 1))", "to decimal(9,1)", [Decimal(t) if t else None for t in ROUNDED]),
    ],
)
def test_what_arrow_computes_otherwise_is_left_to_the_rows(text: str, named: str, expected: list[Any]) -> None:
    with pytest.raises(NotVectorized, match=re.escape(named)):
        evaluate(bound(text), TABLE)
    assert evaluate_or_fall_back(bound(text), TABLE).to_pylist() == expected


def test_only_the_batch_that_arrow_refuses_goes_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorized, "_BATCH", 2)
    monkeypatch.setattr(vectorized, "_SMALL_CHUNK", 0)
    gone_through: list[int] = []
    by_rows = vectorized._row_by_row
    monkeypatch.setattr(vectorized, "_row_by_row", lambda e, rows: gone_through.append(rows.length) or by_rows(e, rows))
    assert evaluate_or_fall_back(bound("UPPER(name)"), TABLE).to_pylist() == ["A", "B", None, "AÑ%", ""]
    assert gone_through == [2]


def test_without_types_the_rows_decide() -> None:
    pattern = PatternTree(Sequence((Element(Link.BEGIN, Variable("a", SqlText("n > 0 AND name = 'a'"))),)))
    expression = bind(pattern, None).where["a"].expression
    with pytest.raises(NotVectorized, match="not known before the run"):
        evaluate(expression, TABLE)
    assert evaluate_or_fall_back(expression, TABLE).to_pylist() == [True, False, None, False, False]


def test_a_column_of_another_type_than_bound_is_not_converted_silently() -> None:
    other = pa.table({"n": ["1", "x"]})
    with pytest.raises(NotVectorized, match="column `n` as string"):
        evaluate(bound("n = 1"), other)


def test_a_missing_column_is_named() -> None:
    for compute in (evaluate, evaluate_or_fall_back):
        with pytest.raises(InputError, match="reads `price`"):
            compute(bound("price > 0"), TABLE.select(["n"]))


def test_what_only_spark_computes_is_refused_by_name() -> None:
    for expression, named in ((bound("soundex(name) = 'A'"), "soundex"), (SparkColumn(object()), "Column")):
        for compute in (evaluate, evaluate_or_fall_back):
            with pytest.raises(ConditionError, match=f"(?i){named}"):
                compute(expression, TABLE)


def test_what_reads_variables_is_no_own_event_condition() -> None:
    pattern = PatternTree(Sequence((Element(Link.BEGIN, Variable("a", SqlText("n > COUNT(a.*)"))),)))
    expression = bind(pattern, Schema.from_arrow(TABLE.schema)).where["a"].expression
    with pytest.raises(AssertionError, match="reads what the run has taken"):
        evaluate(expression, TABLE)
