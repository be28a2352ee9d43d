"""The query of the experiment, SEQ(E1, …, !(Ei), …, E5), for the engine and for the stacks.

In: which component is negated, and a window in events. Out: a `Pattern`, or components for `ais`.
"""

from __future__ import annotations

from cepheid import Pattern
from experiments.negation.ais import Component

LENGTH = 5
BETWEEN = (2, 3, 4)
"""The places of the negated component that the paper covers; it leaves the first and the last open."""


def pattern(negated: int, window: int) -> Pattern:
    """Skip till any match, as in the paper: every combination of events counts."""
    built = Pattern()
    for number in range(1, LENGTH + 1):
        if number == negated:
            step = built.not_before if number == 1 else built.not_followed_by
        else:
            step = built.followed_by_any if any(n != negated for n in range(1, number)) else built.begin
        built = step(f"e{number}").where(f"type = {number}")
    return built.within(events=window)


def components(negated: int) -> tuple[Component, ...]:
    """The same for the stacks."""
    return tuple(
        Component(lambda event, wanted=number: event["type"] == wanted, negated=number == negated)
        for number in range(1, LENGTH + 1)
    )
