"""Text → expression: what is read, what is refused, and where the caret stands."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from cepheid.conditions import parse, types
from cepheid.conditions.expression import (
    Aggregate,
    AggregateFunction,
    Call,
    Column,
    Expression,
    Literal,
    Name,
    Operation,
    Operator,
    SparkExpression,
    walk,
)
from cepheid.conditions.types import DataType, decimal
from cepheid.errors import ConditionError

SAYINGS = [
    "amount > 100 AND amount > 2 * AVG(small.amount)",
    "LAST(a.x, 2) + SUM(b.price * b.qty) > 1.5",
    "COUNT(v.*) = 3",
    "date_trunc('day', ts) > LAST(a.ts)",
    "LAST(date_trunc('day', a.ts)) = ts",
    "x NOT IN (1, 2) or y is not null and z is true or w is not false",
    "case x when 1 then 'a' else 'b' end = 'a'",
    "-5 - -x > .5",
    "-(a + b) * c < -2147483648",
    "a - (b - c) = (a - b) - c",
    "(a = b) = c and (a is null) = b and (not a) = b",
    "not (not a) or not (a and b or c)",
    "ts - last(a.ts) < interval 10 minutes",
    "if(a, 1, 2) = nullif(b, 2)",
    "x between 1 and 2 and y not between 'a' and 'b'",
    "substr(x, 1, 2) || 'b' like 'a!%' escape '!' and x not like '_\\\\%' and x rlike '^a'",
    "`a b` > 1e3 and 1.5D < 10L and 1.50BD = 2.5F and 1Y < 2S and `select` = 1",
    "cast(x as decimal(10,2)) > cast('1' as int) and x::string = 'a'",
    "exists(xs, q -> q > p) and xs[0] = 1 and (x & 1) * 2 = 2",
    "x in (interval '1 02:03:04.5' day to second, interval 1 day, interval '-3' hours)",
    "x = timestamp '2020-01-01 00:00:00+02:00' and d >= date '2020-01-02' and t < timestamp '2020-01-01'",
    "n = timestamp_ntz '2020-01-01 10:00:00.25' and x'1f' = y and s.f.g > 1 and MIN(a.s.f) = 2",
    "coalesce(a, b, 1) = abs(greatest(a, least(b, c))) and mod(x, 2) = x div 2 and x <=> null",
    "round(x, 2) > floor(y) and ceil(z) < 3 and year(ts) = 2020 and second(ts) < 30",
    "name = 'it\\'s \\\\ a\\ttab' and trim(upper(lower(name))) = 'a' 'b'",
]


@pytest.mark.parametrize("text", SAYINGS)
def test_what_is_read_is_written_as_text_that_reads_the_same(text: str) -> None:
    expression = parse(text)
    written = str(expression)
    assert parse(written) == expression
    assert str(parse(written)) == written


def _expressions() -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.one_of(
        st.sampled_from(["a", "b", "odd name", "group"]).map(lambda name: Name((name,))),
        st.integers(-5, 5).map(lambda value: Literal(value, type=types.INT)),
        st.text(alphabet="ab'\\%\n", max_size=4).map(lambda value: Literal(value, type=types.STRING)),
        st.just(Aggregate(AggregateFunction.LAST, "v", Name(("x",)), 1)),
    )

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        binary = [
            Operator.EQUAL,
            Operator.LESS,
            Operator.ADD,
            Operator.SUBTRACT,
            Operator.MULTIPLY,
            Operator.MODULO,
            Operator.IN,
        ]
        unary = [Operator.NOT, Operator.IS_NULL, Operator.IS_TRUE]
        return st.one_of(
            st.builds(lambda o, x, y: Operation(o, (x, y)), st.sampled_from(binary), inner, inner),
            st.builds(lambda o, x: Operation(o, (x,)), st.sampled_from(unary), inner),
            st.builds(lambda x: Call("ABS", (x,)), inner),
            st.builds(lambda x: Call("LIKE", (x, Literal("a%", type=types.STRING))), inner),
            st.builds(lambda x, y, z: Operation(Operator.CASE, (x, y, z)), inner, inner, inner),
        )

    return st.recursive(leaves, grow, max_leaves=8)


@given(_expressions())
def test_any_expression_is_written_as_text_that_means_it(expression: Expression) -> None:
    assert parse(str(expression)) == expression


def test_positions_and_spelling_do_not_count_in_a_comparison() -> None:
    assert parse("a>1 and  b = 2") == parse("a > 1 AND (b = 2)")
    assert hash(parse("a>1")) == hash(parse("(a > 1)"))
    assert parse("a > 1") != parse("a > 1L")


def test_the_stock_dialect_drops_the_offset_and_ours_keeps_it() -> None:
    assert "1" not in sqlglot.parse_one("LAST(a.x, 1)", read="spark").sql(dialect="spark")
    assert parse("LAST(a.x, 1)") == Aggregate(AggregateFunction.LAST, "a", Name(("x",)), 1)
    assert parse("FIRST(a.x, 2)") == Aggregate(AggregateFunction.FIRST, "a", Name(("x",)), 2)


def test_connectives_are_flat_in_order_and_of_any_length() -> None:
    expression = parse(" AND ".join(f"x <> {number}" for number in range(500)))
    assert isinstance(expression, Operation)
    assert len(expression.operands) == 500
    assert str(expression.operands[499]) == "x <> 499"


@pytest.mark.parametrize(
    ("text", "value", "data_type"),
    [
        ("1", 1, types.INT),
        ("-2147483648", -(2**31), types.INT),
        ("2147483648", 2**31, types.LONG),
        ("-9223372036854775808", -(2**63), types.LONG),
        ("9223372036854775808", Decimal(2**63), decimal(19, 0)),
        ("10L", 10, types.LONG),
        ("1.5", Decimal("1.5"), decimal(2, 1)),
        (".50", Decimal("0.50"), decimal(2, 2)),
        ("1.50BD", Decimal("1.50"), decimal(3, 2)),
        ("1e3", 1000.0, types.DOUBLE),
        ("1.5D", 1.5, types.DOUBLE),
        ("true", True, types.BOOLEAN),
        ("NULL", None, types.NULL),
        (r"'a\'b\n\u0041\%'", "a'b\nA\\%", types.STRING),
        ('"a"', "a", types.STRING),
        ("X'4142'", b"AB", types.BINARY),
        ("DATE '2024-02-29'", date(2024, 2, 29), types.DATE),
        ("TIMESTAMP '2024-02-29 10:00:00'", datetime(2024, 2, 29, 10), types.TIMESTAMP),
        (
            "TIMESTAMP '2024-02-29T10:00:00+01:30'",
            datetime(2024, 2, 29, 10, tzinfo=timezone(timedelta(minutes=90))),
            types.TIMESTAMP,
        ),
        ("INTERVAL '10' MINUTE", timedelta(minutes=10), types.INTERVAL),
        ("INTERVAL 10 MINUTES", timedelta(minutes=10), types.INTERVAL),
        ("INTERVAL 2 WEEKS", timedelta(weeks=2), types.DAYS),
        ("INTERVAL '-1 02:03' DAY TO MINUTE", -timedelta(days=1, hours=2, minutes=3), types.INTERVAL),
    ],
)
def test_literals_have_the_types_that_spark_gives_them(text: str, value: Any, data_type: DataType) -> None:
    assert parse(text) == Literal(value, type=data_type)


def test_what_only_spark_computes_keeps_its_text_and_the_names_it_reads() -> None:
    expression = parse("amount > 1 AND regexp_extract( Name ,'a(b)', 1) = transform(xs, x -> x + y)[0]")
    spark = [node for node in walk(expression) if isinstance(node, SparkExpression)]
    assert [str(node) for node in spark] == ["regexp_extract( Name ,'a(b)', 1)", "transform(xs, x -> x + y)[0]"]
    assert [str(name) for node in spark for name in node.children] == ["Name", "xs", "y"]


def test_an_aggregate_reads_columns_of_its_variable_without_the_qualifier() -> None:
    aggregate = parse("SUM(b.price * b.qty)")
    assert isinstance(aggregate, Aggregate)
    assert (aggregate.variable, str(aggregate.argument)) == ("b", "price * qty")
    assert parse("count(v.*)") == Aggregate(AggregateFunction.COUNT, "v", None)


def test_distinct_values_are_counted() -> None:
    aggregate = parse("count(distinct v.x)")
    assert aggregate == Aggregate(AggregateFunction.COUNT_DISTINCT, "v", Name(("x",)))
    assert str(aggregate) == "COUNT(DISTINCT v.x)"
    assert parse(str(aggregate)) == aggregate


REFUSED = [
    ("a >", "a value is missing next to `>`", "  ^"),
    ("(a > 1", "this parenthesis is not closed", "^"),
    ("a > 1)", "this parenthesis closes nothing", "     ^"),
    ("a > 1 b < 2", "`b` is not expected here", "      ^"),
    ("a = 1 && b = 2", "`&&` is not expected here", "      ^^"),
    ("a as b", "a condition has no alias", "  ^^"),
    ("x in (1,,2)", "something is missing before `,`", "        ^"),
    ("case when a then b", "CASE is not closed", "                 ^"),
    ("name = 'abc", "a quote or comment is opened but not closed", "       ^^^^"),
    ("select 1", "a condition cannot contain a query", "^^^^^^"),
    ("x in (select 1)", "a condition cannot contain a query", "      ^^^^^^"),
    ("a > 1; b > 2", "a condition is one expression, without `;`", "     ^"),
    ("drop table x", "`drop` begins a statement", "^^^^"),
    ("a > 1 and rand() > 0.5", "rand() gives another value each time", "          ^^^^^^"),
    ("id = uuid()", "uuid() gives another value each time", "     ^^^^^^"),
    ("ts < current_timestamp", "the present moment gives another value each time", "     ^^^^^^^^^^^^^^^^^"),
    ("ts < now()", "now() gives another value each time", "     ^^^^^"),
    ("sum(x) over (partition by y) > 1", "a window function has no meaning inside a pattern", "^" * 28),
    ("SUM(price) > 1", "SUM reads what a variable has taken, but no variable is named", "    ^^^^^"),
    ("SUM(a.x + b.y) > 1", "SUM reads two variables, `a` and `b`", "^^^^^^^^^^^^^^"),
    ("SUM(AVG(a.x)) > 1", "an aggregate cannot contain another one", "    ^^^^^^^^"),
    ("COUNT(*) > 1", "`COUNT(*)` does not say whose events", "^^^^^^^^"),
    ("SUM(a.*) > 1", "SUM needs a column", "^^^^^^^^"),
    ("a.* > 1", "`a.*` is not a value", "^^^"),
    ("LAST(a.x, -1) > 1", "the offset of LAST is a whole number, 0 or more", "          ^^"),
    ("LAST(a.x, y) > 1", "the offset of LAST is a whole number, 0 or more", "          ^"),
    ("SUM(DISTINCT a.x) > 1", "SUM does not take DISTINCT", "^^^^^^^^^^^^^^^^^"),
    ("COUNT(DISTINCT a.x, a.y) > 1", "COUNT(DISTINCT …) takes one value", "^^^^^^^^^^^^^^^^^^^^^^^^"),
    ("COUNT(DISTINCT a.*) > 1", "COUNT(DISTINCT …) needs a column", "^^^^^^^^^^^^^^^^^^^"),
    ("concat(DISTINCT a) = 'x'", "DISTINCT is known in COUNT alone", "                ^"),
    ("kurtosis(a.x) > 1", "KURTOSIS cannot aggregate what a variable has taken", "^^^^^^^^^^^^^"),
    ("1 < date_trunc('day', LAST(a.ts))", "`date_trunc` is not computed over what", "                      ^^^^^^^^^^"),
    ("abs(1, 2) > 1", "ABS was given 2 argument(s)", "^^^^^^^^^"),
    ("d > date '2020-13-01'", "'2020-13-01' is not a date", "    ^^^^^^^^^^^^^^^^^"),
    ("x < interval 'x' minute", "'x' is not a number of minutes", "    ^^^^^^^^^^^^^^^^^^^"),
    ("a > 300Y", "`300Y` is not a number that Spark reads", "    ^^^^"),
    ("name = 'it''s'", "two quotes in a row", "       ^^^^^^^"),
    ("1 < x < 5", "comparisons cannot be chained", "^^^^^^^^^"),
    ("a = b in (1, 2)", "this can be read in two ways", "^^^^^^^^^^^^^^^"),
    ("x + 1 || 'a' = 'b'", "`||` next to `+` or `-` is ambiguous", "^^^^^^^^^^^^"),
]


@pytest.mark.parametrize(("text", "problem", "carets"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_is_wrong_is_shown_with_carets_under_it(text: str, problem: str, carets: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    said, shown, underlined = caught.value.problem.split("\n")
    assert said.startswith(problem)
    assert (shown, underlined) == ("    " + text, "    " + carets)
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["", "   \n", "-- only a comment"])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(ConditionError, match="the text is empty"):
        parse(text)


def test_the_caret_stands_on_the_line_of_the_error() -> None:
    with pytest.raises(ConditionError) as caught:
        parse("a > 1\n  AND b > rand()")
    assert caught.value.problem.split("\n")[1:] == ["      AND b > rand()", "              ^^^^^^"]


def test_too_deep_a_nesting_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(ConditionError, match="nested too deeply"):
        parse("(" * 2000 + "a" + ")" * 2000)


def test_parsed_texts_are_kept() -> None:
    assert parse("kept = 1") is parse("kept = 1")


def test_columns_are_not_made_before_binding() -> None:
    assert not any(isinstance(node, Column) for node in walk(parse("a > 1 and b = 'x'")))
