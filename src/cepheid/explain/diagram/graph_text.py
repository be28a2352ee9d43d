"""A diagram as Mermaid or DOT text, for tools that draw it themselves.

In: a `Picture`, or an automaton. Out: text. Both languages are written from one list of nodes, edges and nested
groups, so they show the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheid.automaton.model import Automaton, Position
from cepheid.explain.diagram.picture import Card, Picture, Shape, Step, Stroke
from cepheid.syntax.tree import Contiguity


@dataclass(frozen=True, slots=True)
class Node:
    """A card: its first line is its name."""

    key: str
    lines: tuple[str, ...]
    is_not: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A line between two cards."""

    source: str
    target: str
    label: str
    stroke: Stroke


@dataclass(slots=True)
class Cluster:
    """A group, or the whole: its title, its nodes, the groups in it."""

    title: str
    key: str = ""
    nodes: list[Node] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GraphText:
    """Nodes, edges and groups."""

    whole: Cluster
    edges: tuple[Edge, ...]

    def mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        lines = ["flowchart LR", *_mermaid_cluster(self.whole, "  ")]
        arrows = {Stroke.STRICT: "==>", Stroke.RELAXED: "-->", Stroke.ANY: "-.->", Stroke.PLAIN: "---"}
        for edge in self.edges:
            label = f'|"{_mermaid_text(edge.label)}"|' if edge.label else ""
            lines.append(f"  {edge.source} {arrows[edge.stroke]}{label} {edge.target}")
        lines.append("  classDef not stroke:#c5283d,stroke-width:2px")
        lines.append("  classDef optional stroke-dasharray:5 4")
        return "\n".join(lines) + "\n"

    def dot(self) -> str:
        """The graph in Graphviz' language."""
        lines = ["digraph pattern {", '  rankdir=LR; node [shape=box, style=rounded, fontname="sans-serif"];']
        lines.append('  edge [fontname="sans-serif", fontsize=10];')
        lines += _dot_cluster(self.whole, "  ")
        styles = {
            Stroke.STRICT: "penwidth=2.5",
            Stroke.RELAXED: "style=solid",
            Stroke.ANY: "style=dotted",
            Stroke.PLAIN: "arrowhead=none",
        }
        for edge in self.edges:
            lines.append(f'  {edge.source} -> {edge.target} [label="{_dot_text(edge.label)}", {styles[edge.stroke]}];')
        return "\n".join((*lines, "}")) + "\n"


def of_picture(shown: Picture) -> GraphText:
    """The graph of a pattern's elements."""
    return _Drawing().graph(shown)


def of_automaton(automaton: Automaton) -> GraphText:
    """The graph of an automaton's positions and TAKEs."""
    positions = automaton.positions
    nodes = [Node(f"p{number}", _position_lines(number, position)) for number, position in enumerate(positions)]
    strokes = {
        Contiguity.STRICT: Stroke.STRICT,
        Contiguity.RELAXED: Stroke.RELAXED,
        Contiguity.NON_DETERMINISTIC: Stroke.ANY,
    }
    edges = []
    for number, position in enumerate(positions):
        for way in position.continuations:
            guards = [f"not next {automaton.predicates[index]}" for index in way.not_next]
            guards += [f"not followed by {automaton.predicates[index]}" for index in way.not_followed_by]
            guards += [f"until {automaton.predicates[index]}" for index in way.take.over]
            label = f"{automaton.variables[way.take.variable]}: {automaton.predicates[way.take.predicate]}"
            stroke = Stroke.RELAXED if number == 0 else strokes[way.take.contiguity]
            edges.append(Edge(f"p{number}", f"p{way.take.target}", "; ".join((label, *guards)), stroke))
    return GraphText(Cluster("", nodes=nodes), tuple(edges))


def _position_lines(number: int, position: Position) -> tuple[str, ...]:
    lines = [str(number)]
    lines += ["start"] if number == 0 else []
    lines += ["END"] if position.accepts else []
    lines += ["END once the time of its negations has passed"] if position.endings else []
    return tuple(lines)


class _Drawing:
    """Numbers cards and groups as they are met."""

    def __init__(self) -> None:
        self.edges: list[Edge] = []
        self.cards = 0
        self.groups = 0

    def graph(self, shown: Picture) -> GraphText:
        title = ", ".join(filter(None, (shown.window, shown.skip)))
        whole = Cluster(title, "pattern" if title else "")
        self.chain((*(Step(card) for card in shown.before), *shown.steps), whole)
        return GraphText(whole, tuple(self.edges))

    def chain(self, steps: tuple[Step, ...], around: Cluster) -> tuple[str, str]:
        """Add steps to a group; the keys of the first and the last card."""
        first = before = ""
        for step in steps:
            entry, leave = self.shape(step.shape, around)
            if before:
                self.edges.append(Edge(before, entry, step.link, step.stroke))
            first = first or entry
            before = leave
        return first, before

    def shape(self, shape: Shape, around: Cluster) -> tuple[str, str]:
        if isinstance(shape, Card):
            key = f"n{self.cards}"
            self.cards += 1
            name = f"{shape.caption} {shape.name}".strip()
            lines = (name, shape.condition, *shape.folds, shape.until, ", ".join(shape.notes))
            around.nodes.append(Node(key, tuple(filter(None, lines)), shape.is_not, shape.optional))
            if shape.again is not None:
                self.edges.append(Edge(key, key, "again", shape.again))
            return key, key
        self.groups += 1
        title = ", ".join((shape.kind, *shape.notes, *filter(None, (shape.until,))))
        inner = Cluster(title, f"g{self.groups}")
        around.clusters.append(inner)
        first, last = self.chain(shape.steps, inner)
        if shape.again is not None:
            self.edges.append(Edge(last, first, "again", shape.again))
        return first, last


def _mermaid_cluster(cluster: Cluster, indent: str) -> Iterator[str]:
    inside = indent
    if cluster.key:
        yield f'{indent}subgraph {cluster.key}["{_mermaid_text(cluster.title)}"]'
        inside = indent + "  "
    for node in cluster.nodes:
        name, *rest = (_mermaid_text(line) for line in node.lines)
        text = "<br/>".join((f"<b>{name}</b>", *rest))
        shape = f'{{{{"{text}"}}}}' if node.is_not else f'["{text}"]'
        style = ":::not" if node.is_not else ":::optional" if node.is_optional else ""
        yield f"{inside}{node.key}{shape}{style}"
    for inner in cluster.clusters:
        yield from _mermaid_cluster(inner, inside)
    if cluster.key:
        yield f"{indent}end"


def _dot_cluster(cluster: Cluster, indent: str) -> Iterator[str]:
    inside = indent
    if cluster.key:
        yield f'{indent}subgraph cluster_{cluster.key} {{ label="{_dot_text(cluster.title)}"; style=rounded;'
        inside = indent + "  "
    for node in cluster.nodes:
        text = "\\n".join(_dot_text(line) for line in node.lines)
        extra = ', color="#c5283d", fontcolor="#c5283d"' if node.is_not else ""
        extra += ', style="rounded,dashed"' if node.is_optional else ""
        yield f'{inside}{node.key} [label="{text}"{extra}];'
    for inner in cluster.clusters:
        yield from _dot_cluster(inner, inside)
    if cluster.key:
        yield f"{indent}}}"


_MERMAID_SIGNS = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "|": "#124;"}


def _mermaid_text(text: str) -> str:
    return "".join(_MERMAID_SIGNS.get(sign, sign) for sign in text)


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
