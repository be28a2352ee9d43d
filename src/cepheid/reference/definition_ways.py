"""The ways through a pattern: from the element that took last to every element that could take next.

Comes in: the pattern tree and a position in it. Goes out: the ways onward, each with all that the rules tie to it
(link, bounds, negations, untils, greedy loops and havings gone by), and the ends that can be reached without taking any
more. Knows nothing of events; `definition` walks the ways along a list of them and is the only caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.syntax.positions import openers
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Contiguity,
    Element,
    Loop,
    Not,
    Path,
    PatternTree,
    Sequence,
    Since,
    Span,
    Variable,
)

_ONCE = Loop(1, 1)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a position is in one body: at which part, and how often that has repeated.

    `iterations` counts every repetition begun, the empty ones of a group included; `taking` only those that took.
    `members`: of an `all_of`, those begun in this iteration (rule 14).
    """

    index: int
    iterations: int
    taking: int
    members: frozenset[int] = frozenset()


Position: TypeAlias = tuple[Frame, ...]
"""The element that took last: one frame for each group around it, outermost first, then its own."""


@dataclass(frozen=True, slots=True)
class Until:
    """An until that lies over a way; `begun` if its loop or group has taken an event before (rule 4)."""

    path: Path
    begun: bool


@dataclass(frozen=True, slots=True)
class Way:
    """One way from the event taken last to an element that could take next.

    `openers` are the variables whose events a relaxed link cannot pass over (rules 2 and 13). `bound` is the least of
    the windows since the previous event (rule 6), `since` are those since a variable (rule 17). `greedy` holds, for
    each greedy loop that the way leaves or skips, the way on which that loop itself would take (rule 5). `having` are
    the paths of what is left on the way and asks before it is left (rule 15).
    """

    target: Position
    variable: str
    contiguity: Contiguity
    openers: tuple[str, ...]
    bound: int | float | None
    since: tuple[Since, ...]
    nots: tuple[Not, ...]
    untils: tuple[Until, ...]
    greedy: tuple[Way, ...]
    having: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The end of the pattern, reached without taking any more.

    `nots` are those that guard it (rule 7); `whole` are the ways on which whole loops that are left or skipped would
    take another event (rule 16).
    """

    nots: tuple[Not, ...]
    having: tuple[Path, ...]
    whole: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A link, and the variables that it leads to."""

    link: Contiguity
    openers: tuple[str, ...]

    @classmethod
    def into(cls, link: Contiguity, *elements: Element) -> _Entry:
        return cls(link, tuple(name for element in elements for name in openers(element)))


@dataclass(frozen=True, slots=True)
class _Iteration:
    """An iteration of a group, `one_of` or `all_of` that a way is in.

    Its frame counts it among those that take, which is right for every way that ends in it. `entry` is the link into
    the iteration, `bound` what the group says about the iteration's first event (rule 6), none once that is taken.
    """

    path: Path
    frame: Frame
    has_taken: bool
    entry: _Entry
    bound: int | float | None

    @property
    def group_has_taken(self) -> bool:
        return self.has_taken or self.frame.taking > 1


@dataclass(frozen=True, slots=True)
class _Passage:
    """What a way has gone by so far; `closing` are the negations after the last element that it skipped."""

    nots: tuple[Not, ...] = ()
    closing: tuple[Not, ...] = ()
    greedy: tuple[Way, ...] = ()
    whole: tuple[Way, ...] = ()
    having: tuple[Path, ...] = ()

    def past(self, negation: Not) -> _Passage:
        return replace(self, nots=_union(self.nots, (negation,)), closing=_union(self.closing, (negation,)))

    def guarded_by(self, nots: tuple[Not, ...]) -> _Passage:
        return replace(self, nots=_union(self.nots, nots))

    def skipping(self) -> _Passage:
        # rule 7: a negation whose following elements are all skipped does not delay the end
        return replace(self, closing=())

    def beyond(self, loop: Loop | None, way: Way) -> _Passage:
        """Past a loop that would have taken on this way: rules 5 and 16 bind what follows if it is greedy or whole."""
        if loop is None or not loop.greedy:
            return self
        whole = (*self.whole, way) if loop.whole else self.whole
        return replace(self, greedy=(*self.greedy, replace(way, greedy=())), whole=whole)

    def leaving(self, element: Element, path: Path) -> _Passage:
        return self if element.having is None else replace(self, having=(*self.having, path))


