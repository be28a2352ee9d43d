"""What the online evaluator keeps of a partial match.

Plain data, changed by `online` alone; observers read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.automaton.model import Continuation, Guard, Position

Moment = int | float


@dataclass(slots=True)
class Place:
    """A position of the automaton that a run is at, with what is still open there."""

    position: Position
    open: list[Continuation]
    rivals: set[int]
    """Greedy loops that may still take an event."""
    endings: list[Pending]


@dataclass(slots=True)
class Pending:
    """An ending that waits: for its trailing negations, each with the moment up to which it guards, and until whole
    loops can take no more, each with the moment at which its time is over."""

    nots: list[tuple[Guard, Moment]]
    whole: list[tuple[Continuation, Moment]]

    @property
    def is_decided(self) -> bool:
        return not self.nots and not self.whole


@dataclass(slots=True, eq=False)
class Run:
    """A partial match: which events were taken, by which variables, and every place that this leads to."""

    start: int
    start_time: Moment
    last: int
    last_time: Moment
    taken: tuple[tuple[int, int], ...]
    """(index of event, variable) in order."""
    registers: tuple[object, ...]
    places: list[Place] = field(default_factory=list)
    is_complete: bool = False

    @property
    def is_open(self) -> bool:
        return any(place.open for place in self.places)

    @property
    def endings(self) -> list[Pending]:
        return [ending for place in self.places for ending in place.endings]

    def complete(self) -> None:
        """The match is decided, so that nothing more is waited for at its end."""
        self.is_complete = True
        for place in self.places:
            place.endings = []
