"""Patterns as SASE text: what can be said is said and read back the same, what cannot is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from syntax.strategies import patterns

from cepheid import Pattern, one_of, skip
from cepheid.errors import MalformedPatternError
from cepheid.syntax.tree import PatternTree, Skip

A_THEN_B = Pattern.begin("a").where("kind = 'A'").followed_by_any("b").where("kind = 'B'", "n > a.n OR n = 0")


def test_the_text_names_the_column_of_types_unless_the_reader_is_to_give_it() -> None:
    assert A_THEN_B.to_sase() == "EVENT SEQ(A a, B b)\nTYPED BY kind\nWHERE (b.n > a.n OR b.n = 0)"
    assert A_THEN_B.to_sase(type_column="kind") == "EVENT SEQ(A a, B b)\nWHERE (b.n > a.n OR b.n = 0)"
    assert A_THEN_B.to_sase(type_column="type") == (
        "EVENT SEQ(ANY a, ANY b)\nWHERE a.kind = 'A' AND b.kind = 'B' AND (b.n > a.n OR b.n = 0)"
    )


def test_or_where_stays_together() -> None:
    pattern = Pattern.begin("within").where("type = 'a b'", "x > 1").or_where("y IN ('p', 'q')")
    assert pattern.to_sase() == (
        "EVENT SEQ(ANY `within`)\nWHERE ((`within`.type = 'a b' AND `within`.x > 1) OR (`within`.y IN ('p', 'q')))"
    )


@pytest.mark.parametrize(
    "strategy",
    [skip.no_skip, skip.to_next, skip.past_last_event, skip.to_first("b"), skip.to_last("to next", or_fail=True)],
)
def test_skip_strategies_come_back(strategy: Skip) -> None:
    for window in (None, 5, "5 minutes"):
        pattern = Pattern.begin("to next").followed_by_any("b").skip(strategy)
        pattern = pattern if window is None else pattern.within(window)
        assert Pattern.parse(pattern.to_sase()) == pattern


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (Pattern.begin("a").next("b").followed_by("c"), "one strategy holds for all"),
        (Pattern.begin("a").next("b").one_or_more(), "one strategy holds for all"),
        (Pattern.begin("a").one_or_more().followed_by("b"), "takes every event that it can"),
        (Pattern.begin("a").times(2), "the quantifier {2}"),
        (Pattern.begin("a").one_or_more().greedy(), "greedy"),
        (Pattern.begin("a").one_or_more().until("x = 1"), "until"),
        (Pattern.begin("a").one_or_more(within=5), "a bound between repetitions"),
        (Pattern.begin("a").next("b").optional(), "an optional element"),
        (Pattern.begin("a").next(Pattern.begin("b").next("c")), "a group"),
        (Pattern.begin("a").not_next("b").where("x = 1").next("c"), "not_next"),
        (Pattern.begin("a").next("b").within(5, since="previous"), "a window since the previous event"),
        (Pattern.begin("a").fold("f", init="0", update="f + x").next("b").where("f > 3"), "the fold 'f'"),
        (Pattern.begin("a").where(lambda event, taken: True), "a Python callable"),
        (Pattern.begin("a").partition_by("k"), "k may be NULL"),
        (Pattern.begin("a").followed_by_any("b").where("a.x > 3"), "would be asked of another component"),
        (Pattern.begin("a").where("AVG(a.x) > 3").one_or_more().allow_combinations(), "asked of another component"),
    ],
)
def test_what_sase_has_no_words_for_is_named(pattern: Pattern, said: str) -> None:
    with pytest.raises(MalformedPatternError) as caught:
        pattern.to_sase()
    assert "SASE text cannot say this" in caught.value.problem and said in caught.value.problem, str(caught.value)


@given(patterns(depth=0))
def test_a_pattern_is_refused_or_its_text_is_stable(tree: PatternTree) -> None:
    try:
        text = Pattern(tree).to_sase()
    except MalformedPatternError as error:
        assert "SASE text cannot say this" in error.problem
        return
    assert Pattern.parse(text).to_sase() == text


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (Pattern.begin(one_of("a", "b")), "one_of"),
        (Pattern.begin("a").one_or_more().having("COUNT(a.*) > 2"), "having"),
        (Pattern.begin("a").one_or_more().whole().within(5), "whole"),
        (Pattern.begin("a").followed_by_any("b").within(5, since="a"), "since an element"),
        (Pattern.begin("a").once_per(5), "once_per"),
    ],
)
def test_constructs_that_sase_has_no_words_for(pattern: Pattern, said: str) -> None:
    with pytest.raises(MalformedPatternError, match=f"SASE text cannot say this.*{said}"):
        pattern.to_sase()
