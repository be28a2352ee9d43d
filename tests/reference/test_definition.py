"""The definition on hand-written cases: what the corpora do not say (order, moments, the end of input, skip errors).

Events are written as `a@1 b@5`: the column `name`, and the time. A variable x takes the events whose name is x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cepheid.conditions.binding import bind
from cepheid.conditions.types import LONG, STRING, Schema
from cepheid.errors import SkipError
from cepheid.reference.definition import evaluate
from cepheid.reference.outcome import Assignment, Outcome
from cepheid.syntax.tree import (
    Contiguity,
    Element,
    Event,
    EventCount,
    Fold,
    Gaps,
    Link,
    Loop,
    Not,
    NotBefore,
    NotLink,
    PatternTree,
    PythonCondition,
    Sequence,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
    Window,
)

ONE_OR_MORE = Loop(1, None)
SCHEMA = Schema.of([("name", STRING), ("value", LONG)])


def named(name: str) -> SqlText:
    return SqlText(f"name = '{name}'")


def span(length: int) -> Span:
    return Span(length, SpanUnit.ORDER)


def begin(name: str, loop: Loop | None = None, *, optional: bool = False) -> Element:
    return Element(Link.BEGIN, Variable(name, named(name)), loop, optional)


def then(name: str, loop: Loop | None = None, *, optional: bool = False, since_previous: int | None = None) -> Element:
    bound = None if since_previous is None else span(since_previous)
    return Element(Link.FOLLOWED_BY, Variable(name, named(name)), loop, optional, bound)


def any_then(name: str) -> Element:
    return replace(then(name), link=Link.FOLLOWED_BY_ANY)


def anything(name: str, link: Link = Link.FOLLOWED_BY) -> Element:
    return Element(link, Variable(name))


def group(link: Link, *elements: Element | Not, loop: Loop | None = None, optional: bool = False) -> Element:
    return Element(link, Sequence(elements), loop, optional)


def not_followed_by(name: str, since_previous: int | None = None) -> Not:
    bound = None if since_previous is None else span(since_previous)
    return Not(NotLink.NOT_FOLLOWED_BY, f"no_{name}", named(name), bound)


def not_next(name: str) -> Not:
    return Not(NotLink.NOT_NEXT, f"not_next_{name}", named(name))


def pattern(
    *elements: Element | Not, skip: Skip | None = None, window: Window | None = None, before: str | None = None
) -> PatternTree:
    not_before = () if before is None else (NotBefore(f"before_{before}", named(before)),)
    return PatternTree(Sequence(elements), skip or Skip(SkipKind.NO_SKIP), window, not_before)


def run(tree: PatternTree, stream: str, *, advance_to: int | None = None, end_of_input: bool = False) -> Outcome:
    pairs = [event.split("@") for event in stream.split()]
    events = [{"name": name, "value": int(time)} for name, time in pairs]
    times = [int(time) for _, time in pairs]
    conditions = bind(tree, SCHEMA)
    return evaluate(tree, conditions, events, times, advance_to=advance_to, end_of_input=end_of_input)


def text(taken: Assignment) -> str:
    """An assignment as `a0 b2`: variable and index of the event."""
    return " ".join(f"{variable}{index}" for index, variable in taken)


def matches(outcome: Outcome) -> list[tuple[str, int | float]]:
    return [(text(match.taken), match.at) for match in outcome.matches]


def timeouts(outcome: Outcome) -> list[tuple[str, int | float]]:
    return [(text(timeout.taken), timeout.at) for timeout in outcome.timeouts]


def found(outcome: Outcome) -> list[str]:
    return [text(match.taken) for match in outcome.matches]


class TestOrder:
    """Rule 8: by moment, then by start, then by priority."""

    def test_earlier_start_first_and_the_longer_of_two_first(self) -> None:
        tree = pattern(begin("a", ONE_OR_MORE), then("b"))
        assert found(run(tree, "a@1 a@2 a@3 b@4")) == ["a0 a1 a2 b3", "a0 a1 b3", "a0 b3", "a1 a2 b3", "a1 b3", "a2 b3"]

    def test_taking_comes_before_passing_over_at_the_first_event_where_two_part(self) -> None:
        loop = replace(ONE_OR_MORE, inner=Contiguity.NON_DETERMINISTIC)
        tree = pattern(begin("x"), then("a", loop), then("b"))
        assert found(run(tree, "x@1 a@2 a@3 a@4 b@5")) == ["x0 a1 a2 a3 b4", "x0 a1 a2 b4", "x0 a1 a3 b4", "x0 a1 b4"]

    def test_the_earlier_element_comes_first_where_both_take(self) -> None:
        tree = pattern(begin("x"), anything("first"), anything("second", Link.NEXT), then("b"))
        optional = pattern(begin("x"), replace(anything("p"), optional=True), anything("q"), then("b"))
        assert found(run(tree, "x@1 c@2 d@3 b@4")) == ["x0 first1 second2 b3"]
        assert found(run(optional, "x@1 c@2 d@3 b@4")) == ["x0 p1 q2 b3", "x0 q1 b3"]

    def test_two_variables_may_start_at_one_event(self) -> None:
        tree = pattern(replace(anything("p", Link.BEGIN), optional=True), anything("q", Link.NEXT))
        assert found(run(tree, "c@1 d@2")) == ["q0", "p0 q1", "q1"]

    def test_a_match_that_many_ways_lead_to_is_emitted_once(self) -> None:
        tree = pattern(group(Link.BEGIN, begin("a", ONE_OR_MORE), loop=ONE_OR_MORE))
        assert found(run(tree, "a@1 a@2")) == ["a0", "a0 a1", "a1"]

    def test_moments_of_pending_nots_are_ordered_by_time_not_by_start(self) -> None:
        tree = pattern(begin("a"), then("b"), not_followed_by("c", since_previous=5))
        assert matches(run(tree, "a@1 a@2 b@3 x@20")) == [("a0 b2", 8), ("a1 b2", 8)]
        tree = pattern(begin("a"), any_then("b"), not_followed_by("c", since_previous=5))
        outcome = run(tree, "a@1 b@2 a@3 b@4 x@20")
        assert matches(outcome) == [("a0 b1", 7), ("a0 b3", 9), ("a2 b3", 9)]

    def test_what_falls_due_comes_before_what_the_event_at_that_time_emits(self) -> None:
        tree = pattern(begin("a"), not_next("c"), window=span(4))
        assert matches(run(tree, "a@1 a@5 a@6")) == [("a0", 5), ("a1", 6)]
        later_first = pattern(begin("a"), then("b", optional=True), not_followed_by("c"), window=span(4))
        assert matches(run(later_first, "a@1 b@3 a@4 x@5 b@7 x@20")) == [
            ("a0 b1", 5),
            ("a0", 5),
            ("a2 b4", 8),
            ("a2", 8),
        ]

    def test_a_not_whose_followers_are_all_skipped_does_not_delay_the_end(self) -> None:
        tree = pattern(begin("a"), not_followed_by("c"), then("b", optional=True), window=span(10))
        assert matches(run(tree, "a@1 x@2 b@5")) == [("a0", 1), ("a0 b2", 5)]
        assert matches(run(tree, "a@1 c@2 b@5")) == [("a0", 1)]


class TestSkip:
    """Rule 8: the skip strategy filters the sequence."""

    STREAM = "a@1 a@2 b@3 b@4"

    @staticmethod
    def tree(skip: Skip) -> PatternTree:
        return pattern(begin("a", ONE_OR_MORE), then("b", ONE_OR_MORE), skip=skip)

    @pytest.mark.parametrize(
        ("skip", "expected"),
        [
            (Skip(SkipKind.NO_SKIP), ["a0 a1 b2", "a0 b2", "a1 b2", "a0 a1 b2 b3", "a0 b2 b3", "a1 b2 b3"]),
            (Skip(SkipKind.TO_NEXT), ["a0 a1 b2", "a1 b2"]),
            (Skip(SkipKind.PAST_LAST_EVENT), ["a0 a1 b2"]),
            (Skip(SkipKind.TO_FIRST, "b"), ["a0 a1 b2"]),
            (Skip(SkipKind.TO_LAST, "a"), ["a0 a1 b2", "a1 b2", "a1 b2 b3"]),
        ],
    )
    def test_strategies(self, skip: Skip, expected: list[str]) -> None:
        assert found(run(self.tree(skip), self.STREAM)) == expected

    def test_a_later_start_that_completes_first_forbids_an_earlier_one(self) -> None:
        same_parity = Element(
            Link.FOLLOWED_BY, Variable("b", SqlText("name = 'b' AND (value + LAST(a.value)) % 2 = 0"))
        )
        tree = pattern(begin("a"), same_parity)
        assert matches(run(tree, "a@1 a@2 b@4 b@5")) == [("a1 b2", 4), ("a0 b3", 5)]
        assert found(run(replace(tree, skip=Skip(SkipKind.PAST_LAST_EVENT)), "a@1 a@2 b@4 b@5")) == ["a1 b2"]

    def test_a_target_without_an_event_forbids_nothing(self) -> None:
        tree = pattern(begin("a"), then("b", optional=True), then("c"), skip=Skip(SkipKind.TO_FIRST, "b"))
        assert found(run(tree, "a@1 a@2 c@3")) == ["a0 c2", "a1 c2"]

    def test_or_fail_without_an_event_to_skip_to(self) -> None:
        skip = Skip(SkipKind.TO_FIRST, "b", or_fail=True)
        tree = pattern(begin("a"), then("b", optional=True), then("c"), skip=skip)
        with pytest.raises(SkipError, match="'b' took no event"):
            run(tree, "a@1 c@2")
        assert found(run(tree, "a@1 b@2 c@3")) == ["a0 b1 c2"]

    def test_or_fail_at_the_first_event_of_the_match(self) -> None:
        tree = pattern(begin("a", ONE_OR_MORE), then("b"), skip=Skip(SkipKind.TO_LAST, "a", or_fail=True))
        with pytest.raises(SkipError, match="own first event"):
            run(tree, "a@1 b@2")

    def test_a_forbidden_partial_match_does_not_time_out(self) -> None:
        tree = pattern(begin("a"), any_then("b"), skip=Skip(SkipKind.TO_NEXT), window=span(10))
        assert timeouts(run(tree, "a@1 a@2 b@3 x@20")) == []
        tree = replace(tree, skip=Skip(SkipKind.NO_SKIP))
        assert timeouts(run(tree, "a@1 a@2 b@3 x@20")) == [("a0", 11), ("a1", 12)]


class TestMoments:
    """Rules 7, 9 and 10: when things are decided, and `at`."""

    def test_a_match_is_emitted_with_its_last_event(self) -> None:
        assert matches(run(pattern(begin("a"), then("b")), "a@1 x@4 b@6")) == [("a0 b2", 6)]

    def test_a_not_at_the_end_guards_until_the_window_ends(self) -> None:
        tree = pattern(begin("a"), not_followed_by("b"), window=span(10))
        assert matches(run(tree, "a@1 b@11")) == [("a0", 11)]
        assert matches(run(tree, "a@1 b@10 x@20")) == []
        assert matches(run(tree, "a@1")) == []
        assert matches(run(tree, "a@1", advance_to=10)) == []
        assert matches(run(tree, "a@1", advance_to=15)) == [("a0", 11)]

    def test_the_latest_of_several_nots_decides(self) -> None:
        tree = pattern(begin("a"), not_next("c"), not_followed_by("b", since_previous=5), window=span(10))
        assert matches(run(tree, "a@1 x@3 x@20")) == [("a0", 6)]
        assert matches(run(tree, "a@1 x@8 x@20")) == [("a0", 8)]  # the not_next waits for its event
        assert matches(run(tree, "a@1 c@8 x@20")) == []
        assert matches(run(tree, "a@1 x@11 x@20")) == [("a0", 11)]  # or for the end of the window

    def test_a_violated_not_at_the_end_leaves_the_other_continuations_open(self) -> None:
        tree = pattern(begin("a"), then("c", optional=True), not_followed_by("b"), window=span(10))
        outcome = run(tree, "a@1 b@3 c@4 x@20")
        assert matches(outcome) == [("a0 c2", 11)]
        assert timeouts(run(tree, "a@1 b@3 x@20")) == [("a0", 11)]
        assert timeouts(run(tree, "a@1 x@20")) == []

    def test_a_timeout_comes_when_the_last_open_continuation_runs_out(self) -> None:
        tree = pattern(begin("a"), then("b", optional=True, since_previous=3), then("c", since_previous=6))
        assert timeouts(run(tree, "a@1 x@20")) == [("a0", 7)]
        assert timeouts(run(tree, "a@1 b@2 x@20")) == [("a0", 7), ("a0 b1", 8)]
        assert timeouts(run(tree, "a@1", advance_to=7)) == [("a0", 7)]
        assert timeouts(run(tree, "a@1", advance_to=6)) == []

    def test_no_timeout_where_the_last_continuation_was_lost_or_has_no_deadline(self) -> None:
        lost = pattern(begin("a"), then("b", optional=True, since_previous=3), not_followed_by("d"), then("c"))
        assert timeouts(run(lost, "a@1 x@5 d@6 x@20", end_of_input=True)) == []
        endless = pattern(begin("a"), then("b", optional=True, since_previous=3), then("c"))
        assert timeouts(run(endless, "a@1 x@5 x@20", end_of_input=True)) == []

    def test_no_timeout_of_what_is_already_a_match(self) -> None:
        outcome = run(pattern(begin("a"), then("b", optional=True), window=span(10)), "a@1 x@20")
        assert (matches(outcome), timeouts(outcome)) == ([("a0", 1)], [])

    def test_an_event_at_the_deadline_comes_too_late(self) -> None:
        tree = pattern(begin("a"), then("b"), window=span(10))
        outcome = run(tree, "a@1 b@11")
        assert (matches(outcome), timeouts(outcome)) == ([], [("a0", 11)])

    def test_timeouts_of_a_moment_are_decided_before_its_matches(self) -> None:
        # At 11 the partial match of the second start runs out of time while the first start's match becomes due.
        skip = Skip(SkipKind.PAST_LAST_EVENT)
        tree = pattern(begin("a"), then("c", since_previous=8), not_followed_by("d"), skip=skip, window=span(10))
        outcome = run(tree, "a@1 c@2 a@3 x@20")
        assert matches(outcome) == [("a0 c1", 11)]
        assert timeouts(outcome) == [("a2", 11)]


class TestEndOfInput:
    """Rule 10: time moves to infinity."""

    def test_pending_nots_and_timeouts_are_decided_at_their_own_moments(self) -> None:
        tree = pattern(begin("a"), then("c", optional=True), not_followed_by("b"), window=span(10))
        assert matches(run(tree, "a@1 c@5", end_of_input=True)) == [("a0 c1", 11), ("a0", 11)]
        waiting = pattern(begin("a"), then("b"), window=span(10))
        assert timeouts(run(waiting, "a@1 a@5", end_of_input=True)) == [("a0", 11), ("a1", 15)]

    def test_a_not_next_without_a_window_is_decided_with_the_last_event(self) -> None:
        tree = pattern(begin("a"), not_next("b"))
        assert matches(run(tree, "x@1 a@4")) == []
        assert matches(run(tree, "x@1 a@4", end_of_input=True)) == [("a1", 4)]
        assert matches(run(tree, "a@1 b@4", end_of_input=True)) == []

    def test_a_not_next_with_a_window_is_decided_when_that_ends(self) -> None:
        tree = pattern(begin("a"), not_next("b"), window=span(10))
        assert matches(run(tree, "x@1 a@4", end_of_input=True)) == [("a1", 14)]

    def test_advance_to_is_not_the_end(self) -> None:
        assert matches(run(pattern(begin("a"), not_next("b")), "a@4", advance_to=100)) == []

    def test_no_events(self) -> None:
        assert run(pattern(begin("a")), "", advance_to=5, end_of_input=True) == Outcome((), ())


class TestCountWindow:
    """Rule 6: `within(events=k)`."""

    def test_a_match_spans_at_most_so_many_events(self) -> None:
        tree = pattern(begin("a"), then("b"), window=EventCount(3))
        assert found(run(tree, "a@1 x@2 b@3")) == ["a0 b2"]
        outcome = run(tree, "a@1 x@2 x@3 b@9")
        assert (matches(outcome), timeouts(outcome)) == ([], [("a0", 9)])

    def test_the_window_ends_with_the_input(self) -> None:
        tree = pattern(begin("a"), then("b"), window=EventCount(3))
        assert timeouts(run(tree, "a@1 x@2", end_of_input=True)) == [("a0", 2)]
        assert timeouts(run(tree, "a@1 x@2", advance_to=50)) == []
        guarded = pattern(begin("a"), not_followed_by("b"), window=EventCount(3))
        assert matches(run(guarded, "a@1 x@2", end_of_input=True)) == [("a0", 2)]
        assert matches(run(guarded, "a@1 x@2 x@3 b@7")) == [("a0", 7)]
        assert matches(run(guarded, "a@1 x@2 b@3 b@7")) == []

    def test_a_timeout_is_decided_before_all_matches_of_its_time(self) -> None:
        # The match of the first start falls due with the fourth event and forbids the second start, whose own window
        # ends with the fifth: that comes too late for it only if it is a later time.
        skip = Skip(SkipKind.PAST_LAST_EVENT)
        tree = pattern(anything("p", Link.BEGIN), then("b"), not_followed_by("n"), skip=skip, window=EventCount(3))
        same_time = run(tree, "a@1 b@2 x@3 x@5 x@5")
        assert (matches(same_time), timeouts(same_time)) == ([("p0 b1", 5)], [("p1", 5)])
        later = run(tree, "a@1 b@2 x@3 x@5 x@6")
        assert (matches(later), timeouts(later)) == ([("p0 b1", 5)], [])


class TestNotBefore:
    """Rule 7, at the start."""

    def test_looks_back_from_the_last_event(self) -> None:
        tree = pattern(begin("a"), then("b"), window=span(10), before="n")
        assert found(run(tree, "n@1 a@3 b@10")) == []
        assert found(run(tree, "n@1 a@3 b@11")) == ["a1 b2"]
        assert found(run(tree, "a@3 n@4 b@5")) == ["a0 b2"]

    def test_counts_places_in_a_count_window(self) -> None:
        tree = pattern(begin("a"), then("b"), window=EventCount(3), before="n")
        assert found(run(tree, "n@1 a@3 b@10")) == []
        assert found(run(tree, "n@1 a@3 x@4 b@10")) == ["a1 b3"]

    def test_what_it_rules_out_forbids_nothing(self) -> None:
        tree = pattern(begin("a"), any_then("b"), window=span(10), before="n", skip=Skip(SkipKind.PAST_LAST_EVENT))
        assert found(run(tree, "n@1 a@3 b@5 b@11")) == ["a1 b3"]


class TestGroupsAndLoops:
    """Rules 2 to 7 where groups, empty iterations and greedy loops meet."""

    def test_an_empty_iteration_keeps_the_link_into_the_group_and_its_nots(self) -> None:
        optional = group(Link.NEXT, begin("a", optional=True), not_followed_by("n"), loop=Loop(2, 3))
        tree = pattern(begin("x"), optional, then("y"))
        assert found(run(tree, "x@1 a@2 y@3")) == ["x0 a1 y2", "x0 y2"]
        assert found(run(tree, "x@1 c@2 a@3 y@4")) == ["x0 y3"]  # next binds a although an iteration may be empty
        assert found(run(tree, "x@1 a@2 n@3 y@4")) == []
        assert found(run(tree, "x@1 n@2 y@3")) == []

    def test_an_empty_iteration_before_one_that_takes_leaves_nothing_behind_it(self) -> None:
        # (a? not n b?){2}: with the empty iteration first, n guards x to b only.
        inside = (begin("a", optional=True), not_followed_by("n"), then("b", optional=True))
        tree = pattern(begin("x"), group(Link.FOLLOWED_BY, *inside, loop=Loop(2, 2)), then("y"))
        assert found(run(tree, "x@1 b@2 n@3 y@4")) == ["x0 b1 y3"]

    def test_not_next_looks_at_one_event_only(self) -> None:
        tree = pattern(begin("a"), not_next("n"), then("c"))
        assert found(run(tree, "a@1 x@2 n@3 c@4")) == ["a0 c3"]
        assert found(run(tree, "a@1 n@2 c@3")) == []

    def test_nots_behind_a_loop_guard_between_its_events(self) -> None:
        tree = pattern(begin("a", ONE_OR_MORE), not_followed_by("n"), then("c"))
        assert found(run(tree, "a@1 n@2 a@3 c@4")) == ["a2 c3"]

    def test_nots_behind_a_looped_group_guard_between_its_iterations_only(self) -> None:
        pair = group(Link.BEGIN, begin("a"), then("b"), loop=Loop(1, 2))
        tree = pattern(pair, not_followed_by("n"), then("c"))
        assert found(run(tree, "a@1 n@2 b@3 c@4")) == ["a0 b2 c3"]
        assert found(run(tree, "a@1 b@2 n@3 a@4 b@5 c@6")) == ["a3 b4 c5"]

    def test_until_ends_an_iteration_under_way_but_not_what_may_follow(self) -> None:
        loop = replace(ONE_OR_MORE, until=named("u"))
        tree = pattern(group(Link.BEGIN, begin("a"), then("b", optional=True), loop=loop), then("c"))
        assert found(run(tree, "a@1 u@2 b@3 a@4 c@5")) == ["a0 c4", "a3 c4"]
        waiting = pattern(begin("x"), then("b", replace(ONE_OR_MORE, until=named("u"))))
        assert found(run(waiting, "x@1 u@2 b@3 u@4 b@5")) == ["x0 b2"]

    def test_greedy_binds_what_follows_but_neither_the_start_nor_the_end(self) -> None:
        greedy = replace(ONE_OR_MORE, greedy=True)
        assert found(run(pattern(begin("a", greedy), anything("any")), "a@1 a@2 x@3")) == ["a0 a1 any2", "a1 any2"]
        skipped = pattern(begin("a", greedy, optional=True), anything("any"))
        assert found(run(skipped, "a@1 x@2")) == ["any0", "a0 any1", "any1"]
        passed_by = pattern(begin("x"), then("a", greedy, optional=True), anything("any"))
        assert found(run(passed_by, "x@1 a@2 y@3")) == ["x0 a1 any2"]
        ending = pattern(begin("a", greedy), not_followed_by("n"), window=span(5))
        assert found(run(ending, "a@1 a@2 x@20")) == ["a0 a1", "a0", "a1"]

    def test_greedy_lets_go_where_the_loop_could_not_take(self) -> None:
        bounded = Loop(1, None, greedy=True, gaps=Gaps(every=span(3)))
        tree = pattern(begin("a", bounded), then("b"))
        assert found(run(tree, "a@1 a@3 b@4")) == ["a0 a1 b2", "a1 b2"]
        assert found(run(tree, "a@1 a@4 b@5")) == ["a0 b2", "a1 b2"]
        full = pattern(begin("a", Loop(1, 2, greedy=True)), then("b"))
        assert found(run(full, "a@1 a@2 a@3 b@4")) == ["a0 a1 b3", "a1 a2 b3", "a2 b3"]

    def test_gaps_per_repetition(self) -> None:
        gaps = Gaps(by_repetition=((2, span(3)), (3, span(10))))
        tree = pattern(begin("a", Loop(3, 3, gaps=gaps)))
        assert found(run(tree, "a@1 a@3 a@12")) == ["a0 a1 a2"]
        assert timeouts(run(tree, "a@1 a@4 a@5 x@30")) == [("a0", 4), ("a2", 8), ("a1 a2", 15)]

    def test_gaps_of_a_group_count_the_iterations_that_took(self) -> None:
        gaps = Gaps(by_repetition=((2, span(3)),))
        pair = group(Link.BEGIN, begin("a", optional=True), then("b", optional=True), loop=Loop(2, 3, gaps=gaps))
        tree = pattern(pair, then("c"))
        assert "a0 b1 c2" in found(run(tree, "a@1 b@9 c@10"))  # one iteration: no gap lies between a and b
        assert "a0 a1 c2" in found(run(tree, "a@1 a@3 c@10"))
        assert "a0 a1 c2" not in found(run(tree, "a@1 a@4 c@10"))


class TestConditions:
    """Rule 11: conditions read what this partial match has taken."""

    def test_aggregates_cover_the_events_taken_so_far_without_the_current_one(self) -> None:
        rising = Variable("a", SqlText("COUNT(a.*) = 0 OR value > SUM(a.value)"))
        tree = pattern(Element(Link.BEGIN, rising, Loop(1, None)))
        assert found(run(tree, "a@1 a@2 a@3 a@4")) == ["a0", "a0 a1", "a1", "a1 a2", "a2", "a0 a1 a3", "a2 a3", "a3"]

    def test_a_fold_is_read_by_its_name(self) -> None:
        counted = replace(begin("a", ONE_OR_MORE), body=Variable("a", named("a"), (Fold("z", "0", "z + value"),)))
        tree = pattern(counted, Element(Link.FOLLOWED_BY_ANY, Variable("b", SqlText("name = 'b' AND value > z"))))
        assert found(run(tree, "a@2 a@3 b@4 b@6")) == ["a0 b2", "a1 b2", "a0 a1 b3", "a0 b3", "a1 b3"]

    def test_a_callable_sees_the_taken_events(self) -> None:
        def twice(event: Event, taken: Mapping[str, list[Event]]) -> bool:
            return bool(event["value"] == 2 * taken["a"][0]["value"])

        tree = pattern(begin("a"), Element(Link.FOLLOWED_BY, Variable("b", PythonCondition(twice))))
        assert found(run(tree, "a@2 a@3 x@4 x@5 x@6")) == ["a0 b2", "a1 b4"]
