"""`why`: typical mistakes are named, and its counts add up."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from explain.further_mistakes import FURTHER
from explain.mistakes import MISTAKES, Mistake
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import CepheidError, InputError, Pattern
from cepheid.explain.found import FoundRows
from cepheid.explain.why.document import Why
from cepheid.explain.why.model import Role
from cepheid.reference.tracing import EventClass, Fate
from cepheid.syntax.tree import PatternTree

A_THEN_C = Pattern.begin("a").where("kind = 'a'").followed_by("c").where("kind = 'c'").within(10)
Streams = list[tuple[int, str, int | None]]
streams: st.SearchStrategy[Streams] = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.one_of(st.integers(0, 9), st.none())),
    min_size=1,
    max_size=9,
)


def _why(mistake: Mistake) -> Why:
    return mistake.pattern.match_events(mistake.rows, **mistake.arguments).why()


@pytest.mark.parametrize("mistake", [*MISTAKES, *FURTHER], ids=lambda mistake: mistake.name)
def test_the_cause_of_a_mistake_is_named_first(mistake: Mistake) -> None:
    why = _why(mistake)
    assert why.reasons, str(why)
    assert why.reasons[0].kind is mistake.kind, str(why)
    if mistake.element is not None:
        assert why.reasons[0].element == mistake.element, str(why)


@settings(max_examples=max(60, settings().max_examples // 4), deadline=None)
@given(st.one_of(patterns(), patterns(beyond=True)), streams)
def test_the_counts_add_up(tree: PatternTree, stream: Streams) -> None:
    given = [  # rows of the third key have no time, and are rejected
        {"t": None if key == 2 else 3 * place, "name": name, "price": price, "key": key}
        for place, (key, name, price) in enumerate(stream)
    ]
    rows = [row for row in given if row["t"] is not None]
    assume(not tree.partition_by and rows)
    try:
        found = Pattern(tree).match_events(given, partition_by="key", order_by="t", nulls="drop")
    except CepheidError:
        return
    why = found.why()
    elements = [element for element in why.elements if element.role is Role.ELEMENT]
    assert why.extent.events == why.extent.followed_events == len(rows)
    assert why.extent.rejected == why.events.get(EventClass.REJECTED, 0) == len(given) - len(rows)
    assert sum(why.events.values()) == len(given)
    assert why.matches == len(found) == why.runs.get(Fate.MATCHED, 0)
    runs = sum(why.runs.values())
    assert sum(element.took for element in elements) == runs == why.account.runs
    lost = sum(sum(element.ended.values()) for element in elements)
    assert lost + why.runs.get(Fate.MATCHED, 0) + why.runs.get(Fate.WENT_ON, 0) == runs
    for element in why.elements:
        assert element.fits <= min(
            [len(rows), *(part.satisfied for part in element.parts if part.satisfied is not None)]
        )
        assert sum(element.ended.values()) <= runs
    assert str(why) and why._repr_html_()


def test_only_some_rows_are_followed_and_all_are_counted() -> None:
    rows = [{"id": row // 10, "t": row, "kind": "ab"[row % 2]} for row in range(1_000)]
    why = A_THEN_C.match_events(rows, partition_by="id", order_by="t").why(most_rows=100)
    assert (why.extent.events, why.extent.keys) == (1_000, 100)
    assert 0 < why.extent.followed_events <= 100
    assert why.elements[0].fits == 500
    assert "runs were followed in 100 rows of 10 keys" in str(why)


def test_the_keys_in_which_most_elements_have_events_are_followed() -> None:
    rows = [{"id": row // 10, "t": row, "kind": "c" if row == 777 else "ab"[row % 2]} for row in range(1_000)]
    why = A_THEN_C.next("d").where("kind = 'a' AND id < 0").match_events(rows, partition_by="id", order_by="t")
    assert [run.key for run in why.why(most_rows=10).furthest] == [{"id": 77}] * 3


def test_one_key() -> None:
    rows = [{"tag": tag, "t": time, "kind": kind} for tag in ("watch", "ring") for time, kind in enumerate("abab")]
    found = A_THEN_C.match_events(rows, partition_by="tag", order_by="t")
    why = found.why(key={"tag": "watch"})
    assert str(why).startswith("0 matches in 4 rows with tag = 'watch'")
    with pytest.raises(InputError, match=r"no row has tag = 'Watch'\.\n  Did you mean `watch`\?"):
        found.why(key={"tag": "Watch"})
    with pytest.raises(InputError, match="not a partition column"):
        found.why(key={"kind": "a"})
    with pytest.raises(InputError, match="key is 'watch'"):
        found.why(key="watch")  # type: ignore[call-overload]


def test_near_events_show_the_values_of_false_parts() -> None:
    rise = Pattern.begin("low").where("kind = 'l'").followed_by("high").where("price > 2 * low.price").within(10)
    rows = [{"t": 1, "kind": "l", "price": 7}, {"t": 2, "kind": "x", "price": 12}]
    [run] = rise.match_events(rows, order_by="t").why().furthest
    assert [str(part) for near in run.near for part in near.false] == ["price > 2 * low.price: 12 > 14"]


def test_why_a_match() -> None:
    rise = Pattern.begin("low").where("kind = 'l'").followed_by("high").where("price > 2 * low.price").within(10)
    prices = [(1, "x", 1), (2, "l", 7), (3, "x", 12), (4, "x", 20)]
    found = rise.match_events([{"t": t, "kind": kind, "price": price} for t, kind, price in prices], order_by="t")
    why = found.why(found.matches[0]["match_id"])
    assert [(step.element, step.row) for step in why.taken] == [("low", 1), ("high", 3)]
    assert "passed over: t 3, kind x, price 12: high asks price > 2 * low.price: 12 > 14" in str(why)
    with pytest.raises(InputError, match="no match has this match_id"):
        found.why("nothing")


def test_a_pattern_that_would_make_too_many_runs_is_cut_and_says_so() -> None:
    many = Pattern.begin("a").one_or_more().allow_combinations().followed_by("b").where("kind = 'z'")
    why = many.match_events([{"t": t, "kind": "a"} for t in range(18)], order_by="t").why()
    assert why.runs[Fate.CUT] > 1_000 and 0 < why.extent.followed_events < 18
    assert sum(why.runs.values()) == why.account.runs


def _shop(name: str) -> FoundRows:
    mistake = next(mistake for mistake in MISTAKES if mistake.name == name)
    return mistake.pattern.match_events(mistake.rows, **mistake.arguments)


def test_the_funnel_is_a_table_and_pictures() -> None:
    funnel = _shop("not too broad").funnel()
    cart, other, buy = funnel.rows
    assert (cart["fits"], cart["waited"], cart["took"]) == (8, 64, 8)
    assert other["ended"] == buy["ended"] == {"not violated": 8}
    assert "not other" in str(funnel) and "8 rows fit" in funnel.svg
    drawn = str(funnel.diagram())
    assert "8 of 64 took" in drawn and "8 ended here" in drawn
    assert ElementTree.fromstring(funnel.svg) is not None and ElementTree.fromstring(drawn) is not None


def test_the_timeline_shows_runs_that_failed() -> None:
    html = _shop("not too broad").timeline(n=2).html
    assert html.count('class="lane failed"') == 2
    assert "satisfies not &#x27;other&#x27; (t 30" in html
    matching = _shop("skip strategy drops an overlapping match")
    assert "failed run" not in matching.timeline().html.split("<style>")[-1].split("</style>")[-1]
    assert "the skip strategy forbids its start" in matching.timeline(failed=2).html
