"""The names in a condition → the components that they mean.

In: a conjunct of WHERE. Out: its references, each with its component and index; or an error that shows the name. Called
by `attaching`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cepheid.conditions.carets import did_you_mean
from cepheid.conditions.source import Range
from cepheid.errors import ConditionError
from cepheid.sase.conjuncts import ColumnRead, Conjunct
from cepheid.sase.query import Component, Index, IndexKind, Query, Where

RUNNING = (IndexKind.CURRENT, IndexKind.BEFORE_CURRENT, IndexKind.ALL_BEFORE_CURRENT)
"""Indices that speak of the event which is being taken."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`x.price`, `x[i-1].price`, `COUNT(x.*)`: something of one component."""

    position: int
    """Which component of SEQ, from 0."""
    index: Index | None
    read: ColumnRead

    @property
    def kind(self) -> IndexKind | None:
        return None if self.index is None else self.index.kind

    @property
    def is_running(self) -> bool:
        return self.kind in RUNNING

    @property
    def is_of_all(self) -> bool:
        """Whether it needs all events of a repeating component: an aggregate over them, or the last of them."""
        return self.kind is IndexKind.LAST or (self.read.aggregate is not None and not self.is_running)


class Names:
    """Looks names up among the components of one query."""

    def __init__(self, query: Query, where: Where) -> None:
        self._query = query
        self._where = where

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {component.name.casefold(): number for number, component in enumerate(self._query.components)}

    def references(self, conjunct: Conjunct) -> list[Reference]:
        """What a conjunct reads, in the order of writing."""
        return [self._reference(read) for read in conjunct.columns]

    def is_component(self, name: str) -> bool:
        return name.casefold() in self._positions

    def error(self, sql_place: Range, problem: str, remedy: str) -> ConditionError:
        """An error at a place of the rewritten SQL, shown where that came from."""
        return self._query.source.condition_error(self._where.sql.original(sql_place), problem, remedy)

    def _reference(self, read: ColumnRead) -> Reference:
        head, *rest = read.parts
        position = self._positions.get(head.casefold())
        known = ", ".join(component.name for component in self._query.components)
        if not rest:
            example = self._query.components[0].name
            if position is not None:
                raise self.error(
                    read.place, f"`{head}` is a component, not a value", f"Name an attribute: {head}.price."
                )
            raise self.error(
                read.place,
                f"`{head}` does not say which event",
                f"Write {example}.{head}; the components are {known}. [{head}] means: equal in all events.",
            )
        if position is None:
            near = did_you_mean(head, [component.name for component in self._query.components])
            hint = "" if near is None else f"{near[0].upper()}{near[1:]} "
            raise self.error(read.place, f"there is no component `{head}`", f"{hint}The components are {known}.")
        index = self._where.indices.get(read.place.start)
        component = self._query.components[position]
        if index is not None:
            self._check_index(component, index, read)
        return Reference(position, index, read)

    def _check_index(self, component: Component, index: Index, read: ColumnRead) -> None:
        if not component.repeats:
            raise self.error(
                read.place,
                f"`{component.name}` does not repeat, so its events are not numbered",
                f"Write {component.name}.{read.parts[1]}, or + after its type.",
            )
        if read.aggregate is not None and index.kind not in (IndexKind.ALL, IndexKind.ALL_BEFORE_CURRENT):
            name, column = component.name, read.parts[1]
            raise self.error(
                read.place,
                f"{read.aggregate} reads many events, and this is one",
                f"Write {name}.{column} for all events, or {name}[..i-1].{column} for those before the current one.",
            )
        if read.aggregate is None and index.kind is IndexKind.ALL_BEFORE_CURRENT:
            name, column = component.name, read.parts[1]
            remedy = f"Write AVG({name}[..i-1].{column}) or another aggregate, or {name}[i-1].{column}."
            raise self.error(read.place, "these are many events: an aggregate is missing", remedy)
