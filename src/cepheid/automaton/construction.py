"""From the pattern tree to the automaton: one construction a function, as in appendix A of the formal semantics.

In: a checked tree whose spans are in the unit of the order column, and its bound conditions. Out: an `Automaton`.

Every construction adds states after a given state and says where it ends. It has two ends, because later elements
must know whether anything was taken: `taken`, where at least one event was, and `empty`, where it was passed by.
Bounded repetitions are unrolled. What appendix A does not have: links of every kind into groups, negations, greedy,
windows since the previous event, and iterations of a group that take nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.automaton.growing import Around, Ends, Entry, Growth, Place, length, smaller
from cepheid.automaton.model import Automaton
from cepheid.syntax.tree import (
    AllOfMembers,
    Contiguity,
    Element,
    Gaps,
    Loop,
    Not,
    OneOf,
    PatternTree,
    Sequence,
    SpanUnit,
    Variable,
    elements,
    variables,
)
from cepheid.syntax.windows import lengths

if TYPE_CHECKING:  # workers need no parser
    from cepheid.conditions import BoundConditions


def build(tree: PatternTree, conditions: BoundConditions) -> Automaton:
    """The automaton of a checked pattern."""
    return _Construction(tree, conditions).automaton()


class _Construction(Growth):
    def automaton(self) -> Automaton:
        start = self.graph.state()
        self.graph.final = self.graph.state()
        ends = self.sequence(start, self.tree.body, Place((), Entry(Contiguity.RELAXED), Around()))
        if ends.taken is not None:
            self.proceed(ends.taken, self.graph.final)
        not_before = tuple(self.where(before.name) for before in self.tree.not_before)
        positions = self.positions(start)
        return Automaton(
            variables=tuple(self.variables),
            predicates=tuple(self.predicates),
            positions=positions,
            registers=self.conditions.registers,
            skip=self.tree.skip,
            window=self.tree.window,
            not_before=not_before,
            looping=frozenset(_looping(self.tree.body)),
            having=tuple(self.havings),
            once_per=length(self.tree.once_per),
            unit=next((span.unit for span, _, _ in lengths(self.tree)), SpanUnit.ORDER),
        )

    def sequence(self, start: int, sequence: Sequence, place: Place) -> Ends:
        """Elements one after the other; the link into the sequence is that of the first (rule 2).

        A loop that ends the sequence has the negations directly after it between its events (rule 7).
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
            following = _nots_after(elements, index)
            is_last = index + 1 + len(following) == len(elements)
            nots = (*map(self.guard, following), *(place.nots if is_last else ()))
            entry = place.entry if index == 0 else self.entry(element.link.contiguity, element)
            first = self.element(empty, element, replace(place.part(index), entry=entry, nots=nots))
            later = self.element(
                taken, element, Place((*place.path, index), entry, place.around.after_an_event(), nots)
            )
            empty = first.empty
            taken = self.join(first.taken, later.taken, later.empty)
        return Ends(taken, empty)

    def element(self, start: int | None, element: Element, place: Place) -> Ends:
        """An element, passed by where it is optional."""
        if start is None:
            return Ends(None, None)
        if element.within_since is not None:
            bound = (self.order[element.within_since.variable], element.within_since.span.length)
            place = replace(place, around=replace(place.around, since=(*place.around.since, bound)))
        first_wait: int | None = None
        if isinstance(element.body, Variable):
            if element.loop is None:
                ends = self.single(start, element, element.body, place)
            else:
                ends, first_wait = self.loop(start, element, element.body, element.loop, place)
        elif element.loop is None:
            inside = replace(place, around=place.around.with_gap(length(element.within_previous)))
            ends = self.body(start, element, inside)
            if element.having is not None and ends.taken is not None:
                ends = replace(ends, taken=self.after(ends.taken, having=self.having(place.path)))
        else:
            ends = self.looped_body(start, element, element.loop, place)
        if not element.optional:
            return ends
        passed_by = self.graph.state()
        loop = element.loop
        if first_wait is not None and loop is not None and loop.greedy:
            self.proceed(start, passed_by, greedy=(first_wait,), whole=loop.whole, skips=True)
        else:
            self.proceed(start, passed_by, skips=True)
        return Ends(ends.taken, self.join(ends.empty, passed_by))

    def body(self, start: int, element: Element, place: Place) -> Ends:
        """What an element holds, gone through once."""
        match element.body:
            case Variable():
                raise AssertionError("a variable is a single or a loop")
            case Sequence() as sequence:
                return self.sequence(start, sequence, place)
            case OneOf(alternatives=alternatives):
                return self.one_of(start, alternatives, place)
            case AllOfMembers() as members:
                return self.all_of(start, element, members, place)

    def one_of(self, start: int, alternatives: tuple[Element, ...], place: Place) -> Ends:
        """Every alternative in its place; the negations directly after it are directly after each (rule 13)."""
        ends = [self.element(start, part, place.part(index)) for index, part in enumerate(alternatives)]
        return Ends(self.join(*(end.taken for end in ends)), None)

    def all_of(self, start: int, element: Element, body: AllOfMembers, place: Place) -> Ends:
        """Members in any order (rule 14): a state for each set of members taken so far, a copy of each member left."""
        members, everything = body.members, frozenset(range(len(body.members)))
        end = self.graph.state()
        states: dict[frozenset[int], int] = {frozenset(): start}
        pending = [frozenset[int]()]
        for done in pending:  # grows while it is walked
            left = sorted(everything - done)
            entry, around = place.entry, place.around
            if done:
                entry, around = self.entry(body.inner, *(members[index] for index in left)), around.after_an_event()
            is_last = len(done) + 1 == body.at_least
            for index in left:
                self.check_size(element, 2)
                inside = Place((*place.path, index), entry, around, place.nots if is_last else ())
                ends = self.element(states[done], members[index], inside)
                assert ends.taken is not None
                reached = done | {index}
                if not is_last and reached not in states:
                    states[reached] = self.graph.state()
                    pending.append(reached)
                self.proceed(ends.taken, end if is_last else states[reached])
        return Ends(end, None)

    def single(self, start: int, element: Element, body: Variable, place: Place) -> Ends:
        """One event."""
        self.check_size(element, 2)
        taken = self.graph.state()
        gap = smaller(length(element.within_previous), place.around.gap)
        self.wait(start, self.take(body, place.entry, taken, gap, place.around))
        return Ends(taken, None)

    def loop(self, start: int, element: Element, body: Variable, loop: Loop, place: Place) -> tuple[Ends, int]:
        """`{n,m}` and `{n,∞}` events of one variable, unrolled as far as repetitions differ."""
        around = place.around.with_until(self.until(loop, place.path))
        begun = around.after_an_event()
        bound = length(element.within_previous)
        distinct = loop.maximum if loop.maximum is not None else max(loop.minimum, _last_named(loop.gaps))
        self.check_size(element, distinct)
        taken = [self.graph.state() for _ in range(distinct)]
        first_wait = self.wait(start, self.take(body, place.entry, taken[0], smaller(bound, around.gap), around))
        having = self.having(place.path) if element.having is not None else ()
        end = self.graph.state()
        for count in range(1, distinct + 1):
            state = taken[count - 1]
            greedy: tuple[int, ...] = ()
            if count < distinct or loop.maximum is None:
                gap = smaller(bound, length(loop.gaps.before(count + 1)) if loop.gaps else None)
                again = self.take(body, Entry(loop.inner), taken[min(count, distinct - 1)], gap, begun)
                # rule 7: the negations are in force between its events too
                wait = self.wait(state, again, place.nots)
                greedy = (wait,) if loop.greedy else ()
            if count >= loop.minimum:
                self.proceed(state, end, greedy=greedy, whole=loop.whole and bool(greedy), having=having)
        return Ends(end, None), first_wait

    def looped_body(self, start: int, element: Element, loop: Loop, place: Place) -> Ends:
        """`{n,m}` and `{n,∞}` iterations of a group, a `one_of` or an `all_of`.

        A state between iterations is known by how many there were, and how many of them took something (both only as
        far as it matters). An iteration that takes nothing only helps to reach the minimum (rule 3), so there is none
        beyond it.
        """
        around = place.around.with_until(self.until(loop, place.path))
        bound = length(element.within_previous)
        counted = loop.maximum if loop.maximum is not None else loop.minimum
        told_apart = max(1, _last_named(loop.gaps))
        having = self.having(place.path) if element.having is not None else ()
        first = replace(place, around=around.with_gap(bound), nots=() if loop.repeats else place.nots)
        end_taken, end_empty = self.graph.state(), self.graph.state()
        between: dict[tuple[int, int], int] = {(0, 0): start}
        pending = [(0, 0)]
        for count, taking in pending:  # grows while it is walked
            state = between[count, taking]
            if count < counted or loop.maximum is None:
                self.check_size(element, 1)
                if taking:
                    gap = smaller(bound, length(loop.gaps.before(taking + 1)) if loop.gaps else None)
                    inside = around.after_an_event().with_gap(gap)
                    again = Place(place.path, self.entry(loop.inner, element), inside)
                    ends = self.body(self.after(state, place.nots), element, again)
                else:
                    ends = self.body(self.after(state), element, first)
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
                if taking:
                    self.proceed(state, end_taken, having=having)
                else:
                    self.proceed(state, end_empty)
        reached_empty = any(count >= loop.minimum and not taking for count, taking in between)
        return Ends(end_taken, end_empty if reached_empty else None)


def _nots_after(elements: tuple[Element | Not, ...], index: int) -> list[Not]:
    """The negations directly after an element."""
    nots: list[Not] = []
    for element in elements[index + 1 :]:
        if not isinstance(element, Not):
            break
        nots.append(element)
    return nots


def _last_named(gaps: Gaps | None) -> int:
    """The last repetition that has a bound of its own."""
    return max((repetition for repetition, _ in gaps.by_repetition), default=0) if gaps else 0


def _looping(body: Sequence) -> list[str]:
    loops = {path for path, element in elements(body) if element.loop is not None}
    return [
        variable.name
        for path, _, variable in variables(body)
        if any(path[:depth] in loops for depth in range(1, len(path) + 1))
    ]
