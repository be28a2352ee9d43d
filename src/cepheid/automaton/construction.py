"""From the pattern tree to the automaton: one construction a function, as in appendix A of the formal semantics.

In: a checked tree whose spans are in the unit of the order column, and its bound conditions. Out: an `Automaton`.

Every construction adds states behind a given state and says where it ends. It has two ends, because later elements
must know whether anything was taken: `taken`, where at least one event was, and `empty`, where it was passed by.
Bounded repetitions are unrolled. What appendix A does not have: links of every kind into groups, nots, greedy,
windows since the previous event, and iterations of a group that take nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.automaton.closure import close
from cepheid.automaton.model import Automaton, Graph, Guard, Length, Position, Proceed, Take
from cepheid.automaton.reduction import merge_equal
from cepheid.conditions import BoundConditions, Predicate
from cepheid.errors import MalformedPatternError
from cepheid.syntax.tree import (
    Contiguity,
    Element,
    Gaps,
    Loop,
    Not,
    Path,
    PatternTree,
    Sequence,
    Span,
    Variable,
    describe,
    variables,
    walk,
)

MAXIMUM_STATES = 20_000
"""Unrolled repetitions beyond this are refused: nested `times` multiply."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What encloses the place under construction.

    `begun` and `not_begun`: untils of the enclosing loops and groups that have, or have not yet, taken an event.
    `gap`: the bound on the first event of the enclosing group's iteration (rule 6), as long as it took none.
    """

    begun: tuple[int, ...] = ()
    not_begun: tuple[int, ...] = ()
    gap: Length | None = None

    def after_an_event(self) -> _Around:
        """The same place once an event has been taken here: everything around it has begun."""
        if not self.not_begun and self.gap is None:
            return self
        return _Around(self.begun + self.not_begun)

    def with_until(self, until: int | None) -> _Around:
        return self if until is None else replace(self, not_begun=(*self.not_begun, until))

    def with_gap(self, gap: Length | None) -> _Around:
        return self if gap is None else replace(self, gap=_smaller(self.gap, gap))


@dataclass(frozen=True, slots=True)
class _Ends:
    taken: int | None
    empty: int | None


def build(tree: PatternTree, conditions: BoundConditions) -> Automaton:
    """The automaton of a checked pattern."""
    return _Construction(tree, conditions).automaton()


class _Construction:
    def __init__(self, tree: PatternTree, conditions: BoundConditions) -> None:
        self.tree = tree
        self.conditions = conditions
        self.graph = Graph()
        self.predicates: dict[Predicate, int] = {}
        self.variables = [variable.name for _, _, variable in variables(tree.body)]
        self.order = {name: number for number, name in enumerate(self.variables)}

    def automaton(self) -> Automaton:
        start = self.graph.state()
        self.graph.final = self.graph.state()
        ends = self.sequence(start, self.tree.body, (), Contiguity.RELAXED, _Around())
        if ends.taken is not None:
            self.proceed(ends.taken, self.graph.final)
        not_before = tuple(self.predicate(self.conditions.where[before.name]) for before in self.tree.not_before)
        return Automaton(
            variables=tuple(self.variables),
            predicates=tuple(self.predicates),
            positions=self.positions(start),
            registers=self.conditions.registers,
            skip=self.tree.skip,
            window=self.tree.window,
            not_before=not_before,
            looping=frozenset(_looping(self.tree.body)),
        )

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

    # ── constructions ────────────────────────────────────────────────────────────────────────────────────────────────

    def sequence(
        self,
        start: int,
        sequence: Sequence,
        path: Path,
        link: Contiguity,
        around: _Around,
        nots: tuple[Guard, ...] = (),
    ) -> _Ends:
        """Elements one after the other; `link` replaces the first element's (rule 2).

        `nots` are those directly after the sequence: a loop that ends it has them between its events (rule 7).
        """
        empty: int | None = start
        taken: int | None = None
        elements = sequence.elements
        for index, element in enumerate(elements):
            if isinstance(element, Not):
                guards = (self.guard(element),)
                empty = None if empty is None else self.after(empty, guards)
                taken = None if taken is None else self.after(taken, guards)
                continue
            own_link = link if index == 0 else element.link.contiguity
            behind = _nots_behind(elements, index)
            is_last = index + 1 + len(behind) == len(elements)
            guards = (*(self.guard(item) for item in behind), *(nots if is_last else ()))
            place = (*path, index)
            first = self.element(empty, element, place, own_link, around, guards)
            later = self.element(taken, element, place, own_link, around.after_an_event(), guards)
            empty = first.empty
            taken = self.join(first.taken, later.taken, later.empty)
        return _Ends(taken, empty)

    def element(
        self,
        start: int | None,
        element: Element,
        path: Path,
        link: Contiguity,
        around: _Around,
        nots: tuple[Guard, ...],
    ) -> _Ends:
        """An element, passed by where it is optional; `nots` stand directly behind it."""
        if start is None:
            return _Ends(None, None)
        first_wait: int | None = None
        if isinstance(element.body, Variable):
            if element.loop is None:
                ends = self.single(start, element, element.body, link, around)
            else:
                ends, first_wait = self.loop(start, element, element.body, element.loop, path, link, around, nots)
        elif element.loop is None:
            inside = around.with_gap(_length(element.within_previous))
            ends = self.sequence(start, element.body, path, link, inside, nots)
        else:
            ends = self.looped_group(start, element, element.body, element.loop, path, link, around, nots)
        if not element.optional:
            return ends
        passed_by = self.graph.state()
        greedy = () if first_wait is None or element.loop is None or not element.loop.greedy else (first_wait,)
        self.proceed(start, passed_by, greedy=greedy, skips=True)
        return _Ends(ends.taken, self.join(ends.empty, passed_by))

    def single(self, start: int, element: Element, body: Variable, link: Contiguity, around: _Around) -> _Ends:
        """One event."""
        taken = self.graph.state()
        gap = _smaller(_length(element.within_previous), around.gap)
        self.wait(
            start, Take(self.order[body.name], self.where(body), link, taken, gap, around.begun, around.not_begun)
        )
        return _Ends(taken, None)

    def loop(
        self,
        start: int,
        element: Element,
        body: Variable,
        loop: Loop,
        path: Path,
        link: Contiguity,
        around: _Around,
        nots: tuple[Guard, ...],
    ) -> tuple[_Ends, int]:
        """`{n,m}` and `{n,∞}` events of one variable, unrolled as far as repetitions differ."""
        around = around.with_until(self.until(loop, path))
        begun = around.after_an_event()
        bound = _length(element.within_previous)
        distinct = loop.maximum if loop.maximum is not None else max(loop.minimum, _last_named(loop.gaps))
        self.check_size(element, distinct)
        variable, where = self.order[body.name], self.where(body)
        taken = [self.graph.state() for _ in range(distinct)]
        first = Take(variable, where, link, taken[0], _smaller(bound, around.gap), around.begun, around.not_begun)
        first_wait = self.wait(start, first)
        end = self.graph.state()
        for count in range(1, distinct + 1):
            again: int | None = None
            if count < distinct or loop.maximum is None:
                gap = _smaller(bound, _length(loop.gaps.before(count + 1)) if loop.gaps else None)
                target = taken[min(count, distinct - 1)]
                repeat = Take(variable, where, loop.inner, target, gap, begun.begun, ())
                again = self.wait(
                    taken[count - 1], repeat, nots
                )  # rule 7: the nots are in force between its events too
            if count >= loop.minimum:
                self.proceed(taken[count - 1], end, greedy=(again,) if loop.greedy and again is not None else ())
        return _Ends(end, None), first_wait

    def looped_group(
        self,
        start: int,
        element: Element,
        body: Sequence,
        loop: Loop,
        path: Path,
        link: Contiguity,
        around: _Around,
        nots: tuple[Guard, ...],
    ) -> _Ends:
        """`{n,m}` and `{n,∞}` iterations of a group.

        A state between iterations is known by how many there were, and how many of them took something (both only as
        far as it matters). An iteration that takes nothing only helps to reach the minimum (rule 3), so there is none
        beyond it.
        """
        around = around.with_until(self.until(loop, path))
        bound = _length(element.within_previous)
        counted = loop.maximum if loop.maximum is not None else loop.minimum
        told_apart = max(1, _last_named(loop.gaps))
        nots_at_its_end = nots if loop.maximum == 1 else ()
        end_taken, end_empty = self.graph.state(), self.graph.state()
        between: dict[tuple[int, int], int] = {(0, 0): start}
        pending = [(0, 0)]
        for count, taking in pending:  # grows while it is walked
            state = between[count, taking]
            if count < counted or loop.maximum is None:
                self.check_size(element, 1)
                if taking:
                    gap = _smaller(bound, _length(loop.gaps.before(taking + 1)) if loop.gaps else None)
                    inside = around.after_an_event().with_gap(gap)
                    ends = self.sequence(self.after(state, nots), body, path, loop.inner, inside)
                else:
                    inside = around.with_gap(bound)
                    ends = self.sequence(self.after(state, ()), body, path, link, inside, nots_at_its_end)
                following = [((min(count + 1, counted), min(taking + 1, told_apart)), ends.taken)]
                if count < loop.minimum:
                    following.append(((count + 1, taking), ends.empty))
                for key, reached in following:
                    if reached is not None:
                        if key not in between:
                            between[key] = self.graph.state()
                            pending.append(key)
                        self.proceed(reached, between[key])
            if count >= loop.minimum:
                self.proceed(state, end_taken if taking else end_empty)
        reached_empty = any(count >= loop.minimum and not taking for count, taking in between)
        return _Ends(end_taken, end_empty if reached_empty else None)

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, start: int, take: Take, nots: tuple[Guard, ...] = ()) -> int:
        state = self.graph.state()
        self.graph.takes[state] = take
        self.proceed(start, state, nots)
        return state

    def proceed(
        self, start: int, target: int, nots: tuple[Guard, ...] = (), greedy: tuple[int, ...] = (), skips: bool = False
    ) -> None:
        self.graph.proceeds[start].append(Proceed(target, nots, greedy, skips))

    def after(self, start: int, nots: tuple[Guard, ...]) -> int:
        """A new state behind `start`, with nots on the way."""
        state = self.graph.state()
        self.proceed(start, state, nots)
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

    def predicate(self, predicate: Predicate) -> int:
        return self.predicates.setdefault(predicate, len(self.predicates))

    def where(self, body: Variable) -> int:
        return self.predicate(self.conditions.where[body.name])

    def until(self, loop: Loop, path: Path) -> int | None:
        return None if loop.until is None else self.predicate(self.conditions.until[path])

    def guard(self, element: Not) -> Guard:
        return Guard(
            element.link, self.predicate(self.conditions.where[element.name]), _length(element.within_previous)
        )

    def check_size(self, element: Element, more: int) -> None:
        if len(self.graph.proceeds) + more > MAXIMUM_STATES:
            raise MalformedPatternError(
                describe(element),
                f"the pattern unrolls to more than {MAXIMUM_STATES} states; nested repetitions multiply.",
                "Use smaller counts, or times_or_more(n), which needs no state for what lies beyond n.",
            )


def _nots_behind(elements: tuple[Element | Not, ...], index: int) -> list[Not]:
    """The nots that stand directly behind an element."""
    nots: list[Not] = []
    for element in elements[index + 1 :]:
        if not isinstance(element, Not):
            break
        nots.append(element)
    return nots


def _last_named(gaps: Gaps | None) -> int:
    """The last repetition that has a bound of its own."""
    return max((repetition for repetition, _ in gaps.by_repetition), default=0) if gaps else 0


def _length(span: Span | None) -> Length | None:
    return None if span is None else span.length


def _smaller(one: Length | None, other: Length | None) -> Length | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _looping(body: Sequence) -> list[str]:
    loops = {path for path, element in walk(body) if isinstance(element, Element) and element.loop is not None}
    return [
        variable.name
        for path, _, variable in variables(body)
        if any(path[:depth] in loops for depth in range(1, len(path) + 1))
    ]
