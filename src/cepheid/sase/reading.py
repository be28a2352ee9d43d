"""SASE text → pattern tree.

In: text and the column that holds the types of events. Out: a checked tree, or an error that shows the place in the
text. Called by the face.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from cepheid.conditions import bind, parse
from cepheid.conditions.source import Range
from cepheid.errors import ConditionError, MalformedPatternError
from cepheid.sase.attaching import Attached, attach
from cepheid.sase.parsing import parse as parse_query
from cepheid.sase.query import Component, Query, Strategy
from cepheid.sase.rewriting import Rewriting
from cepheid.sase.words import column
from cepheid.syntax.combining import conjunction
from cepheid.syntax.tree import (
    Condition,
    Contiguity,
    Element,
    Link,
    Loop,
    Not,
    NotBefore,
    NotLink,
    PatternTree,
    Sequence,
    SqlText,
    Variable,
)
from cepheid.syntax.validation import check

DEFAULT_TYPE_COLUMN = "type"
"""The column that holds the types where nothing names another."""

LINKS = {Strategy.ANY: Link.FOLLOWED_BY_ANY, Strategy.NEXT: Link.FOLLOWED_BY, Strategy.STRICT: Link.NEXT}
INNER = {
    Strategy.ANY: Contiguity.NON_DETERMINISTIC,
    Strategy.NEXT: Contiguity.RELAXED,
    Strategy.STRICT: Contiguity.STRICT,
}


def read(text: str, type_column: str | None = None) -> PatternTree:
    """The pattern that a SASE text says.

    `type_column` is the column that holds the types; the text may name it as well (TYPED BY), and if neither does, it
    is `type`.
    """
    if not isinstance(text, str):
        raise MalformedPatternError("SASE text", f"{text!r} is not text", "Give text: EVENT SEQ(…) WHERE … WITHIN ….")
    try:
        return _Reading(parse_query(text), type_column).tree()
    except RecursionError:
        raise MalformedPatternError(
            "SASE text", "the conditions are nested too deeply", "Join them with AND, without parentheses."
        ) from None


@dataclass(slots=True)
class _Reading:
    """Turns one query into a tree."""

    query: Query
    type_column: str | None

    def tree(self) -> PatternTree:
        self._check_components()
        attached = self._attached()
        tree = PatternTree(
            body=Sequence(tuple(self._elements(attached))),
            skip=self.query.skip,
            window=self.query.window,
            not_before=tuple(
                NotBefore(component.name, self._condition(position, attached))
                for position, component in enumerate(self.query.components[: self._first])
            ),
            partition_by=self._key(),
        )
        self._check(tree, attached)
        return tree

    @property
    def _first(self) -> int:
        """The position of the first component that takes events."""
        return next(n for n, component in enumerate(self.query.components) if not component.negated)

    def _check_components(self) -> None:
        source, taken = self.query.source, dict[str, Component]()
        for component in self.query.components:
            if component.name.casefold() in taken:
                raise source.error(
                    component.name_place,
                    f"the name `{component.name}` is already taken",
                    "Give every component its own name; upper and lower case are the same.",
                )
            taken[component.name.casefold()] = component
        first, last = self.query.components[0], self.query.components[-1]
        if all(component.negated for component in self.query.components):
            whole = Range(first.place.start, last.place.end)
            raise source.error(whole, "every component is negated", "At least one must take an event.")
        for component, where in ((last, "end"), (first, "start")):
            if component.negated and self.query.window is None:
                raise source.error(
                    component.place,
                    f"a negated component at the {where} needs a window: nothing says how far it looks",
                    "Add WITHIN, such as WITHIN 12 hours or WITHIN 20 events.",
                )

    def _attached(self) -> list[Attached]:
        try:
            return attach(self.query)
        except ConditionError as error:
            where = self.query.where
            if where is not None and error.marked is not None and error.marked.text == where.sql.text:
                raise self._anchored(error, where.sql) from None
            raise

    def _check(self, tree: PatternTree, attached: list[Attached]) -> None:
        """The checks of the rooms below, whose errors are shown in the user's text."""
        texts = {condition.text.text: condition.text for condition in attached}
        try:
            for text in texts:
                parse(text)
            check(tree)
            bind(tree, None)
        except ConditionError as error:
            if error.marked is not None and error.marked.text in texts:
                raise self._anchored(error, texts[error.marked.text]) from None
            raise
        except MalformedPatternError as error:
            named = (c for c in self.query.components if repr(c.name) in error.element)
            component = next(named, None)
            if component is None:
                raise
            raise self.query.source.error(component.place, error.problem, error.remedy) from None

    def _anchored(self, error: ConditionError, text: Rewriting) -> ConditionError:
        assert error.marked is not None
        place = text.original(Range(error.marked.start, error.marked.end))
        remedy = f"{error.remedy[0].upper()}{error.remedy[1:]}"
        remedy = remedy if remedy.endswith((".", "?")) else f"{remedy}."
        # A misspelt WITHIN is read as a part of the conditions before it.
        near = get_close_matches(self.query.source.of(place).upper(), ("WITHIN", "STRATEGY", "AND"), n=1, cutoff=0.7)
        if near and near[0] != self.query.source.of(place).upper():
            remedy = f"Did you mean {near[0]}? {remedy}"
        return self.query.source.condition_error(place, error.marked.problem, remedy)

    # ── elements ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _elements(self, attached: list[Attached]) -> Iterator[Element | Not]:
        components, strategy = self.query.components, self.query.strategy
        for position in range(self._first, len(components)):
            component = components[position]
            condition = self._condition(position, attached)
            if component.negated:
                yield Not(NotLink.NOT_FOLLOWED_BY, component.name, condition)
                continue
            link = Link.BEGIN if position == self._first else LINKS[strategy]
            loop = Loop(1, None, INNER[strategy]) if component.repeats else None
            yield Element(link, Variable(component.name, condition), loop)
            more = any(not later.negated for later in components[position + 1 :])
            if component.repeats and strategy is Strategy.NEXT and more:
                yield Not(NotLink.NOT_FOLLOWED_BY, self._passed_over(component), condition)

    def _passed_over(self, component: Component) -> str:
        """The name of the negation after a repeating component under skip till next match.

        There the component takes every event that it can, unless the next component takes it: no such event is passed
        over on the way to that.
        """
        names = {component.name.casefold() for component in self.query.components}
        name = f"{component.name}_passed_over"
        while name.casefold() in names:
            name += "_"
        return name

    def _condition(self, position: int, attached: list[Attached]) -> Condition | None:
        component = self.query.components[position]
        parts = [] if component.types is None else [type_condition(self._type_column(), component.types)]
        # NULL keys never match: SQL's equality is unknown for NULL.
        parts += [f"{column(name)} IS NOT NULL" for name in self._key()]
        parts += [condition.text.text for condition in attached if condition.position == position]
        return conjunction(map(SqlText, parts)) if parts else None

    def _key(self) -> tuple[str, ...]:
        where = self.query.where
        columns: dict[str, str] = {}
        for equivalence in where.equivalences.values() if where is not None else ():
            for name in equivalence.columns:
                columns.setdefault(name.casefold(), name)
        return tuple(columns.values())

    def _type_column(self) -> str:
        given, written = self.type_column, self.query.type_column
        if given is not None and (not isinstance(given, str) or not given):
            raise MalformedPatternError(
                "type_column", f"{given!r} is not a column", 'Give a name: type_column="reader".'
            )
        if given is not None and written is not None and given.casefold() != written.casefold():
            raise MalformedPatternError(
                "type_column",
                f"it is {given!r}, but the text is TYPED BY {written}",
                "Leave one of the two out.",
            )
        return given or written or DEFAULT_TYPE_COLUMN


def type_condition(type_column: str, types: tuple[str, ...]) -> str:
    """The condition that an event is of one of the types, which are SQL literals."""
    name = column(type_column)
    return f"{name} = {types[0]}" if len(types) == 1 else f"{name} IN ({', '.join(types)})"
