"""`repr` rebuilds the pattern; `str` is one legible line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syntax.strategies import durations, patterns

from cepheid.syntax import PatternBuilder as Pattern
from cepheid.syntax import PatternTree, skip, to_python, to_text
from cepheid.syntax.combinations import all_of, one_of
from cepheid.syntax.tree import AllOf, AnyOf, Not, SqlText, variables, walk

X, Y, Z = SqlText("x"), SqlText("y"), SqlText("z")


def rebuilt(source: str) -> PatternTree:
    names = {"Pattern": Pattern, "skip": skip, "AllOf": AllOf, "AnyOf": AnyOf, "SqlText": SqlText}
    names |= {"one_of": one_of, "all_of": all_of}
    pattern = eval(source, names)
    assert isinstance(pattern, Pattern)
    return pattern.tree


@given(st.one_of(patterns(beyond=True), patterns(lengths=durations(), beyond=True)))
def test_python_rebuilds_the_pattern(tree: PatternTree) -> None:
    assert rebuilt(to_python(tree)) == tree


@given(patterns(beyond=True))
def test_the_compact_notation_is_one_line_and_names_every_element(tree: PatternTree) -> None:
    text = to_text(tree)
    assert "\n" not in text
    for before in tree.not_before:
        assert f"!{before.name}" in text
    for _, element in walk(tree.body):
        if isinstance(element, Not):
            assert f"!{element.name}" in text
    for _, _, variable in variables(tree.body):
        assert re.search(rf"(^|[ (]){variable.name}\b", text)


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        (Pattern(), "Pattern()"),
        (Pattern().within(5), "Pattern().within(5)"),
        (Pattern.not_before("n"), 'Pattern.not_before("n")'),
        (
            Pattern.begin("a").where("name = 'x'").within("90 s").skip(skip.to_first("a")),
            """Pattern.begin("a").where("name = 'x'").within("90 seconds").skip(skip.to_first("a"))""",
        ),
        (Pattern.begin("a").times(0, 3), 'Pattern.begin("a").times(1, 3).optional()'),
        (Pattern.begin("a").times(2, within={2: 5}), 'Pattern.begin("a").times(2, within={2: 5})'),
        (Pattern.begin(Pattern.begin("a").next("b")), 'Pattern.begin(Pattern.begin("a").next("b"))'),
        (Pattern.begin("a").where("x").or_where("y", "z"), 'Pattern.begin("a").where("x").or_where("y", "z")'),
        (
            Pattern.begin("a").fold("s", init="0", update="s + 1"),
            'Pattern.begin("a").fold("s", init="0", update="s + 1")',
        ),
    ],
)
def test_python_looks_as_one_would_write_it(pattern: Pattern, source: str) -> None:
    assert to_python(pattern.tree) == source
    assert rebuilt(source) == pattern.tree


@pytest.mark.parametrize(
    "pattern",
    [
        Pattern.begin("a").where("name = \"x\" AND b = 'y'"),
        Pattern.begin("a").where("name LIKE '\\d\n%'"),
        Pattern.begin("a").where("x").where("y").or_where("z").where("u", "v"),
        Pattern.begin("a").where(AllOf((X, AnyOf((Y, Z))))),
        Pattern.begin("a").where(AnyOf((AllOf((X, AnyOf((Y, Z)))), Y))),
        Pattern.begin("a").one_or_more().until(AnyOf((X, Y)), "z"),
        Pattern.begin("a").within(0.1).skip(skip.to_last("a", or_fail=True)),
    ],
)
def test_quotes_escapes_and_nested_conditions_survive(pattern: Pattern) -> None:
    assert rebuilt(to_python(pattern.tree)) == pattern.tree


def cheap(event: object, taken: object) -> bool:
    return True


def test_callables_print_as_their_names() -> None:
    pattern = Pattern.begin("a").where(cheap)
    assert to_python(pattern.tree) == 'Pattern.begin("a").where(cheap)'
    assert to_text(pattern.tree) == "a[cheap]"


def test_repr_and_str_of_a_builder() -> None:
    assert repr(Pattern.begin("a").next("b")) == 'PatternBuilder.begin("a").next("b")'
    assert str(Pattern.begin("a").next("b")) == "a -> b"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (
            Pattern.begin("a").where("x = 1").one_or_more().not_followed_by("b").where("y = 2")
            .followed_by_any(Pattern.begin("c").next("d")).times(2, 3).optional()
            .within("10 minutes").skip("past_last_event"),
            "a[x = 1]+ ~> !b[y = 2] ~>> (c -> d){2,3}? within 10 minutes, skip past last event",
        ),
        (
            Pattern.not_before("m").where("x").not_before("n").begin("a").followed_by("b").within(events=5),
            "!m[x], !n before a ~> b within 5 events",
        ),
        (
            Pattern.begin("a").one_or_more(within="5 s").optional().greedy().consecutive().until("x").not_next("b"),
            "a*<consecutive; greedy; until [x]; gaps 5 seconds> -> !b",
        ),
        (
            Pattern.begin("a").times(2, within={2: 5}).allow_combinations().next("b").within(3, since="previous"),
            "a{2}<combinations; gaps {2: 5}> -> b<within 3 since previous>",
        ),
        (
            Pattern.begin("a").where("x", "y").or_where("z").times_or_more(2).skip(skip.to_first("a", or_fail=True)),
            "a[((x) AND (y)) OR (z)]{2,} skip to first a or fail",
        ),
        (
            Pattern.begin("a").where("x\n  = 1").fold("s", init="0", update="s + 1"),
            "a[x = 1]<fold s = [0] then [s + 1]>",
        ),
        (Pattern(), "(no element)"),
    ],
)  # fmt: skip
def test_the_compact_notation(pattern: Pattern, text: str) -> None:
    assert to_text(pattern.tree) == text
