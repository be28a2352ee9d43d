"""The ways through a pattern: from the element that took last to every element that could take next.

Comes in: the pattern tree and a position in it. Goes out: the ways onward, each with all that the rules tie to it
(link, bounds, nots, untils, greedy loops gone by), and the ends that can be reached without taking any more. Knows
nothing of events; `definition` walks the ways along a list of them and is the only caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.syntax.tree import Contiguity, Element, Loop, Not, Path, PatternTree, Sequence, Span, Variable

_ONCE = Loop(1, 1)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a position stands in one sequence: at which element, and how often that has repeated.

    `iterations` counts every repetition begun, the empty ones of a group included; `taking` only those that took.
    """

    index: int
    iterations: int
    taking: int


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

    `bound` is the least of the windows since the previous event (rule 6); `greedy` holds, for each greedy loop that the
    way leaves or skips, the way on which that loop itself would take (rule 5).
    """

    target: Position
    variable: str
    contiguity: Contiguity
    bound: int | float | None
    nots: tuple[Not, ...]
    untils: tuple[Until, ...]
    greedy: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The end of the pattern, reached without taking any more; `nots` are those that guard it (rule 7)."""

    nots: tuple[Not, ...]


@dataclass(frozen=True, slots=True)
class _Iteration:
    """An iteration of a group that a way stands in.

    Its frame counts it among those that take, which is right for every way that ends in it. `link` is the link into
    the iteration, `bound` what the group says about the iteration's first event (rule 6), none once that is taken.
    """

    path: Path
    frame: Frame
    has_taken: bool
    link: Contiguity
    bound: int | float | None

    @property
    def group_has_taken(self) -> bool:
        return self.has_taken or self.frame.taking > 1


