"""From the pattern tree to the automaton: one construction a function, as in appendix A of the formal semantics.

In: a checked tree whose spans are in the unit of the order column, and its bound conditions. Out: an `Automaton`.

Every construction adds states after a given state and says where it ends. It has two ends, because later elements
must know whether anything was taken: `taken`, where at least one event was, and `empty`, where it was passed by.
Bounded repetitions are unrolled. What appendix A does not have: links of every kind into groups, negations, greedy,
windows since the previous event, and iterations of a group that take nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.automaton.closure import close
from cepheid.automaton.model import Automaton, Graph, Guard, Length, Position, Proceed, Take
from cepheid.automaton.predicates import PredicateTable
from cepheid.automaton.reduction import merge_equal
from cepheid.conditions import BoundConditions
from cepheid.errors import MalformedPatternError
from cepheid.syntax.positions import openers
from cepheid.syntax.tree import (
    AllOfMembers,
    Contiguity,
    Element,
    Gaps,
    Loop,
    Not,
    OneOf,
    Path,
    PatternTree,
    Sequence,
    Span,
    SpanUnit,
    Variable,
    describe,
    elements,
    variables,
)
from cepheid.syntax.windows import lengths

MAXIMUM_STATES = 50_000
"""Unrolled repetitions beyond this are refused: nested `times` multiply, and an `all_of` has a state for each set of
members that were taken."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The link by which a place is reached, and the predicates of all elements that it leads to (rule 13)."""

    link: Contiguity
    openers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Around:
    """What encloses the place under construction.

    `begun` and `not_begun`: untils of the enclosing loops and groups that have, or have not yet, taken an event.
    `gap`: the bound on the first event of the enclosing group's iteration (rule 6), as long as it took none.
    `since`: bounds since variables, which hold for every event inside (rule 17).
    """

    begun: tuple[int, ...] = ()
    not_begun: tuple[int, ...] = ()
    gap: Length | None = None
    since: tuple[tuple[int, Length], ...] = ()

    def after_an_event(self) -> _Around:
        """The same place once an event has been taken here: everything around it has begun."""
        if not self.not_begun and self.gap is None:
            return self
        return _Around(self.begun + self.not_begun, since=self.since)

    def with_until(self, until: int | None) -> _Around:
        return self if until is None else replace(self, not_begun=(*self.not_begun, until))

    def with_gap(self, gap: Length | None) -> _Around:
        return self if gap is None else replace(self, gap=_smaller(self.gap, gap))


