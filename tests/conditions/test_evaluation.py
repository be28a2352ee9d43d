"""Values: three-valued logic, Spark's arithmetic, and errors that say where and with what."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conditions.patterns import element, pattern

from cepheid.conditions import ListedTaken, Schema, bind, compile_expression, compile_predicate, types
from cepheid.conditions.casting import cast, single_text
from cepheid.conditions.expression import Expression, Literal
from cepheid.conditions.types import decimal
from cepheid.errors import CepheidError, ConditionError, EvaluationError
from cepheid.syntax.tree import Condition, Fold, PythonCondition

ROW = {
    "i": 5,
    "l": 5,
    "d": 5.5,
    "f": struct.unpack("f", struct.pack("f", 1.1))[0],
    "m": Decimal("5.25"),
    "s": "5",
    "ts": datetime(2020, 5, 6, 7, 8, 9, 123456, tzinfo=UTC),
    "dt": date(2020, 5, 6),
    "b": True,
    "n": None,
}
SCHEMA = Schema.of(
    [
        ("i", types.INT),
        ("l", types.LONG),
        ("d", types.DOUBLE),
        ("f", types.FLOAT),
        ("m", decimal(10, 2)),
        ("s", types.STRING),
        ("ts", types.TIMESTAMP),
        ("dt", types.DATE),
        ("b", types.BOOLEAN),
        ("n", types.INT),
    ]
)
NOTHING = ListedTaken({})


def answers_of(version: str) -> list[dict[str, Any]]:
    """What Spark said of expressions over `ROW`, with its ANSI rules and in UTC.

    Where an answer has `here`, that is what this evaluator says instead, and `why`.
    """
    text = Path(__file__).with_name(f"spark_{version}_answers.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


ANSWERS_OF_4_0 = answers_of("4_0")
ANSWERS = ANSWERS_OF_4_0 + answers_of("4_3")


def bound_value(text: str, schema: Schema | None = SCHEMA) -> Expression:
    """An expression of any type, bound as a condition would be: as one side of a null-safe comparison."""
    tree = pattern(element("a", f"coalesce(({text}) IS NULL, ({text}) IS NULL)"))
    coalesced = bind(tree, schema).where["a"].expression
    return coalesced.children[0].children[0]


def value(text: str, event: Mapping[str, Any] = ROW, schema: Schema | None = SCHEMA) -> Any:
    return compile_expression(bound_value(text, schema))(event, NOTHING)


def as_spark_shows(expression: Expression, computed: Any) -> str | None:
    if computed is None:
        return None
    if expression.type.kind is types.Kind.INTERVAL:
        # Spark leaves out trailing zeros of a fraction of a second.
        return str(Literal(computed, type=expression.type)).replace("500000' DAY", "5' DAY")
    if expression.type == types.FLOAT:
        return single_text(computed)
    text: str = cast(computed, types.STRING)
    return text


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer["sql"] for answer in ANSWERS])
def test_types_and_values_are_those_that_spark_gave_unless_said_otherwise(answer: dict[str, Any]) -> None:
    expected = answer.get("here", answer)
    if expected.get("fails"):
        with pytest.raises((ConditionError, EvaluationError)):
            value(answer["sql"])
        return
    expression = bound_value(answer["sql"])
    assert str(expression.type) == expected["type"]
    assert as_spark_shows(expression, compile_expression(expression)(ROW, NOTHING)) == expected["value"]


@pytest.mark.parametrize(
    "answer",
    [answer for answer in ANSWERS_OF_4_0 if "value" in answer and answer["type"] == "boolean"],
    ids=lambda answer: answer["sql"],
)
def test_conditions_hold_alike_without_a_schema(answer: dict[str, Any]) -> None:
    expected = {"true": True, "false": False, None: None}[answer["value"]]
    assert value(answer["sql"], schema=None) is expected


TRUTH = {"TRUE": True, "FALSE": False, "NULL": None}


@pytest.mark.parametrize("left", TRUTH)
@pytest.mark.parametrize("right", TRUTH)
def test_three_valued_logic(left: str, right: str) -> None:
    first, second = TRUTH[left], TRUTH[right]
    both = False if False in (first, second) else None if None in (first, second) else True
    either = True if True in (first, second) else None if None in (first, second) else False
    unequal = None if None in (first, second) else first != second
    for text in (f"{left} AND {right}", f"x AND {right}"):
        assert value(text, {"x": first}, None) is both
    assert value(f"{left} OR {right}") is either
    assert value(f"NOT ({left} AND {right})") is (None if both is None else not both)
    assert value(f"{left} <> {right}") is unequal
    assert value(f"{left} <=> {right}") is (first is second)
    assert value(f"{left} IN ({right}, {right})") is (None if unequal is None else not unequal)


@pytest.mark.parametrize("operand", TRUTH)
def test_is_is_never_unknown(operand: str) -> None:
    given = TRUTH[operand]
    assert value(f"({operand}) IS NULL") is (given is None)
    assert value(f"({operand}) IS TRUE") is (given is True)
    assert value(f"({operand}) IS NOT TRUE") is (given is not True)
    assert value(f"({operand}) IS NOT FALSE") is (given is not False)


def test_in_with_null_is_unknown_unless_found() -> None:
    assert value("i IN (1, NULL)") is None
    assert value("i IN (NULL, 5)") is True
    assert value("i NOT IN (1, NULL)") is None
    assert value("n IN (1)") is None


def holds(where: str | Condition, event: Mapping[str, Any], schema: Schema | None = None, **taken: Any) -> bool:
    conditions = bind(pattern(element("v"), element("a", where)), schema)
    return compile_predicate(conditions.where["a"])(event, ListedTaken(taken, conditions.folds))


def test_unknown_is_not_satisfied_and_a_missing_column_is_unknown() -> None:
    assert not holds("x > 1", {"x": None})
    assert not holds("NOT x > 1", {})
    assert holds("x IS NULL", {})


@pytest.mark.parametrize("schema", [None, Schema.of([("x", types.DOUBLE), ("y", types.DOUBLE)])])
def test_nan_equals_nan_and_is_the_largest(schema: Schema | None) -> None:
    event = {"x": math.nan, "y": 1e308}
    assert holds("x = x AND x > y AND NOT x < y AND y < x AND x <=> x AND x IN (y, x)", event, schema)
    assert holds("greatest(x, y) = x AND least(x, y) = y", event, schema)
    assert holds("MAX(v.x) = x AND MIN(v.x) = y", event, schema, v=[event, {"x": 1e308}])


def test_strings_are_ordered_by_their_bytes() -> None:
    event = {"x": "é", "y": "z", "w": "\U0001f600", "v": "\uffff"}
    assert holds("x > y AND w > v AND y < x", event)
    assert sorted(event.values()) == sorted(event.values(), key=str.encode)


def test_a_part_guards_those_behind_it() -> None:
    assert not holds("y <> 0 AND x / y > 2", {"x": 1, "y": 0})
    assert holds("y = 0 OR x / y > 2", {"x": 1, "y": 0})
    assert holds("CASE WHEN y = 0 THEN TRUE ELSE x / y > 2 END", {"x": 1, "y": 0})


def test_an_error_names_the_element_the_condition_and_the_values() -> None:
    with pytest.raises(EvaluationError) as caught:
        holds("x / (COUNT(v.*) - 1) > 2", {"x": 7}, v=[{"x": 1}])
    assert str(caught.value) == (
        "element 'a': division by zero: 7.0 / 0\n  in: x / (COUNT(v.*) - 1) > 2\n  with: x = 7, COUNT(v.*) = 1"
    )


@pytest.mark.parametrize(
    ("schema", "text", "fits", "overflows"),
    [
        (Schema.of([("x", types.BYTE)]), "x + 1Y > 0", 126, 127),
        (Schema.of([("x", types.INT)]), "x + 1 > 0", 2**31 - 2, 2**31 - 1),
        (Schema.of([("x", types.LONG)]), "x * 2 > 0", 2**62 - 1, 2**62),
        (None, "x + 1 > 0", 2**63 - 2, 2**63 - 1),
        (Schema.of([("x", decimal(38, 0))]), "x * 10 > 0", Decimal(10) ** 36, Decimal(10) ** 37),
    ],
)
def test_overflow_raises_by_type_and_at_64_bits_where_it_is_unknown(
    schema: Schema | None, text: str, fits: Any, overflows: Any
) -> None:
    assert holds(text, {"x": fits}, schema)
    with pytest.raises(EvaluationError, match="overflow"):
        holds(text, {"x": overflows}, schema)


def test_a_string_next_to_a_number_is_read_as_one_and_may_fail() -> None:
    schema = Schema.of([("x", types.STRING)])
    for known in (schema, None):
        assert holds("x > 9", {"x": "10"}, known)
        with pytest.raises(EvaluationError, match="cannot cast 'ten' to bigint"):
            holds("x > 9", {"x": "ten"}, known)


def test_moments_with_and_without_zone_are_compared_in_utc() -> None:
    event = {"t": datetime(2024, 1, 1, 12), "u": datetime(2024, 1, 1, 12, tzinfo=UTC)}
    assert holds(
        "t = u AND t > '2024-01-01 11:59' AND u >= DATE '2024-01-01' AND t = TIMESTAMP '2024-01-01 12:00'", event
    )
    assert holds("t - u < INTERVAL 1 SECOND AND t + INTERVAL 2 HOURS > u AND hour(u) = 12", event)


def test_literals_that_python_takes_for_equal_are_kept_apart() -> None:
    for texts in (("0.0D", "-0.0D"), ("-0.0D", "0.0D")):
        assert [value(f"CAST({text} AS STRING)") for text in texts] == [text[:-1] for text in texts]
        assert [value(f"CAST({text} * 1e0 AS STRING)") for text in texts] == [text[:-1] for text in texts]
    same_type = [Literal(given, type=types.UNKNOWN) for given in (1, True, 1.0, Decimal(1))]
    assert [repr(compile_expression(literal)({}, NOTHING)) for literal in same_type] == [
        *("1", "True", "1.0", "Decimal('1')")
    ]
    assert len(set(same_type)) == 4
    assert Literal(math.nan, type=types.DOUBLE) == Literal(float("nan"), type=types.DOUBLE)


@pytest.mark.parametrize("factor", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("schema", [None, Schema.of([("gap", types.INTERVAL), ("x", types.DOUBLE)])])
def test_an_interval_times_what_is_no_finite_number_is_an_evaluation_error(
    factor: float, schema: Schema | None
) -> None:
    for gap in (timedelta(days=1), timedelta(0)):
        for text in ("gap * x IS NULL", "x * gap IS NULL"):
            with pytest.raises(EvaluationError, match="element 'a': overflow"):
                holds(text, {"gap": gap, "x": factor}, schema)


@pytest.mark.parametrize("text", ["x / gap", "gap % x", "gap DIV x", "gap * gap", "gap * 'y'", "moment * x"])
def test_what_cannot_be_done_with_times_is_an_error_where_types_are_unknown(text: str) -> None:
    event = {"x": 2, "gap": timedelta(days=1), "moment": datetime(2024, 1, 1)}
    with pytest.raises(EvaluationError, match="cannot compute with"):
        holds(f"{text} IS NULL", event)


def test_a_timestamp_whose_instant_is_outside_of_the_calendar_is_refused() -> None:
    with pytest.raises(ConditionError, match="is not a timestamp"):
        value("TIMESTAMP '0001-01-01 00:00:00+10:00' IS NULL")


def test_callables_see_the_event_and_what_was_taken() -> None:
    seen: list[Any] = []

    def remember(event: Any, taken: Any) -> bool | None:
        seen.append((dict(event), dict(taken)))
        return None if event["x"] is None else bool(event["x"] > 1)

    assert holds(PythonCondition(remember), {"x": 2}, v=[{"x": 1}])
    assert not holds(PythonCondition(remember), {"x": None})
    assert seen[0] == ({"x": 2}, {"v": [{"x": 1}]})


def test_a_callable_that_raises_or_returns_nonsense_is_named() -> None:
    def broken(event: Any, taken: Any) -> bool:
        return bool(event["missing"])

    with pytest.raises(EvaluationError, match=r"element 'a': the callable .*broken raised KeyError") as caught:
        holds(PythonCondition(broken), {})
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(EvaluationError, match="returned 1, which is neither a bool nor None"):
        holds(PythonCondition(lambda event, taken: 1), {})  # type: ignore[arg-type, return-value]


def test_a_value_that_is_no_condition_is_an_error_and_not_false() -> None:
    with pytest.raises(EvaluationError, match="1 is neither true nor false"):
        holds("x AND TRUE", {"x": 1})
    with pytest.raises(EvaluationError, match="'yes' is neither true nor false"):
        holds("x", {"x": "yes"})


def test_an_event_that_is_read_as_an_object_is_recalled_to_be_a_dict() -> None:
    with pytest.raises(EvaluationError, match=r"An event is a dict: write event\['price'\]"):
        holds(PythonCondition(lambda event, taken: event.price > 1), {"price": 1})  # type: ignore[attr-defined]


def test_what_only_spark_computes_is_refused_by_name() -> None:
    with pytest.raises(ConditionError) as caught:
        holds("sha2(name, 256) = 'ab'", {})
    assert caught.value.problem.startswith("`sha2` is computed by Spark only\n")
    with pytest.raises(ConditionError) as caught:
        holds("x > 1 AND soundex(name) = 'R163'", {})
    assert caught.value.element == "element 'a'"
    assert caught.value.problem.startswith("`soundex` is computed by Spark only\n")
    assert caught.value.problem.split("\n")[2] == "    " + " " * 10 + "^" * 13
    with pytest.raises(ConditionError, match=r"`lowr` is not known here(?s:.*)did you mean `lower`"):
        holds("lowr(name) = 'x'", {})


def test_like_needs_a_whole_match_and_knows_its_escape() -> None:
    for text, pattern_text, expected in [("a\nb", "a%b", True), ("ab", "a", False), ("a_b", r"a\\_b", True)]:
        assert value(f"x LIKE '{pattern_text}'", {"x": text}, None) is expected
    with pytest.raises(CepheidError, match="must come before"):
        value("x LIKE 'a!b' ESCAPE '!'", {"x": "ab"}, None)


def test_a_fold_in_a_condition() -> None:
    fold = Fold("rising", "TRUE", "rising AND price > 0")
    conditions = bind(pattern(element("v", folds=(fold,)), element("a", "rising")), None)
    predicate = compile_predicate(conditions.where["a"])
    assert predicate({}, ListedTaken({"v": [{"price": 1}, {"price": 2}]}, conditions.folds))
    assert not predicate({}, ListedTaken({"v": [{"price": 1}, {"price": -2}]}, conditions.folds))
    assert predicate({}, ListedTaken({}, conditions.folds))
