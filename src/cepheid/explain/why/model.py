"""The answer to "why?" as plain data. `asking` fills it in; `document` and `page` show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from cepheid.reference.tracing import EventClass, Fate


class Role(Enum):
    """What a condition belongs to."""

    ELEMENT = "element"
    NOT = "not"
    NOT_BEFORE = "not before"
    UNTIL = "until"


@dataclass(frozen=True, slots=True)
class PartCount:
    """One AND-part of a condition, and how many rows satisfy it by themselves."""

    text: str
    satisfied: int | None
    """None where it reads earlier events, so that no row satisfies it by itself."""
    unknown: int = 0
    """Rows on which it is neither true nor false, because something in it is NULL."""


@dataclass(frozen=True, slots=True)
class ElementCount:
    """An element, a not or an until, with what it met."""

    name: str
    role: Role
    condition: str
    fits: int
    """Rows that satisfy all that it asks of a row alone."""
    parts: tuple[PartCount, ...]
    waited: int = 0
    """Runs that could have taken it next; of the first element, the rows that were followed."""
    took: int = 0
    """Runs whose last event it took. Every run is counted at one element."""
    ended: Mapping[Fate, int] = field(default_factory=dict)
    """Runs that ended while they waited for it, by what ended them; of a not or until, the runs that it ended."""
    is_required: bool = True
    """Whether every match needs it."""


@dataclass(frozen=True, slots=True)
class FalsePart:
    """An AND-part that did not hold on an event, with its values: `price > 2 * low.price: 12 > 14`."""

    text: str
    values: str

    def __str__(self) -> str:
        return f"{self.text}: {self.values}"


@dataclass(frozen=True, slots=True)
class NearEvent:
    """An event that a run did not take, though it came near."""

    event: Mapping[str, Any]
    row: int
    """Which event of its partition it is, from 0 on."""
    element: str
    false: tuple[FalsePart, ...]
    """What was false; nothing if all held and something else forbade it."""
    remark: str = ""
    """What else kept it out: too late, a greedy loop, …"""


@dataclass(frozen=True, slots=True)
class Step:
    """An event that a run took."""

    element: str
    event: Mapping[str, Any]
    row: int
    time: int | float


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that came far and became no match."""

    key: Mapping[str, Any]
    taken: tuple[Step, ...]
    awaited: tuple[str, ...]
    """The elements that could have taken next."""
    fate: Fate
    words: str
    """What ended it, in a sentence."""
    event: Mapping[str, Any] | None
    """The event that ended it, if one did."""
    ended_time: int | float | None
    near: tuple[NearEvent, ...] = ()


class Kind(Enum):
    """What is likely to be wrong."""

    NO_ROWS = "no rows"
    CASE = "another case or blanks"
    VALUE = "value never occurs"
    NULL = "NULL"
    NEVER = "never true"
    NEVER_TOGETHER = "never true together"
    KEY = "key"
    ORDER = "order of the events"
    TIME_ORDER = "times out of order"
    UNIT = "unit of time"
    WINDOW = "window too short"
    NOT = "not"
    NOT_BEFORE = "not before"
    STRICT = "strict link"
    UNTIL = "until"
    GREEDY = "greedy loop"
    WHOLE = "whole loop"
    LOOP = "too few repetitions"
    HAVING = "having"
    OWN_RUN = "a loop that ends its own run"
    CONDITION = "condition on earlier events"
    PART = "condition"
    SKIP = "skip strategy"
    ONCE_PER = "once per"
    TOO_MANY = "too many matches"
    WAITING = "still waiting"
    LATE = "late events"
    REJECTED = "rejected events"


@dataclass(frozen=True, slots=True)
class Reason:
    """A likely cause: what is wrong, in words, and what would help."""

    kind: Kind
    text: str
    remedy: str = ""
    element: str | None = None

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}".strip()


@dataclass(frozen=True, slots=True)
class Extent:
    """How much was counted and how much was followed run by run."""

    events: int
    keys: int
    followed_events: int
    followed_keys: int
    rejected: int = 0
    """Further rows, which have no time and so no place in the order."""

    @property
    def is_whole(self) -> bool:
        return self.followed_events == self.events


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that `why` found."""

    pattern: str
    key: Mapping[str, Any] | None
    """The key that was asked for."""
    extent: Extent
    matches: int
    """Over all rows, or over those of the key; over the rows that were followed if not `is_all_matched`."""
    is_all_matched: bool
    elements: tuple[ElementCount, ...]
    runs: int
    fates: Mapping[Fate, int]
    """Every run that was followed is in one class."""
    classes: Mapping[EventClass, int]
    """Every row that was followed, or rejected, is in one class."""
    furthest: tuple[FailedRun, ...]
    reasons: tuple[Reason, ...]
    """Likely causes, the likeliest first."""
