"""Conditions that read variables, of all types, on the stack machine against the reference."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from engine.kernel_answers import kernel_outcome, outcome_in_parts, outcome_of
from engine.test_kernel import reference_outcome
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import EvaluationError, Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.reference.outcome import Outcome

SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        ("i", pa.int32()),
        ("n", pa.int64()),
        ("d", pa.float64()),
        ("m", pa.decimal128(10, 2)),
        ("ts", pa.timestamp("us")),
        ("s", pa.string()),
        ("b", pa.bool_()),
    ]
)
CONDITIONS = [
    "i > LAST(a.i)",
    "n <= LAST(a.n)",
    "LAST(a.n) < n",
    "n = SUM(a.n)",
    "d < LAST(a.d)",
    "LAST(a.d) <= d",
    "i + LAST(a.i) > 3",
    "i * LAST(a.i) % 3 = 1",
    "n - SUM(a.n) BETWEEN -5 AND 5",
    "n DIV LAST(a.n) = 1",
    "ABS(n - LAST(a.n)) <= 2 OR -LAST(a.n) > n",
    "d > AVG(a.d)",
    "d > AVG(a.n)",
    "d <=> LAST(a.d)",
    "MIN(a.d) <= d AND MAX(a.d) >= d",
    "d * 2 + LAST(a.d) / 4 > 1.5D",
    "d = FIRST(a.d)",
    "m > LAST(a.m)",
    "m + SUM(a.m) > 3.5",
    "CAST(m AS DECIMAL(10, 2)) * 2 < LAST(a.m)",
    "m - LAST(a.m) <> 0.25",
    "ts - LAST(a.ts) > INTERVAL 5 SECONDS",
    "ts < FIRST(a.ts) + INTERVAL '10' SECOND",
    "MAX(a.ts) < ts",
    "s = LAST(a.s)",
    "s <> FIRST(a.s) OR s IS NULL",
    "s <=> LAST(a.s, 1)",
    "b = LAST(a.b) AND i >= LAST(a.i)",
    "COALESCE(LAST(a.i, 1), 0) < i",
    "CASE WHEN LAST(a.i) > 2 THEN i > 2 WHEN LAST(a.b) THEN b ELSE i < 2 END",
    "NOT (i > LAST(a.i)) OR s LIKE 'x%'",
    "(LAST(a.i) > i) IS NULL",
    "(LAST(a.b) AND b) IS NOT TRUE",
    "COUNT(a.i) = COUNT(a.*)",
    "COUNT(a.*) < 2",
    "SUM(a.i * a.n) > i",
    "LAST(a.n) IN (1, 2, 3)",
    "LAST(a.s) = 'x'",
    "LAST(a.s) IN ('x', 'é') OR LAST(a.s) < 'x'",
    "s > LAST(a.s)",
    "MIN(a.s) < s AND s <= MAX(a.s)",
    "LOWER(a.s) = LOWER(s)",
    "LENGTH(a.s) < LENGTH(s)",
    "LAST(a.s) LIKE 'x_' AND i > LAST(a.i)",
    "DATEDIFF(ts, a.ts) = 0",
    "TIMESTAMPDIFF(SECOND, a.ts, ts) > 3",
    "SECOND(a.ts) < SECOND(ts)",
    "CAST(a.ts AS DATE) = CAST(ts AS DATE)",
    "SQRT(LAST(a.d)) < d",
    "COUNT(DISTINCT a.i) < 2",
    "COUNT(DISTINCT a.d) = 2",
    "COUNT(DISTINCT a.s) = COUNT(a.s)",
    "COUNT(DISTINCT a.m) = COUNT(DISTINCT a.ts)",
    "COUNT(DISTINCT a.s LIKE 'x%') = 2",
    "STDDEV(a.d) > 1e0",
    "STDDEV(a.i) <= 1.5D",
    "STDDEV(a.n) IS NULL",
]
small = st.integers(-3, 3)
rows = st.fixed_dictionaries(
    {
        "i": st.none() | small | st.sampled_from([2**31 - 1, -(2**31)]),
        "n": st.none() | small | st.sampled_from([2**63 - 1, -(2**63)]),
        "d": st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf]),
        "m": st.none() | st.sampled_from([Decimal("0.00"), Decimal("1.50"), Decimal("-2.25"), Decimal("99999999.99")]),
        "ts": st.none() | st.integers(0, 20).map(lambda s: datetime(2025, 1, 1) + timedelta(seconds=s)),
        "s": st.none() | st.sampled_from(["x", "xy", "", "é"]),
        "b": st.none() | st.booleans(),
    }
)


def either(function: Any, *arguments: Any, **named: Any) -> object:
    """What a function returns, or that a condition could not be computed."""
    try:
        return function(*arguments, **named)
    except EvaluationError:
        return EvaluationError


@settings(max_examples=max(400, settings().max_examples))
@given(
    st.sampled_from(CONDITIONS), st.lists(rows, max_size=8), st.sampled_from(["next", "followed_by", "followed_by_any"])
)
def test_conditions_mean_the_same(condition: str, events: list[dict[str, Any]], link: str) -> None:
    table = pa.Table.from_pylist([{"t": time, **event} for time, event in enumerate(events)], schema=SCHEMA)
    pattern = getattr(Pattern.begin("a").one_or_more(), link)("b").where(condition)
    try:
        found = either(kernel_outcome, pattern.tree, table, Options(), end_of_input=True)
    except NotCompiled:
        return
    expected = either(reference_outcome, pattern.tree, table, None, True)
    if isinstance(expected, Outcome):
        expected = Outcome(expected.matches, ())
    assert found == expected


NOT_COMPILED = {
    "n DIV LAST(a.n) = 1": False,
    "LAST(a.s) = CONCAT(LAST(a.s), s)": True,
    "COUNT(DISTINCT a.n + 1) = 1": True,
    "AVG(a.m) > m": True,
    "m * LAST(a.m) < 4": True,
}


@pytest.mark.parametrize(("condition", "is_left_out"), NOT_COMPILED.items())
def test_what_is_left_to_the_reference(condition: str, is_left_out: bool) -> None:
    table = pa.Table.from_pylist([{"t": 1, "n": 1, "s": "x", "m": Decimal(1)}] * 2, schema=SCHEMA)
    pattern = Pattern.begin("a").next("b").where(condition)
    if is_left_out:
        with pytest.raises(NotCompiled):
            kernel_outcome(pattern.tree, table, Options())
    else:
        assert len(kernel_outcome(pattern.tree, table, Options()).matches) == 1


def test_every_condition_above_is_compiled() -> None:
    table = pa.Table.from_pylist([], schema=SCHEMA)
    for condition in CONDITIONS:
        kernel_outcome(Pattern.begin("a").one_or_more().next("b").where(condition).tree, table, Options())


def test_folds() -> None:
    product = Pattern.begin("a").fold("z", init="1", update="CASE WHEN n > 0 THEN z * n ELSE z END")
    pattern = product.one_or_more().consecutive().next("b").where("n = z")
    table = pa.Table.from_pylist([{"t": t, "n": n} for t, n in enumerate([2, -5, 3, 6])], schema=SCHEMA)
    expected = reference_outcome(pattern.tree, table, None, True)
    assert kernel_outcome(pattern.tree, table, Options(), end_of_input=True).matches == expected.matches
    assert [match.taken[0][0] for match in expected.matches] == [0]


IN_PARTS = [
    "s = LAST(a.s)",
    "s > LAST(a.s)",
    "MIN(a.s) < s",
    "COUNT(DISTINCT a.s) = COUNT(a.s)",
    "COUNT(DISTINCT a.d) < COUNT(a.d)",
    "STDDEV(a.d) > 1e0",
    "LOWER(a.s) = LOWER(s)",
]


@given(st.sampled_from(IN_PARTS), st.lists(rows, max_size=10), st.randoms(use_true_random=False))
def test_conditions_mean_the_same_of_events_that_come_in_parts(
    condition: str, events: list[dict[str, Any]], chance: random.Random
) -> None:
    table = pa.Table.from_pylist([{"t": time, **event} for time, event in enumerate(events)], schema=SCHEMA)
    tree = Pattern.begin("a").times_or_more(1).followed_by("b").where(condition).within(5).tree
    automaton = build(tree, bind(tree, Schema.from_arrow(SCHEMA)))
    expected = outcome_of(automaton, table, Options(), None, True)
    assert outcome_in_parts(chance)(automaton, table, Options(), None, True) == expected
