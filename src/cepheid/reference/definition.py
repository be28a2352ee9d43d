"""The definition, run literally: evaluator (a), the oracle of the tests. Slow and obvious on purpose.

Comes in: a pattern tree, its conditions and the events of one partition with their times. Goes out: the matches and
timeouts in the order of emission. It keeps every partial match (an assignment of events to variables, however many
ways lead to it) with its open continuations, and follows the words of rules 1 to 10 event by event.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Listing
from dataclasses import dataclass, field

from cepheid.conditions.binding import BoundConditions
from cepheid.conditions.evaluation import Taken, compile_predicate
from cepheid.conditions.taken import ListedTaken
from cepheid.reference.definition_ways import End, Position, Walker, Way
from cepheid.reference.emission import Emission
from cepheid.reference.outcome import Assignment, Outcome
from cepheid.syntax.tree import Contiguity, Event, EventCount, Not, NotLink, Path, PatternTree, Span, variables

_NEVER = float("inf")


def evaluate(
    tree: PatternTree,
    conditions: BoundConditions,
    events: Listing[Event],
    times: Listing[int],
    *,
    advance_to: int | None = None,
    end_of_input: bool = False,
) -> Outcome:
    """All matches and timeouts of the pattern on a finite list of events.

    `times[i]` is the time of `events[i]`, never less than the one before; windows are in the same unit. `advance_to`
    moves time on after the last event; `end_of_input` moves it to infinity (rule 10).
    """
    definition = _Definition(tree, conditions, events, times)
    for index, time in enumerate(times):
        definition.move_time(time, index)
        definition.handle(index)
    now: int | float | None = times[-1] if times else None
    if advance_to is not None:
        definition.move_time(advance_to, None)
        now = advance_to if now is None else max(now, advance_to)
    if end_of_input and now is not None:
        definition.end(now)
    return definition.outcome()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An end that waits: for negations to run their time (rule 7), and until whole loops can take no more (rule 16)."""

    nots: tuple[Not, ...]
    whole: tuple[Way, ...]

    @property
    def is_decided(self) -> bool:
        return not self.nots and not self.whole


