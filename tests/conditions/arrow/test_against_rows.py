"""The Arrow evaluator gives what the evaluator by rows gives, on random expressions and random rows.

For each row the same value, or an error for both; or the Arrow evaluator says that it does not know.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from conditions.typed_expressions import bound, tables, texts_of
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st

from cepheid.conditions import ListedTaken, compile_expression
from cepheid.conditions.arrow.evaluation import NotVectorized, evaluate, evaluate_or_fall_back
from cepheid.conditions.expression import Column, Expression, walk
from cepheid.errors import ConditionError, EvaluationError


class Case:
    """An expression and rows, shown as text and values."""

    def __init__(self, text: str, expression: Expression, table: pa.Table) -> None:
        self.text, self.expression, self.table, self.rows = text, expression, table, table.to_pylist()

    def __repr__(self) -> str:
        return f"{self.text} on {self.rows}"


@st.composite
def cases(draw: st.DrawFn, *sorts: str) -> Case:
    """An expression of one of the sorts, and rows of the columns that it reads."""
    text = draw(texts_of(draw(st.sampled_from(sorts)), draw(st.integers(1, 3))))
    try:
        expression = bound(text)
    except ConditionError:
        reject()
    names = dict.fromkeys(node.name for node in walk(expression) if isinstance(node, Column))
    return Case(text, expression, draw(tables(tuple(names))))


# ── the comparison ───────────────────────────────────────────────────────────────────────────────────────────────────


MANY = settings(max_examples=max(400, settings().max_examples))


def by_rows(case: Case) -> list[Any] | None:
    """The measure: the values row by row, None if a row fails."""
    compute = compile_expression(case.expression)
    try:
        return [compute(row, ListedTaken({})) for row in case.rows]
    except EvaluationError:
        return None


def same(left: Any, right: Any) -> bool:
    """Equal values of one type, zeros with the same sign."""
    if left is None or right is None:
        return left is right
    if isinstance(left, float | Decimal) and left == 0 and math.copysign(1, left) != math.copysign(1, right):
        return False
    return type(left) is type(right) and bool(left == right or (left != left and right != right))


def check_against_rows(case: Case) -> None:
    expected = by_rows(case)
    try:
        computed = evaluate(case.expression, case.table)
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


@MANY
@given(cases("condition"))
def test_conditions(case: Case) -> None:
    check_against_rows(case)


@MANY
@given(cases("number"))
def test_numbers(case: Case) -> None:
    check_against_rows(case)


@MANY
@given(cases("text", "moment", "interval"))
def test_texts_and_times(case: Case) -> None:
    check_against_rows(case)


@MANY
@given(cases("condition"))
def test_falling_back_gives_all_values_or_fails(case: Case) -> None:
    expected = by_rows(case)
    try:
        computed = evaluate_or_fall_back(case.expression, case.table).to_pylist()
    except EvaluationError:
        computed = None
    assert computed == expected
