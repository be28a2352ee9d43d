"""The pattern tree: what every front end builds and every later stage reads.

Plain frozen data without behaviour beyond small questions about itself. A tree may be malformed; `validation.check`
decides that. Conditions stand here as they were written; the room `conditions` gives them a meaning.

A body is a union of node types, not always a sequence, so that further ways to combine elements can be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

Event: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[int, ...]
"""Where an element stands: its index in the body, then its index in that group, and so on."""


class Contiguity(Enum):
    """How an event must lie behind the one taken before it (rule 2)."""

    STRICT = "strict"
    RELAXED = "relaxed"
    NON_DETERMINISTIC = "non_deterministic"


class Link(Enum):
    """How an element is tied to what comes before it."""

    BEGIN = "begin"
    NEXT = "next"
    FOLLOWED_BY = "followed_by"
    FOLLOWED_BY_ANY = "followed_by_any"

    @property
    def contiguity(self) -> Contiguity:
        return _CONTIGUITY_OF_LINK[self]


_CONTIGUITY_OF_LINK = {
    Link.BEGIN: Contiguity.RELAXED,
    Link.NEXT: Contiguity.STRICT,
    Link.FOLLOWED_BY: Contiguity.RELAXED,
    Link.FOLLOWED_BY_ANY: Contiguity.NON_DETERMINISTIC,
}


class NotLink(Enum):
    """Which events a not looks at: the one right behind the last taken event, or all up to the next taken one."""

    NOT_NEXT = "not_next"
    NOT_FOLLOWED_BY = "not_followed_by"


class SpanUnit(Enum):
    """What the length of a window counts."""

    MICROSECOND = "microsecond"
    ORDER = "order"
    """The unit of the order column itself, for columns that hold plain numbers."""


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time. An event exactly this much later is out (rule 6)."""

    length: int | float
    unit: SpanUnit


@dataclass(frozen=True, slots=True)
class EventCount:
    """A window of so many consecutive events of the partition."""

    events: int


Window: TypeAlias = Span | EventCount


@dataclass(frozen=True, slots=True)
class SqlText:
    """A condition as SQL text."""

    text: str


@dataclass(frozen=True, slots=True)
class PythonCondition:
    """A condition as a callable `(event, taken) -> bool`; `taken` maps a variable to the events it has taken."""

    function: Callable[[Event, Mapping[str, list[Event]]], bool | None]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCondition:
    """A condition as a Spark `Column`, which sees the current event only. Compared by identity, as Columns are."""

    column: object


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part must hold: `where` after `where`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One part must hold: `or_where` after `where`."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = SqlText | PythonCondition | ColumnCondition | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Fold:
    """A value that starts as `init` and becomes `update` with each event its variable takes (both SQL text)."""

    name: str
    init: str
    update: str


@dataclass(frozen=True, slots=True)
class Variable:
    """Takes one event that satisfies the condition (none: any event)."""

    name: str
    condition: Condition | None = None
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps:
    """Bounds between one repetition of a loop and the next: one for all, or one per repetition (2 is the second)."""

    every: Span | None = None
    by_repetition: tuple[tuple[int, Span], ...] = ()

    def before(self, repetition: int) -> Span | None:
        """The bound from the repetition before to this one, counted from 1."""
        if self.every is not None:
            return self.every
        return dict(self.by_repetition).get(repetition)


@dataclass(frozen=True, slots=True)
class Loop:
    """How often a body repeats. `maximum` is None where it is unbounded; a minimum of 0 is written as `optional`."""

    minimum: int
    maximum: int | None
    inner: Contiguity = Contiguity.RELAXED
    greedy: bool = False
    until: Condition | None = None
    gaps: Gaps | None = None


@dataclass(frozen=True, slots=True)
class Element:
    """Something that takes events, with its link, quantifier and bound since the previous event."""

    link: Link
    body: Body
    loop: Loop | None = None
    optional: bool = False
    within_previous: Span | None = None


@dataclass(frozen=True, slots=True)
class Not:
    """Something that must not happen at this place (rule 7)."""

    link: NotLink
    name: str
    condition: Condition | None = None
    within_previous: Span | None = None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Elements in order: the body of a pattern or a group. The first element's link is `BEGIN`."""

    elements: tuple[Element | Not, ...]


Body: TypeAlias = Variable | Sequence


@dataclass(frozen=True, slots=True)
class NotBefore:
    """Something that must not have happened before the match (rule 7, at the start)."""

    name: str
    condition: Condition | None = None


class SkipKind(Enum):
    """Which starts an emitted match forbids (rule 8)."""

    NO_SKIP = "no_skip"
    TO_NEXT = "to_next"
    PAST_LAST_EVENT = "past_last_event"
    TO_FIRST = "to_first"
    TO_LAST = "to_last"


@dataclass(frozen=True, slots=True)
class Skip:
    """The skip strategy; `target` names a variable for TO_FIRST and TO_LAST."""

    kind: SkipKind
    target: str | None = None
    or_fail: bool = False


@dataclass(frozen=True, slots=True)
class PatternTree:
    """A whole pattern."""

    body: Sequence
    skip: Skip = Skip(SkipKind.NO_SKIP)
    window: Window | None = None
    not_before: tuple[NotBefore, ...] = ()
    partition_by: tuple[str, ...] = ()
    """The columns whose values all events of a match share, where the pattern itself says so."""


def walk(sequence: Sequence, prefix: Path = ()) -> Iterator[tuple[Path, Element | Not]]:
    """Every element and not of a sequence with its path, groups before what they hold, in the order of writing."""
    for index, element in enumerate(sequence.elements):
        path = (*prefix, index)
        yield path, element
        if isinstance(element, Element) and isinstance(element.body, Sequence):
            yield from walk(element.body, path)


def variables(sequence: Sequence) -> Iterator[tuple[Path, Element, Variable]]:
    """Every variable that takes events, in the order of writing, with the element it is the body of."""
    for path, element in walk(sequence):
        if isinstance(element, Element) and isinstance(element.body, Variable):
            yield path, element, element.body


def describe(element: Element | Not) -> str:
    """How an error calls an element: its name, or the names a group holds."""
    if isinstance(element, Not):
        return f"not {element.name!r}"
    if isinstance(element.body, Variable):
        return f"element {element.body.name!r}"
    inside = [e.name if isinstance(e, Not) else getattr(e.body, "name", "(…)") for e in element.body.elements]
    return f"group ({', '.join(inside)})"
