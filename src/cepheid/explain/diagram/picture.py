"""What a diagram shows, before anyone says where: cards, frames and the links between them.

In: a pattern tree. Out: a `Picture`, which the drawings (`svg_drawing`, `graph_text`, `boxes`) read. It holds words
and no coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cepheid.explain.text.outline import LINKS, choice_text, one_line, qualities, skip_text, window_text
from cepheid.syntax.durations import to_text
from cepheid.syntax.tree import (
    AllOfMembers,
    Contiguity,
    Element,
    Link,
    Loop,
    Not,
    OneOf,
    PatternTree,
    Sequence,
    SkipKind,
    Variable,
)
from cepheid.syntax.visitor import PartVisitor


class Stroke(Enum):
    """How the line into a card is drawn: by the contiguity of its link (rule 2), or plain where there is a negation."""

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
    """A group, a choice between members, or members in any order."""

    steps: tuple[Step, ...]
    until: str = ""
    notes: tuple[str, ...] = ()
    again: Stroke | None = None
    optional: bool = False
    kind: str = "group"

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
    once = "" if tree.once_per is None else f"once per {to_text(tree.once_per)}"
    return Picture(before, _steps(tree.body), window, ", ".join(filter(None, (skip, once))))


def _steps(sequence: Sequence) -> tuple[Step, ...]:
    return tuple(_step(part) for part in sequence.elements)


def _step(part: Element | Not) -> Step:
    shape = _SHAPES.visit(part)
    if isinstance(part, Not) or part.link is Link.BEGIN:
        return Step(shape)
    return Step(shape, LINKS[part.link], _STROKES[part.link.contiguity])


class _Shapes(PartVisitor[Shape]):
    """The shape of one element or not."""

    def variable(self, element: Element, body: Variable) -> Shape:
        return Card(
            body.name,
            "any event" if body.condition is None else one_line(body.condition),
            _until(element.loop),
            tuple(f"{fold.name}: {fold.init}, then {fold.update}" for fold in body.folds),
            tuple(qualities(element, with_until=False)),
            again=_again(element),
            optional=element.optional,
        )

    def group(self, element: Element, body: Sequence) -> Shape:
        return self._frame(element, _steps(body))

    def one_of(self, element: Element, body: OneOf) -> Shape:
        return self._frame(element, self._members(body.alternatives, "or"), choice_text(body))

    def all_of(self, element: Element, body: AllOfMembers) -> Shape:
        return self._frame(element, self._members(body.members, "and"), choice_text(body))

    def negation(self, negation: Not) -> Shape:
        condition = "any event" if negation.condition is None else one_line(negation.condition)
        notes = tuple(qualities(negation, with_until=False))
        return Card(negation.name, condition, notes=notes, caption=LINKS[negation.link], is_not=True)

    def _members(self, members: tuple[Element, ...], word: str) -> tuple[Step, ...]:
        """Members side by side; the word between them says that this is no sequence."""
        return tuple(Step(self.visit(member), word if number else "") for number, member in enumerate(members))

    def _frame(self, element: Element, steps: tuple[Step, ...], kind: str = "group") -> Frame:
        notes = tuple(qualities(element, with_until=False))
        return Frame(steps, _until(element.loop), notes, _again(element), element.optional, kind)


_SHAPES = _Shapes()


def _again(element: Element) -> Stroke | None:
    loop = element.loop
    return None if loop is None or loop.maximum in (0, 1) else _STROKES[loop.inner]


def _until(loop: Loop | None) -> str:
    return "" if loop is None or loop.until is None else f"until {one_line(loop.until)}"
