"""What a SASE text says, clause by clause, as plain data: `parsing` makes it, `reading` turns it into a pattern tree.

Everything knows its place in the text, so that whatever is found wrong later can be shown there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cepheid.conditions.source import Range, Source
from cepheid.sase.rewriting import Rewriting
from cepheid.syntax.tree import Skip, Window


class Strategy(Enum):
    """Which events may be passed over between two that are taken; a member's value is its published name."""

    ANY = "skip_till_any_match"
    NEXT = "skip_till_next_match"
    STRICT = "strict_contiguity"


@dataclass(frozen=True, slots=True)
class Component:
    """One component of SEQ: the types it accepts as SQL literals (None: any type), and its name."""

    name: str
    types: tuple[str, ...] | None
    negated: bool
    repeats: bool
    place: Range
    name_place: Range


class IndexKind(Enum):
    """Which of a repeating component's events an index in brackets names."""

    ALL = "[]"
    CURRENT = "[i]"
    BEFORE_CURRENT = "[i-k]"
    NUMBERED = "[k]"
    LAST = "[x.LEN]"
    ALL_BEFORE_CURRENT = "[..i-1]"


@dataclass(frozen=True, slots=True)
class Index:
    """An index in brackets; `number` is the k of `[k]` and of `[i-k]`."""

    kind: IndexKind
    number: int = 0


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`[a, b]`: these attributes are equal in all events."""

    columns: tuple[str, ...]
    place: Range


@dataclass(frozen=True, slots=True)
class Where:
    """The conditions as one SQL text, in which indices are left out and an equivalence is TRUE."""

    sql: Rewriting
    indices: dict[int, Index]
    """By the character of `sql` where the reference begins."""
    equivalences: dict[int, Equivalence]
    """By the character of `sql` where its TRUE begins."""


@dataclass(frozen=True, slots=True)
class Query:
    """A whole SASE text."""

    source: Source
    components: tuple[Component, ...]
    type_column: str | None
    where: Where | None
    strategy: Strategy
    window: Window | None
    skip: Skip
