"""SASE read literally: all matches of a small query by trying all events, without anything of Cepheid.

A query is a list of components and a list of conditions; a condition has its SASE text and a Python function that says,
of the events assigned so far, True, False, or None while it cannot be decided. `text` writes the query, `matches` finds
its matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Event = dict[str, int | str | None]
Assigned = dict[str, tuple[Event, ...]]
Match = tuple[tuple[str, tuple[int, ...]], ...]

STRATEGIES = ("skip_till_any_match", "skip_till_next_match", "strict")


@dataclass(frozen=True)
class Component:
    name: str
    type: str
    negated: bool = False
    repeats: bool = False


@dataclass(frozen=True)
class Condition:
    text: str
    holds: Callable[[Assigned, frozenset[str]], bool | None]
    """Given the events by component, and the components that take no more; a negated one is asked with one event."""
    negated: str | None = None
    """The negated component that it is about."""


@dataclass(frozen=True)
class Query:
    components: tuple[Component, ...]
    conditions: tuple[Condition, ...]
    keyed: bool
    strategy: str
    window: int | None
    counts_events: bool = False

    @property
    def text(self) -> str:
        written = []
        for component in self.components:
            one = f"{component.type}{'+' if component.repeats else ''} {component.name}"
            written.append(f"!({one})" if component.negated else one)
        where = ["[k]"] * self.keyed + [condition.text for condition in self.conditions]
        clauses = [f"EVENT SEQ({', '.join(written)})"]
        clauses += [f"WHERE {' AND '.join(where)}"] * bool(where)
        clauses += [f"STRATEGY {self.strategy}"]
        clauses += [] if self.window is None else [f"WITHIN {self.window}{' events' if self.counts_events else ''}"]
        return "\n".join(clauses)

    def matches(self, events: list[Event]) -> set[Match]:
        keys = {event["k"] for event in events} - {None} if self.keyed else {None}
        found: set[Match] = set()
        for key in keys:
            partition = [event for event in events if not self.keyed or event["k"] == key]
            found.update(_Search(self, partition).all())
        return found


class _Search:
    """All matches in one partition."""

    def __init__(self, query: Query, events: list[Event]) -> None:
        self.query = query
        self.events = events
        self.positive = [component for component in query.components if not component.negated]

    def all(self) -> Iterator[Match]:
        for position in range(len(self.events)):
            if self.accepts({}, 0, position):
                first = self.positive[0].name
                yield from self.go_on({first: (self.events[position],)}, 0, position)

    def go_on(self, assigned: Assigned, at: int, last: int) -> Iterator[Match]:
        """What can become of a beginning whose last event, at `last`, went to the component `at`."""
        if at == len(self.positive) - 1 and self.is_match(assigned, last):
            yield tuple((name, tuple(int(event["n"] or 0) for event in taken)) for name, taken in assigned.items())
        for position in range(last + 1, len(self.events)):
            for to in (at, at + 1):
                if (to == at and not self.positive[at].repeats) or to == len(self.positive):
                    continue
                if self.accepts(assigned, to, position) and self.may_pass(assigned, at, to, last, position):
                    name = self.positive[to].name
                    further = {**assigned, name: (*assigned.get(name, ()), self.events[position])}
                    yield from self.go_on(further, to, position)

    def accepts(self, assigned: Assigned, to: int, position: int) -> bool:
        component, event = self.positive[to], self.events[position]
        if event["type"] != component.type:
            return False
        with_it = {**assigned, component.name: (*assigned.get(component.name, ()), event)}
        complete = frozenset(earlier.name for earlier in self.positive[:to])
        conditions = [condition for condition in self.query.conditions if condition.negated is None]
        return all(condition.holds(with_it, complete) is not False for condition in conditions)

    def may_pass(self, assigned: Assigned, at: int, to: int, last: int, position: int) -> bool:
        """Whether the strategy and the negated components allow that nothing between the two positions is taken."""
        between = range(last + 1, position)
        if self.query.strategy == "strict" and between:
            return False
        if self.query.strategy == "skip_till_next_match":
            wanting = {to, at} if self.positive[at].repeats else {to}
            if any(self.accepts(assigned, component, passed) for component in wanting for passed in between):
                return False
        # Behind a repeating component a not is in force from its first event on (rule 7).
        nots = self.nots_behind(at) if to > at or self.positive[at].repeats else []
        return not any(self.violates(assigned, negated, passed) for negated in nots for passed in between)

    def nots_behind(self, at: int) -> list[Component]:
        """The negated components between the component `at` and the next that takes events."""
        place = self.query.components.index(self.positive[at]) + 1
        nots = []
        while place < len(self.query.components) and self.query.components[place].negated:
            nots.append(self.query.components[place])
            place += 1
        return nots

    def violates(self, assigned: Assigned, negated: Component, position: int) -> bool:
        event = self.events[position]
        if event["type"] != negated.type:
            return False
        with_it = {**assigned, negated.name: (event,)}
        conditions = [condition for condition in self.query.conditions if condition.negated == negated.name]
        return all(condition.holds(with_it, frozenset()) is True for condition in conditions)

    def is_match(self, assigned: Assigned, last: int) -> bool:
        query = self.query
        first = self.events.index(assigned[self.positive[0].name][0])
        if query.window is None:
            return True
        measure = list(range(len(self.events))) if query.counts_events else [int(e["t"] or 0) for e in self.events]
        if not measure[last] - measure[first] < query.window:
            return False
        at_start = []
        for component in query.components:
            if not component.negated:
                break
            at_start.append(component)
        before = [p for p in range(first) if measure[last] - measure[p] < query.window]
        after = [p for p in range(last + 1, len(self.events)) if measure[p] - measure[first] < query.window]
        at_end = self.nots_behind(len(self.positive) - 1)
        return not any(
            self.violates(assigned, negated, position)
            for nots, positions in ((at_start, before), (at_end, after))
            for negated in nots
            for position in positions
        )
