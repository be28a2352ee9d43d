"""A pattern explains itself, in text, in a terminal and in a notebook."""

from __future__ import annotations

import io
from datetime import datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from rich.console import Console
from syntax.strategies import patterns

from cepheid import Pattern, all_of, skip
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.conditions import Schema, types
from cepheid.explain import Execution, Explanation, explain, rows_that_travel
from cepheid.syntax.tree import PatternTree, variables

FRAUD = (
    Pattern.begin("small")
    .where("amount < 10")
    .times(2, 4)
    .followed_by("big")
    .where("country <> 'XX' AND amount > 5 * AVG(small.amount)")
    .within("10 minutes")
)


def section(explanation: Explanation, title: str) -> str:
    [found] = [section for section in explanation.sections if section.title == title]
    return "\n".join(found.text())


def test_conditions_are_split() -> None:
    conditions = section(FRAUD.explain(), "Conditions")
    assert "Spark:   country <> 'XX'" in conditions
    assert "the run: amount > 5 * AVG(small.amount)" in conditions


def test_what_a_run_remembers() -> None:
    remembered = section(FRAUD.explain(), "What a run remembers")
    assert "sum(amount) of small" in remembered
    assert "count(amount) of small" in remembered


def test_with_types_the_compared_values_are_known() -> None:
    rows = [{"ts": datetime(2025, 1, 1), "amount": 5, "country": "DE"}]
    remembered = section(FRAUD.match_events(rows, order_by="ts").explain(), "What a run remembers")
    assert "computed by Spark for each event: amount" in remembered


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (Pattern.begin("a").where("x = 1").next("b").where("x = 2"), "'b' must come right after"),
        (Pattern.begin("a").where("x = 1").followed_by("b"), "element 'b' has no condition"),
        (Pattern.begin("a").where("x = 1").followed_by("b").where("x > LAST(a.x)"), "asks nothing of the event alone"),
        (Pattern.begin("a").where("x = 1").within(events=3), "the window counts events"),
        (
            Pattern.begin("a").where("x = 1").not_next("n").where("x = 3").followed_by("b").where("x = 2"),
            "not 'n' looks at the very next event",
        ),
    ],
)
def test_why_rows_stay(pattern: Pattern, reason: str) -> None:
    why = why_all_rows_travel(pattern.automaton())
    assert why is not None and reason in why
    assert reason in section(pattern.explain(), "Rows")


def test_rows_that_may_go() -> None:
    pattern = Pattern.begin("a").where("x = 1").followed_by("b").where("x = 2")
    assert why_all_rows_travel(pattern.automaton()) is None
    assert "dropped first" in section(pattern.explain(), "Rows")


@pytest.mark.parametrize(
    ("pattern", "warning"),
    [
        (Pattern.begin("a").where(lambda event, taken: True).within(5), "a Python callable"),
        (Pattern.begin("a").where("x = 1").followed_by("b").where("x = 2"), "partial matches wait without limit"),
        (Pattern.begin("a").where("x = 1").followed_by("b").where("x = 2").one_or_more(), "ends with 'b', a loop"),
        (Pattern.begin("a").where("x = 1").one_or_more().allow_combinations().within(5), "all combinations"),
        (Pattern.begin("a").followed_by("b").where("x = 2").within(5), "every event starts a partial match"),
    ],
)
def test_warnings(pattern: Pattern, warning: str) -> None:
    assert any(warning in text for text in pattern.explain().warnings)


def test_texts_that_are_taken_as_numbers_are_warned_of() -> None:
    pattern = Pattern.begin("a").where("kind > 5").next("b").where("kind > 5 AND n > '5'").within("1 hour")
    schema = Schema((("kind", types.STRING), ("n", types.LONG)))
    [warning] = explain(pattern.tree, schema).warnings
    assert "Element 'a': `kind` is a string and is read as a bigint" in warning


def test_rows_in_memory_say_how_they_were_taken() -> None:
    found = Pattern.begin("a").match_events([{"t": 1}], order_by="t")
    assert "none: all rows are one sequence" in str(found.explain())
    assert "key:                 k\n" in str(Pattern.begin("a").match_events([{"k": 1}], partition_by="k").explain())


def test_a_careful_pattern_has_no_warnings() -> None:
    assert FRAUD.explain().warnings == ()


