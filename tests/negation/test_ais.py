"""The stacks of the PNCEP paper as a further oracle: its worked example, and random queries against the engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cepheid import Pattern
from cepheid.rows.given import to_table
from experiments.negation.after import found_after
from experiments.negation.ais import Component, Pncep, Sase
from experiments.negation.example import EVENTS, FINAL, INTERMEDIATE, QUERY, components


def shown(found: Any) -> list[str]:
    return [" ".join(f"{i.event['type'].lower()}{i.time}" for i in sequence) for sequence in found]


def scanned(processor: Pncep | Sase, events: list[dict[str, Any]]) -> list[str]:
    return shown([sequence for row in events for sequence in processor.scan(row, row["t"])])


def matches(pattern: Pattern, events: list[dict[str, Any]], plan: str, key: str | None) -> list[dict[str, Any]]:
    if plan == "pushed":
        return pattern.match_events(events, partition_by=key or (), order_by="t").matches
    found: list[dict[str, Any]] = found_after(pattern.tree, to_table(events), (key,) if key else (), ("t",)).to_pylist()
    return found


def matched(pattern: Pattern, events: list[dict[str, Any]], plan: str, key: str | None = "attr1") -> list[str]:
    found = matches(pattern, events, plan, key)
    return [" ".join(f"{m[v]['type'].lower()}{m[v]['t']}" for v in "abd") for m in found]


def test_the_papers_example_by_stacks() -> None:
    """Four results in both ways; SASE constructs eight sequences on the way, PNCEP only the four."""
    for processor, made in ((Pncep(components(), 20, "attr1"), 4), (Sase(components(), 20, "attr1"), 8)):
        assert sorted(scanned(processor, EVENTS)) == sorted(FINAL)
        assert processor.intermediate == made


def test_the_papers_eight_sequences_are_those_without_the_not() -> None:
    positive = tuple(component for component in components() if not component.negated)
    assert sorted(scanned(Pncep(positive, 20, "attr1"), EVENTS)) == sorted(INTERMEDIATE)
    without = Pattern.begin("a").where("type = 'A'").followed_by_any("b").where("type = 'B'").followed_by_any("d")
    without = without.where("type = 'D' AND attr2 = 1").within(20)
    assert sorted(matched(without, EVENTS, "pushed")) == sorted(INTERMEDIATE)


@pytest.mark.parametrize("plan", ["pushed", "after"])
def test_the_papers_example_by_the_engine(plan: str) -> None:
    assert sorted(matched(QUERY, EVENTS, plan)) == sorted(FINAL)


def test_the_papers_query_as_text() -> None:
    text = "EVENT SEQ(A a, B b, !(C c), D d) WHERE [attr1] ∧ d.attr2 = '1' WITHIN 20"
    events = [{**row, "attr2": str(row["attr2"])} for row in EVENTS]
    for plan in ("pushed", "after"):
        assert sorted(matched(Pattern.parse(text), events, plan)) == sorted(FINAL)


def test_what_a_negative_event_removed_stays_in_reach_of_what_came_before_it() -> None:
    types = ("A", "B", "C", "D")
    query = tuple(Component(lambda row, name=name: row["type"] == name, name == "B") for name in types)
    events = [{"t": t, "type": name} for t, name in enumerate("ACBD", 1)]
    assert scanned(Pncep(query, 20), events) == scanned(Sase(query, 20), events) == ["a1 c2 d4"]
    assert scanned(Pncep(query, 20, forgets=True), events) == []


NAMES = "ABCDE"
queries = st.lists(st.booleans(), min_size=1, max_size=3).map(lambda middle: (False, *middle, False))
streams = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 2), st.integers(0, 3)), min_size=20, max_size=60)


@settings(max_examples=max(150, settings().max_examples))
@given(queries, streams, st.integers(8, 60))
def test_random_queries(negated: tuple[bool, ...], stream: list[tuple[str, int, int]], window: int) -> None:
    """Distinct types, several nots, a key and a predicate: both ways of the stacks, both plans of the engine."""
    events = [{"t": t, "type": name, "key": key, "value": value} for t, (name, key, value) in enumerate(stream)]
    query = tuple(
        Component(lambda row, name=name, least=number % 2: row["type"] == name and row["value"] >= least, is_not)
        for number, (name, is_not) in enumerate(zip(NAMES, negated, strict=False))
    )
    pattern = Pattern()
    for number, is_not in enumerate(negated):
        name = NAMES[number]
        step = pattern.begin if number == 0 else pattern.not_followed_by if is_not else pattern.followed_by_any
        pattern = step(name).where(f"type = '{name}' AND value >= {number % 2}")
    pattern = pattern.within(window)
    positive = [name for name, is_not in zip(NAMES, negated, strict=False) if not is_not]
    answers = []
    for plan in ("pushed", "after"):
        found = matches(pattern, events, plan, "key")
        answers.append(sorted(" ".join(f"{m[v]['type'].lower()}{m[v]['t']}" for v in positive) for m in found))
    for processor in (Pncep(query, window, "key"), Sase(query, window, "key")):
        answers.append(sorted(scanned(processor, events)))
    assert answers[0] == answers[1] == answers[2] == answers[3]
    event(f"{min(len(answers[0]), 3)} matches or more")
