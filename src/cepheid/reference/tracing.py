"""The record of everything that happened to the runs of one partition: what `why` is told by.

In: an automaton, the events of one partition and their times. Out: a `Trace`: each run with its parent, what it waited
for, how each of its ways ended, and its one fate; each event with its one class. Called by `explain.why`.

A run is a partial match, so a run that takes an event leaves a child and, unless it may take further ones, has *gone
on*. Fates are exclusive, the first that applies in this order: the verdict on a complete match; gone on; its start
forbidden; still waiting; and else what ended the way that was open last, as rule 9 counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from cepheid.automaton.model import Automaton, Continuation, Take
from cepheid.conditions import Predicate, Taken, compile_predicate
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.reference.observing import Cause, Verdict
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.runs import Moment, Pending, Run
from cepheid.syntax.tree import Event

MOST_STEPS = 100_000
"""So often may an event be shown to a run before a trace gives up: patterns without a window keep every run."""


class Fate(Enum):
    """What became of a run, in words."""

    MATCHED = "matched"
    WENT_ON = "went on"
    TIME = "window over"
    NOT = "not violated"
    STRICT = "strict link broken"
    CONDITION = "condition on earlier events false"
    UNTIL = "until"
    GREEDY = "greedy"
    OPENER = "another alternative took it"
    WHOLE = "whole loop went on"
    HAVING = "having false"
    FORBIDDEN = "skip strategy forbade it"
    NOT_BEFORE = "not before violated"
    ONCE_PER = "once per"
    WAITING = "still waiting"
    CUT = "not followed further"


class EventClass(Enum):
    """What became of an event: the first that applies."""

    MATCHED = "in a match"
    TAKEN = "taken, but in no match"
    ENDED = "ended a run"
    FITS = "fits an element, taken by none"
    NOTHING = "fits no element"
    LATE = "late"
    """It came after the watermark had passed it (streams)."""
    REJECTED = "rejected"
    """It could not be used: it has no time, or one that cannot be."""
    WAITS = "waits for the watermark"
    HANDLED = "handled"
    """On a stream that runs, where no more is counted."""


_OF_CAUSE = {
    Cause.TIME: Fate.TIME,
    Cause.NOT: Fate.NOT,
    Cause.STRICT: Fate.STRICT,
    Cause.UNTIL: Fate.UNTIL,
    Cause.GREEDY: Fate.GREEDY,
    Cause.OPENER: Fate.OPENER,
    Cause.WHOLE: Fate.WHOLE,
    Cause.TAKEN: Fate.WENT_ON,
}
_OF_VERDICT = {
    Verdict.MATCHED: Fate.MATCHED,
    Verdict.FORBIDDEN: Fate.FORBIDDEN,
    Verdict.NOT_BEFORE: Fate.NOT_BEFORE,
    Verdict.ONCE_PER: Fate.ONCE_PER,
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How one way of a run ended. `take` is None for a match that waited at its end for negations or for wholeness."""

    take: Take | None
    cause: Cause
    event: int | None
    """The event that ended it; None where time did."""
    time: Moment
    culprit: int | None = None
    """The predicate of the not or until that the event satisfied."""