def test_unknown_types_are_no_reason_for_the_slow_way() -> None:
    assert "slow" not in str(FRAUD.explain())


def test_an_execution_says_how_it_runs() -> None:
    plan = Execution(
        "Spark, batch",
        columns=("tag", "ts"),
        rows=rows_that_travel("the window counts events"),
        buckets="8 buckets of keys",
        warnings=("without partition_by nothing is parallel",),
    )
    explanation = explain(FRAUD.tree, execution=plan)
    execution = section(explanation, "Execution")
    assert "8 buckets of keys" in execution
    assert "all rows travel: the window counts events" in execution
    assert "without partition_by nothing is parallel" in explanation.warnings


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@given(patterns())
def test_every_pattern_explains_itself_three_ways_alike(tree: PatternTree) -> None:
    explanation = Pattern.from_tree(tree).explain()
    page = _Text()
    page.feed(explanation._repr_html_())
    assert page.open == []
    terminal = io.StringIO()
    Console(file=terminal, width=10_000).print(explanation)
    for shown in (str(explanation), page.text, terminal.getvalue()):
        for _, _, variable in variables(tree.body):
            assert variable.name in shown
        for title in ("Pattern", "Conditions", "Automaton", "Strategy", "State on a stream"):
            assert title in shown


def test_html_shows_conditions_as_they_are() -> None:
    html = Pattern.begin("a").where("x < 3 AND y <> '<b>'").within(2).explain()._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_lengths_are_told_in_words() -> None:
    pattern = (
        Pattern.begin("a").where("x = 1").times_or_more(2, within="30 minutes")
        .followed_by("b").where("x = 2").within("5 minutes", since="previous")
        .not_followed_by("c").where("x = 3").within("90 seconds", since="previous")
    )  # fmt: skip
    shown = str(pattern.explain())
    assert "less than 30 minutes since the previous event" in shown
    assert "END once not_followed_by x = 3 for 90 seconds" in shown
    assert "00000" not in shown + str(pattern.diagram("mermaid", of="automaton"))
    assert "for 5" in str(Pattern.begin("a").not_followed_by("b").within(5, since="previous").explain())


def test_a_negation_that_forbids_its_own_loop_is_warned_of() -> None:
    run = Pattern.begin("a").where("k = 'a'").one_or_more().consecutive()
    defeated = run.not_next("more").where("k='a'")
    assert "only runs of a single event can match" in str(defeated.explain())
    assert "write whole() on the loop" in str(defeated.explain())
    rows = [{"t": t, "k": k} for t, k in enumerate("aab")]
    with pytest.warns(UserWarning, match="'more' has the condition of the loop 'a'"):
        assert [len(match["a"]) for match in defeated.match_events(rows, order_by="t")] == [1]
    twice = Pattern.begin("a").where("k = 'a'").times(2).consecutive().not_next("more").where("k = 'a'")
    assert "nothing can match" in str(twice.explain())
    for sound in (
        run.not_next("other").where("k = 'b'"),
        run.not_followed_by("more").where("k = 'a'").within(5),
        Pattern.begin("a").where("k = 'a'").not_next("more").where("k = 'a'"),
        run.whole(),
    ):
        assert "write whole()" not in str(sound.explain())


def test_a_loop_at_the_end_that_lists_every_length_is_told() -> None:
    run = Pattern.begin("a").where("k = 'a'").one_or_more().within(5)
    assert "all shorter ones" in str(run.explain())
    assert "all shorter ones" not in str(run.skip(skip.past_last_event).explain())
    assert "all shorter ones" not in str(Pattern.begin("a").where("k = 'a'").one_or_more().whole().within(5).explain())
    assert "all shorter ones" not in str(Pattern.begin("a").where("k = 'a'").times(3).within(5).explain())
    assert "all shorter ones" not in str(run.followed_by("b").where("k = 'b'").explain())


def test_what_an_all_of_costs() -> None:
    members = [Pattern.begin(name).where(f"k = '{name}'") for name in "abcd"]
    text = str(Pattern.begin(all_of(*members)).explain())
    assert "15 sets of members may have been taken before the last one" in text
    assert "5 sets of members" in str(Pattern.begin(all_of(*members, at_least=2)).explain())
