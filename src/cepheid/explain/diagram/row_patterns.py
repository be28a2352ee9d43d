"""Diagrams of row patterns.

In: a row pattern. Out: a `Diagram`: one card for each variable where it stands in the pattern, lines to the cards that
may follow it. Called by the face.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.errors import InputError
from cepheid.explain.diagram.formats import Diagram, Format
from cepheid.explain.diagram.graph_text import Cluster, Edge, GraphText
from cepheid.explain.diagram.graph_text import Node as GraphNode
from cepheid.explain.diagram.picture import Stroke
from cepheid.rowpattern import printing
from cepheid.rowpattern.instructions import compile_pattern, may_be_empty
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    Permute,
    Quantified,
    RowPattern,
    Variable,
)

# Keys of the graph; Mermaid has a word `end` of its own.
_START, _END = "first", "last"


def draw(pattern: RowPattern, form: str) -> Diagram:
    """Draw a row pattern; as text: its instructions."""
    if form not in ("mermaid", "dot", "text"):
        raise InputError(f"format={form!r} is not known.\n  Give 'mermaid', 'dot' or 'text'.")
    chosen = Format(form)
    if chosen is Format.TEXT:
        return Diagram(f"{compile_pattern(pattern.pattern, pattern.variables)}\n", chosen)
    graph = _Drawing({define.variable: str(define.condition) for define in pattern.defines}).graph(pattern)
    return Diagram(graph.mermaid() if chosen is Format.MERMAID else graph.dot(), chosen)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that was drawn: the cards that it may begin with, and those that it may end with."""

    firsts: tuple[str, ...]
    lasts: tuple[str, ...]
    may_be_empty: bool


@dataclass(slots=True)
class _Drawing:
    conditions: dict[str, str]
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    cards: int = 0

    def graph(self, pattern: RowPattern) -> GraphText:
        title = f"AFTER MATCH SKIP {printing.skip(pattern.skip)}"
        whole = Cluster(title, "pattern")
        drawn = self.part(pattern.pattern, whole)
        outside = Cluster("", nodes=[GraphNode(_START, ("start",)), GraphNode(_END, ("end",))], clusters=[whole])
        self.link((_START,), drawn.firsts)
        self.link(drawn.lasts, (_END,))
        if drawn.may_be_empty:
            self.link((_START,), (_END,), "no row")
        return GraphText(outside, tuple(self.edges.values()))

    def link(self, sources: tuple[str, ...], targets: tuple[str, ...], label: str = "") -> None:
        for source in sources:
            for target in targets:
                self.edges.setdefault((source, target), Edge(source, target, label, Stroke.STRICT))

    def part(self, node: Node, around: Cluster) -> _Part:
        match node:
            case Variable(name):
                return self.card(name, self.conditions.get(name, "any row"), around)
            case Concatenation(parts):
                return self.chain(parts, around)
            case Alternation(parts):
                drawn = [self.part(part, around) for part in parts]
                firsts = tuple(key for part in drawn for key in part.firsts)
                lasts = tuple(key for part in drawn for key in part.lasts)
                return _Part(firsts, lasts, any(part.may_be_empty for part in drawn))
            case Quantified(body, least, most, _):
                return self.loop(node, body, least, most, around)
            case Exclusion(body):
                inner = Cluster("not shown", f"x{self.cards}")
                around.clusters.append(inner)
                return self.part(body, inner)
            case Empty():
                return _Part((), (), True)
        if isinstance(node, Permute):
            card = self.card(printing.node(node), "in any order", around)
            return _Part(card.firsts, card.lasts, may_be_empty(node))
        drawn_anchor = self.card(printing.node(node), "of the partition", around)
        return _Part(drawn_anchor.firsts, drawn_anchor.lasts, False)

    def card(self, name: str, condition: str, around: Cluster) -> _Part:
        key = f"n{self.cards}"
        self.cards += 1
        around.nodes.append(GraphNode(key, (name, condition)))
        return _Part((key,), (key,), False)

    def chain(self, parts: tuple[Node, ...], around: Cluster) -> _Part:
        firsts: tuple[str, ...] = ()
        lasts: tuple[str, ...] = ()
        all_empty = True
        for part in parts:
            drawn = self.part(part, around)
            self.link(lasts, drawn.firsts)
            firsts = (*firsts, *drawn.firsts) if all_empty else firsts
            lasts = (*lasts, *drawn.lasts) if drawn.may_be_empty else drawn.lasts
            all_empty = all_empty and drawn.may_be_empty
        return _Part(firsts, lasts, all_empty)

    def loop(self, node: Quantified, body: Node, least: int, most: int | None, around: Cluster) -> _Part:
        drawn = self.part(body, around)
        if most is None or most > 1:
            written = printing.node(Quantified(Variable("A"), least, most, node.greedy))[1:]
            self.link(drawn.lasts, drawn.firsts, f"again {written}")
        return _Part(drawn.firsts, drawn.lasts, least == 0 or drawn.may_be_empty)