@dataclass(slots=True)
class _Partial:
    """A partial match: what it has taken, the continuations still open, and the ends that wait."""

    taken: Assignment
    memory: Taken
    continuations: list[Way]
    waiting: list[_Waiting]
    complete: bool = False
    answers: dict[tuple[str | Path, int], bool] = field(default_factory=dict)

    @property
    def start(self) -> int:
        return self.taken[0][0]

    @property
    def last(self) -> int:
        return self.taken[-1][0]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time at which things fall due; `upcoming` is the event about to be handled at that time, if one is."""

    at: int | float
    upcoming: int | None = None
    input_is_over: bool = False


class _Definition:
    """The state of one evaluation."""

    def __init__(
        self, tree: PatternTree, conditions: BoundConditions, events: Listing[Event], times: Listing[int]
    ) -> None:
        self._tree = tree
        self._conditions = conditions
        self._events = events
        self._times = times
        self._walker = Walker(tree)
        self._emission = Emission(tree)
        self._partials: list[_Partial] = []
        self._predicates: dict[str | Path, Callable[[Event, Taken], bool]] = {}
        for name, predicate in conditions.where.items():
            self._predicates[name] = compile_predicate(predicate)
        for path, predicate in conditions.until.items():
            self._predicates[path] = compile_predicate(predicate)
        self._having = {path: compile_predicate(predicate) for path, predicate in conditions.having.items()}
        self._nothing_taken = self._partial((), [])

    def outcome(self) -> Outcome:
        return self._emission.outcome()

    # ---- time (rules 6, 9, 10)

    def move_time(self, to: int | float, upcoming: int | None) -> None:
        """Let everything fall due up to `to`, moment by moment; `upcoming` is the event about to be handled then."""
        while (due := self._next_deadline()) < to:
            self._fall_due(_Moment(due))
        self._fall_due(_Moment(to, upcoming))

    def end(self, now: int | float) -> None:
        """The input is over at `now`: count windows end, then time moves to infinity."""
        self._fall_due(_Moment(now, input_is_over=True))
        while (due := self._next_deadline()) < _NEVER:
            self._fall_due(_Moment(due))

    def _next_deadline(self) -> int | float:
        deadlines: list[int | float] = []
        for partial in self._partials:
            deadlines += [self._deadline(partial, way) for way in partial.continuations]
            for end in partial.waiting:
                deadlines += [self._deadline(partial, negation) for negation in end.nots]
                deadlines += [self._deadline(partial, way) for way in end.whole]
        return min(deadlines, default=_NEVER)

    def _deadline(self, partial: _Partial, part: Way | Not) -> int | float:
        """When time runs out for a way, or for a negation at the end; an event at that time is out."""
        window = self._tree.window
        deadlines = [self._times[partial.start] + window.length if isinstance(window, Span) else _NEVER]
        if isinstance(part, Not):
            if part.within_previous is not None:
                deadlines.append(self._times[partial.last] + part.within_previous.length)
            return min(deadlines)
        if part.bound is not None:
            deadlines.append(self._times[partial.last] + part.bound)
        for since in part.since:  # rule 17: if the variable took none there is no bound
            taken = [index for index, variable in partial.taken if variable == since.variable]
            deadlines += [self._times[taken[-1]] + since.span.length] if taken else []
        return max(min(deadlines), self._times[partial.last])

    def _fall_due(self, moment: _Moment) -> None:
        """One moment without an event: what runs out of time now, and which ends are decided."""
        timeouts: list[Assignment] = []
        matches: list[_Partial] = []
        for partial in self._partials:
            if self._runs_out(partial, moment):
                timeouts.append(partial.taken)
            waiting = [
                _Waiting(
                    tuple(negation for negation in end.nots if not self._is_decided(partial, negation, moment)),
                    tuple(way for way in end.whole if not self._is_decided(partial, way, moment)),
                )
                for end in partial.waiting
            ]
            if self._settle(partial, waiting):
                matches.append(partial)
        self._decide(moment.at, timeouts, matches)

    def _runs_out(self, partial: _Partial, moment: _Moment) -> bool:
        """Close the continuations whose time is over; true if that is a timeout."""
        still_open = [way for way in partial.continuations if not self._is_over(partial, way, moment)]
        # rule 9: reported when the last one runs out of time, unless it is a match or only waits at its end
        runs_out = bool(partial.continuations) and not still_open and not partial.complete and not partial.waiting
        partial.continuations = still_open
        return runs_out

    def _is_over(self, partial: _Partial, part: Way | Not, moment: _Moment) -> bool:
        window = self._tree.window
        if isinstance(window, EventCount):
            after_window = moment.upcoming is not None and moment.upcoming >= partial.start + window.events
            if after_window or moment.input_is_over:
                return True
        return self._deadline(partial, part) <= moment.at

    def _is_decided(self, partial: _Partial, part: Way | Not, moment: _Moment) -> bool:
        """Whether a negation at the end has held until its moment, or a whole loop can take no more (rules 7, 16)."""
        if self._is_over(partial, part, moment):
            return True
        # what has no deadline waits for an event; at the end of the input none comes any more
        return moment.input_is_over and self._deadline(partial, part) == _NEVER

    # ---- events (rules 1 to 5, 7)

    def handle(self, index: int) -> None:
        """Let every partial match take or pass over one event, and let matches start at it."""
        positions: dict[Assignment, list[Position]] = {}
        matches: list[_Partial] = []
        for partial in self._partials:
            still_open: list[Way] = []
            for way in partial.continuations:
                takes, stays = self._meet(partial, way, index)
                if takes:
                    positions.setdefault((*partial.taken, (index, way.variable)), []).append(way.target)
                if stays:
                    still_open.append(way)
            partial.continuations = still_open
            waiting = [left for end in partial.waiting if (left := self._wait_on(partial, end, index)) is not None]
            if self._settle(partial, waiting):
                matches.append(partial)
        for way in self._walker.starts():
            if self._accepts(self._nothing_taken, way, index):
                positions.setdefault(((index, way.variable),), []).append(way.target)
        timeouts: list[Assignment] = []
        now = _Moment(self._times[index])
        for taken, reached in positions.items():
            partial = self._partial(taken, reached)
            if self._settle(partial, partial.waiting):
                matches.append(partial)
            # rule 17: what is out of time already runs out at the event itself
            if self._runs_out(partial, now):
                timeouts.append(taken)
            self._partials.append(partial)
        self._decide(self._times[index], timeouts, matches)

    def _wait_on(self, partial: _Partial, end: _Waiting, index: int) -> _Waiting | None:
        """What an end waits for after an event; None if a negation is violated or a whole loop takes the event."""
        if any(self._violates(partial, negation, index) for negation in end.nots):
            return None
        met = [(way, *self._meet(partial, way, index)) for way in end.whole]
        if any(takes for _, takes, _ in met):
            return None  # rule 16: only the longer run remains
        nots = tuple(negation for negation in end.nots if negation.link is not NotLink.NOT_NEXT)
        return _Waiting(nots, tuple(way for way, _, stays in met if stays))

    def _meet(self, partial: _Partial, way: Way, index: int) -> tuple[bool, bool]:
        """Whether a continuation takes an event, and whether it stays open after it."""
        if any(self._could_take(partial, loop, index) for loop in way.greedy):
            return False, False  # rule 5
        if any(until.begun and self._holds(partial, until.path, index) for until in way.untils):
            return False, False  # rule 4: the loop or group is over
        if any(n.link is NotLink.NOT_NEXT and self._violates(partial, n, index) for n in way.nots):
            return False, False  # rule 7: also if this event would be the one taken
        takes = self._accepts(partial, way, index)
        if way.contiguity is Contiguity.STRICT:
            return takes, False
        if way.contiguity is Contiguity.RELAXED and self._opens(partial, way, index):
            return takes, False  # rules 2 and 4: a relaxed link cannot pass over it, be it taken or kept off by until
        return takes, not any(self._violates(partial, negation, index) for negation in way.nots)

    def _accepts(self, partial: _Partial, way: Way, index: int) -> bool:
        return self._holds(partial, way.variable, index) and not any(
            self._holds(partial, until.path, index) for until in way.untils
        )

    def _opens(self, partial: _Partial, way: Way, index: int) -> bool:
        """Whether an event satisfies the condition of anything that the way's link leads to (rules 2 and 13)."""
        return any(self._holds(partial, variable, index) for variable in way.openers)

    def _could_take(self, partial: _Partial, loop: Way, index: int) -> bool:
        """Rule 5: whether a greedy loop, gone by on the way, could have taken this event."""
        if not self._accepts(partial, loop, index) or self._deadline(partial, loop) <= self._times[index]:
            return False
        between = range(partial.last + 1, index)
        if any(self._holds(partial, until.path, i) for until in loop.untils if until.begun for i in between):
            return False
        match loop.contiguity:
            case Contiguity.STRICT:
                return not between
            case Contiguity.RELAXED:
                return not any(self._opens(partial, loop, i) for i in between)
            case Contiguity.NON_DETERMINISTIC:
                return True

    def _violates(self, partial: _Partial, negation: Not, index: int) -> bool:
        """Whether an event that comes after the last taken one is what the not rules out (rule 7)."""
        in_sight = negation.link is NotLink.NOT_FOLLOWED_BY or index == partial.last + 1
        return in_sight and self._holds(partial, negation.name, index)

    # ---- partial and complete matches

    def _partial(self, taken: Assignment, positions: list[Position]) -> _Partial:
        """The partial match with these events, however many positions they lead to."""
        listed: dict[str, list[Event]] = {variable.name: [] for _, _, variable in variables(self._tree.body)}
        for index, variable in taken:
            listed[variable].append(self._events[index])
        ways: dict[Way, None] = {}
        ends: dict[End, None] = {}
        for position in dict.fromkeys(positions):
            onward, reached = self._walker.onward(position)
            ways.update(dict.fromkeys(onward))
            ends.update(dict.fromkeys(reached))
        memory = ListedTaken(listed, self._conditions.folds)
        partial = _Partial(taken, memory, [], [])
        if taken:
            now = _Moment(self._times[taken[-1][0]])
            partial.continuations = [way for way in ways if self._may_leave(partial, way.having)]
            partial.waiting = [
                _Waiting(end.nots, tuple(way for way in end.whole if self._deadline(partial, way) > now.at))
                for end in ends
                if self._may_leave(partial, end.having)
            ]
        return partial

    def _may_leave(self, partial: _Partial, having: tuple[Path, ...]) -> bool:
        """Rule 15: whether everything that is left on the way allows it, the last event counted as taken."""
        return all(self._having[path](self._events[partial.last], partial.memory) for path in having)

    def _settle(self, partial: _Partial, waiting: list[_Waiting]) -> bool:
        """Note what a partial match still waits for at its end; true if it has just become complete."""
        partial.waiting = waiting
        if partial.complete or not any(end.is_decided for end in waiting):
            return False
        partial.complete, partial.waiting = True, []
        return True

    def _decide(self, at: int | float, timeouts: list[Assignment], matches: list[_Partial]) -> None:
        self._emission.moment(at, timeouts, [match.taken for match in matches if not self._forestalled(match)])
        self._partials = [
            partial
            for partial in self._partials
            if (partial.continuations or partial.waiting) and not self._emission.has_forbidden(partial.start, before=at)
        ]

    def _forestalled(self, match: _Partial) -> bool:
        """Rule 7, at the start: whether a not_before lies in the window that ends with the last event."""
        match self._tree.window:
            case Span(length=length):
                seen = [i for i in range(match.start) if self._times[match.last] - self._times[i] < length]
            case EventCount(events=count):
                seen = [i for i in range(match.start) if match.last - i < count]
            case None:
                seen = list(range(match.start))
        return any(self._holds(match, negation.name, i) for negation in self._tree.not_before for i in seen)

    def _holds(self, partial: _Partial, condition: str | Path, index: int) -> bool:
        """Whether a condition holds on an event, given what the partial match has taken (rule 11)."""
        key = (condition, index)
        if key not in partial.answers:
            partial.answers[key] = self._predicates[condition](self._events[index], partial.memory)
        return partial.answers[key]
