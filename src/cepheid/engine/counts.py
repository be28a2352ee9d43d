"""How many matches end with each event, and sums over all of them. Plain data.

In: for `Summed`, what to add up; for `Counts`, what the engine has counted. Matches that were listed are counted here,
those that were not by the kernel (`kernel.counting`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.engine.assignments import Assignments, Integers
from cepheid.errors import EvaluationError

LARGEST = 2**60
"""Numbers of matches, and sums of whole numbers, are counted up to here."""


@dataclass(frozen=True, slots=True)
class Summed:
    """What is added up over all matches: for each sum, a value of every event that one variable takes."""

    variables: Integers
    is_double: npt.NDArray[np.bool_]
    values: Integers
    """A row an event, a column a sum; doubles as their bits. 0 for NULL, which is skipped (rule 11)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """A row for each event that ends matches."""

    row: Integers
    at: Integers
    """The moment of their decision, where matches of several moments are told apart."""
    matches: Integers
    sums: Integers
    """A column a sum; doubles as their bits."""


def nothing_summed(rows: int = 0) -> Summed:
    """No sums, for so many events."""
    return Summed(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros((rows, 0), np.int64))


def counted(found: Assignments, summed: Summed, by_moment: bool = False) -> Counts:
    """The counts of matches that were listed, in the order of their last events. `by_moment`: those of one last event
    that were decided at different moments are counted apart."""
    ends = np.append(np.flatnonzero(np.diff(found.match)), len(found.row) - 1)[: len(found.at)]
    moments = found.at if by_moment else np.zeros_like(found.at)
    pairs, group, matches = np.unique(
        np.stack((found.row[ends], moments), axis=1), axis=0, return_inverse=True, return_counts=True
    )
    of_entry = group.reshape(-1)[found.match]
    sums = np.zeros((len(pairs), len(summed.variables)), np.int64)
    for number, variable in enumerate(summed.variables):
        mine = found.variable == variable
        values, places = summed.values[found.row[mine], number], of_entry[mine]
        if summed.is_double[number]:
            doubles = np.ascontiguousarray(values).view(np.float64)
            total = np.bincount(places, weights=doubles, minlength=len(pairs))
            sums[:, number] = np.ascontiguousarray(total).view(np.int64)
            continue
        if (np.bincount(places, weights=np.abs(values.astype(np.float64)), minlength=len(pairs)) > LARGEST).any():
            raise too_large_a_sum()
        np.add.at(sums[:, number], places, values)
    return Counts(pairs[:, 0], pairs[:, 1], matches.astype(np.int64), sums)


def too_large_a_sum(where: str = "") -> EvaluationError:
    """A sum that cannot be counted."""
    return EvaluationError(
        f"{where}{': ' if where else ''}a sum over all matches is beyond 2^60.\n  Cast its argument to double."
    )
