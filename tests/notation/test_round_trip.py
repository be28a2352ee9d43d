"""What `print` writes of a pattern, `parse` reads: the same tree, whatever the conditions and names look like."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syntax.strategies import durations, patterns

from cepheid import Pattern, skip
from cepheid.errors import MalformedPatternError
from cepheid.notation import read
from cepheid.syntax.notation import to_text
from cepheid.syntax.sql_pieces import inside, one_line, parts
from cepheid.syntax.tree import AllOf, AnyOf, Condition, Element, PatternTree, Sequence, SqlText, Variable
from cepheid.syntax.tree import Link as L

LEAVES = (
    "x = 1",
    "arr[0] > 1",
    "name = ']'",
    "name = '[ ; > within'",
    r"name = 'a\'b]'",
    r"name = r'\]'",
    "`odd ]` > 1",
    'name = "]\'"',
    "(x = 1) AND (y = 2)",
    "(x = 1) OR (y = 2)",
    "((x = 1) AND (y = 2))",
    "(x = 1)",
    "(x + 1) > 2 AND (y = 2)",
    "x - 1 > -2 AND y / 2 > 1",
    "x <> 1 OR z >= 3",
    "CASE WHEN x > 1 THEN y < 2 ELSE z > 3 END",
    "CASE WHEN (x) THEN (y) END",
)
NAMES = (
    "a",
    "within",
    "by",
    "skip",
    "once",
    "before",
    "previous",
    "EVENT",
    "SEQ",
    "two words",
    "naïve",
    "seq[1]",
)


def conditions() -> st.SearchStrategy[Condition]:
    leaves: st.SearchStrategy[Condition] = st.sampled_from(LEAVES).map(SqlText)
    combined = st.recursive(
        leaves,
        lambda inner: st.builds(
            lambda kind, given: kind(tuple(given)),
            st.sampled_from((AllOf, AnyOf)),
            st.lists(inner, min_size=2, max_size=3),
        ),
        max_leaves=5,
    )
    return combined


@given(st.one_of(patterns(), patterns(lengths=durations())))
def test_patterns_come_back(tree: PatternTree) -> None:
    assert read(to_text(tree)) == tree


@given(conditions(), st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_conditions_and_names_come_back(condition: Condition, name: str, key: str) -> None:
    element = Element(L.BEGIN, Variable(name, condition))
    tree = PatternTree(Sequence((element,)), skip.to_first(name, or_fail=True), partition_by=("k", key))
    text = to_text(tree)
    assert "\n" not in text
    assert Pattern.parse(text).tree == tree


@pytest.mark.parametrize(
    "pattern",
    [
        Pattern.begin("a").fold("z", init="LENGTH(']')", update="z + CASE WHEN x > 1 THEN 1 ELSE 0 END"),
        Pattern.begin("a").one_or_more().until("x > 1").followed_by("b").within(1e-07, since="previous").within(0.1),
        Pattern.begin("a").times_or_more(2, within={2: "5 minutes", 3: "1 day 2 hours"}).within("3 days"),
        Pattern.not_before("n").where("x = 1").not_before("m").begin("EVENT").next("b").within(events=5),
        Pattern.begin("EVENT").partition_by("skip", "by", "k"),
        Pattern.begin("PATTERN").within("1 ms 1 us").partition_by("k").skip("to_next"),
        Pattern.begin("event").where("x > 1"),
        Pattern.begin(Pattern.begin(Pattern.begin("a").next("b")).times(2)).optional(),
    ],
)
def test_every_form_comes_back(pattern: Pattern) -> None:
    assert Pattern.parse(str(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\n  AND y = 2", "x = 1 AND y = 2"),
        ("x = 1 -- the first ]\n AND y = 2", "x = 1 AND y = 2"),
        ("x = 1 /* ] */", "x = 1"),
        ("name = 'a\nb'", "name = 'a\\nb'"),
        ("name = '-- no comment'  AND x", "name = '-- no comment'  AND x"),
        ("name =\n'two  blanks'", "name = 'two  blanks'"),
    ],
)
def test_comments_and_line_breaks_are_left_out_of_the_line(text: str, line: str) -> None:
    assert one_line(text) == line
    tree = Pattern.begin("a").where(text).tree
    assert read(to_text(tree)) == Pattern.begin("a").where(line).tree


@given(st.text("()xANDOR 'r\"`-[]", max_size=20))
@example("(a) AND (b) OR (c)")
def test_texts_are_parts_or_kept_or_neither(text: str) -> None:
    """Never both, so that reading has one answer; and parentheses around either are seen."""
    assert parts(text) is None or inside(text) is None
    if parts(text) is not None:
        assert inside(f"({text})") == (1, 1 + len(text))
    assert parts("(a) AND (b) OR (c)") is None


def test_written_by_hand() -> None:
    text = """
        -- things that leave without being paid
        shelf[reader = 'SHELF']
        ~> !counter[ reader = 'COUNTER' ]
        ~> exit [reader = 'EXIT'] + < Greedy; WITHIN 5 min since shelf >
        Within 12 hours, SKIP past   last event, by tag
    """
    assert Pattern.parse(text) == (
        Pattern.begin("shelf").where("reader = 'SHELF'")
        .not_followed_by("counter").where("reader = 'COUNTER'")
        .followed_by("exit").where("reader = 'EXIT'").one_or_more().greedy().within("5 minutes", since="shelf")
        .within("12 hours").skip("past_last_event").partition_by("tag")
    )  # fmt: skip


def cheap(event: object, taken: object) -> bool:
    return True


def test_callables_have_no_text() -> None:
    """They are printed by name, which is read as SQL: the only part of the notation that does not come back."""
    pattern = Pattern.begin("a").where(cheap)
    assert str(pattern) == "a[cheap]"
    assert Pattern.parse(str(pattern)) == Pattern.begin("a").where("cheap") != pattern


def test_the_empty_pattern_has_no_text() -> None:
    with pytest.raises(MalformedPatternError):
        Pattern.parse(str(Pattern()))
