"""Which partial matches are alive: those that lie in the pool and are dead do not count."""

from __future__ import annotations

import numpy as np
import pytest
from engine.test_state import automaton_of, part

from cepheid import Pattern
from cepheid.engine.matcher import Matcher
from cepheid.engine.runs.live import count_live, described, live
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange

A, B, C = (f"name = '{name}'" for name in "abc")
AB = Pattern.begin("a").where(A).followed_by("b").where(B)


def fed(pattern: Pattern, text: str) -> Matcher:
    matcher = Matcher(tabulate(automaton_of(pattern.tree), Options()))
    events = part(*((int(event[1:]), event[0], 0) for event in text.split()))
    count = events.num_rows
    matcher.feed(matcher.columns_of(arrange(events, (), ("t",))), np.array([0, count]), np.array([0]))
    return matcher


@pytest.mark.parametrize(
    ("pattern", "text", "moment", "alive"),
    [
        (AB, "a1 a2 a3", 3, 3),
        (AB.within(5), "a1 a2 a3", 6, 2),
        (AB.within(events=2), "a1 a2 a3 c4", 4, 0),
        (AB.within(events=2), "a1 a2 a3", 3, 1),
        (AB.within(5, since="previous"), "a1 a2 a3", 6, 2),
        (AB.skip("past_last_event"), "a1 a2 b3 a4", 4, 1),
        (AB.followed_by("c").where(C).skip("to_next"), "a1 a2 b3", 3, 2),
        (AB.not_followed_by("c").where(C).within(9), "a1 b2", 2, 1),
        (AB.not_followed_by("c").where(C).within(9), "a1 b2 c3", 3, 0),
    ],
)
def test_only_those_that_may_come_to_something(pattern: Pattern, text: str, moment: int, alive: int) -> None:
    assert count_live(fed(pattern, text), moment) == alive


def test_what_a_run_has_taken_and_waits_for() -> None:
    matcher = fed(AB.followed_by("c").where(C), "a1 b2")
    [run] = live(matcher, 2)[0].tolist()
    [found] = described(matcher, run, 0, 2)
    assert (found.variables, found.events, found.waits_for) == ((0, 1), (0, 1), (2,))


@pytest.mark.parametrize(
    ("pattern", "until"),
    [
        (AB.followed_by("c").where(C), None),
        (AB.followed_by("c").where(C).within(10), 11),
        (AB.followed_by("c").where(C).within(5, since="previous"), 7),
        (AB.followed_by("c").where(C).within(5, since="a").within(10), 6),
    ],
)
def test_until_when_a_run_waits(pattern: Pattern, until: int | None) -> None:
    matcher = fed(pattern, "a1 b2")
    waiting = [found for run in live(matcher, 2)[0].tolist() for found in described(matcher, run, 0, 2)]
    assert [found.until for found in waiting if found.variables == (0, 1)] == [until]
