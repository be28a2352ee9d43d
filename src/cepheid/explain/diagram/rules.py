"""Diagrams of sets of rules: which rules share which conditions and keys.

In: rules. Out: a `Diagram`. Rules stand in a frame for each key, conditions that several rules have beside them. Called
by the face and the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from cepheid.explain.diagram.formats import Diagram, Format, chosen_format
from cepheid.explain.diagram.graph_text import Cluster, Edge, GraphText, Node
from cepheid.explain.diagram.lettering import mono_width, sans_width, wrapped
from cepheid.explain.diagram.palette import MONO, SANS, in_both, scoped
from cepheid.explain.diagram.picture import Stroke
from cepheid.explain.sharing import RuleBox, Sharing, sharing
from cepheid.rule import AnyRule

NOTHING = "no condition is in two rules"
_SCOPE = ".cepheid-rules"
_RULES = (
    ".back{fill:$background$}.frame{fill:$frame$;stroke:$edge$;stroke-width:1.2}"
    ".box{fill:$card$;stroke:$edge$;stroke-width:1.2}.alone{stroke:$faint$}.condition{fill:$pill$;stroke:none}"
    "text{fill:$ink$}.muted{fill:$muted$}.code{fill:$ink$}.count{fill:$accent$}"
    ".link{fill:none;stroke:$accent$;opacity:.55}"
)
_PLAIN = (
    f"text{{font-family:{SANS};font-size:13px}}.code{{font-family:{MONO};font-size:12px}}"
    ".title{font-size:14px;font-weight:600}.key{font-weight:600}.muted,.count{font-size:11px}"
)
_LINE, _PAD, _GAP, _ROOM = 17.0, 10.0, 8.0, 130.0
_CELLS, _LINES = 46, 3
"""How long the lines of a condition are, and how many there may be."""
_LABEL = 44


def draw(rules: Sequence[AnyRule], form: str = "svg") -> Diagram:
    """Draw what rules share."""
    chosen, shown = chosen_format(form), sharing(rules)
    match chosen:
        case Format.SVG:
            return Diagram(_svg(shown), chosen)
        case Format.MERMAID:
            return Diagram(_graph(shown).mermaid(), chosen)
        case Format.DOT:
            return Diagram(_graph(shown).dot(), chosen)
        case Format.TEXT:
            return Diagram(_text(shown), chosen)


def _text(shown: Sharing) -> str:
    lines = [shown.title]
    for key in shown.keys:
        lines += ["", f"┌─ {key.key}"]
        for box in key.rules:
            numbers = ", ".join(f"[{number + 1}]" for number, _ in box.shared)
            lines.append(f"│  {box.label()}" + (f"  {numbers}" if numbers else ""))
        lines.append("└─")
    lines += ["", NOTHING if not shown.conditions else "shared conditions:"]
    for number, condition in enumerate(shown.conditions, start=1):
        lines.append(f"[{number}] {condition.text}  ({condition.rules} rules)")
    return "\n".join(lines) + "\n"


def _graph(shown: Sharing) -> GraphText:
    whole, edges = Cluster(""), []
    for place, key in enumerate(shown.keys):
        around = Cluster(key.key, f"k{place}")
        whole.clusters.append(around)
        for number, box in enumerate(key.rules):
            around.nodes.append(Node(f"r{place}_{number}", (box.label(),), is_optional=not box.shared))
            for condition, count in box.strongest:
                label = str(count) if len(box.names) > 1 else ""
                edges.append(Edge(f"r{place}_{number}", f"c{condition}", label, Stroke.PLAIN))
    for number, shared in enumerate(shown.conditions):
        whole.nodes.append(Node(f"c{number}", (shared.text, f"{shared.rules} rules")))
    return GraphText(whole, tuple(edges))


def _svg(shown: Sharing) -> str:
    """Frames of rules on the left, conditions on the right, a line from each box to each of its conditions."""
    labels = {box: wrapped(box.label(), _LABEL, 2) for key in shown.keys for box in key.rules}
    texts = [wrapped(condition.text, _CELLS, _LINES) for condition in shown.conditions]
    widths = [sans_width(line, 13.0) for lines in labels.values() for line in lines]
    widths += [sans_width(f"{key.key} · {key.count} rules", 13.0, True) - 2 * _PAD for key in shown.keys]
    width = max(widths) + 2 * _PAD
    left, top = 16.0, 44.0
    parts: list[str] = []
    ends: dict[int, tuple[float, float]] = {}
    beside = left + width + 2 * _PAD + _ROOM
    right = beside
    heights = [len(lines) * _LINE + 24.0 for lines in texts]
    frames = [32.0 + sum(len(labels[box]) * _LINE + _PAD + _GAP for box in key.rules) + _GAP for key in shown.keys]
    tall = max(sum(frames) + 14.0 * (len(frames) - 1), sum(heights) + _GAP * (len(heights) - 1))
    y = top + (tall - sum(heights) - _GAP * (len(heights) - 1)) / 2
    for number, (lines, height) in enumerate(zip(texts, heights, strict=True)):
        wide = max(mono_width(line, 12.0) for line in lines) + 2 * _PAD
        right = max(right, beside + wide)
        parts += _condition(beside, y, wide, height, lines, shown.conditions[number].rules)
        ends[number] = (beside, y + height / 2)
        y += height + _GAP
    y = top
    links: list[str] = []
    for key, height in zip(shown.keys, frames, strict=True):
        parts.append(_rectangle("frame", left, y, width + 2 * _PAD, height, 10))
        inner = y + 32.0
        parts.append(f'<text class="key" x="{left + _PAD:.1f}" y="{y + 21:.1f}">{escape(key.key)}</text>')
        count = f"{key.count} rule" + ("s" if key.count > 1 else "")
        place = left + width + _PAD
        parts.append(f'<text class="muted" x="{place:.1f}" y="{y + 21:.1f}" text-anchor="end">{count}</text>')
        for box in key.rules:
            tall_box = len(labels[box]) * _LINE + _PAD
            parts += _rule(box, left + _PAD, inner, width, tall_box, labels[box])
            links += _links(box, left + _PAD + width, inner + tall_box / 2, ends)
            inner += tall_box + _GAP
        y += height + 14.0
    if not shown.conditions:
        parts.append(f'<text class="muted" x="{beside:.1f}" y="{top + tall / 2:.1f}">{NOTHING}</text>')
        right = beside + sans_width(NOTHING, 11.0)
    right = max(right + 16.0, left + sans_width(shown.title, 14.0, True) + 16.0)
    bottom = top + tall + 16.0
    style = scoped(_PLAIN, _SCOPE) + in_both(_RULES, _SCOPE)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cepheid-rules" role="img" width="{right:.0f}" '
        f'height="{bottom:.0f}" viewBox="0 0 {right:.0f} {bottom:.0f}">'
        f"<title>{escape(shown.title)}</title><style>{style}</style>"
        f'<rect class="back" width="{right:.0f}" height="{bottom:.0f}" rx="8"/>'
        f'<text class="title" x="{left:.0f}" y="28">{escape(shown.title)}</text>{"".join(links + parts)}</svg>'
    )


def _rectangle(kind: str, x: float, y: float, width: float, height: float, radius: int) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}" rx="{radius}"'
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}/>'


def _rule(box: RuleBox, x: float, y: float, width: float, height: float, lines: tuple[str, ...]) -> Iterator[str]:
    names = "\n".join(box.names[:100])
    yield f"<g><title>{escape(names)}</title>"
    yield _rectangle("box" if box.shared else "box alone", x, y, width, height, 7)
    for number, line in enumerate(lines):
        yield f'<text x="{x + _PAD:.1f}" y="{y + 18 + number * _LINE:.1f}">{escape(line)}</text>'
    yield "</g>"


def _condition(x: float, y: float, width: float, height: float, lines: tuple[str, ...], rules: int) -> Iterator[str]:
    yield _rectangle("condition", x, y, width, height, 7)
    for number, line in enumerate(lines):
        held = f'textLength="{mono_width(line, 12.0):.1f}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
        place = f'x="{x + _PAD:.1f}" y="{y + 17 + number * _LINE:.1f}"'
        yield f'<text class="code" {place} {held}>{escape(line)}</text>'
    yield f'<text class="count" x="{x + _PAD:.1f}" y="{y + height - 7:.1f}">{rules} rules</text>'


def _links(box: RuleBox, x: float, y: float, ends: dict[int, tuple[float, float]]) -> Iterator[str]:
    for condition, count in box.strongest:
        to_x, to_y = ends[condition]
        middle = (x + to_x) / 2
        thick = min(1.2 + 0.3 * (count - 1), 5.0)
        path = f"M{x:.1f} {y:.1f}C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        yield f'<path class="link" stroke-width="{thick:.1f}" d="{path}"/>'
