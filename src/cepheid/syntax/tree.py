"""The pattern tree: what every front end builds and every later stage reads.

Plain frozen data without behaviour beyond small questions about itself. A tree may be malformed; `validation.check`
decides that. Conditions are kept as they were written; the room `conditions` gives them a meaning.

The body of an element is a variable or one of three ways to combine further elements. Every body has `parts`, so that
a question about all elements needs no case for each kind of body; what differs by kind goes through `visitor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

Event: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[int, ...]
"""Where an element is: its index among the parts of the body, then among the parts of that element, and so on."""


class Contiguity(Enum):
    """How an event must follow the one taken before it (rule 2)."""

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
    """Which events a not looks at: the one right after the last taken event, or all up to the next taken one."""

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

    @property
    def parts(self) -> tuple[Element | Not, ...]:
        return ()


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
    """How often a body repeats. `maximum` is None where it is unbounded; a minimum of 0 is written as `optional`.

    A `whole` loop is `greedy` as well (rule 16).
    """

    minimum: int
    maximum: int | None
    inner: Contiguity = Contiguity.RELAXED
    greedy: bool = False
    until: Condition | None = None
    gaps: Gaps | None = None
    whole: bool = False

    @property
    def repeats(self) -> bool:
        """Whether there may be a second repetition."""
        return self.maximum is None or self.maximum > 1


@dataclass(frozen=True, slots=True)
class Since:
    """A bound since the last event that a variable has taken (rule 17)."""

    variable: str
    span: Span


@dataclass(frozen=True, slots=True)
class Element:
    """Something that takes events, with its link, its quantifier and its bounds.

    `having` must hold where the element is left (rule 15).
    """

    link: Link
    body: Body
    loop: Loop | None = None
    optional: bool = False
    within_previous: Span | None = None
    within_since: Since | None = None
    having: Condition | None = None

    @property
    def repeats(self) -> bool:
        """Whether its body may be gone through a second time."""
        return self.loop is not None and self.loop.repeats


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

    @property
    def parts(self) -> tuple[Element | Not, ...]:
        return self.elements


@dataclass(frozen=True, slots=True)
class OneOf:
    """Exactly one of the alternatives (rule 13). The link of each is `BEGIN`."""

    alternatives: tuple[Element, ...]

    @property
    def parts(self) -> tuple[Element | Not, ...]:
        return self.alternatives


@dataclass(frozen=True, slots=True)
class AllOfMembers:
    """So many different members, in any order, one after the other (rule 14). The link of each is `BEGIN`.

    `inner` is the link from one member to the next. In a loop it is also the link between iterations, so that the
    loop's own `inner` is the same.
    """

    members: tuple[Element, ...]
    at_least: int
    inner: Contiguity = Contiguity.RELAXED

    @property
    def parts(self) -> tuple[Element | Not, ...]:
        return self.members


Body: TypeAlias = Variable | Sequence | OneOf | AllOfMembers


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


ParameterValue: TypeAlias = bool | int | float | str | None
"""What a parameter of a condition may be given: what every form of a pattern can write."""


@dataclass(frozen=True, slots=True)
class PatternTree:
    """A whole pattern."""

    body: Sequence
    skip: Skip = Skip(SkipKind.NO_SKIP)
    window: Window | None = None
    not_before: tuple[NotBefore, ...] = ()
    partition_by: tuple[str, ...] = ()
    """The columns whose values all events of a match share, where the pattern itself says so."""
    once_per: Span | None = None
    """At least so much time between one reported match and the next (rule 19)."""
    parameters: tuple[tuple[str, ParameterValue], ...] = ()
    """The values of the parameters in conditions, by name in alphabetical order."""


def walk(body: Body, prefix: Path = ()) -> Iterator[tuple[Path, Element | Not]]:
    """Every element and not of a body with its path, groups before what they hold, in the order of writing."""
    for index, part in enumerate(body.parts):
        path = (*prefix, index)
        yield path, part
        if isinstance(part, Element):
            yield from walk(part.body, path)


def elements(body: Body) -> Iterator[tuple[Path, Element]]:
    """Every element that takes events, groups before what they hold, in the order of writing."""
    for path, part in walk(body):
        if isinstance(part, Element):
            yield path, part


def negations(body: Body) -> Iterator[tuple[Path, Not]]:
    """Every not, in the order of writing."""
    for path, part in walk(body):
        if isinstance(part, Not):
            yield path, part


def variables(body: Body) -> Iterator[tuple[Path, Element, Variable]]:
    """Every variable that takes events, in the order of writing, with the element it is the body of."""
    for path, element in elements(body):
        if isinstance(element.body, Variable):
            yield path, element, element.body


def around(body: Body, path: Path) -> Iterator[Element]:
    """The elements around the one at a path, outermost first, without itself."""
    for index in path[:-1]:
        part = body.parts[index]
        assert isinstance(part, Element)
        yield part
        body = part.body


def describe(element: Element | Not) -> str:
    """How an error calls an element: its name, or the names a group holds."""
    if isinstance(element, Not):
        return f"not {element.name!r}"
    body = element.body
    if isinstance(body, Variable):
        return f"element {body.name!r}"
    inside = [part.name if isinstance(part, Not) else getattr(part.body, "name", "(…)") for part in body.parts]
    kind = {OneOf: "one_of", AllOfMembers: "all_of"}.get(type(body), "group")
    return f"{kind} ({', '.join(inside)})"
