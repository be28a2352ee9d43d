"""Parameters: values reach conditions as values, whatever they hold, and every form of a pattern keeps them."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepheid import CepheidError, ConditionError, InputError, MalformedPatternError, Pattern, skip
from cepheid.automaton.fingerprint import fingerprint
from cepheid.conditions import parse
from cepheid.conditions.parameters import constant, parameters_of
from cepheid.syntax.tree import ParameterValue

VALUES: st.SearchStrategy[ParameterValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
ROWS = [{"t": 1, "n": 5, "name": "x"}, {"t": 2, "n": 9, "name": "' OR true --"}]


@given(VALUES)
def test_every_form_keeps_a_value(value: ParameterValue) -> None:
    pattern = Pattern.begin("a").where("n = :v OR name = :other").bind(v=value, other="y")
    assert Pattern.parse(str(pattern)) == pattern
    assert Pattern.from_json(pattern.to_json()) == pattern
    assert eval(repr(pattern), {"Pattern": Pattern, "skip": skip}) == pattern


@given(st.one_of(st.integers(-(2**63), 2**63 - 1), st.booleans(), st.text()))
@example(-(2**63))
@example(-(2**31))
def test_a_value_is_the_literal_that_would_be_written(value: ParameterValue) -> None:
    literal = constant(value)
    assert parse(str(literal)) == literal


@given(st.text())
def test_a_text_is_compared_and_never_read(text: str) -> None:
    found = Pattern.begin("a").where("name = :who").bind(who=text).match_events([*ROWS, {"t": 3, "n": 1, "name": text}])
    assert [match["a"]["name"] for match in found][-1] == text
    assert len(found) == 1 + sum(row["name"] == text for row in ROWS)


def test_parameters_wherever_a_condition_stands() -> None:
    pattern = (
        Pattern.not_before("z").where("n > :before")
        .begin("a").where("n > :low").fold("s", init="0", update="s + :step").one_or_more().until("n > :end")
        .having("COUNT(a.*) >= :count")
        .followed_by("b").where("n > SUM(a.n * :factor)").or_where("upper(name) = :who", "n IN (:x, :y)")
        .not_followed_by("c").where("n BETWEEN :x AND :y").within(10)
    )  # fmt: skip
    names = ("before", "low", "step", "end", "count", "factor", "who", "x", "y")
    assert set(parameters_of(pattern.tree)) == set(names)
    bound = pattern.bind(**{name: number for number, name in enumerate(names) if name != "who"}, who="X")
    assert not re.search(":[a-z]", str(bound.automaton()))
    assert bound.match_events(ROWS, order_by="t").count() == 0
    assert bound.bind(low=3).tree.parameters == tuple(sorted({**dict(bound.tree.parameters), "low": 3}.items()))


def test_parameters_inside_functions_that_only_spark_knows() -> None:
    pattern = Pattern.begin("a").where("soundex(:who) = soundex(name) AND transform(l, x -> x + :more)[0] > 1")
    assert parameters_of(pattern.tree) == ("who", "more")
    bound = str(pattern.bind(who="it's", more=-3).automaton())
    assert "soundex('it\\'s')" in bound and "x -> x + (-3)" in bound


def test_measures_have_the_same_values() -> None:
    pattern = Pattern.begin("a").where("n > :limit").bind(limit=3)
    measures = {"over": "a.n - :limit", "scaled": "SUM(a.n * :limit)"}
    found = pattern.match_events(ROWS, order_by="t", measures=measures)
    assert [(match["over"], match["scaled"]) for match in found] == [(2, 15), (6, 27)]
    with pytest.raises(ConditionError, match=r"measure 'x'(?s:.*)`:other` has no value"):
        pattern.match_events(ROWS, order_by="t", measures={"x": "a.n - :other"})


def test_a_parameter_may_be_used_by_measures_and_keys_alone() -> None:
    pattern = Pattern.begin("a").where("n > 3").bind(scale=10)
    found = pattern.match_events(ROWS, order_by="t", measures={"scaled": "SUM(a.n) * :scale"})
    assert [match["scaled"] for match in found] == [50, 90]
    found = pattern.match_events(ROWS, order_by="t", partition_by={"k": "n DIV :scale"})
    assert [match["k"] for match in found] == [0, 0]
    with pytest.raises(InputError, match="neither a condition nor a measure has :scale"):
        pattern.match_events(ROWS, order_by="t", measures={"scaled": "SUM(a.n)"})


def test_values_are_part_of_what_a_pattern_means() -> None:
    pattern = Pattern.begin("a").where("n > :limit")
    one, other = (fingerprint(pattern.bind(limit=limit).automaton()) for limit in (1, 2))
    assert one != other == fingerprint(Pattern.begin("a").where("n > 2").automaton())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda p: p.match_events(ROWS), "`:limit` has no value(?s:.*)bind\\(limit=…\\)"),
        (lambda p: p.bind(limt=5), "no condition has :limt(?s:.*)There are: :limit"),
        (lambda p: p.bind(limit=[5]), "cannot be a parameter"),
        (lambda p: p.bind(limit=date(2025, 1, 1)), "CAST\\(:limit AS DATE\\)"),
        (lambda p: p.bind(limit=float("nan")), "not a finite number"),
        (lambda p: p.bind(limit=2**63), "does not fit 64 bits"),
        (lambda p: Pattern.begin(p.bind(limit=5)).next("b"), "bind on the whole pattern"),
        (lambda p: Pattern.begin("a").where("x > ?"), "a parameter has a name"),
        (lambda p: Pattern.parse("a[x > :y] with y = 5, y = 6"), "has a value already"),
        (lambda p: Pattern.parse("a[x > :y] with y = tru"), "a number"),
        (lambda p: Pattern.from_json('{"cepheid": 1, "sequence": [], "parameters": [5]}'), "not an object"),
    ],
)
def test_what_is_refused(call: Any, says: str) -> None:
    with pytest.raises((InputError, MalformedPatternError), match=says) as caught:
        call(Pattern.begin("a").where("n > :limit"))
    assert isinstance(caught.value, CepheidError)


def test_without_values_a_pattern_is_explained_and_drawn() -> None:
    pattern = Pattern.begin("a").where("n > :limit").followed_by("b").where("n > a.n + :more").within(5)
    assert ":limit" in str(pattern.explain()) and ":more" in str(pattern.diagram("text"))
