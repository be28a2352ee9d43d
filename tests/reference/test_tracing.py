"""The record of a partition: every run and every event is in one class, and the counts add up."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import Pattern, skip
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.conditions.types import LONG, STRING
from cepheid.errors import SkipError
from cepheid.reference.observing import Cause
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.tracing import EventClass, Fate, Trace, trace
from cepheid.syntax.tree import PatternTree

SCHEMA = Schema.of([("t", LONG), ("name", STRING), ("price", LONG)])
Streams = list[tuple[int, str, int | None]]

streams: st.SearchStrategy[Streams] = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abcd"), st.one_of(st.integers(0, 9), st.none())), max_size=9
)


def _events(stream: Streams) -> tuple[list[dict[str, object]], list[int]]:
    times: list[int] = []
    for step, _, _ in stream:
        times.append((times[-1] if times else 0) + step)
    rows = zip(times, stream, strict=True)
    return [{"t": time, "name": name, "price": price} for time, (_, name, price) in rows], times


@settings(max_examples=max(200, settings().max_examples))
@given(st.one_of(patterns(), patterns(beyond=True)), streams, st.booleans())
def test_every_run_and_every_event_is_in_one_class(tree: PatternTree, stream: Streams, is_end: bool) -> None:
    events, times = _events(stream)
    automaton = build(tree, bind(tree, SCHEMA))
    plain = OnlineEvaluator(automaton)
    try:
        for event, time in zip(events, times, strict=True):
            plain.handle(event, time)
        if is_end:
            plain.end_of_input()
    except SkipError:
        return
    record = trace(automaton, events, times, is_end=is_end)
    runs = record.runs
    name = automaton.variables

    def named(taken: tuple[tuple[int, int], ...]) -> tuple[tuple[int, str], ...]:
        return tuple((index, name[variable]) for index, variable in taken)

    # Every run once: no two took the same events by the same variables, and parents come before their children.
    assert len({run.taken for run in runs}) == len(runs)
    for run in runs:
        assert run.number == runs.index(run)
        assert (run.parent is None) == (len(run.taken) == 1)
        if run.parent is not None:
            assert run.parent < run.number and runs[run.parent].taken == run.taken[:-1]
    children = Counter(run.parent for run in runs if run.parent is not None)
    assert all(run.children == children[run.number] for run in runs)
    # Its one fate is what the evaluator did with it.
    assert sorted(named(run.taken) for run in runs if run.fate is Fate.MATCHED) == sorted(
        match.taken for match in plain.matches
    )
    timeouts = {timeout.taken for timeout in plain.timeouts}
    for run in runs:
        if named(run.taken) in timeouts:
            assert run.end is not None and run.end.cause is Cause.TIME
            assert run.fate in (Fate.TIME, Fate.WENT_ON, Fate.FORBIDDEN)
        if run.fate is Fate.WENT_ON:
            assert run.children
        if run.fate in (Fate.NOT, Fate.STRICT, Fate.CONDITION, Fate.UNTIL, Fate.GREEDY, Fate.OPENER, Fate.WHOLE):
            assert run.end is not None and run.end.event is not None and run.end.event > run.last
            assert not run.children
        if run.fate is Fate.NOT or run.fate is Fate.UNTIL:
            assert run.end is not None and run.end.culprit is not None
    waiting = {named(run.taken) for run in plain.runs if not plain.is_forbidden(run)}
    assert {named(run.taken) for run in runs if run.fate is Fate.WAITING} <= waiting
    assert sum(record.fates.values()) == len(runs)
    assert Fate.CUT not in record.fates
    # Every event once.
    assert len(record.classes) == len(events)
    matched = {index for match in plain.matches for index, _ in match.taken}
    assert {index for index, kind in enumerate(record.classes) if kind is EventClass.MATCHED} == matched
    taken = {run.last for run in runs} - matched
    assert {index for index, kind in enumerate(record.classes) if kind is EventClass.TAKEN} == taken


def _traced(pattern: Pattern, names: str, most_steps: int = 200_000) -> Trace:
    tree = pattern.check().tree
    events = [{"t": time, "name": letter, "price": time} for time, letter in enumerate(names)]
    return trace(build(tree, bind(tree, SCHEMA)), events, list(range(len(names))), most_steps)


def _fates(pattern: Pattern, names: str) -> list[Fate]:
    return [run.fate for run in _traced(pattern, names).runs]


A = Pattern.begin("a").where("name = 'a'")
B = "name = 'b'"


def test_window() -> None:
    assert _fates(A.followed_by("b").where(B).within(2), "acccb") == [Fate.TIME]


def test_still_waiting() -> None:
    assert _fates(A.followed_by("b").where(B), "acc") == [Fate.WAITING]


def test_not() -> None:
    record = _traced(A.not_followed_by("c").where("name = 'c'").followed_by("b").where(B), "acb")
    [run] = record.runs
    assert run.fate is Fate.NOT and run.end is not None and run.end.event == 1
    assert str(record.automaton.predicates[run.end.culprit or 0]) == "name = 'c'"
    assert record.classes == (EventClass.TAKEN, EventClass.ENDED, EventClass.FITS)


def test_strict_link_and_condition_on_earlier_events() -> None:
    strict = A.next("b").where(B).where("price > 3 * a.price")
    assert _fates(strict, "ca") == [Fate.WAITING]
    assert _fates(strict, "cac") == [Fate.STRICT]
    assert _fates(strict, "cab") == [Fate.CONDITION]


def test_until() -> None:
    loop = A.followed_by("b").where(B).times_or_more(2).until("name = 'c'").followed_by("d").where("name = 'd'")
    assert _fates(loop, "abcd") == [Fate.WENT_ON, Fate.UNTIL]


def test_greedy() -> None:
    loop = A.one_or_more().greedy().followed_by("b").where("name IN ('a', 'b')").within(9)
    assert Fate.GREEDY not in _fates(loop, "ab")
    # [a] waits for b as well; that way ends when the loop could take the second a
    assert any(end.cause is Cause.GREEDY for run in _traced(loop, "aa").runs for end in run.ended)


def test_skip_strategy() -> None:
    pair = A.followed_by("b").where(B)
    assert _fates(pair.skip(skip.past_last_event), "aab").count(Fate.FORBIDDEN) == 1


def test_having_is_false_at_birth() -> None:
    loop = A.times(2).having("SUM(a.price) > 100").followed_by("b").where(B)
    assert _fates(loop, "aab")[-1] in (Fate.HAVING, Fate.WAITING)
    assert Fate.HAVING in _fates(loop, "aab")


def test_a_trace_that_becomes_too_much_is_cut_and_says_so() -> None:
    many = Pattern.begin("a").one_or_more().allow_combinations().followed_by("b").where(B)
    record = _traced(many, "a" * 12, most_steps=200)
    assert 0 < record.handled < 12
    assert record.fates[Fate.CUT] > 0
    assert sum(record.fates.values()) == len(record.runs)
