"""What is said to have a value on every row has one: nothing raises on rows that did not ask for it."""

from __future__ import annotations

import pytest
from conditions.typed_expressions import bound, tables, texts_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepheid import Pattern
from cepheid.conditions import compile_expression
from cepheid.conditions.casting import BEYOND_THE_CALENDAR
from cepheid.conditions.expression import Column, Expression, walk
from cepheid.conditions.failing import can_fail
from cepheid.conditions.functions.table import FUNCTIONS
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.errors import ConditionError, EvaluationError

SORTS = ("condition", "condition", "number", "text", "moment", "interval")


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    text = draw(st.sampled_from(SORTS).flatmap(lambda sort: texts_of(sort, 2)))
    try:
        return bound(text)
    except ConditionError:
        assume(False)
        raise


@settings(max_examples=3 * settings().max_examples)
@given(st.data())
def test_what_cannot_fail_has_a_value_on_every_row(data: st.DataObject) -> None:
    expression = data.draw(expressions())
    names = tuple(dict.fromkeys(node.name for node in walk(expression) if isinstance(node, Column)))
    compute = compile_expression(expression)
    for row in data.draw(tables(names)).to_pylist():
        try:
            compute(row, NOTHING_TAKEN)
        except EvaluationError as error:
            assert can_fail(expression) or BEYOND_THE_CALENDAR in str(error), (str(expression), row)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("s LIKE 'a%'", False),
        ("s LIKE code", True),
        ("s LIKE CONCAT('a', '%')", True),
        ("s LIKE NULL", False),
        ("s RLIKE '^a'", False),
        ("s RLIKE '('", True),
        ("s RLIKE code", True),
        ("STARTSWITH(s, code)", False),
        ("d + 1e0", False),
        ("d / 2e0", True),
        ("n + 1", True),
        ("ABS(n)", True),
        ("ABS(d)", False),
        ("FLOOR(d)", True),
        ("FLOOR(n)", False),
        ("ROUND(n)", True),
        ("CAST(s AS INT)", True),
        ("CAST(n AS BIGINT)", False),
        ("CAST(m AS INT)", True),
        ("CAST(price AS DECIMAL(12,2))", False),
        ("CAST(price AS DECIMAL(9,1))", True),
        ("HOUR(at)", False),
        ("GREATEST(n, m)", False),
    ],
)
def test_what_may_fail_is_said(text: str, fails: bool) -> None:
    assert can_fail(bound(text)) is fails


def test_every_function_is_asked() -> None:
    """The random expressions above reach each function of the table whose arguments they have."""
    from conditions.typed_expressions import OF_ANY_SORT, SHAPES, WORDS

    written = " ".join((*OF_ANY_SORT, *(shape for shapes in SHAPES.values() for shape in shapes), repr(WORDS)))
    unwritten = {function.name for function in FUNCTIONS.values()} - {"NEGATIVE"}
    unwritten = {name for name in unwritten if name not in written}
    # Of these the value is a matter of the last digit, or rows here have no arrays: they are shown by example.
    of_arrays = {"SIZE", "ARRAY_CONTAINS", "ARRAY_JOIN", "EXISTS", "FORALL", "FILTER", "TRANSFORM"}
    assert unwritten <= {"SIN", "COS", "ASIN", "RADIANS"} | of_arrays, unwritten


def test_a_pattern_of_an_event_that_is_not_asked_is_not_looked_at() -> None:
    pattern = Pattern.begin("a").where("k = 'a'").followed_by("b").where("k = 'b' AND (n > a.n OR name LIKE pat)")
    rows = [
        {"k": "a", "n": 1, "name": "x", "pat": "x"},
        {"k": "z", "n": 0, "name": "x", "pat": "wrong\\"},
        {"k": "b", "n": 0, "name": "x", "pat": "x%"},
    ]
    assert len(pattern.match_events(rows).matches) == 1
    many = rows[:1] + rows[1:2] * 100 + rows[2:]
    assert len(pattern.match_events(many).matches) == 1
