"""Runs followed in parts, with their state written and read back in between, have the fates of whole traces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st
from reference.test_tracing import SCHEMA, Streams, _events, streams
from syntax.strategies import patterns

from cepheid import Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import bind
from cepheid.errors import SkipError
from cepheid.reference.keeping import Follower
from cepheid.reference.tracing import TracedRun, trace
from cepheid.syntax.tree import Event, PatternTree


def _told(runs: Iterable[TracedRun], first: int = 0) -> Counter[object]:
    """What is told of runs whose events are counted from `first` on."""

    def of(run: TracedRun) -> object:
        end = run.end
        event = None if end is None or end.event is None else end.event + first
        taken = tuple((index + first, variable) for index, variable in run.taken)
        return taken, run.fate, run.awaited, None if end is None else (end.cause, event, end.culprit)

    return Counter(map(of, runs))


def _read_back(follower: Follower, tree: PatternTree) -> Follower:
    follower.forget()
    state = json.loads(json.dumps(follower.state()))
    return Follower.restored(build(tree, bind(tree, SCHEMA)), state, dict(follower.events))


@settings(max_examples=max(300, settings().max_examples))
@given(st.one_of(patterns(), patterns(beyond=True)), streams, st.lists(st.integers(0, 3), max_size=9))
def test_in_parts_as_at_once(tree: PatternTree, stream: Streams, parts: list[int]) -> None:
    events, times = _events(stream)
    automaton = build(tree, bind(tree, SCHEMA))
    try:
        whole = trace(automaton, events, times)
    except SkipError:
        return
    follower, first = Follower(automaton), 0
    told: Counter[object] = Counter()
    for place, (event, time) in enumerate(zip(events, times, strict=True)):
        follower.handle(event, time)
        part = parts[place] if place < len(parts) else 0
        if part:  # time may move on up to just before the next event
            following = times[place + 1] if place + 1 < len(times) else time
            if following > time:
                follower.advance(following - 1)
            told += _told(follower.settled(), first)
        if part > 1:
            follower = _read_back(follower, tree)
        if part > 2 and follower.is_new:
            follower, first = Follower(automaton), place + 1
    told += _told([*follower.settled(), *follower.end()], first)
    assert told == _told(whole.runs)


def test_events_that_nothing_needs_are_forgotten() -> None:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within(10).tree
    follower = Follower(build(pattern, bind(pattern, SCHEMA)))
    rows: list[Event] = [{"t": time, "name": "ax"[time % 5 != 0], "price": 1} for time in range(100)]
    for row in rows:
        follower.handle(row, row["t"])
        follower.forget()
    follower.advance(104)
    follower.forget()
    assert sorted(follower.events) == [95]
    assert len(follower.settled()) == 19
