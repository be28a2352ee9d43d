"""What is known of a search when its causes are looked for. Plain data, made by `asking`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.conditions import BoundConditions
from cepheid.explain.why.counting import Asked
from cepheid.explain.why.failures import Names
from cepheid.explain.why.following import Followed
from cepheid.explain.why.model import ElementCount
from cepheid.explain.why.suspicions import Values
from cepheid.rows.arrange import Arranged
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of a search."""

    tree: PatternTree
    conditions: BoundConditions
    asked: Sequence[Asked]
    counts: Sequence[ElementCount]
    rows: int
    """All rows that were counted."""
    rejected: int
    """Further rows, which have no time."""
    matches: int
    sample: Arranged
    """The rows that were followed."""
    followed: Sequence[Followed]
    values: Values
    """The values of a column over all rows."""
    near_values: Values
    """The values of a column over the rows at hand."""
    names: Names
