"""How many sequences each plan builds, counted exactly without building one.

In: the types of a stream, a window in events, the negated component. Out: the number of sequences of the positive
components (what a plan builds that looks at the not afterwards), and of results.

For each event that may end a sequence, the events of its window are gone through once: the number of sequences that
have come to each component grows by the number that had come to the one before it; a negated event sets the number
that waits before its gap to zero. That is the whole of pushing negation down, in numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from experiments.negation.query import LENGTH


class Counts(NamedTuple):
    """Sequences of the positive components, and results."""

    sequences: int
    results: int


def count(types: npt.NDArray[np.int64], window: int, negated: int) -> Counts:
    """Both counts over a whole stream; types are 1 to 5."""
    if negated == LENGTH:
        return Counts(*_with_the_last_negated(types, window))
    return Counts(*_ending(types, window, negated))


@numba.njit(cache=True)
def _ending(types, window, negated):  # type: ignore[no-untyped-def]
    sequences, results = 0, 0
    for end in range(len(types)):
        if types[end] != LENGTH:
            continue
        reached = np.zeros(LENGTH + 1, np.int64)  # sequences that have come to a component, by number; 0 is the start
        allowed = np.zeros(LENGTH + 1, np.int64)
        reached[0] = allowed[0] = 1
        for place in range(max(0, end - window + 1), end + 1):
            number = types[place]
            if number == negated:
                allowed[number - 1] = 0  # of the first component: nothing may begin from here on
                continue
            if number == LENGTH and place < end:
                continue
            before = number - 1 if number - 1 != negated else number - 2
            reached[number] += reached[before]
            allowed[number] += allowed[before]
        sequences += reached[LENGTH]
        results += allowed[LENGTH]
    return sequences, results


@numba.njit(cache=True)
def _with_the_last_negated(types, window):  # type: ignore[no-untyped-def]
    """A result waits for the end of its window, so windows are counted by where they begin."""
    sequences, results = 0, 0
    for begin in range(len(types)):
        if types[begin] != 1:
            continue
        reached = np.zeros(LENGTH, np.int64)
        reached[1] = 1
        waiting = 0
        for place in range(begin + 1, min(len(types), begin + window)):
            number = types[place]
            if number == LENGTH:
                waiting = 0
            elif number > 1:
                reached[number] += reached[number - 1]
                if number == LENGTH - 1:
                    waiting += reached[number - 1]
        sequences += reached[LENGTH - 1]
        results += waiting
    return sequences, results
