"""A diagram as text: boxes one below the other, for terminals and comments.

In: a `Picture`. Out: text with line-drawing characters.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.explain.diagram.lettering import cells, wrapped
from cepheid.explain.diagram.picture import Card, Picture, Shape, Step, Stroke

_BROAD = 66
_LINES = {Stroke.STRICT: "┃", Stroke.RELAXED: "┆", Stroke.ANY: "┊", Stroke.PLAIN: "│"}


def to_boxes(shown: Picture) -> str:
    """The picture as text."""
    lines = [*_chain((*(Step(card) for card in shown.before), *shown.steps), _BROAD)]
    lines += [note for note in (shown.window, shown.skip) if note]
    return "\n".join(lines) + "\n"


def _chain(steps: tuple[Step, ...], broad: int) -> Iterator[str]:
    for number, step in enumerate(steps):
        if number:
            yield f"  {_LINES[step.stroke]}"
            if step.link:
                yield f"  {'▼' if step.stroke is not Stroke.PLAIN else '│'} {step.link}"
        yield from _shape(step.shape, broad)


def _shape(shape: Shape, broad: int) -> Iterator[str]:
    notes = ", ".join(shape.notes)
    if isinstance(shape, Card):
        title = f"✕ {shape.caption} {shape.name}" if shape.is_not else shape.name
        texts = (shape.condition, *shape.folds, shape.until, notes)
        inside = [line for text in texts for line in wrapped(text, broad - 4, 99)]
    else:
        title = ", ".join(filter(None, (shape.kind, notes, shape.until)))
        inside = [*_chain(shape.steps, broad - 4)]
    title = "".join(wrapped(title, broad - 6, 1))
    width = max(cells(title) + 2, *(cells(line) for line in inside))
    across, down = ("╌", "┆") if shape.optional else ("═", "║") if shape.loops else ("─", "│")
    yield f"╭{across} {title} {across * (width - cells(title) - 1)}╮"
    yield from (f"{down} {line}{' ' * (width - cells(line))} {down}" for line in inside)
    yield f"╰{across * (width + 2)}╯"