@dataclass(frozen=True, slots=True)
class _Passage:
    """What a way has gone by so far; `closing` are the nots behind the last element that it skipped."""

    nots: tuple[Not, ...] = ()
    closing: tuple[Not, ...] = ()
    greedy: tuple[Way, ...] = ()

    def past(self, negation: Not) -> _Passage:
        return replace(self, nots=_union(self.nots, (negation,)), closing=_union(self.closing, (negation,)))

    def guarded_by(self, nots: tuple[Not, ...]) -> _Passage:
        return replace(self, nots=_union(self.nots, nots))

    def skipping(self, greedy: tuple[Way, ...]) -> _Passage:
        # rule 7: a not whose following elements are all skipped does not delay the end
        return replace(self, closing=(), greedy=(*self.greedy, *greedy))


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
        for frame in position[:-1]:
            path = (*path, frame.index)
            enclosing = (*enclosing, _Iteration(path, frame, True, Contiguity.RELAXED, None))
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
            # rule 7: a not directly behind a loop is in force between its events as well
            guarded = passage.guarded_by(self._nots_behind(enclosing, frame.index))
            repetition = self._taking(enclosing, again, loop.inner, _length(gap), guarded)
            yield repetition
            if loop.greedy:
                passage = replace(passage, greedy=(replace(repetition, greedy=()),))
        if frame.iterations >= loop.minimum:
            yield from self._along(enclosing, frame.index + 1, passage)

    def _along(self, enclosing: tuple[_Iteration, ...], index: int, passage: _Passage) -> Iterator[Way | End]:
        """On along the innermost sequence, from the element at `index`."""
        elements = self._sequence(enclosing).elements
        if index == len(elements):
            if enclosing:
                yield from self._iteration_over(enclosing, passage)
            else:
                yield End(passage.closing)
            return
        element = elements[index]
        if isinstance(element, Not):
            yield from self._along(enclosing, index + 1, passage.past(element))
            return
        # rule 2: the link into a group is that of its first element; if that is skipped, the next one's own link counts
        link = enclosing[-1].link if enclosing and index == 0 else element.link.contiguity
        first = Frame(index, 1, 1)
        entering: tuple[Way, ...] = ()
        if isinstance(element.body, Variable):
            entering = (self._taking(enclosing, first, link, None, passage),)
            yield from entering
        else:
            path = (*_path(enclosing), index)
            iteration = _Iteration(path, first, False, link, _length(element.within_previous))
            yield from self._along((*enclosing, iteration), 0, passage)
        if element.optional:
            greedy = element.loop is not None and element.loop.greedy
            skipped = tuple(replace(way, greedy=()) for way in entering) if greedy else ()
            yield from self._along(enclosing, index + 1, passage.skipping(skipped))

    def _iteration_over(self, enclosing: tuple[_Iteration, ...], passage: _Passage) -> Iterator[Way | End]:
        """On from the end of a group's iteration: another one, or what follows the group."""
        *outside, iteration = enclosing
        outer = tuple(outside)
        frame = iteration.frame
        element = self._element(outer, frame.index)
        loop = element.loop or _ONCE
        if not iteration.has_taken:
            # rule 3: an iteration that takes nothing only helps to reach the minimum
            if frame.iterations > loop.minimum:
                return
            frame = replace(frame, taking=frame.taking - 1)
        if _may_repeat(loop, frame):
            again = Frame(frame.index, frame.iterations + 1, frame.taking + 1)
            link, bound, guarded = iteration.link, _length(element.within_previous), passage
            if frame.taking:
                gap = loop.gaps.before(again.taking) if loop.gaps else None
                link, bound = loop.inner, _least(bound, _length(gap))
                guarded = passage.guarded_by(self._nots_behind(outer, frame.index))
            yield from self._along((*outer, _Iteration(iteration.path, again, False, link, bound)), 0, guarded)
        if frame.iterations >= loop.minimum:
            yield from self._along(outer, frame.index + 1, passage)

    def _taking(
        self,
        enclosing: tuple[_Iteration, ...],
        frame: Frame,
        link: Contiguity,
        gap: int | float | None,
        passage: _Passage,
    ) -> Way:
        """The way on which the variable at `frame` takes."""
        element = self._element(enclosing, frame.index)
        assert isinstance(element.body, Variable)
        bound = _least(gap, _length(element.within_previous))
        untils: list[Until] = []
        for depth, iteration in enumerate(enclosing):
            bound = _least(bound, iteration.bound)
            group = self._element(enclosing[:depth], iteration.frame.index)
            if group.loop is not None and group.loop.until is not None:
                untils.append(Until(iteration.path, iteration.group_has_taken))
        if element.loop is not None and element.loop.until is not None:
            untils.append(Until((*_path(enclosing), frame.index), frame.taking > 1))
        return Way(
            target=(*(iteration.frame for iteration in enclosing), frame),
            variable=element.body.name,
            contiguity=link,
            bound=bound,
            nots=passage.nots,
            untils=tuple(untils),
            greedy=passage.greedy,
        )

    def _sequence(self, enclosing: tuple[_Iteration, ...]) -> Sequence:
        sequence = self._tree.body
        for iteration in enclosing:
            element = sequence.elements[iteration.frame.index]
            assert isinstance(element, Element) and isinstance(element.body, Sequence)
            sequence = element.body
        return sequence

    def _element(self, enclosing: tuple[_Iteration, ...], index: int) -> Element:
        element = self._sequence(enclosing).elements[index]
        assert isinstance(element, Element)
        return element

    def _nots_behind(self, enclosing: tuple[_Iteration, ...], index: int) -> tuple[Not, ...]:
        """The nots directly after an element, before anything else; also those after a group that it ends (rule 7)."""
        nots: list[Not] = []
        for element in self._sequence(enclosing).elements[index + 1 :]:
            if not isinstance(element, Not):
                return tuple(nots)
            nots.append(element)
        if enclosing:
            *outside, iteration = enclosing
            group = self._element(tuple(outside), iteration.frame.index)
            if group.loop is None or group.loop.maximum == 1:
                nots += self._nots_behind(tuple(outside), iteration.frame.index)
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
