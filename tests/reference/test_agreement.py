"""The definition and the automaton, run on random patterns and streams, must say the same: matches, their order,
timeouts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.conditions.types import LONG, STRING
from cepheid.errors import SkipError
from cepheid.reference import definition
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.outcome import Match, Timeout
from cepheid.syntax.tree import PatternTree

SCHEMA = Schema.of([("t", LONG), ("name", STRING), ("price", LONG)])
Streams = list[tuple[int, str, int | None]]

streams: st.SearchStrategy[Streams] = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abcd"), st.one_of(st.integers(0, 9), st.none())), max_size=9
)


@settings(max_examples=max(400, settings().max_examples))
@given(
    st.one_of(patterns(), patterns(beyond=True)),
    streams,
    st.sampled_from(["nothing", "advance", "end"]),
    st.integers(0, 20),
)
def test_definition_and_automaton_agree(tree: PatternTree, stream: Streams, finish: str, further: int) -> None:
    times: list[int] = []
    for step, _, _ in stream:
        times.append((times[-1] if times else 0) + step)
    events = [{"t": time, "name": name, "price": price} for time, (_, name, price) in zip(times, stream, strict=True)]
    advance_to = (times[-1] if times else 0) + further if finish == "advance" else None
    conditions = bind(tree, SCHEMA)
    try:
        expected = definition.evaluate(
            tree, conditions, events, times, advance_to=advance_to, end_of_input=finish == "end"
        )
    except SkipError:
        expected = SkipError
    assert _online(tree, events, times, advance_to, finish == "end") == expected


def _online(
    tree: PatternTree, events: list[dict[str, object]], times: list[int], advance_to: int | None, is_end: bool
) -> object:
    evaluator = OnlineEvaluator(build(tree, bind(tree, SCHEMA)))
    try:
        for event, time in zip(events, times, strict=True):
            evaluator.handle(event, time)
        if advance_to is not None:
            evaluator.advance_time(advance_to)
        if is_end:
            evaluator.end_of_input()
    except SkipError:
        return SkipError
    matches: tuple[Match, ...] = tuple(evaluator.matches)
    timeouts: tuple[Timeout, ...] = tuple(evaluator.timeouts)
    return definition.Outcome(matches, timeouts)
