"""The conjuncts of WHERE → conditions of the components that they are asked of.

A conjunct belongs to the last component that it mentions: when that one's event comes, all that it reads is known. One
that mentions a negated component belongs to that. One that needs all events of a repeating component belongs to the
component that follows it. In: a `Query`. Out: SQL conditions as the rooms below know them, where the component's own
columns have no prefix. Called by `reading`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from cepheid.conditions import parse
from cepheid.conditions.expression import Operation, Operator
from cepheid.conditions.source import Range
from cepheid.sase.conjuncts import Conjunct, split
from cepheid.sase.query import Component, IndexKind, Query, Where
from cepheid.sase.references import Names, Reference
from cepheid.sase.rewriting import Rewriting
from cepheid.sase.words import column

_OF_NONE_UNKNOWN = ("AVG", "MIN", "MAX", "FIRST", "LAST")
"""Aggregates that have no value over no events (rule 11)."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A condition of one component; its text leads back to the user's."""

    position: int
    text: Rewriting


def attach(query: Query) -> list[Attached]:
    """The conditions of all components, in the order of writing. Equivalences are not among them."""
    return [] if query.where is None else _Attaching(query, query.where).all()


class _Attaching:
    """Works on one WHERE."""

    def __init__(self, query: Query, where: Where) -> None:
        self._query = query
        self._where = where
        self._components = query.components
        self._names = Names(query, where)

    def all(self) -> list[Attached]:
        attached = []
        for conjunct in split(self._where.sql.text):
            if conjunct.place.start in self._where.equivalences and conjunct.place.end == conjunct.place.start + 4:
                continue
            self._refuse_equivalence_inside(conjunct)
            references = self._names.references(conjunct)
            position = self._position(conjunct, references)
            attached.append(Attached(position, self._text(conjunct, references, position)))
        return attached

    def _refuse_equivalence_inside(self, conjunct: Conjunct) -> None:
        for start in self._where.equivalences:
            if conjunct.place.start <= start < conjunct.place.end:
                raise self._names.error(
                    Range(start, start + 4),
                    "an equivalence holds for the whole pattern: it cannot be part of another condition",
                    "Join it to the other conditions with AND.",
                )

    # ── which component ──────────────────────────────────────────────────────────────────────────────────────────

    def _position(self, conjunct: Conjunct, references: list[Reference]) -> int:
        negated = sorted({r.position for r in references if self._components[r.position].negated})
        if len(negated) > 1:
            first, second = (self._components[position].name for position in negated[:2])
            raise self._names.error(
                conjunct.place,
                f"this condition is about two negated components, `{first}` and `{second}`",
                "They are two negations: write one condition for each.",
            )
        if negated:
            self._check_negated(conjunct, references, negated[0])
            return negated[0]
        if not references:
            return next(n for n, component in enumerate(self._components) if not component.negated)
        last = max(reference.position for reference in references)
        own = [reference for reference in references if reference.position == last]
        if not self._components[last].repeats:
            return last
        return self._position_behind(last, own) if any(r.is_of_all for r in own) and not _running(own) else last

    def _position_behind(self, last: int, own: list[Reference]) -> int:
        """The component after a repeating one, for a condition on all of its events."""
        name = self._components[last].name
        of_all = next(reference for reference in own if reference.is_of_all)
        of_one = next((reference for reference in own if not reference.is_of_all), None)
        if of_one is not None:
            written = ".".join(of_one.read.parts[1:])
            raise self._names.error(
                of_one.read.place,
                f"this reads one event of `{name}`, and another part of the condition reads all",
                f"Write {name}[i].{written} for the current event; aggregates then cover those before it.",
            )
        behind = (n for n in range(last + 1, len(self._components)) if not self._components[n].negated)
        position = next(behind, None)
        if position is None:
            shown = ".".join(of_all.read.parts[1:])
            raise self._names.error(
                of_all.read.place,
                f"this needs all events of `{name}`, but no later component says when they are complete",
                f"Read those before the current event, such as SUM({name}[..i-1].{shown}), or add a later component.",
            )
        return position

    def _check_negated(self, conjunct: Conjunct, references: list[Reference], position: int) -> None:
        if not any(not component.negated for component in self._components[:position]):
            return  # a negation at the start is decided when the match is complete: it can read everything
        later = next((r for r in references if r.position > position), None)
        if later is None:
            return
        negated, read = self._components[position].name, self._components[later.position].name
        earlier = ", ".join(c.name for c in self._components[:position] if not c.negated)
        meaning = parse(self._where.sql.text[conjunct.place.start : conjunct.place.end])
        is_equality = isinstance(meaning, Operation) and meaning.operator is Operator.EQUAL
        same = is_equality and len({reference.read.parts[1:] for reference in references}) == 1
        attribute = ".".join(later.read.parts[1:])
        raise self._names.error(
            later.read.place,
            f"`{read}` comes after `{negated}`, and a negated component is decided when its event comes",
            f"Write [{attribute}] if it is equal in all events; otherwise compare with what comes before: {earlier}."
            if same
            else f"Compare with what comes before it: {earlier}.",
        )

    # ── its text ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _text(self, conjunct: Conjunct, references: list[Reference], position: int) -> Rewriting:
        component = self._components[position]
        own = [reference for reference in references if reference.position == position]
        numbered = [r.index.number for r in own if r.index is not None and r.kind is IndexKind.NUMBERED]
        # x[1] and x[2] without a word of x[i]: the condition is asked once, of the event with the larger number.
        of_event = max(numbered) if numbered and all(r.kind is IndexKind.NUMBERED for r in own) else None
        replaced = {r.read.place.start: self._written(r, component, position, of_event) for r in references}
        text = Rewriting()
        exempt = "" if of_event is None else f"COUNT({column(component.name)}.*) <> {of_event - 1} OR "
        if of_event is None and component.repeats:
            needed = max((_needed(reference) for reference in own), default=0)
            exempt = f"COUNT({column(component.name)}.*) < {needed} OR " if needed else ""
        whole = self._where.sql.original(conjunct.place)
        if exempt:
            text.add(f"{exempt}(", whole, verbatim=False)
        self._copy(text, conjunct, references, replaced)
        if exempt:
            text.add(")", whole, verbatim=False)
        return text

    def _copy(self, text: Rewriting, conjunct: Conjunct, references: list[Reference], replaced: dict[int, str]) -> None:
        position = conjunct.place.start
        for place in (reference.read.place for reference in references):
            self._verbatim(text, Range(position, place.start))
            text.add(replaced[place.start], self._where.sql.original(place), verbatim=False)
            position = place.end
        self._verbatim(text, Range(position, conjunct.place.end))

    def _verbatim(self, text: Rewriting, place: Range) -> None:
        sql = self._where.sql
        for piece in re.finditer(r"\w+|\W", sql.text[place.start : place.end]):
            origin = sql.original(Range(place.start + piece.start(), place.start + piece.end()))
            text.add(piece[0], origin, verbatim=self._query.source.of(origin) == piece[0])

    def _written(self, reference: Reference, asked: Component, position: int, of_event: int | None) -> str:
        """A reference as the condition of the component `asked` says it."""
        component, parts = self._components[reference.position], reference.read.parts
        path = ".".join(part if part == "*" else column(part) for part in parts[1:])
        qualified = f"{column(component.name)}.{path}"
        if reference.position != position:
            if reference.is_running:
                self._refuse_running(reference, component, asked)
            if reference.index is not None and reference.kind is IndexKind.NUMBERED:
                return _offset("FIRST", qualified, reference.index.number - 1)
            return qualified
        if reference.read.aggregate is not None:
            return qualified
        if reference.kind is IndexKind.LAST:
            raise self._names.error(
                reference.read.place,
                f"whether this is the last event of `{component.name}` is not known when it comes",
                f"Write {component.name}[i].{path} for the current event.",
            )
        if reference.index is not None and reference.kind is IndexKind.BEFORE_CURRENT:
            return _offset("LAST", qualified, reference.index.number - 1)
        if reference.index is not None and reference.kind is IndexKind.NUMBERED and reference.index.number != of_event:
            return _offset("FIRST", qualified, reference.index.number - 1)
        if len(parts) > 2 and self._names.is_component(parts[1]):
            raise self._names.error(
                reference.read.place,
                f"`{parts[1]}` is a component as well as a field of `{component.name}`",
                "Give the component another name.",
            )
        return path

    def _refuse_running(self, reference: Reference, component: Component, asked: Component) -> NoReturn:
        name, attribute = component.name, ".".join(reference.read.parts[1:])
        when = "is decided" if asked.negated else "takes its event"
        raise self._names.error(
            reference.read.place,
            f"when `{asked.name}` {when}, no event of `{name}` is the current one",
            f"Write {name}[{name}.LEN].{attribute} for the last one, {name}[1].{attribute} for the first, "
            f"or an aggregate such as AVG({name}.{attribute}).",
        )


def _running(own: list[Reference]) -> bool:
    return any(reference.is_running for reference in own)


def _needed(reference: Reference) -> int:
    """How many events must come before the current one for the reference to have a value."""
    if reference.index is None:
        return 0
    if reference.kind is IndexKind.ALL_BEFORE_CURRENT:
        return 1 if reference.read.aggregate in _OF_NONE_UNKNOWN else 0
    return reference.index.number


def _offset(function: str, argument: str, places: int) -> str:
    return f"{function}({argument}, {places})" if places else f"{function}({argument})"