class Walker:
    """Finds the ways through one pattern."""

    def __init__(self, tree: PatternTree) -> None:
        self._tree = tree

    def starts(self) -> list[Way]:
        """The ways on which a match may take its first event. No link, bound, not or greedy loop applies there."""
        return [way for way in dict.fromkeys(self._along((), 0, _Passage())) if isinstance(way, Way)]

    def onward(self, position: Position) -> tuple[list[Way], list[End]]:
        """The ways from an element that has just taken an event, and the ends reached without another one."""
        enclosing: tuple[_Iteration, ...] = ()
        path: Path = ()
        taken = _Entry(Contiguity.RELAXED, ())
        for frame in position[:-1]:
            path = (*path, frame.index)
            enclosing = (*enclosing, _Iteration(path, frame, True, taken, None))
        found = list(dict.fromkeys(self._after(enclosing, position[-1])))
        return [way for way in found if isinstance(way, Way)], [end for end in found if isinstance(end, End)]

    def _after(self, enclosing: tuple[_Iteration, ...], frame: Frame) -> Iterator[Way | End]:
        """On from a variable: its loop once more, or what follows it."""
        element = self._element(enclosing, frame.index)
        loop = element.loop or _ONCE
        passage = _Passage()
        if _may_repeat(loop, frame):
            again = Frame(frame.index, frame.iterations + 1, frame.taking + 1)
            gap = loop.gaps.before(again.taking) if loop.gaps else None
            # rule 7: a negation directly after a loop is in force between its events as well
            guarded = passage.guarded_by(self._nots_after(enclosing, frame.index))
            repetition = self._taking(enclosing, again, _Entry.into(loop.inner, element), _length(gap), guarded)
            yield repetition
            passage = passage.beyond(loop, repetition)
        if frame.iterations >= loop.minimum:
            passage = passage.leaving(element, (*_path(enclosing), frame.index))
            yield from self._past(enclosing, frame.index, passage)

    def _past(self, enclosing: tuple[_Iteration, ...], index: int, passage: _Passage) -> Iterator[Way | End]:
        """On from a part that is finished: to the next one of a sequence, to the members left of an `all_of`."""
        body = self._body(enclosing)
        if isinstance(body, Sequence):
            yield from self._along(enclosing, index + 1, passage)
            return
        begun = enclosing[-1].frame.members
        if not isinstance(body, AllOfMembers) or len(begun) == body.at_least:
            yield from self._iteration_over(enclosing, passage)
            return
        left = [member for member in range(len(body.members)) if member not in begun]
        entry = _Entry.into(body.inner, *(body.members[member] for member in left))
        for member in left:
            yield from self._into(enclosing, member, entry, passage)

    def _along(self, enclosing: tuple[_Iteration, ...], index: int, passage: _Passage) -> Iterator[Way | End]:
        """On along the innermost sequence, from the part at `index`."""
        parts = self._body(enclosing).parts
        if index == len(parts):
            if enclosing:
                yield from self._iteration_over(enclosing, passage)
            else:
                yield End(passage.closing, passage.having, passage.whole)
            return
        part = parts[index]
        if isinstance(part, Not):
            yield from self._along(enclosing, index + 1, passage.past(part))
            return
        # rule 2: the link into a group is that of its first element; if that is skipped, the next one's own link counts
        entry = _Entry.into(part.link.contiguity, part)
        yield from self._into(enclosing, index, enclosing[-1].entry if enclosing and index == 0 else entry, passage)

    def _begin(self, enclosing: tuple[_Iteration, ...], passage: _Passage) -> Iterator[Way | End]:
        """Into an iteration that has just begun: to the first part of a sequence, or to any other part."""
        if isinstance(self._body(enclosing), Sequence):
            yield from self._along(enclosing, 0, passage)
            return
        for index in range(len(self._body(enclosing).parts)):
            yield from self._into(enclosing, index, enclosing[-1].entry, passage)

    def _into(
        self, enclosing: tuple[_Iteration, ...], index: int, entry: _Entry, passage: _Passage
    ) -> Iterator[Way | End]:
        """Into the element at `index`, or past it if it is optional."""
        element = self._element(enclosing, index)
        if isinstance(self._body(enclosing), AllOfMembers):
            *outside, around = enclosing
            begun = replace(around.frame, members=around.frame.members | {index})
            enclosing = (*outside, replace(around, frame=begun))
        first = Frame(index, 1, 1)
        skipping = passage.skipping()
        if isinstance(element.body, Variable):
            entering = self._taking(enclosing, first, entry, None, passage)
            yield entering
            skipping = skipping.beyond(element.loop, entering)
        else:
            path = (*_path(enclosing), index)
            iteration = _Iteration(path, first, False, entry, _length(element.within_previous))
            yield from self._begin((*enclosing, iteration), passage)
        if element.optional:
            yield from self._past(enclosing, index, skipping)

    def _iteration_over(self, enclosing: tuple[_Iteration, ...], passage: _Passage) -> Iterator[Way | End]:
        """On from the end of a group's iteration: another one, or what follows the group."""
        *outside, iteration = enclosing
        outer = tuple(outside)
        frame = replace(iteration.frame, members=frozenset())
        element = self._element(outer, frame.index)
        loop = element.loop or _ONCE
        if not iteration.has_taken:
            # rule 3: an iteration that takes nothing only helps to reach the minimum
            if frame.iterations > loop.minimum:
                return
            frame = replace(frame, taking=frame.taking - 1)
        if _may_repeat(loop, frame):
            again = Frame(frame.index, frame.iterations + 1, frame.taking + 1)
            entry, bound, guarded = iteration.entry, _length(element.within_previous), passage
            if frame.taking:
                gap = loop.gaps.before(again.taking) if loop.gaps else None
                entry, bound = _Entry.into(loop.inner, element), _least(bound, _length(gap))
                guarded = passage.guarded_by(self._nots_after(outer, frame.index))
            yield from self._begin((*outer, _Iteration(iteration.path, again, False, entry, bound)), guarded)
        if frame.iterations >= loop.minimum:
            if frame.taking:  # rule 15: what has taken no event is not asked
                passage = passage.leaving(element, iteration.path)
            yield from self._past(outer, frame.index, passage)

    def _taking(
        self,
        enclosing: tuple[_Iteration, ...],
        frame: Frame,
        entry: _Entry,
        gap: int | float | None,
        passage: _Passage,
    ) -> Way:
        """The way on which the variable at `frame` takes."""
        element = self._element(enclosing, frame.index)
        assert isinstance(element.body, Variable)
        bound = _least(gap, _length(element.within_previous))
        untils: list[Until] = []
        holders: list[Element] = []
        for depth, iteration in enumerate(enclosing):
            bound = _least(bound, iteration.bound)
            holder = self._element(enclosing[:depth], iteration.frame.index)
            holders.append(holder)
            if holder.loop is not None and holder.loop.until is not None:
                untils.append(Until(iteration.path, iteration.group_has_taken))
        if element.loop is not None and element.loop.until is not None:
            untils.append(Until((*_path(enclosing), frame.index), frame.taking > 1))
        return Way(
            target=(*(iteration.frame for iteration in enclosing), frame),
            variable=element.body.name,
            contiguity=entry.link,
            openers=entry.openers,
            bound=bound,
            since=tuple(part.within_since for part in (*holders, element) if part.within_since is not None),
            nots=passage.nots,
            untils=tuple(untils),
            greedy=passage.greedy,
            having=passage.having,
        )

    def _body(self, enclosing: tuple[_Iteration, ...]) -> Body:
        body: Body = self._tree.body
        for iteration in enclosing:
            element = body.parts[iteration.frame.index]
            assert isinstance(element, Element)
            body = element.body
        return body

    def _element(self, enclosing: tuple[_Iteration, ...], index: int) -> Element:
        element = self._body(enclosing).parts[index]
        assert isinstance(element, Element)
        return element

    def _nots_after(self, enclosing: tuple[_Iteration, ...], index: int) -> tuple[Not, ...]:
        """The negations directly after an element, before anything else; also those after what it ends (rule 7)."""
        nots: list[Not] = []
        body = self._body(enclosing)
        if isinstance(body, Sequence):
            for element in body.elements[index + 1 :]:
                if not isinstance(element, Not):
                    return tuple(nots)
                nots.append(element)
        if isinstance(body, AllOfMembers) and len(enclosing[-1].frame.members) < body.at_least:
            return ()  # rule 14: another member comes before them
        if enclosing:
            *outside, iteration = enclosing
            if not self._element(tuple(outside), iteration.frame.index).repeats:
                nots += self._nots_after(tuple(outside), iteration.frame.index)
        return tuple(nots)


def _path(enclosing: tuple[_Iteration, ...]) -> Path:
    return enclosing[-1].path if enclosing else ()


def _may_repeat(loop: Loop, frame: Frame) -> bool:
    return loop.maximum is None or frame.iterations < loop.maximum


def _length(span: Span | None) -> int | float | None:
    return None if span is None else span.length


def _least(one: int | float | None, other: int | float | None) -> int | float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _union(one: tuple[Not, ...], other: tuple[Not, ...]) -> tuple[Not, ...]:
    return tuple(dict.fromkeys((*one, *other)))
