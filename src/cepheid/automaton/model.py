"""The automaton of a pattern: a data stream transducer in the words of the specification.

In: nothing; these are the plain data that `construction` builds, `closure` flattens, and evaluators and pictures read.

Two views of one machine:

* the *graph*: waiting states, each with one TAKE (and what it may IGNORE meanwhile), and the states between them,
  joined by PROCEED transitions in priority order. Each construction of `construction` adds its part here.
* the *positions*: the graph with every chain of PROCEEDs walked beforehand (algorithm 1). A position is what a run
  knows after it has taken an event: in which ways it may go on, under which guards, and whether it may end there.

Predicates are shared: transitions name them by their index in `Automaton.predicates`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheid.conditions import Predicate, Registers
from cepheid.syntax.durations import to_text
from cepheid.syntax.tree import Contiguity, NotLink, Skip, Span, SpanUnit, Window

Length = int | float
"""A window's length in the unit of the order column."""


@dataclass(frozen=True, slots=True)
class Take:
    """What a waiting state does with an event: take it if it may, otherwise IGNORE it or be lost.

    `over`: untils of loops and groups that have taken an event already; such an event ends this way (rule 4).
    `refused`: untils of loops and groups not begun; such an event cannot be taken.
    `gap`: the event must come less than this after the event taken before (rule 6); None is unbounded.
    `since`: it must come less than this after the last event of a variable, if that has taken one (rule 17).
    `openers`: predicates of the other elements that a relaxed link leads to; what satisfies one of them cannot be
    passed over either (rule 13). Empty unless the link is relaxed.
    """

    variable: int
    predicate: int
    contiguity: Contiguity
    target: int
    gap: Length | None = None
    over: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    since: tuple[tuple[int, Length], ...] = ()
    openers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """A negation: `window` is its own bound since the last taken event, which only a negation at the end has."""

    link: NotLink
    predicate: int
    window: Length | None = None


@dataclass(frozen=True, slots=True)
class Proceed:
    """A step that handles no event.

    `nots` come into force on the way; `greedy` names waiting states of greedy loops that this step leaves or skips, and
    `whole` says that these loops are whole; `skips` says that an element was passed by, so that earlier negations no
    longer guard the end of the match (rule 7); `having` must hold for the step to be made (rule 15).
    """

    target: int
    nots: tuple[Guard, ...] = ()
    greedy: tuple[int, ...] = ()
    whole: bool = False
    skips: bool = False
    having: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Continuation:
    """One way for a run to go on from a position: a TAKE and the guards on the way to it.

    `greedy` are indices into the position's `rivals`: greedy loops that must not be able to take what this way takes
    or ignores. `having` are indices into `Automaton.having`: the way is open only if they hold when the position is
    reached, the event just taken included (rule 15).
    """

    take: Take
    not_next: tuple[int, ...] = ()
    not_followed_by: tuple[int, ...] = ()
    greedy: tuple[int, ...] = ()
    having: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """A way for a match to end here: if `having` holds on arrival, once all that it waits for is decided.

    `nots` are the trailing negations, which run their time (rule 7). `whole` are the ways on which whole loops that the
    match ends at, or skips, would take another event: it counts if none of them ever can (rule 16). They lead nowhere.
    """

    nots: tuple[Guard, ...] = ()
    having: tuple[int, ...] = ()
    whole: tuple[Continuation, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """What a run knows after taking an event. `continuations` are in priority order (rule 8).

    `accepts`: a match ends here at once; then there are no other endings.
    """

    continuations: tuple[Continuation, ...]
    rivals: tuple[Take, ...] = ()
    """Greedy loops that continuations and endings refer to. They lead nowhere: their target is 0."""
    accepts: bool = False
    endings: tuple[Ending, ...] = ()


@dataclass(slots=True)
class Graph:
    """The machine as the constructions leave it: PROCEEDs by state, and the TAKE of each waiting state."""

    proceeds: list[list[Proceed]] = field(default_factory=list)
    takes: dict[int, Take] = field(default_factory=dict)
    final: int = -1

    def state(self) -> int:
        self.proceeds.append([])
        return len(self.proceeds) - 1


@dataclass(frozen=True, slots=True)
class Automaton:
    """A pattern ready to be run. `positions[0]` is the start; `variables` are in the order of writing."""

    variables: tuple[str, ...]
    predicates: tuple[Predicate, ...]
    positions: tuple[Position, ...]
    registers: Registers
    skip: Skip
    window: Window | None
    not_before: tuple[int, ...]
    """Predicates of the negations at the start."""
    looping: frozenset[str]
    """Variables that may take more than one event."""
    having: tuple[Predicate, ...] = ()
    """Conditions on what was taken, asked on arrival at a position (rule 15). They have no current event."""
    once_per: Length | None = None
    """The least time between two reported matches (rule 19)."""
    unit: SpanUnit = SpanUnit.ORDER
    """What lengths count, for people: durations are printed in words."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"variables: {', '.join(self.variables)}"
        for index in self.not_before:
            yield f"not before: {self.predicates[index]}"
        for number, position in enumerate(self.positions):
            yield f"{number}: {'start' if number == 0 else 'position'}"
            for continuation in position.continuations:
                yield from self._describe(position, continuation, is_start=number == 0)
            if position.accepts:
                yield "   END"
            for ending in position.endings:
                yield f"   END{self._if(ending.having)}{self._once(ending)}"

    def _describe(self, position: Position, continuation: Continuation, is_start: bool) -> Iterator[str]:
        take = continuation.take
        variable = self.variables[take.variable]
        link = "" if is_start else f"{take.contiguity.value} "
        yield f"   {link}TAKE {variable} if {self.predicates[take.predicate]} → {take.target}"
        if continuation.having:
            yield f"      open{self._if(continuation.having)}"
        if not is_start and take.contiguity is not Contiguity.STRICT:
            relaxed = take.contiguity is Contiguity.RELAXED
            others = "".join(f" nor {self.predicates[index]}" for index in take.openers)
            yield f"      IGNORE {f'what does not satisfy it{others}' if relaxed else 'any event'}"
        for name, predicates in (("until", take.over), ("never one with", take.refused)):
            if predicates:
                yield f"      {name} {' or '.join(str(self.predicates[index]) for index in predicates)}"
        if take.gap is not None:
            yield f"      less than {self._length(take.gap)} since the previous event"
        for number, length in take.since:
            yield f"      less than {self._length(length)} since {self.variables[number]}"
        for index in continuation.not_next:
            yield f"      not next {self.predicates[index]}"
        for index in continuation.not_followed_by:
            yield f"      not followed by {self.predicates[index]}"
        for index in continuation.greedy:
            rival = position.rivals[index]
            yield f"      while greedy {self.variables[rival.variable]} cannot take"

    def _if(self, having: tuple[int, ...]) -> str:
        return f" if {' and '.join(str(self.having[index]) for index in having)}" if having else ""

    def _once(self, ending: Ending) -> str:
        waits = [self._guard(guard) for guard in ending.nots]
        waits += [f"{self.variables[way.take.variable]} cannot take any more" for way in ending.whole]
        return f" once {' and '.join(waits)}" if waits else ""

    def _guard(self, guard: Guard) -> str:
        bound = "" if guard.window is None else f" for {self._length(guard.window)}"
        return f"{guard.link.value} {self.predicates[guard.predicate]}{bound}"

    def _length(self, length: Length) -> str:
        return to_text(Span(length, self.unit))
