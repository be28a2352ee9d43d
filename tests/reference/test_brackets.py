"""Brackets without quantifier, `optional` or window mean nothing (rule 2): random patterns with and without them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from reference.test_agreement import SCHEMA, Streams, streams
from syntax.strategies import patterns

from cepheid.automaton.construction import build
from cepheid.conditions import bind
from cepheid.errors import SkipError
from cepheid.reference import definition
from cepheid.reference.online import OnlineEvaluator
from cepheid.syntax.tree import Element, Link, Not, PatternTree, Sequence


@settings(max_examples=max(300, settings().max_examples))
@given(st.data(), patterns(largest_sequence=4, beyond=True), streams)
def test_brackets_change_no_answer(data: st.DataObject, tree: PatternTree, stream: Streams) -> None:
    elements = tree.body.elements
    taking = [index for index, element in enumerate(elements) if isinstance(element, Element)]
    first = data.draw(st.sampled_from(taking))
    after = data.draw(st.integers(first + 1, len(elements)))
    bracketed = replace(tree, body=_with_brackets(elements, first, after))
    times: list[int] = []
    for step, _, _ in stream:
        times.append((times[-1] if times else 0) + step)
    events = [{"t": time, "name": name, "price": price} for time, (_, name, price) in zip(times, stream, strict=True)]
    expected = _by_definition(tree, events, times)
    assert _by_definition(bracketed, events, times) == expected
    assert _online(bracketed, events, times) == expected


def _with_brackets(elements: tuple[Element | Not, ...], first: int, after: int) -> Sequence:
    opener = elements[first]
    assert isinstance(opener, Element)
    inside = Sequence((replace(opener, link=Link.BEGIN), *elements[first + 1 : after]))
    return Sequence((*elements[:first], Element(opener.link, inside), *elements[after:]))


def _by_definition(tree: PatternTree, events: list[dict[str, object]], times: list[int]) -> object:
    try:
        return definition.evaluate(tree, bind(tree, SCHEMA), events, times, end_of_input=True)
    except SkipError:
        return SkipError


def _online(tree: PatternTree, events: list[dict[str, object]], times: list[int]) -> object:
    evaluator = OnlineEvaluator(build(tree, bind(tree, SCHEMA)))
    try:
        for event, time in zip(events, times, strict=True):
            evaluator.handle(event, time)
        evaluator.end_of_input()
    except SkipError:
        return SkipError
    return definition.Outcome(tuple(evaluator.matches), tuple(evaluator.timeouts))
