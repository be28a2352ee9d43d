"""What an observer of the online evaluator is told: the birth of each run, the end of each of its ways, the verdict on
each complete match.

Plain words for `tracing`, which makes a record of them. Without an observer the evaluator makes no record at all.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from cepheid.automaton.model import Continuation
from cepheid.reference.runs import Moment, Pending, Run


class Cause(Enum):
    """What ended one way of a run to go on."""

    TAKEN = "taken"
    """It took the event, and may take no other (relaxed and strict links)."""
    TIME = "time"
    """A window was over (rules 6 and 17)."""
    NOT = "not"
    """An event violated a not (rule 7)."""
    STRICT = "strict"
    """The next event was another one (rule 2)."""
    UNTIL = "until"
    """An event satisfied the until of a loop or group (rule 4)."""
    GREEDY = "greedy"
    """A greedy loop could take the event, so that nothing else could (rule 5)."""
    OPENER = "opener"
    """Another alternative or member could take the event, so that a relaxed link cannot pass over it (rule 13)."""
    WHOLE = "whole"
    """A whole loop took another event, so that the shorter run is none (rule 16)."""


class Verdict(Enum):
    """What becomes of a complete match, and of runs whose start is forbidden."""

    MATCHED = "matched"
    FORBIDDEN = "forbidden"
    """An earlier match forbids its start (rule 8)."""
    NOT_BEFORE = "not before"
    """Something had happened before it (rule 7, at the start)."""
    ONCE_PER = "once per"
    """Too little time since the match reported last (rule 19)."""


class Observer(Protocol):
    """Is told what becomes of every run."""

    def born(self, run: Run, parent: Run | None) -> None:
        """A run took its last event; without a parent it starts there."""

    def ended(self, run: Run, way: Continuation | Pending, cause: Cause, time: Moment) -> None:
        """A way of a run to go on, or to end, is over."""

    def decided(self, run: Run, verdict: Verdict, time: Moment) -> None:
        """A run was a complete match, or its start was forbidden."""
