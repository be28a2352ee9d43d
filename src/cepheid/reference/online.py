"""The automaton run online, event by event: algorithm 2 of the formal semantics for the whole language.

In: an automaton; then events of one partition in their order, and the moments in between. Out: matches and timeouts
as they are decided. Slow and obvious: the measure of every faster engine, and the way for conditions that are Python
callables.

The queue holds runs ordered by start, then by priority (rule 8). A run is a partial match: which events were taken,
by which variables. All ways that lead to the same partial match live in one run, as several *places*; so a match
comes out once, and a timeout is reported when the last continuation of all places runs out of time (rule 9). For each
event, in the order of the queue, a run's children (one per variable that takes the event, earlier variables first) go
before the run itself if it still waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import inf

from cepheid.automaton.model import Automaton, Continuation, Guard, Take
from cepheid.conditions import Taken, compile_predicate
from cepheid.reference.observing import Cause, Observer, Verdict
from cepheid.reference.outcome import Match, Timeout
from cepheid.reference.runs import Moment, Pending, Place, Run
from cepheid.reference.skipping import SkipFilter
from cepheid.syntax.tree import Contiguity, Event, EventCount, NotLink

_LOST = {
    Contiguity.STRICT: Cause.STRICT,
    Contiguity.RELAXED: Cause.OPENER,
    Contiguity.NON_DETERMINISTIC: Cause.TAKEN,  # such a link is never over
}
"""What it means that a link can pass over an event no more and did not take it."""


class OnlineEvaluator:
    """Runs one automaton over one partition. An observer is told what becomes of every run."""

    def __init__(self, automaton: Automaton, observer: Observer | None = None) -> None:
        self.automaton = automaton
        self._observer = observer
        self.matches: list[Match] = []
        self.timeouts: list[Timeout] = []
        self._tests = [compile_predicate(predicate) for predicate in automaton.predicates]
        self._having = [compile_predicate(predicate) for predicate in automaton.having]
        self._reads_variables = [predicate.reads_variables for predicate in automaton.predicates]
        window = automaton.window
        self._count = window.events if isinstance(window, EventCount) else None
        self._within: Moment = window.length if window is not None and not isinstance(window, EventCount) else inf
        self._skip = SkipFilter(automaton.skip, automaton.variables)
        self._runs: list[Run] = []
        self._events: dict[int, Event] = {}
        self._times: dict[int, Moment] = {}
        self._next = 0
        """The index of the event that comes next."""
        self._event: Event = {}
        """The one that is being handled."""
        self._now: Moment = -inf
        self._forbidden_at: Moment | None = None
        """When matches last forbade starts. Their runs stay up to that moment's end: what times out then still counts
        (rule 9)."""
        self._reported_at: Moment | None = None
        """When the last match was reported (rule 19)."""
        self._own: dict[int, bool] = {}
        """Predicates on the current event that read no variable."""

    # ── what comes in ────────────────────────────────────────────────────────────────────────────────────────────────

    def handle(self, event: Event, time: Moment) -> None:
        """The next event of the partition, in order; time moves to it first (rule 10)."""
        self._fall_due(time, including=False)
        index, self._next = self._next, self._next + 1
        self._moment(time, ended_window=None if self._count is None else index - self._count)
        self._now = time
        self._event = self._events[index] = event
        self._times[index] = time
        self._own.clear()
        queue: list[Run] = []
        decided: list[Run] = []
        for run in self._runs:
            children, is_decided = self._continue(run, index, time)
            queue += [*children, run]
            decided += [child for child in children if child.is_complete]
            if is_decided:
                decided.append(run)
        begun = self._begin(index, time)
        queue += begun
        decided += [run for run in begun if run.is_complete]
        self._runs = queue
        for run in queue:  # rule 17: what is out of time already runs out at the event itself
            if run.last == index and self._run_out(run, time, False) and not run.endings and not run.is_complete:
                self.timeouts.append(Timeout(self._named(run), time))
        self._emit(decided, time)
        self._runs = [run for run in self._runs if run.is_open or run.endings]

    @property
    def runs(self) -> Sequence[Run]:
        """The runs that are kept, in the order of the queue."""
        return self._runs

    @property
    def events(self) -> Mapping[int, Event]:
        """The events so far, by index."""
        return self._events

    def is_forbidden(self, run: Run) -> bool:
        """Whether a match emitted so far forbids its start (rule 8)."""
        return self._skip.forbids(run.start)

    def satisfied(self, predicates: Iterable[int], run: Run) -> list[int]:
        """Those that the current event satisfies, for this run."""
        return [predicate for predicate in predicates if self._holds(predicate, run)]

    def deadline(self, run: Run, take: Take) -> Moment:
        """When time is over for a TAKE: the least of the pattern's window and its bounds (rules 6 and 17)."""
        ends = [run.start_time + self._within]
        if take.gap is not None:
            ends.append(run.last_time + take.gap)
        for variable, length in take.since:
            last = next((index for index, taker in reversed(run.taken) if taker == variable), None)
            if last is not None:
                ends.append(self._times[last] + length)
        return min(ends)

    def taken(self, run: Run) -> Taken:
        """What a run has taken, as conditions read it."""
        return self.automaton.registers.taken(run.registers, self._events_of(run))

    def advance_time(self, time: Moment) -> None:
        """Time moves on without an event, as a watermark makes it."""
        self._fall_due(time, including=True)
        self._now = max(self._now, time)

    def end_of_input(self) -> None:
        """No further event comes: count windows end, and negations that wait for a next event; then time moves to
        infinity (rule 10)."""
        if self._next:
            self._moment(self._now, ended_window=inf, is_end=True)
            self._fall_due(inf, including=False)

    # ── an event ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, index: int, time: Moment) -> list[Run]:
        """The runs that start at this event (rule 1)."""
        taking: dict[int, list[int]] = {}
        nothing = Run(index, time, index, time, (), self.automaton.registers.initial())
        for continuation in self.automaton.positions[0].continuations:
            take = continuation.take
            if self._holds(take.predicate, nothing) and not self._any(take.refused, nothing):
                taking.setdefault(take.variable, []).append(take.target)
        return [self._child(nothing, variable, targets, index, time) for variable, targets in taking.items()]

    def _continue(self, run: Run, index: int, time: Moment) -> tuple[list[Run], bool]:
        """The children of a run at this event, and whether the event decides that it is a match; the run keeps what is
        still open."""
        taking: dict[int, list[int]] = {}
        is_decided = False
        is_next = index == run.last + 1
        for place in run.places:
            if not place.open and not place.endings:
                continue
            takers = self._rivals_that_could_take(place, run, time)
            still_open: list[Continuation] = []
            for continuation in place.open:
                takes, cause = self._meet(continuation, run, is_next, takers)
                if takes:
                    taking.setdefault(continuation.take.variable, []).append(continuation.take.target)
                if cause is None:
                    still_open.append(continuation)
                elif self._observer is not None:
                    self._observer.ended(run, continuation, cause, time)
            place.open = still_open
            place.endings = [
                ending for ending in place.endings if self._still_stands(ending, run, is_next, takers, time)
            ]
            is_decided = is_decided or any(ending.is_decided for ending in place.endings)
        if is_decided:
            run.complete()
        return [self._child(run, variable, taking[variable], index, time) for variable in sorted(taking)], is_decided

    def _meet(self, continuation: Continuation, run: Run, is_next: bool, takers: set[int]) -> tuple[bool, Cause | None]:
        """Whether a continuation takes the event, and what ends it; None if it stays open."""
        take = continuation.take
        if is_next and self._any(continuation.not_next, run):  # rule 7
            return False, Cause.NOT
        if self._any(take.over, run):  # rule 4
            return False, Cause.UNTIL
        if not takers.isdisjoint(continuation.greedy):  # rule 5
            return False, Cause.GREEDY
        holds = self._holds(take.predicate, run)
        is_refused = holds and self._any(take.refused, run)
        takes = holds and not is_refused
        if self._link_is_over(take, holds, run):
            lost = Cause.UNTIL if is_refused else _LOST[take.contiguity]
            return takes, Cause.TAKEN if takes else lost
        violated = self._any(continuation.not_followed_by, run)  # rule 7: the event is passed over
        return takes, Cause.NOT if violated else None

    def _still_stands(self, ending: Pending, run: Run, is_next: bool, takers: set[int], time: Moment) -> bool:
        """Show the event to an ending. False if a trailing not is violated or a whole loop could take the event."""
        cause = None
        if any(self._holds(guard.predicate, run) for guard, _ in ending.nots):
            cause = Cause.NOT
        else:
            ending.nots = [(guard, until) for guard, until in ending.nots if guard.link is NotLink.NOT_FOLLOWED_BY]
            met = [(*self._meet(way, run, is_next, takers), way, until) for way, until in ending.whole]
            ending.whole = [(way, until) for _, ended, way, until in met if ended is None]
            if any(takes for takes, *_ in met):  # rule 16: only the longer run remains
                cause = Cause.WHOLE
        if cause is not None and self._observer is not None:
            self._observer.ended(run, ending, cause, time)
        return cause is None

    def _rivals_that_could_take(self, place: Place, run: Run, time: Moment) -> set[int]:
        """The greedy loops of this place that could take the event; those whose link or until is over are struck
        out."""
        takers: set[int] = set()
        for number in list(place.rivals):
            rival = place.position.rivals[number]
            if self._any(rival.over, run):
                place.rivals.discard(number)
                continue
            holds = self._holds(rival.predicate, run)
            if holds and time < self.deadline(run, rival) and not self._any(rival.refused, run):
                takers.add(number)
            if self._link_is_over(rival, holds, run):
                place.rivals.discard(number)
        return takers

    def _link_is_over(self, take: Take, holds: bool, run: Run) -> bool:
        """Whether a link cannot pass over the event: strict passes over none, relaxed over none of its openers
        (rules 2 and 13)."""
        if take.contiguity is Contiguity.RELAXED:
            return holds or self._any(take.openers, run)
        return take.contiguity is Contiguity.STRICT

    def _child(self, run: Run, variable: int, targets: Iterable[int], index: int, time: Moment) -> Run:
        """The run that took this event with this variable; it is at all the targets."""
        registers = self.automaton.registers.take(
            run.registers, self.automaton.variables[variable], self._events[index]
        )
        taken = (*run.taken, (index, variable))
        child = Run(run.start, run.start_time, index, time, taken, registers)
        memory = self.taken(child)

        @cache
        def having(number: int) -> bool:  # rule 15: the event just taken counts
            return self._having[number](self._events[index], memory)

        for target in dict.fromkeys(targets):
            position = self.automaton.positions[target]
            ways = [way for way in position.continuations if all(map(having, way.having))]
            endings = [
                Pending(
                    [(guard, self._guards_until(guard, child)) for guard in ending.nots],
                    [(way, end) for way in ending.whole if (end := self.deadline(child, way.take)) > time],
                )
                for ending in position.endings
                if all(map(having, ending.having))
            ]
            child.places.append(Place(position, ways, set(range(len(position.rivals))), endings))
            if position.accepts or any(ending.is_decided for ending in endings):
                child.is_complete = True
        if child.is_complete:
            child.complete()
        if self._observer is not None:
            self._observer.born(child, run if run.taken else None)
        return child

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _fall_due(self, time: Moment, including: bool) -> None:
        """Decide, in order, whatever falls due before a time (or at it, too)."""
        while (moment := min((self._next_moment(run) for run in self._runs), default=inf)) < inf:
            if moment > time or (moment == time and not including):
                return
            self._moment(moment)

    def _next_moment(self, run: Run) -> Moment:
        deadlines = [self.deadline(run, continuation.take) for place in run.places for continuation in place.open]
        deadlines += [until for ending in run.endings for _, until in (*ending.nots, *ending.whole)]
        return min(deadlines, default=inf)

    def _guards_until(self, guard: Guard, run: Run) -> Moment:
        end = run.start_time + self._within
        return end if guard.window is None else min(end, run.last_time + guard.window)

    def _moment(self, time: Moment, ended_window: Moment | None = None, is_end: bool = False) -> None:
        """Everything that falls due at one moment: timeouts first, then matches (rule 9).

        `ended_window`: the count windows of runs that started at or before this event end now. `is_end`: negations that
        would wait for a next event without end are decided as well.
        """
        if self._forbidden_at is not None and time > self._forbidden_at:
            if self._observer is not None:
                for run in self._runs:
                    if self._skip.forbids(run.start):
                        self._observer.decided(run, Verdict.FORBIDDEN, time)
            self._runs = [run for run in self._runs if not self._skip.forbids(run.start)]
            self._forbidden_at = None
        decided: list[Run] = []
        for run in self._runs:
            window_ended = self._count is not None and ended_window is not None and run.start <= ended_window
            if self._run_out(run, time, window_ended) and not run.endings and not run.is_complete:
                self.timeouts.append(Timeout(self._named(run), time))
            if run.endings and self._decide_endings(run, time, window_ended, is_end):
                decided.append(run)
        self._emit(decided, time)
        self._runs = [run for run in self._runs if run.is_open or run.endings]

    def _run_out(self, run: Run, time: Moment, window_ended: bool) -> bool:
        """Close the continuations whose time is over. True if the last open one went that way."""
        ran_out = False
        for place in run.places:
            in_time = [c for c in place.open if not window_ended and self.deadline(run, c.take) > time]
            ran_out = ran_out or len(in_time) < len(place.open)
            if self._observer is not None:
                for way in place.open:
                    if way not in in_time:
                        self._observer.ended(run, way, Cause.TIME, time)
            place.open = in_time
        return ran_out and not run.is_open

    def _decide_endings(self, run: Run, time: Moment, window_ended: bool, is_end: bool) -> bool:
        """Let go what the endings wait for and whose moment has come. True if one waits for nothing more: a match."""

        def waits(until: Moment) -> bool:
            return until > time and not window_ended and not (is_end and until == inf)

        for ending in run.endings:
            ending.nots = [(guard, until) for guard, until in ending.nots if waits(until)]
            ending.whole = [(way, until) for way, until in ending.whole if waits(until)]
        if any(ending.is_decided for ending in run.endings):
            run.complete()
        return run.is_complete

    # ── what goes out ────────────────────────────────────────────────────────────────────────────────────────────────

    def _emit(self, decided: list[Run], time: Moment) -> None:
        """Matches of one moment, in the order of the queue, through the skip filter (rule 8)."""
        for run in decided:
            verdict = self._verdict(run, time)
            if self._observer is not None:
                self._observer.decided(run, verdict, time)
            if verdict in (Verdict.MATCHED, Verdict.ONCE_PER):  # rule 19: what is not reported forbids all the same
                self._skip.emitted(run.taken)
            if verdict is Verdict.MATCHED:
                self._reported_at = time
                self.matches.append(Match(self._named(run), time))
        if decided:
            self._forbidden_at = time

    def _verdict(self, run: Run, time: Moment) -> Verdict:
        """Whether a complete match is reported, and what forbids it otherwise."""
        if self._skip.forbids(run.start):
            return Verdict.FORBIDDEN
        if self._happened_before(run):
            return Verdict.NOT_BEFORE
        is_due = self._reported_at is None or time - self._reported_at >= (self.automaton.once_per or 0)
        return Verdict.MATCHED if is_due else Verdict.ONCE_PER  # rule 19

    def _happened_before(self, run: Run) -> bool:
        """Whether a negation at the start is violated (rule 7)."""
        tests = [self._tests[index] for index in self.automaton.not_before]
        if not tests:
            return False
        taken = self.taken(run)
        for index in self._events:
            if index >= run.start:
                return False
            in_reach = self._times[run.last] - self._times[index] < self._within
            if self._count is not None:
                in_reach = run.last - index < self._count
            if in_reach and any(test(self._events[index], taken) for test in tests):
                return True
        return False

    def _named(self, run: Run) -> tuple[tuple[int, str], ...]:
        return tuple((index, self.automaton.variables[variable]) for index, variable in run.taken)

    # ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _holds(self, predicate: int, run: Run) -> bool:
        """Whether the current event satisfies a predicate, for this run."""
        if self._reads_variables[predicate]:
            return self._tests[predicate](self._event, self.taken(run))
        known = self._own.get(predicate)
        if known is None:
            known = self._own[predicate] = self._tests[predicate](self._event, self.taken(run))
        return known

    def _any(self, predicates: tuple[int, ...], run: Run) -> bool:
        return any(self._holds(predicate, run) for predicate in predicates)

    def _events_of(self, run: Run) -> Callable[[], Mapping[str, list[Event]]]:
        def by_variable() -> dict[str, list[Event]]:
            found: dict[str, list[Event]] = {name: [] for name in self.automaton.variables}
            for index, variable in run.taken:
                found[self.automaton.variables[variable]].append(self._events[index])
            return found

        return by_variable