@dataclass(frozen=True, slots=True)
class _Ends:
    taken: int | None
    empty: int | None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an element is built: its path, the link into it, what is around it, and the negations directly after it."""

    path: Path
    entry: _Entry
    around: _Around
    nots: tuple[Guard, ...] = ()

    def part(self, index: int) -> _Place:
        return replace(self, path=(*self.path, index))


def build(tree: PatternTree, conditions: BoundConditions) -> Automaton:
    """The automaton of a checked pattern."""
    return _Construction(tree, conditions).automaton()


class _Construction:
    def __init__(self, tree: PatternTree, conditions: BoundConditions) -> None:
        self.tree = tree
        self.conditions = conditions
        self.graph = Graph()
        self.predicates = PredicateTable()
        self.havings = PredicateTable()
        self.variables = [variable.name for _, _, variable in variables(tree.body)]
        self.order = {name: number for number, name in enumerate(self.variables)}

    def automaton(self) -> Automaton:
        start = self.graph.state()
        self.graph.final = self.graph.state()
        ends = self.sequence(start, self.tree.body, _Place((), _Entry(Contiguity.RELAXED), _Around()))
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
            once_per=_length(self.tree.once_per),
            unit=next((span.unit for span, _, _ in lengths(self.tree)), SpanUnit.ORDER),
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

    def sequence(self, start: int, sequence: Sequence, place: _Place) -> _Ends:
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
                taken, element, _Place((*place.path, index), entry, place.around.after_an_event(), nots)
            )
            empty = first.empty
            taken = self.join(first.taken, later.taken, later.empty)
        return _Ends(taken, empty)

    def element(self, start: int | None, element: Element, place: _Place) -> _Ends:
        """An element, passed by where it is optional."""
        if start is None:
            return _Ends(None, None)
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
            inside = replace(place, around=place.around.with_gap(_length(element.within_previous)))
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
        return _Ends(ends.taken, self.join(ends.empty, passed_by))

    def body(self, start: int, element: Element, place: _Place) -> _Ends:
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

    def one_of(self, start: int, alternatives: tuple[Element, ...], place: _Place) -> _Ends:
        """Every alternative in its place; the negations directly after it are directly after each (rule 13)."""
        ends = [self.element(start, part, place.part(index)) for index, part in enumerate(alternatives)]
        return _Ends(self.join(*(end.taken for end in ends)), None)

    def all_of(self, start: int, element: Element, body: AllOfMembers, place: _Place) -> _Ends:
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
                inside = _Place((*place.path, index), entry, around, place.nots if is_last else ())
                ends = self.element(states[done], members[index], inside)
                assert ends.taken is not None
                reached = done | {index}
                if not is_last and reached not in states:
                    states[reached] = self.graph.state()
                    pending.append(reached)
                self.proceed(ends.taken, end if is_last else states[reached])
        return _Ends(end, None)

    def single(self, start: int, element: Element, body: Variable, place: _Place) -> _Ends:
        """One event."""
        self.check_size(element, 2)
        taken = self.graph.state()
        gap = _smaller(_length(element.within_previous), place.around.gap)
        self.wait(start, self.take(body, place.entry, taken, gap, place.around))
        return _Ends(taken, None)

    def loop(self, start: int, element: Element, body: Variable, loop: Loop, place: _Place) -> tuple[_Ends, int]:
        """`{n,m}` and `{n,∞}` events of one variable, unrolled as far as repetitions differ."""
        around = place.around.with_until(self.until(loop, place.path))
        begun = around.after_an_event()
        bound = _length(element.within_previous)
        distinct = loop.maximum if loop.maximum is not None else max(loop.minimum, _last_named(loop.gaps))
        self.check_size(element, distinct)
        taken = [self.graph.state() for _ in range(distinct)]
        first_wait = self.wait(start, self.take(body, place.entry, taken[0], _smaller(bound, around.gap), around))
        having = self.having(place.path) if element.having is not None else ()
        end = self.graph.state()
        for count in range(1, distinct + 1):
            state = taken[count - 1]
            greedy: tuple[int, ...] = ()
            if count < distinct or loop.maximum is None:
                gap = _smaller(bound, _length(loop.gaps.before(count + 1)) if loop.gaps else None)
                again = self.take(body, _Entry(loop.inner), taken[min(count, distinct - 1)], gap, begun)
                # rule 7: the negations are in force between its events too
                wait = self.wait(state, again, place.nots)
                greedy = (wait,) if loop.greedy else ()
            if count >= loop.minimum:
                self.proceed(state, end, greedy=greedy, whole=loop.whole and bool(greedy), having=having)
        return _Ends(end, None), first_wait

    def looped_body(self, start: int, element: Element, loop: Loop, place: _Place) -> _Ends:
        """`{n,m}` and `{n,∞}` iterations of a group, a `one_of` or an `all_of`.

        A state between iterations is known by how many there were, and how many of them took something (both only as
        far as it matters). An iteration that takes nothing only helps to reach the minimum (rule 3), so there is none
        beyond it.
        """
        around = place.around.with_until(self.until(loop, place.path))
        bound = _length(element.within_previous)
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
                    gap = _smaller(bound, _length(loop.gaps.before(taking + 1)) if loop.gaps else None)
                    inside = around.after_an_event().with_gap(gap)
                    again = _Place(place.path, self.entry(loop.inner, element), inside)
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
        return _Ends(end_taken, end_empty if reached_empty else None)

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, start: int, take: Take, nots: tuple[Guard, ...] = ()) -> int:
        state = self.graph.state()
        self.graph.takes[state] = take
        self.proceed(start, state, nots)
        return state

    def take(self, body: Variable, entry: _Entry, target: int, gap: Length | None, around: _Around) -> Take:
        predicate = self.where(body.name)
        others = [index for index in dict.fromkeys(entry.openers) if index != predicate]
        openers = tuple(others) if entry.link is Contiguity.RELAXED else ()
        number = self.order[body.name]
        return Take(number, predicate, entry.link, target, gap, around.begun, around.not_begun, around.since, openers)

    def entry(self, link: Contiguity, *entered: Element) -> _Entry:
        """The link into one of some elements."""
        return _Entry(link, tuple(self.where(name) for element in entered for name in openers(element)))

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
        return Guard(element.link, self.where(element.name), _length(element.within_previous))

    def check_size(self, element: Element, more: int) -> None:
        if len(self.graph.proceeds) + more > MAXIMUM_STATES:
            raise MalformedPatternError(
                describe(element),
                f"the pattern unrolls to more than {MAXIMUM_STATES} states; nested repetitions multiply, and so do the "
                "members of an all_of.",
                "Use smaller counts or fewer members, or times_or_more(n), which needs no state beyond n.",
            )


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


def _length(span: Span | None) -> Length | None:
    return None if span is None else span.length


def _smaller(one: Length | None, other: Length | None) -> Length | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _looping(body: Sequence) -> list[str]:
    loops = {path for path, element in elements(body) if element.loop is not None}
    return [
        variable.name
        for path, _, variable in variables(body)
        if any(path[:depth] in loops for depth in range(1, len(path) + 1))
    ]
