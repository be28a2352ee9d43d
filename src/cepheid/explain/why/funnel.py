"""The funnel: how many rows fit each element, how many runs got there, and what ended the others.

In: an `Account` and the pattern. Out: a `Funnel`: rows for people and programs, bars as SVG, and the diagram of the
pattern with the counts on its cards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any

from cepheid.explain.diagram.formats import Diagram, Format
from cepheid.explain.diagram.lettering import sans_width
from cepheid.explain.diagram.palette import SANS, in_both, scoped
from cepheid.explain.diagram.picture import Card, Frame, Picture, Step, picture
from cepheid.explain.diagram.svg_drawing import to_svg
from cepheid.explain.results import to_html, to_text
from cepheid.explain.why.document import COLUMNS, head, table_rows
from cepheid.explain.why.model import Account, ElementCount, Role
from cepheid.syntax.tree import PatternTree

_SCOPE = ".cepheid-funnel"
_RULES = (
    ".back{fill:$background$}text{fill:$ink$}.count{fill:$muted$}.lost{fill:$not$}"
    "rect.fits{fill:$faint$}rect.waited{fill:$pill$}rect.took{fill:$accent$}text.inside.took{fill:$background$}"
)
_PLAIN = (
    f"text{{font-family:{SANS};font-size:12px}}.name{{font-size:14px;font-weight:600}}"
    ".count,.lost,.inside{font-size:11px}"
)
_WIDE, _BAR, _LEFT, _LONG = 640.0, 13.0, 16.0, 200.0


class Funnel:
    """Where rows and runs are lost. Print it for the table; a notebook displays the picture."""

    def __init__(self, account: Account, tree: PatternTree) -> None:
        self._account = account
        self._tree = tree

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each element: `element`, `fits`, `waited`, `took` and `ended` by cause."""
        return [
            {
                "element": one.name,
                "role": one.role.value,
                "fits": one.fits,
                "waited": one.waited,
                "took": one.took,
                "ended": {fate.value: count for fate, count in one.ended.items()},
            }
            for one in self._account.elements
        ]

    @property
    def svg(self) -> str:
        """The bars."""
        return _bars(self._account)

    def diagram(self) -> Diagram:
        """The diagram of the pattern with the counts on its cards."""
        return Diagram(to_svg(counted(picture(self._tree), self._account), title=self._account.pattern), Format.SVG)

    def __str__(self) -> str:
        return f"{head(self._account)}\n{to_text(COLUMNS, table_rows(self._account), whole=True)}"

    def __repr__(self) -> str:
        return f"Funnel({len(self._account.elements)} elements)"

    def _repr_html_(self) -> str:
        table = to_html(COLUMNS, table_rows(self._account), head(self._account))
        return f'<div style="overflow-x:auto">{self.svg}</div>{table}'


def counted(shown: Picture, account: Account) -> Picture:
    """The picture with the counts of rows and runs on its cards."""
    elements = {one.name: one for one in account.elements if one.role is not Role.UNTIL}

    def step(one: Step) -> Step:
        if isinstance(one.shape, Frame):
            return replace(one, shape=replace(one.shape, steps=tuple(map(step, one.shape.steps))))
        return replace(one, shape=card(one.shape))

    def card(one: Card) -> Card:
        return replace(one, notes=(*one.notes, *_notes(elements[one.name])))

    return replace(shown, before=tuple(map(card, shown.before)), steps=tuple(map(step, shown.steps)))


def _notes(element: ElementCount) -> Iterator[str]:
    yield f"{element.fits:,} rows fit"
    if element.role is Role.ELEMENT:
        yield f"{element.took:,} of {element.waited:,} took"
    lost = sum(element.ended.values())
    if lost:
        yield f"{lost:,} ended here" if element.role is Role.ELEMENT else f"ended {lost:,}"


def _bars(account: Account) -> str:
    """For each element three bars: the rows that fit, the runs that waited, the runs that took."""
    elements = account.elements
    most = max((max(one.fits, one.waited, one.took) for one in elements), default=0) or 1
    parts: list[str] = []
    right = _WIDE + 2 * _LEFT
    first = next((place for place, one in enumerate(elements) if one.role is Role.ELEMENT), 0)
    y = 14.0
    for place, one in enumerate(elements):
        name = one.name if one.role is Role.ELEMENT else f"{one.role.value} {one.name}"
        parts.append(f'<text class="name" x="{_LEFT:g}" y="{y + 8:g}">{escape(name)}</text>')
        ended = ", ".join(f"{fate.value} {count:,}" for fate, count in one.ended.items())
        if ended:
            x = _LEFT + sans_width(name, 14.0, True) + 14
            parts.append(f'<text class="lost" x="{x:.0f}" y="{y + 8:g}">{escape(f"ended: {ended}")}</text>')
            right = max(right, x + sans_width(f"ended: {ended}", 11.0) + _LEFT)
        for line, (kind, label, count) in enumerate(_counts(one, is_first=place == first)):
            top = y + 16 + line * (_BAR + 4)
            width = max(1.0 if count else 0.0, (_WIDE - 200) * count / most)
            # Inside a long bar, so that a narrow page shows the count without scrolling.
            is_inside = width > _LONG
            x, words = (_LEFT + 6, f"inside {kind}") if is_inside else (_LEFT + width + 6, "count")
            parts.append(
                f'<rect class="{kind}" x="{_LEFT:g}" y="{top:g}" width="{width:.1f}" height="{_BAR:g}" rx="3"/>'
                f'<text class="{words}" x="{x:.1f}" y="{top + 10:g}">{count:,} {label}</text>'
            )
        y += 30 + (line + 1) * (_BAR + 4)
    style = scoped(_PLAIN, _SCOPE) + in_both(_RULES, _SCOPE)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cepheid-funnel" role="img" width="{right:.0f}" '
        f'height="{y:.0f}" viewBox="0 0 {right:.0f} {y:.0f}"><title>{escape(head(account))}</title>'
        f'<style>{style}</style><rect class="back" width="{right:.0f}" height="{y:.0f}" rx="8"/>'
        f"{''.join(parts)}</svg>"
    )


def _counts(one: ElementCount, is_first: bool) -> Iterator[tuple[str, str, int]]:
    yield "fits", "rows fit", one.fits
    if one.role is Role.ELEMENT:
        yield "waited", "rows could start a run" if is_first else "runs waited for it", one.waited
        yield "took", "runs started" if is_first else "runs took it", one.took
