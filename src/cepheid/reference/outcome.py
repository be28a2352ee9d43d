"""What an evaluator answers: the matches and timeouts of one partition.

Plain data that both evaluators give and the tests compare. An event is its index in the list given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Assignment: TypeAlias = tuple[tuple[int, str], ...]
"""Which events are taken, in order, each with the variable that took it: (index of the event, name)."""


@dataclass(frozen=True, slots=True)
class Match:
    """A complete match; `at` is the moment of its emission."""

    taken: Assignment
    at: int | float


@dataclass(frozen=True, slots=True)
class Timeout:
    """A partial match that ran out of time; `at` is the moment at which its last open continuation did (rule 9)."""

    taken: Assignment
    at: int | float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that was decided, each kind in the order of emission (rule 8)."""

    matches: tuple[Match, ...]
    timeouts: tuple[Timeout, ...]
