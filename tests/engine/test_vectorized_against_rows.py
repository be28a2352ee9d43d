"""The Arrow evaluator gives what the evaluator by rows gives, on random expressions and random rows.

For each row the same value, or an error for both; or the Arrow evaluator says that it does not know.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from cepheid.conditions import ListedTaken, Schema, compile_expression, parse
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Expression
from cepheid.conditions.scope import Scope
from cepheid.engine.vectorized import NotVectorized, evaluate, evaluate_or_fall_back
from cepheid.errors import ConditionError, EvaluationError

# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def whole_numbers(bits: int) -> st.SearchStrategy[int]:
    limit = 1 << (bits - 1)
    extremes = [-limit, -limit + 1, limit - 1, limit // 2]
    return st.one_of(st.integers(-3, 3), st.sampled_from(extremes), st.integers(-limit, limit - 1))


def doubles(width: int) -> st.SearchStrategy[float]:
    usual = [0.0, -0.0, 1.0, -1.5, 2.5, math.nan, math.inf, -math.inf, float(1 << 63), -float(1 << 63), float(1 << 31)]
    return st.one_of(st.sampled_from(usual), st.floats(width=width))


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    digits = st.one_of(st.integers(-300, 300), st.sampled_from([-limit, limit]), st.integers(-limit, limit))
    return digits.map(lambda unscaled: Decimal(unscaled).scaleb(-scale))


TEXTS = st.one_of(
    st.sampled_from(["", "a", "A", "ab", "a%b", "a_b", "a\\b", " a ", "ß", "añb", "日本", "\U0001f600", "a\nb", "1", "x!"]),
    st.text(max_size=4),
)
MOMENTS = st.one_of(
    st.sampled_from([datetime.min, datetime.max, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
    st.datetimes(),
)
DAYS = st.one_of(st.sampled_from([date.min, date.max, date(1969, 12, 31)]), st.dates())
INTERVALS = st.timedeltas(timedelta(days=-100_000_000), timedelta(days=100_000_000))
COLUMNS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "tiny": (pa.int8(), whole_numbers(8)),
    "small": (pa.int16(), whole_numbers(16)),
    "n": (pa.int32(), whole_numbers(32)),
    "m": (pa.int64(), whole_numbers(64)),
    "f": (pa.float32(), doubles(32)),
    "d": (pa.float64(), doubles(64)),
    "price": (pa.decimal128(9, 2), decimals(9, 2)),
    "amount": (pa.decimal128(20, 4), decimals(20, 4)),
    "flag": (pa.bool_(), st.booleans()),
    "s": (pa.string(), TEXTS),
    "code": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "raw": (pa.binary(), st.binary(max_size=2)),
    "at": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC))),
    "local": (pa.timestamp("us"), MOMENTS),
    "day": (pa.date32(), DAYS),
    "gap": (pa.duration("us"), INTERVALS),
}
SCHEMA = Schema.from_arrow(pa.schema([(name, arrow) for name, (arrow, _) in COLUMNS.items()]))
EVENTS = st.fixed_dictionaries({name: st.none() | values for name, (_, values) in COLUMNS.items()})


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    events = draw(st.lists(EVENTS, max_size=6))
    table = pa.Table.from_pylist(events, pa.schema([(name, arrow) for name, (arrow, _) in COLUMNS.items()]))
    cut = draw(st.integers(0, len(events)))
    # Two chunks, the second of which does not begin where its buffers do.
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


# ── expressions, as text ─────────────────────────────────────────────────────────────────────────────────────────────


def of_parts(shape: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda texts: shape.format(*texts))


def choices(values: st.SearchStrategy[str]) -> list[st.SearchStrategy[str]]:
    return [
        of_parts("CASE WHEN {} THEN {} WHEN {} THEN {} ELSE {} END", conditions, values, conditions, values, values),
        of_parts("CASE WHEN {} THEN {} END", conditions, values),
        of_parts("COALESCE({}, {})", values, values),
        of_parts("COALESCE({}, NULL, {})", values, values),
        of_parts("GREATEST({}, {}, {})", values, values, values),
        of_parts("LEAST({}, {})", values, values),
    ]


NUMBER_LITERALS = st.sampled_from(
    "0 1 2 -1 7 127Y 1S 2147483647 10000000000 9223372036854775807 1.5 -0.25 100.00 0.0D 1e0 1.5F 2.5e300".split()
    + ["CAST('NaN' AS DOUBLE)", "NULL"]
)
numbers: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from("tiny small n m f d price amount".split()),
        NUMBER_LITERALS,
        of_parts("({} {} {})", numbers, st.sampled_from("+ - * / % DIV".split()), numbers),
        of_parts("{}({})", st.sampled_from("ABS NEGATIVE FLOOR CEIL ROUND".split()), numbers),
        of_parts("CAST({} AS {})", numbers, st.sampled_from(NUMBER_TYPES)),
        of_parts("CAST({} AS {})", st.one_of(st.just("flag"), moments), st.sampled_from(NUMBER_TYPES)),
        of_parts("LENGTH({})", texts),
        of_parts("{}({})", st.sampled_from("YEAR MONTH DAY HOUR MINUTE SECOND".split()), moments),
        *choices(numbers),
    )
)
NUMBER_TYPES = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 1)", "DECIMAL(38, 6)"]
TEXT_LITERALS = st.sampled_from(["''", "'a'", "'ab'", "'ß'", "' a'", "NULL"])
texts: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["s", "code"]),
        TEXT_LITERALS,
        of_parts("{}({})", st.sampled_from("UPPER LOWER TRIM".split()), texts),
        of_parts("CONCAT({}, {})", texts, texts),
        of_parts("SUBSTRING({}, {}, {})", texts, st.integers(-4, 4).map(str), st.integers(-1, 4).map(str)),
        of_parts("SUBSTRING({}, {})", texts, st.integers(-4, 4).map(str)),
        of_parts("CAST({} AS STRING)", st.one_of(numbers, moments, conditions)),
        *choices(texts),
    )
)
moments: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["at", "local", "day", "TIMESTAMP '2024-01-31 13:45:00'", "DATE '2024-02-29'"]),
        of_parts("({} {} {})", moments, st.sampled_from("+ -".split()), intervals),
        of_parts("({} + {})", intervals, moments),
        of_parts("(day {} {})", st.sampled_from("+ -".split()), st.sampled_from(["1", "tiny", "n", "m"])),
        of_parts("CAST({} AS {})", moments, st.sampled_from(["DATE", "TIMESTAMP", "TIMESTAMP_NTZ"])),
        *choices(moments),
    )
)
intervals: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["gap", "INTERVAL '1' DAY", "INTERVAL '90' MINUTE"]),
        of_parts("({} - {})", moments, moments),
        of_parts("({} {} {})", intervals, st.sampled_from("+ -".split()), intervals),
        of_parts("({} {} {})", intervals, st.sampled_from("* /".split()), st.sampled_from("2 tiny n d price".split())),
        of_parts("{}({})", st.sampled_from("ABS NEGATIVE".split()), intervals),
        *choices(intervals),
    )
)
SIGNS = st.sampled_from("= <> < <= > >= <=>".split())
PATTERNS = st.text("a%_b!\\ñ", max_size=5)
sorts: tuple[st.SearchStrategy[str], ...] = (numbers, texts, moments, intervals)


def like(subject: str, pattern: str, escape: str | None) -> str:
    escaped = pattern.replace("\\", "\\\\")
    return f"({subject} LIKE '{escaped}'" + (f" ESCAPE '{escape}')" if escape else ")")


conditions: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["flag", "TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"]),
        *(of_parts("({} {} {})", sort, SIGNS, sort) for sort in sorts),
        *(of_parts("({} IN ({}, {}, {}))", sort, sort, sort, sort) for sort in sorts),
        *(of_parts("({} BETWEEN {} AND {})", sort, sort, sort) for sort in sorts),
        *(of_parts("({} IS {}NULL)", sort, st.sampled_from(["", "NOT "])) for sort in (*sorts, st.just("raw"))),
        of_parts("(flag {} {})", SIGNS, conditions),
        of_parts("(raw {} raw)", SIGNS),
        of_parts("(s {} {})", SIGNS, texts),
        of_parts("(s IN ({}, {}))", TEXT_LITERALS, TEXT_LITERALS),
        of_parts("(n IN ({}, {}))", st.integers(-3, 3).map(str), NUMBER_LITERALS),
        st.builds(like, texts, PATTERNS, st.sampled_from([None, "!", "%", "ñ"])),
        of_parts("({} AND {})", conditions, conditions),
        of_parts("({} OR {})", conditions, conditions),
        of_parts("({} AND {} AND {})", conditions, conditions, conditions),
        of_parts("(NOT {})", conditions),
        of_parts("({} IS {}{})", conditions, st.sampled_from(["", "NOT "]), st.sampled_from(["TRUE", "FALSE"])),
        of_parts("CAST({} AS BOOLEAN)", numbers),
        *choices(conditions),
    )
)


@st.composite
def expressions(draw: st.DrawFn, texts_of_them: st.SearchStrategy[str]) -> Expression:
    try:
        return Checker(Scope("condition", SCHEMA, (), (), frozenset())).bind(parse(draw(texts_of_them)))
    except ConditionError:
        assume(False)
        raise


# ── the comparison ───────────────────────────────────────────────────────────────────────────────────────────────────


def by_rows(expression: Expression, table: pa.Table) -> list[Any] | None:
    """The measure: the values row by row, None if a row fails."""
    compute = compile_expression(expression)
    # Python's abs() and - of decimals round to the digits of the context, 28 unless told.
    with localcontext(prec=80):
        try:
            return [compute(row, ListedTaken({})) for row in table.to_pylist()]
        except EvaluationError:
            return None


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isnan(left) and math.isnan(right) or (left == right and math.copysign(1, left) == math.copysign(1, right))
    return left is right if left is None or right is None else type(left) is type(right) and bool(left == right)


def check_against_rows(expression: Expression, table: pa.Table) -> None:
    expected = by_rows(expression, table)
    try:
        computed = evaluate(expression, table)
    except NotVectorized:
        event("not vectorized")
        return
    except EvaluationError:
        event("fails")
        assert expected is None, expected
        return
    event("vectorized")
    assert expected is not None, computed
    values = computed.to_pylist()
    assert len(values) == len(expected)
    assert all(map(same, values, expected)), (values, expected)


@settings(max_examples=600)
@given(expressions(conditions), tables())
def test_conditions(expression: Expression, table: pa.Table) -> None:
    check_against_rows(expression, table)


@settings(max_examples=600)
@given(expressions(numbers), tables())
def test_numbers(expression: Expression, table: pa.Table) -> None:
    check_against_rows(expression, table)


@settings(max_examples=300)
@given(expressions(st.one_of(texts, moments, intervals)), tables())
def test_texts_and_times(expression: Expression, table: pa.Table) -> None:
    check_against_rows(expression, table)


@settings(max_examples=300)
@given(expressions(conditions), tables())
def test_falling_back_gives_all_values_or_fails(expression: Expression, table: pa.Table) -> None:
    expected = by_rows(expression, table)
    try:
        computed = evaluate_or_fall_back(expression, table).to_pylist()
    except EvaluationError:
        computed = None
    assert computed == expected
