"""A graph that grows: the places where constructions begin and end, and the states and transitions they add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheid.automaton.closure import close
from cepheid.automaton.model import Graph, Guard, Length, Position, Proceed, Take
from cepheid.automaton.predicates import PredicateTable
from cepheid.automaton.reduction import merge_equal
from cepheid.errors import MalformedPatternError
from cepheid.syntax.positions import openers
from cepheid.syntax.tree import Contiguity, Element, Loop, Not, Path, PatternTree, Span, Variable, describe, variables

if TYPE_CHECKING:  # workers need no parser
    from cepheid.conditions import BoundConditions

MAXIMUM_STATES = 50_000
"""Unrolled repetitions beyond this are refused: nested `times` multiply, and an `all_of` has a state for each set of
members that were taken."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The link by which a place is reached, and the predicates of all elements that it leads to (rule 13)."""

    link: Contiguity
    openers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """What encloses the place under construction.

    `begun` and `not_begun`: untils of the enclosing loops and groups that have, or have not yet, taken an event.
    `gap`: the bound on the first event of the enclosing group's iteration (rule 6), as long as it took none.
    `since`: bounds since variables, which hold for every event inside (rule 17).
    """

    begun: tuple[int, ...] = ()
    not_begun: tuple[int, ...] = ()
    gap: Length | None = None
    since: tuple[tuple[int, Length], ...] = ()

    def after_an_event(self) -> Around:
        """The same place once an event has been taken here: everything around it has begun."""
        if not self.not_begun and self.gap is None:
            return self
        return Around(self.begun + self.not_begun, since=self.since)

    def with_until(self, until: int | None) -> Around:
        return self if until is None else replace(self, not_begun=(*self.not_begun, until))

    def with_gap(self, gap: Length | None) -> Around:
        return self if gap is None else replace(self, gap=smaller(self.gap, gap))


@dataclass(frozen=True, slots=True)
class Ends:
    taken: int | None
    empty: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where an element is built: its path, the link into it, what is around it, and the negations directly after it."""

    path: Path
    entry: Entry
    around: Around
    nots: tuple[Guard, ...] = ()

    def part(self, index: int) -> Place:
        return replace(self, path=(*self.path, index))


class Growth:
    """The graph of one pattern under construction, with its conditions."""

    def __init__(self, tree: PatternTree, conditions: BoundConditions) -> None:
        self.tree = tree
        self.conditions = conditions
        self.graph = Graph()
        self.predicates = PredicateTable()
        self.havings = PredicateTable()
        self.variables = [variable.name for _, _, variable in variables(tree.body)]
        self.order = {name: number for number, name in enumerate(self.variables)}

    def positions(self, start: int) -> tuple[Position, ...]:
        """The closures of all states that a TAKE leads to, as they are reached: none is unreachable, none is double."""
        numbers = {start: 0}
        pending = [start]
        closed: list[Position] = []
        for state in pending:  # grows while it is walked
            position = close(self.graph, state, is_start=state == start)
            closed.append(position)
            for continuation in position.continuations:
                target = continuation.take.target
                if target not in numbers:
                    numbers[target] = len(numbers)
                    pending.append(target)
        return merge_equal(closed, numbers)

    def wait(self, start: int, take: Take, nots: tuple[Guard, ...] = ()) -> int:
        state = self.graph.state()
        self.graph.takes[state] = take
        self.proceed(start, state, nots)
        return state

    def take(self, body: Variable, entry: Entry, target: int, gap: Length | None, around: Around) -> Take:
        predicate = self.where(body.name)
        others = [index for index in dict.fromkeys(entry.openers) if index != predicate]
        openers = tuple(others) if entry.link is Contiguity.RELAXED else ()
        number = self.order[body.name]
        return Take(number, predicate, entry.link, target, gap, around.begun, around.not_begun, around.since, openers)

    def entry(self, link: Contiguity, *entered: Element) -> Entry:
        """The link into one of some elements."""
        return Entry(link, tuple(self.where(name) for element in entered for name in openers(element)))

    def proceed(
        self,
        start: int,
        target: int,
        nots: tuple[Guard, ...] = (),
        greedy: tuple[int, ...] = (),
        whole: bool = False,
        skips: bool = False,
        having: tuple[int, ...] = (),
    ) -> None:
        self.graph.proceeds[start].append(Proceed(target, nots, greedy, whole, skips, having))

    def after(self, start: int, nots: tuple[Guard, ...] = (), having: tuple[int, ...] = ()) -> int:
        """A new state after `start`, with negations and a having on the way."""
        state = self.graph.state()
        self.proceed(start, state, nots, having=having)
        return state

    def join(self, *states: int | None) -> int | None:
        """One state that all the given ones lead to."""
        present = [state for state in states if state is not None]
        if len(present) < 2:
            return present[0] if present else None
        joined = self.graph.state()
        for state in present:
            self.proceed(state, joined)
        return joined

    def where(self, name: str) -> int:
        return self.predicates.number(self.conditions.where[name])

    def until(self, loop: Loop, path: Path) -> int | None:
        return None if loop.until is None else self.predicates.number(self.conditions.until[path])

    def having(self, path: Path) -> tuple[int, ...]:
        return (self.havings.number(self.conditions.having[path]),)

    def guard(self, element: Not) -> Guard:
        return Guard(element.link, self.where(element.name), length(element.within_previous))

    def check_size(self, element: Element, more: int) -> None:
        if len(self.graph.proceeds) + more > MAXIMUM_STATES:
            raise MalformedPatternError(
                describe(element),
                f"the pattern unrolls to more than {MAXIMUM_STATES} states; nested repetitions multiply, and so do the "
                "members of an all_of.",
                "Use smaller counts or fewer members, or times_or_more(n), which needs no state beyond n.",
            )


def length(span: Span | None) -> Length | None:
    return None if span is None else span.length


def smaller(one: Length | None, other: Length | None) -> Length | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
