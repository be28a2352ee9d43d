"""What a diagram shows, before anyone says where: cards, frames and the links between them.

In: a pattern tree. Out: a `Picture`, which the drawings (`svg_drawing`, `graph_text`, `boxes`) read. It holds words
and no coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from cepheid.explain.text.outline import LINKS, one_line, qualities, skip_text, window_text
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Contiguity,
    Element,
    Link,
    Loop,
    Not,
    OneOf,
    PatternTree,
    SkipKind,
    Variable,
)


class Stroke(Enum):
    """How the line into a card is drawn: by the contiguity of its link (rule 2), or plain where a not stands."""

    STRICT = "strict"
    RELAXED = "relaxed"
    ANY = "any"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Card:
    """One element that takes events, or a not."""

    name: str
    condition: str = ""
    until: str = ""
    folds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    caption: str = ""
    """For a not: which kind it is."""
    is_not: bool = False
    again: Stroke | None = None
    """For a loop: how it leads from one repetition to the next."""
    optional: bool = False

    @property
    def loops(self) -> bool:
        return self.again is not None


@dataclass(frozen=True, slots=True)
class Frame:
    """A group."""

    steps: tuple[Step, ...]
    until: str = ""
    notes: tuple[str, ...] = ()
    again: Stroke | None = None
    optional: bool = False

    @property
    def loops(self) -> bool:
        return self.again is not None


Shape: TypeAlias = Card | Frame


@dataclass(frozen=True, slots=True)
class Step:
    """A shape and the link that leads to it; the first shape has none."""

    shape: Shape
    link: str = ""
    stroke: Stroke = Stroke.PLAIN


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole pattern."""

    before: tuple[Card, ...]
    """What must not have happened before the match."""
    steps: tuple[Step, ...]
    window: str
    skip: str


_STROKES = {
    Contiguity.STRICT: Stroke.STRICT,
    Contiguity.RELAXED: Stroke.RELAXED,
    Contiguity.NON_DETERMINISTIC: Stroke.ANY,
}


def picture(tree: PatternTree) -> Picture:
    """The picture of a pattern."""
    before = tuple(
        Card(item.name, one_line(item.condition) if item.condition else "any event", caption="not before", is_not=True)
        for item in tree.not_before
    )
    window = "" if tree.window is None else f"within {window_text(tree.window)}"
    skip = "" if tree.skip.kind is SkipKind.NO_SKIP else f"skip {skip_text(tree.skip)}"
    return Picture(before, _steps(tree.body), window, skip)


def _steps(body: Body) -> tuple[Step, ...]:
    """The parts of a body; alternatives and members have a word between them instead of a link."""
    word = {OneOf: "or", AllOfMembers: "and"}.get(type(body), "")
    steps = [_step(part) for part in body.parts]
    return tuple(replace(step, link=word) if word and number else step for number, step in enumerate(steps))


def _step(element: Element | Not) -> Step:
    notes = tuple(qualities(element, with_until=False))
    if isinstance(element, Not):
        condition = "any event" if element.condition is None else one_line(element.condition)
        return Step(Card(element.name, condition, notes=notes, caption=LINKS[element.link], is_not=True))
    until = _until(element.loop)
    loop = element.loop
    again = None if loop is None or loop.maximum in (0, 1) else _STROKES[loop.inner]
    shape: Shape
    if isinstance(element.body, Variable):
        variable = element.body
        shape = Card(
            variable.name,
            "any event" if variable.condition is None else one_line(variable.condition),
            until,
            tuple(f"{fold.name}: {fold.init}, then {fold.update}" for fold in variable.folds),
            notes,
            again=again,
            optional=element.optional,
        )
    else:
        shape = Frame(_steps(element.body), until, notes, again, element.optional)
    if element.link is Link.BEGIN:
        return Step(shape)
    return Step(shape, LINKS[element.link], _STROKES[element.link.contiguity])


def _until(loop: Loop | None) -> str:
    return "" if loop is None or loop.until is None else f"until {one_line(loop.until)}"
