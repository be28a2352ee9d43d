"""Diagrams of patterns: one call, four formats.

In: a pattern tree. Out: a `Diagram`, which is its text, shows itself in notebooks and can be saved. Called by the face
and the command line.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TypeVar

from cepheid.automaton.construction import build
from cepheid.conditions import bind
from cepheid.errors import InputError
from cepheid.explain.diagram.boxes import to_boxes
from cepheid.explain.diagram.graph_text import of_automaton, of_picture
from cepheid.explain.diagram.picture import Picture, picture
from cepheid.explain.diagram.svg_drawing import to_svg
from cepheid.options import path_of
from cepheid.syntax.notation import to_text
from cepheid.syntax.tree import PatternTree

_Choice = TypeVar("_Choice", bound=Enum)
_OF_PIXELS = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})


class Format(Enum):
    """What a diagram is written in."""

    SVG = "svg"
    MERMAID = "mermaid"
    DOT = "dot"
    TEXT = "text"


class Subject(Enum):
    """What a diagram shows: the elements as written, or the automaton that they mean."""

    PATTERN = "pattern"
    AUTOMATON = "automaton"


class Diagram:
    """A drawn pattern. `str` is the drawing in its format, a notebook displays it, and `save` writes it to a file."""

    def __init__(self, text: str, form: Format) -> None:
        self.text = text
        self.format = form

    def save(self, path: str | Path) -> Path:
        """Write the drawing to a file."""
        place = path_of(path)
        if place.suffix.lower() in _OF_PIXELS:
            raise InputError(
                f"{place.name}: a diagram is {self.format.value}, not {place.suffix[1:]}.\n  Save it as .svg."
            )
        place.write_text(self.text, encoding="utf-8")
        return place

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Diagram({self.format.value}, {len(self.text)} characters)"

    def _repr_svg_(self) -> str | None:
        return self.text if self.format is Format.SVG else None

    def _repr_html_(self) -> str | None:
        """At its own size, to be scrolled where the page is narrower: letters stay legible."""
        return f'<div style="overflow-x:auto">{self.text}</div>' if self.format is Format.SVG else None

    def _repr_markdown_(self) -> str | None:
        if self.format is Format.SVG:
            return None
        name = "" if self.format is Format.TEXT else self.format.value
        return f"```{name}\n{self.text}```\n"


def draw(tree: PatternTree, form: str = "svg", of: str = "pattern") -> Diagram:
    """Draw a checked pattern."""
    chosen = chosen_format(form)
    subject = _chosen(Subject, of, "of")
    if subject is Subject.AUTOMATON:
        automaton = build(tree, bind(tree, None))
        match chosen:
            case Format.MERMAID:
                return Diagram(of_automaton(automaton).mermaid(), chosen)
            case Format.DOT:
                return Diagram(of_automaton(automaton).dot(), chosen)
            case Format.TEXT:
                return Diagram(f"{automaton}\n", chosen)
        raise InputError(
            'format="svg" draws the pattern only.\n  Give format="mermaid", "dot" or "text" with of="automaton".'
        )
    return drawn(picture(tree), to_text(tree), chosen)


def drawn(shown: Picture, title: str, form: Format) -> Diagram:
    """A picture in one of the formats."""
    match form:
        case Format.SVG:
            return Diagram(to_svg(shown, title=title), form)
        case Format.MERMAID:
            return Diagram(of_picture(shown).mermaid(), form)
        case Format.DOT:
            return Diagram(of_picture(shown).dot(), form)
        case Format.TEXT:
            return Diagram(to_boxes(shown), form)


def chosen_format(form: str) -> Format:
    """The format that a name stands for."""
    return _chosen(Format, form, "format")


def _chosen(kind: type[_Choice], given: str, argument: str) -> _Choice:
    try:
        return kind(given)
    except ValueError:
        names = ", ".join(repr(choice.value) for choice in kind)
        raise InputError(f"{argument}={given!r} is not known.\n  Give one of {names}.") from None
