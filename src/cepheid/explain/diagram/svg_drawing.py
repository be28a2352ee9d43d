"""A diagram as SVG, drawn without any program but this one.

In: a `Picture`. Out: SVG text with its own style sheet for light and dark. Text is measured beforehand and conditions
are held to their width by `textLength`, so nothing overflows whatever font the reader has.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from cepheid.explain.diagram.lettering import mono_width, sans_width
from cepheid.explain.diagram.palette import MONO, SANS, in_both, scoped
from cepheid.explain.diagram.picture import Card, Frame, Picture, Stroke
from cepheid.explain.diagram.svg_layout import (
    BEHIND,
    LINE,
    PADDING,
    PILL,
    SMALL,
    Direction,
    Layout,
    Placed,
    lay_out,
    note_width,
)

_SCOPE = ".cepheid-diagram"
_RULES = (
    ".back{fill:$background$}"
    ".card{fill:$card$;stroke:$edge$;stroke-width:1.2}"
    ".frame{fill:$frame$;stroke:$edge$;stroke-width:1.2}"
    ".card.no{fill:$not-card$;stroke:$not$}"
    "text{fill:$ink$}"
    ".code{fill:$ink$}.fold{fill:$accent$}.until{fill:$not$}.caption{fill:$not$}.link{fill:$muted$}"
    ".pill{fill:$pill$}.pilltext{fill:$accent$}"
    ".line{fill:none;stroke:$edge$;stroke-width:1.6}.head{fill:$edge$}.line.strict{stroke-width:3}"
    ".bracket{fill:none;stroke:$accent$;stroke-width:1.6}.window{fill:$accent$}.skip{fill:$muted$}"
)
_PLAIN = (
    f"text{{font-family:{SANS}}}"
    f".code,.fold,.until{{font-family:{MONO};font-size:12px}}"
    ".name{font-size:15px;font-weight:600}.caption,.link,.pilltext,.skip{font-size:11px}"
    ".window{font-size:12px;font-weight:600}"
    ".line.relaxed{stroke-dasharray:7 4}.line.any{stroke-dasharray:2 4}"
    ".optional{stroke-dasharray:5 4}"
)
FOOT = 30.0
"""The height of the window's bracket and label, and of the line that names the skip strategy."""


def to_svg(shown: Picture, direction: Direction | None = None, title: str = "") -> str:
    """The picture as SVG."""
    layout = lay_out(shown, direction)
    parts = [*_chain(layout.top, layout.direction)]
    bottom, right = layout.height, layout.width
    if shown.window:
        drawn, bottom, right = _window(shown.window, layout, len(shown.before))
        parts += drawn
    if shown.skip:
        parts.append(f'<text class="skip" x="{layout.left:g}" y="{bottom + 4:g}">{escape(shown.skip)}</text>')
        bottom += FOOT / 2 + 4
        right = max(right, layout.left * 2 + sans_width(shown.skip, SMALL))
    style = scoped(_PLAIN, _SCOPE) + in_both(_RULES, _SCOPE)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cepheid-diagram" role="img" width="{right:.0f}" '
        f'height="{bottom:.0f}" viewBox="0 0 {right:.0f} {bottom:.0f}">'
        f"<title>{escape(title)}</title><style>{style}</style>"
        f'<rect class="back" width="{right:.0f}" height="{bottom:.0f}" rx="8"/>{"".join(parts)}</svg>'
    )


def _chain(chain: tuple[Placed, ...] | list[Placed], direction: Direction) -> Iterator[str]:
    before: Placed | None = None
    for placed in chain:
        if before is not None:
            yield from _link(before, placed, direction)
        yield from _shape(placed, direction)
        before = placed


