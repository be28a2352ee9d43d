"""Values as Arrow's `to_pylist` gives them: timestamps in any zone, unsigned integers beyond 63 bits, wide decimals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from conditions.patterns import element, pattern

from cepheid.conditions import ListedTaken, Schema, bind, compile_expression, compile_predicate
from cepheid.conditions.expression import Expression
from cepheid.errors import EvaluationError
from cepheid.syntax.tree import Fold

BERLIN = pa.timestamp("us", "Europe/Berlin")
AUTUMN = [datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in range(3)]
"""The night in which Berlin's clocks were set back: the first two are half past two there."""
SPRING = [datetime(2024, 3, 31, hour, 30, tzinfo=UTC) for hour in range(3)]
"""The night in which they were set forward: half past one is followed by half past three."""
SCHEMAS = [Schema.from_arrow(pa.schema([("a", BERLIN), ("b", BERLIN)])), None]


def event_of(columns: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    table = pa.table({name: pa.array([value], arrow) for name, (value, arrow) in columns.items()})
    return dict(table.to_pylist()[0])


def two_moments(first: datetime, second: datetime) -> dict[str, Any]:
    event = event_of({"a": (first, BERLIN), "b": (second, BERLIN)})
    assert event["a"].tzinfo is not UTC  # what the tests are about
    return event


def bound_value(text: str, schema: Schema | None) -> Expression:
    condition = bind(pattern(element("v", f"({text}) IS NULL")), schema).where["v"].expression
    return condition.children[0]


def value(text: str, event: Mapping[str, Any], schema: Schema | None) -> Any:
    return compile_expression(bound_value(text, schema))(event, ListedTaken({}))


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("night", [AUTUMN, SPRING])
def test_timestamps_of_one_zone_are_instants(schema: Schema | None, night: list[datetime]) -> None:
    for first in night:
        for second in night:
            event = two_moments(first, second)
            assert value("a < b", event, schema) is (first < second)
            assert value("a = b", event, schema) is (first == second)
            assert value("a <=> b", event, schema) is (first == second)
            assert value("a IN (b)", event, schema) is (first == second)
            assert value("b - a", event, schema) == second - first
            assert value("GREATEST(a, b)", event, schema) == max(first, second)
            assert value("CAST(a AS BIGINT)", event, schema) == first.timestamp()
            assert value("HOUR(a)", event, schema) == first.hour


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("night", [AUTUMN, SPRING])
def test_an_interval_is_added_to_the_instant(schema: Schema | None, night: list[datetime]) -> None:
    event = two_moments(night[0], night[2])
    assert value("a + INTERVAL '2' HOUR", event, schema).astimezone(UTC) == night[2]
    assert value("b - INTERVAL '2' HOUR", event, schema).astimezone(UTC) == night[0]
    assert value("a + INTERVAL '2' HOUR = b", event, schema) is True
    assert value("a + INTERVAL '1' DAY - a", event, schema) == timedelta(days=1)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_was_taken_is_compared_as_instants(schema: Schema | None) -> None:
    fold = Fold("latest", "TIMESTAMP '2000-01-01 00:00:00'", "GREATEST(latest, a)")
    tree = pattern(element("v", folds=(fold,)), element("w", "a > MAX(v.a) AND a > latest AND a - LAST(v.a) <= b - a"))
    conditions = bind(tree, schema)
    holds = compile_predicate(conditions.where["w"])
    registers = conditions.registers
    for (taken, current), expected in (((0, 1), True), ((1, 0), False)):
        before, event = two_moments(AUTUMN[taken], AUTUMN[taken]), two_moments(AUTUMN[current], AUTUMN[2])
        values = registers.take(registers.initial(), "v", before)
        assert holds(event, ListedTaken({"v": [before]}, conditions.folds)) is expected
        assert holds(event, registers.taken(values, dict)) is expected


def test_a_timestamp_whose_instant_is_outside_of_the_calendar_is_an_evaluation_error() -> None:
    event = {"a": datetime.min.replace(tzinfo=two_moments(*AUTUMN[:2])["a"].tzinfo)}
    for schema in SCHEMAS:
        with pytest.raises(EvaluationError, match="outside of the years 1 to 9999"):
            value("a", event, schema)


LARGEST = (1 << 64) - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ABS(u)", Decimal(LARGEST)),
        ("-u", Decimal(-LARGEST)),
        ("ROUND(u)", Decimal(LARGEST)),
        ("ROUND(u, -1)", Decimal(LARGEST + 5)),
        ("FLOOR(u)", Decimal(LARGEST)),
        ("u + 1", Decimal(LARGEST + 1)),
        ("u / 2", Decimal(LARGEST) / 2),
        ("COALESCE(u, 0)", Decimal(LARGEST)),
        ("u DIV 2", LARGEST // 2),
        ("u > 18446744073709551614", True),
        ("CAST(u AS STRING)", str(LARGEST)),
        ("CAST(u AS DOUBLE)", float(LARGEST)),
    ],
)
def test_unsigned_integers_are_decimals(text: str, expected: Any) -> None:
    schema = Schema.from_arrow(pa.schema([("u", pa.uint64())]))
    computed = value(text, event_of({"u": (LARGEST, pa.uint64())}), schema)
    assert type(computed) is type(expected)
    assert computed == expected


def test_the_average_of_unsigned_integers_is_a_decimal_however_many_there_are() -> None:
    schema = Schema.from_arrow(pa.schema([("u", pa.uint64())]))
    conditions = bind(pattern(element("v"), element("w", "AVG(v.u) > 0 AND SUM(v.u) > 0")), schema)
    average, total = (part.children[0] for part in conditions.where["w"].expression.children)
    for count in (1, 2):
        taken = ListedTaken({"v": [event_of({"u": (LARGEST, pa.uint64())})] * count})
        assert str(compile_expression(average)({}, taken)) == f"{LARGEST}.0000"
        assert str(compile_expression(total)({}, taken)) == str(LARGEST * count)


@pytest.mark.parametrize(
    "digits", ["-12345678901234567890123456789012345678", "-0.12345678901234567890123456789012345678"]
)
def test_the_sign_of_a_wide_decimal_changes_and_nothing_else(digits: str) -> None:
    scale = len(digits.partition(".")[2])
    arrow = pa.decimal128(38, scale)
    event = event_of({"c": (Decimal(digits), arrow)})
    for schema in (Schema.from_arrow(pa.schema([("c", arrow)])), None):
        for text in ("ABS(c)", "-c", "NEGATIVE(c)"):
            assert str(value(text, event, schema)) == digits[1:]


def test_decimals_have_no_negative_zero() -> None:
    arrow = pa.decimal128(5, 2)
    event = event_of({"zero": (Decimal(0), arrow), "little": (Decimal("-0.25"), arrow)})
    for schema in (Schema.from_arrow(pa.schema([("zero", arrow), ("little", arrow)])), None):
        for text in ("-zero", "zero * little", "zero / little", "little % 0.25", "CEIL(little)", "ROUND(little)"):
            computed = value(text, event, schema)
            assert computed == 0, text
            assert not computed.is_signed(), text
