"""Diagrams of row patterns.

In: a row pattern. Out: a `Diagram`. A row pattern becomes the same `Picture` as a pattern: a card for each variable
where it occurs, a frame for a group, a choice, PERMUTE or an exclusion; so every format draws it. Called by the face.
"""

from __future__ import annotations

from cepheid.explain.diagram.formats import Diagram, chosen_format, drawn
from cepheid.explain.diagram.picture import Card, Frame, Picture, Shape, Step, Stroke
from cepheid.rowpattern import printing
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    Variable,
)
from cepheid.syntax.durations import to_span, to_text

ANY_ROW = "any row"


def draw(pattern: RowPattern, form: str = "svg") -> Diagram:
    """Draw a row pattern."""
    chosen = chosen_format(form)
    return drawn(picture(pattern), f"PATTERN ({printing.node(pattern.pattern)})", chosen)


def picture(pattern: RowPattern) -> Picture:
    """The picture of a row pattern: rows follow each other directly."""
    conditions = {define.variable: str(define.condition) for define in pattern.defines}
    within = "" if pattern.within is None else f"within {to_text(to_span(pattern.within, 'WITHIN'))}"
    skip = f"AFTER MATCH SKIP {printing.skip(pattern.skip)}"
    return Picture((), _steps(pattern.pattern, conditions), within, skip)


def _steps(node: Node, conditions: dict[str, str]) -> tuple[Step, ...]:
    parts = node.parts if isinstance(node, Concatenation) else (node,)
    shapes = [_shape(part, conditions) for part in parts]
    return tuple(Step(shape, "", Stroke.STRICT if number else Stroke.PLAIN) for number, shape in enumerate(shapes))


def _shape(
    node: Node, conditions: dict[str, str], notes: tuple[str, ...] = (), again: bool = False, optional: bool = False
) -> Shape:
    looping = Stroke.STRICT if again else None
    match node:
        case Variable(name):
            return Card(name, conditions.get(name, ANY_ROW), notes=notes, again=looping, optional=optional)
        case Quantified(body, least, most, _):
            inner = _shape(body, conditions) if isinstance(body, Quantified) else None
            own = (_times(node), *notes)
            if inner is not None:
                return Frame((Step(inner),), "", own, looping, optional)
            return _shape(body, conditions, own, most != 1, least == 0)
        case Alternation(parts):
            return Frame(_members(parts, conditions, "or"), "", notes, looping, optional, "the first that fits")
        case Permute(parts):
            return Frame(_members(parts, conditions, "and"), "", notes, looping, optional, "in any order")
        case Exclusion(body):
            return Frame(_steps(body, conditions), "", notes, looping, optional, "not shown")
        case Concatenation():
            return Frame(_steps(node, conditions), "", notes, looping, optional)
    return Card(printing.node(node), _PLACES[type(node)], notes=notes, again=looping, optional=optional)


_PLACES = {
    Empty: "no row",
    PartitionStart: "the beginning of the partition",
    PartitionEnd: "the end of the partition",
}


def _members(parts: tuple[Node, ...], conditions: dict[str, str], word: str) -> tuple[Step, ...]:
    """Members side by side; the word between them says that this is no sequence."""
    shapes = [_shape(part, conditions) for part in parts]
    return tuple(Step(shape, word if number else "") for number, shape in enumerate(shapes))


def _times(node: Quantified) -> str:
    """How often, in words."""
    match node.least, node.most:
        case 0, 1:
            often = "optional"
        case least, None:
            often = "any number" if least == 0 else "one or more" if least == 1 else f"{least} or more"
        case least, most:
            often = f"{least} times" if least == most else f"{least} to {most} times"
    return often if node.greedy else f"{often}, as few as possible"
