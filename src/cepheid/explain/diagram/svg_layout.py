"""Where everything of a diagram goes: sizes first, from the inside out, then places, from the outside in.

In: a `Picture`. Out: `Placed` shapes with coordinates in pixels. Elements run to the right while that stays narrow
enough to read, and down otherwise. Used by `svg_drawing` alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cepheid.explain.diagram.lettering import mono_width, sans_width, wrapped
from cepheid.explain.diagram.picture import Card, Frame, Picture, Shape, Step

NAME, CODE, SMALL = 15.0, 12.0, 11.0
"""Sizes of letters: names, conditions, everything else."""
PADDING, LINE, PILL, BEHIND = 12.0, 17.0, 20.0, 5.0
"""Around text in a card; the height of a line and of a note; how far the card behind a loop sticks out."""
BROAD = 34
"""Cells in a line of a condition."""
MOST_LINES = 7
WIDEST = 780.0
"""A diagram that would be broader runs down instead of to the right."""


class Direction(Enum):
    """Which way the elements of a pattern run."""

    RIGHT = "right"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text in a card: its style is the CSS class."""

    text: str
    style: str
    is_code: bool
    size: float


@dataclass(slots=True)
class Placed:
    """A shape with its size, its place, what it shows, and for a frame what it holds."""

    shape: Shape
    step: Step
    width: float
    height: float
    lines: tuple[Line, ...]
    notes: tuple[tuple[str, ...], ...]
    """Notes in rows."""
    inside: list[Placed] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def body_width(self) -> float:
        return self.width - (BEHIND if self.shape.loops else 0)

    @property
    def body_height(self) -> float:
        return self.height - (BEHIND if self.shape.loops else 0)


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole diagram: `top` is the row, or column, of shapes."""

    direction: Direction
    top: tuple[Placed, ...]
    left: float
    upper: float
    width: float
    height: float


def lay_out(shown: Picture, direction: Direction | None = None) -> Layout:
    """Place everything, in the direction given or else in the one that suits."""
    steps = (*(Step(card) for card in shown.before), *shown.steps)
    if direction is None:
        tried = lay_out(shown, Direction.RIGHT)
        return tried if tried.width <= WIDEST else lay_out(shown, Direction.DOWN)
    margin = 16.0
    top = [_measured(step, direction) for step in steps]
    width, height = _chain_size(top, direction)
    _place_chain(top, margin, margin, width, height, direction)
    return Layout(direction, tuple(top), margin, margin, width + 2 * margin, height + 2 * margin)


def gap(step: Step, direction: Direction) -> float:
    """The room that the line into a shape needs."""
    if direction is Direction.DOWN:
        return 40.0 if step.link else 20.0
    return sans_width(step.link, SMALL) + 30.0 if step.link else 24.0


def note_width(note: str) -> float:
    """The width of a note with its border."""
    return sans_width(note, SMALL) + 16.0


def _measured(step: Step, direction: Direction) -> Placed:
    shape = step.shape
    if isinstance(shape, Card):
        return _measured_card(shape, step)
    inside = [_measured(inner, direction) for inner in shape.steps]
    width, height = _chain_size(inside, direction)
    lines = tuple(Line(text, "until", True, CODE) for text in wrapped(shape.until, BROAD, MOST_LINES) if text)
    content = max(width, _widest(lines))
    kind = () if shape.kind == "group" else (shape.kind,)
    notes = _in_rows((*kind, *shape.notes), max(content, 150.0))
    content = max(content, _widest_row(notes))
    head = len(notes) * PILL + len(lines) * LINE + (6.0 if notes or lines else 0.0)
    extra = BEHIND if shape.loops else 0.0
    return Placed(shape, step, content + 2 * PADDING + extra, height + head + 2 * PADDING + extra, lines, notes, inside)


def _measured_card(card: Card, step: Step) -> Placed:
    lines = [Line(card.caption, "caption", False, SMALL)] if card.caption else []
    lines += [Line(text, "name", False, NAME) for text in wrapped(card.name, 26, 2)]
    lines += [Line(text, "code", True, CODE) for text in wrapped(card.condition, BROAD, MOST_LINES)]
    for fold in card.folds:
        lines += [Line(text, "fold", True, CODE) for text in wrapped(fold, BROAD, 3)]
    if card.until:
        lines += [Line(text, "until", True, CODE) for text in wrapped(card.until, BROAD, MOST_LINES)]
    broad = max(_widest(lines), 72.0)
    notes = _in_rows(card.notes, max(broad, 130.0))
    content = max(broad, _widest_row(notes))
    extra = BEHIND if card.loops else 0.0
    height = len(lines) * LINE + (len(notes) * PILL + 6.0 if notes else 0.0) + 2 * PADDING - 4.0
    return Placed(card, step, content + 2 * PADDING + extra, height + extra, tuple(lines), notes)


def _widest(lines: tuple[Line, ...] | list[Line]) -> float:
    widths = [
        mono_width(line.text, line.size) if line.is_code else sans_width(line.text, line.size, line.style == "name")
        for line in lines
    ]
    return max(widths, default=0.0)


def _in_rows(notes: tuple[str, ...], width: float) -> tuple[tuple[str, ...], ...]:
    """Notes side by side as far as they fit."""
    rows: list[list[str]] = []
    used = 0.0
    for note in notes:
        if not rows or used + note_width(note) > width:
            rows.append([])
            used = 0.0
        rows[-1].append(note)
        used += note_width(note) + 4.0
    return tuple(tuple(row) for row in rows)


def _widest_row(rows: tuple[tuple[str, ...], ...]) -> float:
    return max((sum(note_width(note) + 4.0 for note in row) - 4.0 for row in rows), default=0.0)


def _chain_size(chain: list[Placed], direction: Direction) -> tuple[float, float]:
    between = sum(gap(placed.step, direction) for placed in chain[1:])
    if direction is Direction.RIGHT:
        return sum(placed.width for placed in chain) + between, max(placed.height for placed in chain)
    return max(placed.width for placed in chain), sum(placed.height for placed in chain) + between


def _place_chain(chain: list[Placed], x: float, y: float, width: float, height: float, direction: Direction) -> None:
    """Put shapes one after the other, centred across."""
    for number, placed in enumerate(chain):
        if direction is Direction.RIGHT:
            x += gap(placed.step, direction) if number else 0.0
            placed.x, placed.y = x, y + (height - placed.height) / 2
            x += placed.width
        else:
            y += gap(placed.step, direction) if number else 0.0
            placed.x, placed.y = x + (width - placed.width) / 2, y
            y += placed.height
        if isinstance(placed.shape, Frame):
            head = len(placed.notes) * PILL + len(placed.lines) * LINE + (6.0 if placed.notes or placed.lines else 0.0)
            inner_width, inner_height = _chain_size(placed.inside, direction)
            left = placed.x + (placed.body_width - inner_width) / 2
            _place_chain(placed.inside, left, placed.y + PADDING + head, inner_width, inner_height, direction)
