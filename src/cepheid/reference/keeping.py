"""The runs of a partition that comes in parts: followed event by event, told when they are over, kept in between.

In: an automaton; then events in their order and the moments in between. Out: each run with its fate once that is known.
What is kept can be written as plain numbers beside the events that runs still need, and read back. Called by streams
that are asked for broken runs.

What becomes of runs depends on events and time only, not on how they are split into parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.automaton.model import Automaton, Continuation, Take
from cepheid.reference.observing import Cause, Verdict
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.runs import Moment, Pending, Place, Run
from cepheid.reference.tracing import Ended, Fate, TracedRun, Tracer, own_event_test
from cepheid.syntax.tree import Event


class KeptEvaluator(OnlineEvaluator):
    """The online evaluator, which can forget events and be written and read back."""

    @property
    def next_index(self) -> int:
        return self._next

    @property
    def is_new(self) -> bool:
        """Whether it would go on as one that has seen nothing: no run, no event, and no report that forbids another."""
        once_per = self.automaton.once_per
        is_free = self._reported_at is None or once_per is None or self._now - self._reported_at >= once_per
        return not self._runs and not self._events and is_free

    def forget(self, needed: set[int]) -> None:
        """Forget the events that nothing needs: neither what is `needed`, nor a run, nor a negation at the start."""
        needed = needed | {index for run in self._runs for index, _ in run.taken} | set(self._before())
        self._events = {index: event for index, event in self._events.items() if index in needed}
        self._times = {index: self._times[index] for index in self._events}

    def _before(self) -> list[int]:
        """The events that a negation at the start may yet find before a match (rule 7)."""
        tests = [own_event_test(self.automaton.predicates[number]) for number in self.automaton.not_before]
        if not tests:
            return []
        last, last_time = self._next, self._now
        for run in self._runs:
            last, last_time = min(last, run.last), min(last_time, run.last_time)
        nothing = self.automaton.registers.taken(self.automaton.registers.initial(), dict)
        return [
            index
            for index, event in self._events.items()
            if (last - index < self._count if self._count else last_time - self._times[index] < self._within)
            and any(test(event, nothing) for test in tests)
        ]

    def state(self) -> dict[str, Any]:
        """Everything but the runs, as plain numbers."""
        return {
            "next": self._next,
            "now": self._now,
            "forbidden_at": self._forbidden_at,
            "reported_at": self._reported_at,
            "skip": self._skip.kept({run.start for run in self._runs}),
            "times": list(self._times.values()),
        }

    def restore(self, state: Mapping[str, Any], events: Mapping[int, Event], runs: list[Run]) -> None:
        """Go on from what `state` gave, with the events that were kept and the runs."""
        self._next, self._now = state["next"], state["now"]
        self._forbidden_at, self._reported_at = state["forbidden_at"], state["reported_at"]
        self._skip.restore(*state["skip"])
        self._events = dict(events)
        self._times = dict(zip(events, state["times"], strict=True))
        self._runs = runs

    def run(self, taken: list[list[int]], is_complete: bool) -> Run:
        """A run that took these events; what it remembers of them is computed anew."""
        registers = self.automaton.registers.initial()
        for index, variable in taken:
            registers = self.automaton.registers.take(
                registers, self.automaton.variables[variable], self._events[index]
            )
        start, last = taken[0][0], taken[-1][0]
        pairs = tuple((index, variable) for index, variable in taken)
        return Run(start, self._times[start], last, self._times[last], pairs, registers, is_complete=is_complete)


class Follower:
    """Follows the runs of one partition."""

    def __init__(self, automaton: Automaton) -> None:
        self._tracer = Tracer()
        self._evaluator = KeptEvaluator(automaton, self._tracer)
        self._tracer.evaluator = self._evaluator

    @property
    def runs(self) -> int:
        """How many runs are alive."""
        return len(self._evaluator.runs)

    @property
    def events(self) -> Mapping[int, Event]:
        """The events that are kept, by index."""
        return self._evaluator.events

    @property
    def is_new(self) -> bool:
        """Whether it would go on as one that has seen nothing, after `forget`."""
        return self._evaluator.is_new and not self._tracer.of

    def handle(self, event: Event, time: Moment) -> None:
        """The next event."""
        self._tracer.event = self._evaluator.next_index
        self._evaluator.handle(event, time)

    def advance(self, time: Moment) -> None:
        """Time moves on without an event."""
        self._tracer.event = None
        self._evaluator.advance_time(time)

    def end(self) -> list[TracedRun]:
        """No further event comes: the runs that are left, with their fates."""
        self._tracer.event = None
        self._evaluator.end_of_input()
        return list(self._tracer.finished(Fate.WAITING))

    def settled(self) -> list[TracedRun]:
        """The runs that are over, each told once."""
        return self._tracer.settled()

    def forget(self) -> None:
        """Forget the events that nothing needs any more."""
        ends = (run.end for run, _ in self._tracer.of.values())
        self._evaluator.forget({end.event for end in ends if end is not None and end.event is not None})

    def state(self) -> dict[str, Any]:
        """All of it but the events, as plain values."""
        places = _Numbers(self._evaluator.automaton)
        tracer = self._tracer
        runs = [
            {
                "taken": traced.taken,
                "complete": run.is_complete,
                "places": [places.of(place) for place in run.places],
                "waits": [places.take(take) for take in traced.waits],
                "at_end": traced.waits_at_end,
                "children": traced.children,
                "end": None if traced.end is None else places.end(traced.end),
                "verdict": tracer.verdicts[traced.number].value if traced.number in tracer.verdicts else None,
                "forbidden": traced.number in tracer.forbidden,
            }
            for traced, run in (tracer.of[id(run)] for run in self._evaluator.runs)
        ]
        return {**self._evaluator.state(), "runs": runs}

    @classmethod
    def restored(cls, automaton: Automaton, state: Mapping[str, Any], events: Mapping[int, Event]) -> Follower:
        """The follower that `state` was written of, with the events that it had kept."""
        follower, numbers = cls(automaton), _Numbers(automaton)
        evaluator, tracer = follower._evaluator, follower._tracer
        evaluator.restore(state, events, [])
        runs: list[Run] = []
        for saved in state["runs"]:
            run = evaluator.run(saved["taken"], saved["complete"])
            run.places = [numbers.place(place) for place in saved["places"]]
            runs.append(run)
            tracer.born(run, None)
            traced, _ = tracer.of[id(run)]
            traced.waits = tuple(numbers.take_of(way) for way in saved["waits"])
            traced.waits_at_end, traced.children = saved["at_end"], saved["children"]
            if saved["end"] is not None:
                traced.ended = [numbers.ended(saved["end"])]
            if saved["verdict"] is not None:
                tracer.verdicts[traced.number] = Verdict(saved["verdict"])
            if saved["forbidden"]:
                tracer.forbidden.add(traced.number)
        evaluator.restore(state, events, runs)
        return follower


class _Numbers:
    """Names places and ways of an automaton by their numbers, and back."""

    def __init__(self, automaton: Automaton) -> None:
        self._positions = automaton.positions
        self._position = {id(position): number for number, position in enumerate(automaton.positions)}
        self._take: dict[Take, tuple[int, int]] = {}
        for number, position in enumerate(automaton.positions):
            for way, continuation in enumerate(position.continuations):
                self._take.setdefault(continuation.take, (number, way))

    def take(self, take: Take) -> tuple[int, int]:
        return self._take[take]

    def take_of(self, way: list[int]) -> Take:
        return self._positions[way[0]].continuations[way[1]].take

    def of(self, place: Place) -> dict[str, Any]:
        position = place.position
        whole = [way for ending in position.endings for way in ending.whole]
        nots = [guard for ending in position.endings for guard in ending.nots]
        return {
            "position": self._position[id(position)],
            "open": [position.continuations.index(way) for way in place.open],
            "rivals": sorted(place.rivals),
            "endings": [
                {
                    "nots": [[nots.index(guard), until] for guard, until in ending.nots],
                    "whole": [[whole.index(way), until] for way, until in ending.whole],
                }
                for ending in place.endings
            ],
        }

    def place(self, saved: Mapping[str, Any]) -> Place:
        position = self._positions[saved["position"]]
        whole: list[Continuation] = [way for ending in position.endings for way in ending.whole]
        nots = [guard for ending in position.endings for guard in ending.nots]
        endings = [
            Pending(
                [(nots[number], until) for number, until in ending["nots"]],
                [(whole[number], until) for number, until in ending["whole"]],
            )
            for ending in saved["endings"]
        ]
        return Place(position, [position.continuations[way] for way in saved["open"]], set(saved["rivals"]), endings)

    def end(self, end: Ended) -> list[Any]:
        take = None if end.take is None else self.take(end.take)
        return [take, end.cause.value, end.event, end.time, end.culprit]

    def ended(self, saved: list[Any]) -> Ended:
        take, cause, event, time, culprit = saved
        return Ended(None if take is None else self.take_of(take), Cause(cause), event, time, culprit)
