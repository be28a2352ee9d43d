"""What a SASE text matches is what SASE says, read literally; and so it is after a way through text and JSON."""

from __future__ import annotations

from hypothesis import given
from sase.literal import Event, Match, Query
from sase.queries import queries, streams

from cepheid import Pattern


def found(pattern: Pattern, events: list[Event]) -> set[Match]:
    matches = set()
    for match in pattern.match_events(events, order_by="t").matches if events else ():
        taken = {name: match[name] for name in pattern.automaton().variables}
        listed = {name: value if isinstance(value, list) else [value] for name, value in taken.items()}
        matches.add(tuple((name, tuple(event["n"] for event in events)) for name, events in listed.items()))
    return matches


@given(queries(), streams())
def test_the_matches_are_those_of_the_text_read_literally(query: Query, events: list[Event]) -> None:
    assert found(Pattern.parse(query.text), events) == query.matches(events)


@given(queries(), streams())
def test_written_and_read_again_a_pattern_matches_the_same(query: Query, events: list[Event]) -> None:
    pattern = Pattern.parse(query.text)
    written = pattern.to_sase()
    again = Pattern.parse(written)
    assert again.to_sase() == written
    assert found(again, events) == found(pattern, events)


@given(queries())
def test_json_and_python_keep_all_of_it(query: Query) -> None:
    pattern = Pattern.parse(query.text)
    assert Pattern.from_json(pattern.to_json()) == pattern
    assert eval(repr(pattern), {"Pattern": Pattern}) == pattern
