"""A row pattern as written: the parts of a MATCH_RECOGNIZE clause, each a frozen value.

Made by the front end, read by `binding` and everything after it. Expressions are as the parser leaves them, names not
resolved; `str` of a row pattern is a clause that reads back to the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from cepheid.conditions.expression import Expression, Name


@dataclass(frozen=True, slots=True)
class Variable:
    """One row with this label."""

    name: str


@dataclass(frozen=True, slots=True)
class Empty:
    """`()`: no row."""


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """`^`: no row of the partition precedes."""


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """`$`: no row of the partition follows."""


@dataclass(frozen=True, slots=True)
class Concatenation:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The parts in order of preference."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    """`most` is None where there is no upper bound."""

    body: Node
    least: int
    most: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class Permute:
    """All orders of the parts, in the lexicographic order of their numbers."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`{- … -}`: its rows are not shown by ALL ROWS PER MATCH."""

    body: Node


Node: TypeAlias = (
    Variable | Empty | PartitionStart | PartitionEnd | Concatenation | Alternation | Quantified | Permute | Exclusion
)


class RowsPerMatch(Enum):
    """Which rows come out; a member's value is its SQL."""

    ONE = "ONE ROW PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(Enum):
    """Where the scan goes on after a match that is not empty; a member's value is its SQL."""

    PAST_LAST_ROW = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """`variable` belongs to FIRST and LAST."""

    to: SkipTo = SkipTo.PAST_LAST_ROW
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Sort:
    """A column of ORDER BY. Where nothing is said of NULLs they come first ascending and last descending (rule 2.2)."""

    column: Name
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Define:
    """What must hold for a row to get the variable's label."""

    variable: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Subset:
    """A union variable."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowPattern:
    """A MATCH_RECOGNIZE clause."""

    pattern: Node
    partition_by: tuple[Name, ...] = ()
    order_by: tuple[Sort, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: RowsPerMatch = RowsPerMatch.ONE
    skip: Skip = field(default_factory=Skip)
    within: timedelta | None = None
    subsets: tuple[Subset, ...] = ()
    defines: tuple[Define, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The primary variables in the order of their first occurrence."""
        return tuple(dict.fromkeys(node.name for node in walk(self.pattern) if isinstance(node, Variable)))

    def members(self, name: str) -> tuple[str, ...]:
        """The primary variables that a variable stands for: itself, or the members of a union."""
        return next((subset.members for subset in self.subsets if subset.name == name), (name,))

    def __str__(self) -> str:
        from cepheid.rowpattern.printing import clause

        return clause(self)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Concatenation(parts) | Alternation(parts) | Permute(parts):
            return parts
        case Quantified(body=body) | Exclusion(body=body):
            return (body,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of writing."""
    yield node
    for child in children(node):
        yield from walk(child)
