"""Dominance: when one run stands for another, by the numbers of its conditions."""

from __future__ import annotations

import pytest
from engine.test_kernel import is_, outcome

from cepheid import Pattern, skip
from cepheid.engine.tables.dominance import Decision, Dominance, Reason, decide

AB = Pattern.begin("a").where(is_("a")).followed_by_any("b").where(is_("b"))
GUARDED = AB.not_followed_by("c").where(is_("c")).within(10, since="previous")
PAST = "past_last_event"


@pytest.mark.parametrize(
    ("pattern", "timeouts", "expected"),
    [
        (AB.skip(PAST), True, Decision(Dominance.OFF, Reason.TIMEOUTS)),
        (AB, False, Decision(Dominance.OFF, Reason.SKIP)),
        (AB.skip(skip.to_first("b")), False, Decision(Dominance.OFF, Reason.SKIP)),
        (AB.skip("to_next"), False, Decision(Dominance.PER_START, Reason.TO_NEXT)),
        (AB.within(5).skip(PAST), False, Decision(Dominance.PER_START, Reason.WINDOW)),
        (AB.within(events=5).skip(PAST), False, Decision(Dominance.PER_START, Reason.WINDOW)),
        (GUARDED.skip(PAST), False, Decision(Dominance.PER_START, Reason.NOT_AT_END)),
        (AB.skip(PAST), False, Decision(Dominance.OVERALL, None)),
    ],
)
def test_the_pattern_decides_among_which_runs(pattern: Pattern, timeouts: bool, expected: Decision) -> None:
    assert decide(pattern.automaton(), timeouts) == expected


@pytest.mark.parametrize("dominance", [False, True])
def test_a_match_emitted_late_forbids_only_up_to_its_own_last_event(dominance: bool) -> None:
    assert outcome(GUARDED.skip(PAST), "a1 b2 a5 b20", dominance=dominance) == ["a1 b2", "a5 b20"]


@pytest.mark.parametrize("dominance", [False, True])
def test_the_same_where_the_not_looks_at_the_next_event(dominance: bool) -> None:
    pattern = AB.not_next("c").where(is_("c")).skip(PAST)
    assert outcome(pattern, "a1 b2 a5 b20", dominance=dominance) == ["a1 b2", "a5 b20"]
    assert outcome(pattern, "a1 b2 c3 a5 b20", dominance=dominance) == ["a1 b20"]


@pytest.mark.parametrize("dominance", [False, True])
def test_a_later_start_outlives_the_window_of_an_earlier_one(dominance: bool) -> None:
    assert outcome(AB.within(5).skip(PAST), "a1 a4 b7", dominance=dominance) == ["a4 b7"]
    assert outcome(AB.within(events=2).skip(PAST), "a1 a4 b7", dominance=dominance) == ["a4 b7"]


@pytest.mark.parametrize("dominance", [False, True])
def test_to_next_leaves_later_starts(dominance: bool) -> None:
    assert outcome(AB.skip("to_next"), "a1 a4 b7 b8", dominance=dominance) == ["a1 b7", "a4 b7"]
