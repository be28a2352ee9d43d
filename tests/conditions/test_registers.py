"""Registers, stepped event by event, hold what the lists of events say (rule 11)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from conditions.patterns import element, pattern
from hypothesis import given
from hypothesis import strategies as st

from cepheid.conditions import BoundConditions, ListedTaken, Schema, bind, types
from cepheid.conditions.expression import Aggregate, FoldValue, walk
from cepheid.conditions.types import decimal
from cepheid.errors import EvaluationError
from cepheid.syntax.tree import Event, Fold

AGGREGATES = [
    "COUNT(a.*)",
    "COUNT(a.x)",
    "SUM(a.x)",
    "AVG(a.x)",
    "MIN(a.x)",
    "MAX(a.x)",
    "FIRST(a.x)",
    "FIRST(a.x, 2)",
    "LAST(a.x)",
    "LAST(a.x, 1)",
    "LAST(a.x, 3)",
    "COUNT(DISTINCT a.x)",
    "COUNT(DISTINCT a.x > 0)",
    "STDDEV(a.x)",
    "SUM(a.x * a.x)",
    "SUM(b.x)",
    "LAST(b.x)",
]
FOLDS = (Fold("z", "0", "CASE WHEN x IS NULL THEN z ELSE z + x END"), Fold("w", "1", "w + 1"))
VALUES = {
    "int": (types.INT, st.integers(-1000, 1000)),
    "double": (types.DOUBLE, st.floats(allow_nan=True, allow_infinity=False, width=32)),
    "decimal": (decimal(10, 2), st.decimals(-100, 100, places=2)),
}


def _conditions(schema: Schema | None) -> BoundConditions:
    reads = " AND ".join(f"{text} IS NULL" for text in [*AGGREGATES, "z", "w"])
    return bind(pattern(element("a", folds=FOLDS), element("b"), element("c", reads)), schema)


CONDITIONS = {
    (name, known): _conditions(Schema.of([("x", data_type)]) if known else None)
    for name, (data_type, _) in VALUES.items()
    for known in (True, False)
}


def _reads(conditions: BoundConditions) -> list[Aggregate | FoldValue]:
    nodes = walk(conditions.where["c"].expression)
    return [node for node in nodes if isinstance(node, Aggregate | FoldValue)]


def _same(left: Any, right: Any) -> bool:
    both_nan = isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right)
    return both_nan or (type(left) is type(right) and bool(left == right))


@given(data=st.data(), kind=st.sampled_from(sorted(VALUES)), known=st.booleans())
def test_registers_equal_lists(data: st.DataObject, kind: str, known: bool) -> None:
    conditions = CONDITIONS[kind, known]
    events = data.draw(st.lists(st.tuples(st.sampled_from("abc"), st.none() | VALUES[kind][1]), max_size=8))
    registers = conditions.registers
    values = registers.initial()
    listed: dict[str, list[Event]] = {}
    for variable, number in events:
        event = {"x": number}
        values = registers.take(values, variable, event)
        listed.setdefault(variable, []).append(event)
        taken = registers.taken(values, lambda: listed)
        literally = ListedTaken(listed, conditions.folds)
        for node in _reads(conditions):
            if isinstance(node, Aggregate):
                stepped, from_list = taken.aggregate(node), literally.aggregate(node)
            else:
                stepped, from_list = taken.fold(node), literally.fold(node)
            assert _same(stepped, from_list), (str(node), stepped, from_list)
        assert taken.events() == literally.events()


def _read(text: str, data_type: types.DataType | None, numbers: Sequence[Any]) -> Any:
    schema = None if data_type is None else Schema.of([("x", data_type)])
    conditions = bind(pattern(element("a"), element("c", f"{text} IS NULL")), schema)
    values = conditions.registers.initial()
    for number in numbers:
        values = conditions.registers.take(values, "a", {"x": number})
    node = _reads(conditions)[0]
    assert isinstance(node, Aggregate)
    return conditions.registers.taken(values, dict).aggregate(node)


@pytest.mark.parametrize(
    ("text", "data_type", "numbers", "expected"),
    [
        ("SUM(a.x)", types.INT, [], 0),
        ("SUM(a.x)", types.INT, [None], 0),
        ("SUM(a.x)", decimal(5, 2), [], Decimal("0.00")),
        ("SUM(a.x)", types.INTERVAL, [], timedelta(0)),
        ("SUM(a.x)", types.INT, [2**31 - 1, 1], 2**31),
        ("COUNT(a.x)", types.INT, [1, None, 2], 2),
        ("COUNT(a.*)", types.INT, [1, None, 2], 3),
        ("AVG(a.x)", types.INT, [], None),
        ("AVG(a.x)", types.INT, [1, None, 2], 1.5),
        ("AVG(a.x)", decimal(5, 2), [Decimal("1.00"), Decimal("1.00"), Decimal("0.00")], Decimal("0.666667")),
        ("AVG(a.x)", types.INTERVAL, [timedelta(1), timedelta(2)], timedelta(hours=36)),
        ("AVG(a.x)", types.INTERVAL, [timedelta(microseconds=1), timedelta(0)], timedelta(microseconds=1)),
        ("AVG(a.x)", types.INTERVAL, [timedelta(microseconds=-1), timedelta(0)], timedelta(microseconds=-1)),
        ("COUNT(DISTINCT a.x)", types.INT, [], 0),
        ("COUNT(DISTINCT a.x)", types.INT, [2, None, 1, 2, None], 2),
        ("COUNT(DISTINCT a.x)", types.DOUBLE, [math.nan, -math.nan, 0.0, -0.0], 2),
        ("COUNT(DISTINCT a.x)", decimal(5, 2), [Decimal("1.50"), Decimal("1.5")], 1),
        ("COUNT(DISTINCT a.x)", types.STRING, ["a", "A", "NaN", "a"], 3),
        ("STDDEV(a.x)", types.INT, [], None),
        ("STDDEV(a.x)", types.INT, [7, None], None),
        ("STDDEV(a.x)", types.INT, [1, None, 2, 3], 1.0),
        ("STD(a.x)", decimal(5, 2), [Decimal("1.5"), Decimal("1.5")], 0.0),
        ("STDDEV_SAMP(a.x)", types.DOUBLE, [math.nan, 1.0], math.nan),
        ("MEAN(a.x)", types.INT, [1, 2], 1.5),
        ("MIN(a.x)", types.DOUBLE, [math.nan, 1.0], 1.0),
        ("MAX(a.x)", types.STRING, ["b", None, "a"], "b"),
        ("FIRST(a.x)", types.INT, [None, 4, 5], 4),
        ("FIRST(a.x, 1)", types.INT, [None, 4, 5], 5),
        ("LAST(a.x)", types.INT, [4, 5, None], 5),
        ("LAST(a.x, 1)", types.INT, [4, None, 5, None], 4),
        ("LAST(a.x, 2)", types.INT, [4, 5], None),
        ("MIN(a.x)", types.INT, [], None),
        ("AVG(a.x)", None, [Decimal("1.5"), 2], Decimal("1.75000")),
        ("SUM(a.x)", None, [1, 2.5], 3.5),
    ],
)
def test_rule_11(text: str, data_type: types.DataType | None, numbers: Sequence[Any], expected: Any) -> None:
    assert _same(_read(text, data_type, numbers), expected)


def test_a_variable_that_nobody_reads_changes_nothing() -> None:
    registers = bind(pattern(element("a"), element("b", "LAST(a.x) > 1")), None).registers
    values = registers.initial()
    assert registers.take(values, "b", {"x": 1}) is values
    assert registers.take(values, "a", {"x": 1}) != values


def test_values_are_left_as_they_were() -> None:
    registers = bind(pattern(element("a"), element("b", "SUM(a.x) > LAST(a.x, 1)")), None).registers
    first = registers.take(registers.initial(), "a", {"x": 1})
    left, right = registers.take(first, "a", {"x": 2}), registers.take(first, "a", {"x": 3})
    assert (left, right, first) == ((3, (1, 2)), (4, (1, 3)), (1, (1,)))


def test_an_overflow_while_taking_names_the_register() -> None:
    registers = bind(pattern(element("a"), element("b", "SUM(a.x) > 1")), None).registers
    values = registers.take(registers.initial(), "a", {"x": 2**63 - 1})
    with pytest.raises(EvaluationError, match=r"sum\(x\) of a: overflow"):
        registers.take(values, "a", {"x": 1})


def test_events_are_asked_for_only_by_callables() -> None:
    asked: list[Mapping[str, list[Event]]] = []
    conditions = bind(pattern(element("a"), element("b", "SUM(a.x) > 1")), None)

    def events() -> Mapping[str, list[Event]]:
        asked.append({})
        return {}

    taken = conditions.registers.taken(conditions.registers.initial(), events)
    node = _reads_of_b(conditions)
    assert taken.aggregate(node) == 0
    assert asked == []


def _reads_of_b(conditions: BoundConditions) -> Aggregate:
    return next(node for node in walk(conditions.where["b"].expression) if isinstance(node, Aggregate))
