"""What a matcher answers: which rows each match, or each timeout, took. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Assignments:
    """Which rows were taken by which variables: entry i belongs to match `match[i]` (ascending from 0)."""

    match: Integers
    variable: Integers
    row: Integers
    at: Integers
    """One per match: the moment of its decision."""