@dataclass(slots=True, eq=False)
class TracedRun:
    """One run. Numbers count from 0 in the order of birth; a parent comes before its children."""

    number: int
    parent: int | None
    taken: tuple[tuple[int, int], ...]
    """(index of the event, number of the variable) in order."""
    memory: Taken
    """What it has taken, as conditions read it."""
    waits: tuple[Take, ...]
    """What it could take next."""
    deadline: Moment
    """When time is over for the last of these."""
    waits_at_end: bool
    """Whether it was a match but for negations or wholeness at its end."""
    fate: Fate = Fate.WAITING
    ended: list[Ended] = field(default_factory=list)
    children: int = 0

    @property
    def start(self) -> int:
        return self.taken[0][0]

    @property
    def last(self) -> int:
        return self.taken[-1][0]

    @property
    def variable(self) -> int:
        """Which variable took last."""
        return self.taken[-1][1]

    @property
    def end(self) -> Ended | None:
        """How the way that was open last ended, if that is what ended the run."""
        return self.ended[-1] if self.ended else None

    @property
    def awaited(self) -> int | None:
        """The variable that it waited for last; None if it waited for its end, or for nothing."""
        if self.fate in (Fate.WAITING, Fate.FORBIDDEN, Fate.CUT) or not self.ended:
            return self.waits[-1].variable if self.waits else None
        take = self.ended[-1].take
        return None if take is None else take.variable


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that happened in one partition."""

    automaton: Automaton
    events: Sequence[Event]
    times: Sequence[Moment]
    runs: tuple[TracedRun, ...]
    classes: tuple[EventClass, ...]
    """One for each event that was followed."""
    handled: int
    """How many events were followed; fewer than there are if the work became too much."""
    steps: int
    """How often an event was shown to a run."""

    @property
    def fates(self) -> Counter[Fate]:
        return Counter(run.fate for run in self.runs)


def trace(
    automaton: Automaton,
    events: Sequence[Event],
    times: Sequence[Moment],
    most_steps: int = MOST_STEPS,
    is_end: bool = True,
) -> Trace:
    """Follow every run through the events of one partition; `is_end`: no further event will come."""
    tracer = Tracer()
    evaluator = tracer.evaluator = OnlineEvaluator(automaton, tracer)
    steps = handled = 0
    for event, time in zip(events, times, strict=True):
        steps += 1 + len(evaluator.runs)
        if steps > most_steps:
            break
        tracer.event, handled = handled, handled + 1
        evaluator.handle(event, time)
    is_cut = handled < len(events)
    tracer.event = None
    if is_end and not is_cut:
        evaluator.end_of_input()
    runs = tracer.finished(Fate.CUT if is_cut else Fate.WAITING)
    return Trace(automaton, events, times, runs, _classes(automaton, events[:handled], runs), handled, steps)


class Tracer:
    """The observer: writes down what the evaluator says."""

    evaluator: OnlineEvaluator

    def __init__(self) -> None:
        self.event: int | None = None
        """The event that is being handled."""
        self._born = 0
        self._own: dict[int, Callable[[Event, Taken], bool]] = {}
        self.of: dict[int, tuple[TracedRun, Run]] = {}
        """By the id of the run, in the order of birth. The run is kept so that no two ever have one id."""
        self.verdicts: dict[int, Verdict] = {}
        """On complete matches, by their number."""
        self.forbidden: set[int] = set()
        """Runs that were given up before they were complete, by their number."""

    def born(self, run: Run, parent: Run | None) -> None:
        before = None if parent is None else self.of[id(parent)][0]
        takes = [way.take for place in run.places for way in place.open]
        traced = TracedRun(
            self._born,
            None if before is None else before.number,
            run.taken,
            self.evaluator.taken(run),
            tuple(dict.fromkeys(takes)),
            max((self.evaluator.deadline(run, take) for take in takes), default=run.last_time),
            waits_at_end=bool(run.endings),
        )
        self._born += 1
        if before is not None:
            before.children += 1
        self.of[id(run)] = traced, run

    def ended(self, run: Run, way: Continuation | Pending, cause: Cause, time: Moment) -> None:
        by_event = cause is not Cause.TIME
        is_next = self.event == run.last + 1
        culprits = self.evaluator.satisfied(_suspects(way, cause, is_next), run) if by_event else []
        take = way.take if isinstance(way, Continuation) else None
        event = self.event if by_event else None
        self.of[id(run)][0].ended.append(Ended(take, cause, event, time, culprits[0] if culprits else None))

    def decided(self, run: Run, verdict: Verdict, time: Moment) -> None:
        number = self.of[id(run)][0].number
        if run.is_complete:
            self.verdicts.setdefault(number, verdict)
        else:
            self.forbidden.add(number)

    def settled(self) -> list[TracedRun]:
        """The runs that are over, each with its fate; they are written down no longer."""
        alive = {id(run) for run in self.evaluator.runs}
        over = {key: run for key, (run, _) in self.of.items() if key not in alive}
        for key, run in over.items():
            run.fate = self._fate(run, None)
            self.verdicts.pop(run.number, None)
            self.forbidden.discard(run.number)
            del self.of[key]
        return list(over.values())

    def finished(self, waiting: Fate) -> tuple[TracedRun, ...]:
        """All runs, each with its fate; `waiting`: that of those which are left."""
        left = {self.of[id(run)][0].number: self.evaluator.is_forbidden(run) for run in self.evaluator.runs}
        self.forbidden.update(number for number, is_forbidden in left.items() if is_forbidden)
        runs = tuple(run for run, _ in self.of.values())
        for run in runs:
            run.fate = self._fate(run, waiting if run.number in left else None)
        return runs

    def _fate(self, run: TracedRun, waiting: Fate | None) -> Fate:
        verdict = self.verdicts.get(run.number)
        if verdict is not None:
            return _OF_VERDICT[verdict]
        if run.children:
            return Fate.WENT_ON
        if run.number in self.forbidden:
            return Fate.FORBIDDEN
        if waiting is not None:
            return waiting
        if run.end is None:  # rule 15: nothing was open when the event was taken
            return Fate.HAVING
        if run.end.cause is Cause.STRICT and self._fits(run.end):
            return Fate.CONDITION
        return _OF_CAUSE[run.end.cause]

    def _fits(self, end: Ended) -> bool:
        """Whether the event that broke a strict link satisfied all but what is asked of earlier events."""
        assert end.take is not None and end.event is not None
        number = end.take.predicate
        predicate = self.evaluator.automaton.predicates[number]
        if not predicate.reads_variables:
            return False
        test = self._own.setdefault(number, own_event_test(predicate))
        return test(self.evaluator.events[end.event], NOTHING_TAKEN)


def _suspects(way: Continuation | Pending, cause: Cause, is_next: bool) -> Iterable[int]:
    """The predicates of which one ended a way."""
    if isinstance(way, Pending):
        return [guard.predicate for guard, _ in way.nots]
    match cause:
        case Cause.NOT:
            return (*(way.not_next if is_next else ()), *way.not_followed_by)
        case Cause.UNTIL:
            return (*way.take.over, *way.take.refused)
        case Cause.OPENER:
            return way.take.openers
    return ()


def own_event_test(predicate: Predicate) -> Callable[[Event, Taken], bool]:
    """Whether an event satisfies what a predicate asks of it alone."""
    return compile_predicate(Predicate(predicate.own_event, predicate.place))


def _classes(automaton: Automaton, events: Sequence[Event], runs: Sequence[TracedRun]) -> tuple[EventClass, ...]:
    matched = {index for run in runs if run.fate is Fate.MATCHED for index, _ in run.taken}
    taken = {run.last for run in runs}
    ended = {end.event for run in runs for end in run.ended if end.cause is not Cause.TAKEN}
    takes = {way.take.predicate for position in automaton.positions for way in position.continuations}
    tests = [own_event_test(automaton.predicates[number]) for number in takes]

    def of(index: int, event: Event) -> EventClass:
        if index in matched:
            return EventClass.MATCHED
        if index in taken:
            return EventClass.TAKEN
        if index in ended:
            return EventClass.ENDED
        return EventClass.FITS if any(test(event, NOTHING_TAKEN) for test in tests) else EventClass.NOTHING

    return tuple(of(index, event) for index, event in enumerate(events))