def _link(one: Placed, other: Placed, direction: Direction) -> Iterator[str]:
    """The line from one shape to the next, with its head and its label."""
    step = other.step
    style = f"line {step.stroke.value}"
    has_head = step.stroke is not Stroke.PLAIN
    if direction is Direction.RIGHT:
        y = one.y + one.height / 2
        start, end = one.x + one.width, other.x
        yield f'<path class="{style}" d="M{start:.1f} {y:.1f}H{end - (8 if has_head else 0):.1f}"/>'
        if has_head:
            yield f'<path class="head" d="M{end:.1f} {y:.1f}l-9 -5v10z"/>'
        if step.link:
            middle = (start + end - (6 if has_head else 0)) / 2
            yield f'<text class="link" x="{middle:.1f}" y="{y - 7:.1f}" text-anchor="middle">{step.link}</text>'
        return
    x = other.x + other.body_width / 2
    start, end = one.y + one.height, other.y
    yield f'<path class="{style}" d="M{x:.1f} {start:.1f}V{end - (8 if has_head else 0):.1f}"/>'
    if has_head:
        yield f'<path class="head" d="M{x:.1f} {end:.1f}l-5 -9h10z"/>'
    if step.link:
        yield f'<text class="link" x="{x + 10:.1f}" y="{(start + end) / 2 + 2:.1f}">{step.link}</text>'


def _shape(placed: Placed, direction: Direction) -> Iterator[str]:
    shape = placed.shape
    optional = " optional" if shape.optional else ""
    kind = "frame" if isinstance(shape, Frame) else "card no" if shape.is_not else "card"
    radius = 12 if isinstance(shape, Frame) else 7
    size = f'width="{placed.body_width:.1f}" height="{placed.body_height:.1f}" rx="{radius}"'
    yield "<g>"
    if isinstance(shape, Card):
        full = "\n".join(filter(None, (shape.caption, shape.name, shape.condition, *shape.folds, shape.until)))
        yield f"<title>{escape(full)}</title>"
    if shape.loops:
        yield f'<rect class="{kind}{optional}" x="{placed.x + BEHIND:.1f}" y="{placed.y + BEHIND:.1f}" {size}/>'
    yield f'<rect class="{kind}{optional}" x="{placed.x:.1f}" y="{placed.y:.1f}" {size}/>'
    yield from _words(placed)
    yield "</g>"
    yield from _chain(placed.inside, direction)


def _words(placed: Placed) -> Iterator[str]:
    """The text of a card, or what is at the head of a frame."""
    x, y = placed.x + PADDING, placed.y + PADDING
    is_frame = isinstance(placed.shape, Frame)
    if is_frame:
        yield from _notes(placed, x, y)
        y += len(placed.notes) * PILL
    for line in placed.lines:
        y += LINE
        held = f' textLength="{mono_width(line.text, line.size):.1f}" lengthAdjust="spacingAndGlyphs"'
        text = f'{held if line.is_code else ""} xml:space="preserve">{escape(line.text)}'
        yield f'<text class="{line.style}" x="{x:.1f}" y="{y - 5:.1f}"{text}</text>'
    if not is_frame:
        yield from _notes(placed, x, y + 6.0)


def _notes(placed: Placed, left: float, y: float) -> Iterator[str]:
    for row in placed.notes:
        x = left
        for note in row:
            width = note_width(note)
            yield f'<rect class="pill" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{PILL - 4:.0f}" rx="8"/>'
            yield (
                f'<text class="pilltext" x="{x + width / 2:.1f}" y="{y + 12:.1f}" text-anchor="middle">'
                f"{escape(note)}</text>"
            )
            x += width + 4
        y += PILL


def _window(label: str, layout: Layout, before: int) -> tuple[list[str], float, float]:
    """The bracket around what the window spans, with its label; the size of the picture with it."""
    spanned = layout.top[before:]
    escaped = escape(label)
    if layout.direction is Direction.RIGHT:
        start, end = spanned[0].x, spanned[-1].x + spanned[-1].width
        y = layout.height - 8.0
        middle = (start + end) / 2
        path = f'<path class="bracket" d="M{start:.1f} {y:.1f}v7H{end:.1f}v-7"/>'
        half = sans_width(label, 12.0, True) / 2
        middle = max(middle, half + 8.0)
        text = f'<text class="window" x="{middle:.1f}" y="{y + 22:.1f}" text-anchor="middle">{escaped}</text>'
        return [path, text], layout.height + FOOT, max(layout.width, middle + half + 8.0)
    start, end = spanned[0].y, spanned[-1].y + spanned[-1].height
    x = layout.width - 6.0
    path = f'<path class="bracket" d="M{x:.1f} {start:.1f}h7V{end:.1f}h-7"/>'
    text = f'<text class="window" x="{x + 15:.1f}" y="{(start + end) / 2 + 4:.1f}">{escaped}</text>'
    return [path, text], layout.height, layout.width + 22.0 + sans_width(label, 12.0, True)
