"""SASE text → `Query`: the grammar finds the clauses, this module reads what is in them.

In: text. Out: a `Query`, or an error that shows the place. Called by the room's `read`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from cepheid.conditions import literals
from cepheid.conditions.expression import Literal
from cepheid.conditions.source import Range, Source
from cepheid.conditions.types import STRING
from cepheid.errors import MalformedPatternError
from cepheid.sase.complaints import complaint
from cepheid.sase.predicates import where_of
from cepheid.sase.query import Component, Query, Strategy, Where
from cepheid.sase.words import unquoted
from cepheid.syntax.durations import to_span
from cepheid.syntax.edits import whole_number
from cepheid.syntax.tree import EventCount, Skip, SkipKind, Window

_STRATEGIES = {
    "skip_till_any_match": Strategy.ANY,
    "skip_till_any": Strategy.ANY,
    "skip_till_next_match": Strategy.NEXT,
    "skip_till_next": Strategy.NEXT,
    "strict_contiguity": Strategy.STRICT,
    "partition_contiguity": Strategy.STRICT,
    "strict": Strategy.STRICT,
}


_SKIPS = {
    "PAST_LAST_EVENT": SkipKind.PAST_LAST_EVENT,
    "TO_NEXT": SkipKind.TO_NEXT,
    "TO_FIRST": SkipKind.TO_FIRST,
    "TO_LAST": SkipKind.TO_LAST,
}


_BEGINS = re.compile(
    r"""(?:\s|--[^\n]*\n|/\*.*?\*/)*
        (?:(?:EVENT|PATTERN)\b(?!\s*(?:->|~>|[\[+*?{<]|,|$|(?:within|by|skip|once)\b)) | \w*\s*\bSEQ\s*\()""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


@cache
def _grammar() -> Lark:
    return Lark.open_from_package(
        "cepheid.sase", "grammar.lark", start="query", parser="lalr", propagate_positions=True, maybe_placeholders=False
    )


def is_sase(text: object) -> bool:
    """Whether a text is meant as SASE: it begins with EVENT, which in the printed notation would be a variable's name,
    followed by what may follow one."""
    return isinstance(text, str) and _BEGINS.match(text) is not None


def parse(text: str) -> Query:
    """What the text says."""
    source = Source(text, "SASE text")
    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise complaint(source, error) from None
    return _Parts(source, tree).query()


class _Parts:
    """Reads the clauses of one text."""

    def __init__(self, source: Source, tree: Tree[Token]) -> None:
        self._source = source
        self._clauses = {str(part.data): part for part in tree.children if isinstance(part, Tree)}

    def query(self) -> Query:
        components = tuple(self._components(self._clauses["event"]))
        where, around = self._where(components)
        strategy = self._strategy()
        if around is not None and strategy is not None:
            place = _range(self._clauses["strategy"])
            raise self._source.error(place, "the strategy is given twice", "Keep the one in WHERE, or this one.")
        typed = self._clauses.get("typed")
        return Query(
            self._source,
            components,
            None if typed is None else unquoted(str(_tokens(typed)[-1])),
            where,
            around or strategy or Strategy.ANY,
            self._window(),
            self._skip(components),
        )

    # ── EVENT ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _components(self, event: Tree[Token]) -> Iterator[Component]:
        for part in event.children:
            if isinstance(part, Tree) and part.data == "negation":
                inner = next(child for child in part.children if isinstance(child, Tree))
                yield self._component(inner, _range(part), negated=True)
            elif isinstance(part, Tree):
                yield self._component(part, _range(part), negated=False)

    def _component(self, tree: Tree[Token], place: Range, negated: bool) -> Component:
        kind, *rest = tree.children
        plus = next((part for part in rest if isinstance(part, Token) and part.type == "PLUS"), None)
        name = next((part for part in rest if isinstance(part, Token) and part.type == "WORD"), None)
        brackets = next((part for part in rest if isinstance(part, Tree)), None)
        if brackets is not None and plus is None:
            raise self._source.error(
                _range(brackets),
                "`[]` belongs to a component that repeats",
                "Write + after its type, or leave [] out.",
            )
        if negated and plus is not None:
            raise self._source.error(
                _range(plus), "a negated component does not repeat: one such event is already too many", "Leave + out."
            )
        if name is None and not (isinstance(kind, Token) and kind.type == "WORD"):
            raise self._source.error(
                _range(kind), "this component has no name", f"Write one after it: {self._source.of(_range(kind))} x."
            )
        # A component without a name is called by its type, as the papers do: SEQ(A, B) has a and b.
        called = unquoted(str(name)) if name is not None else unquoted(str(kind)).lower()
        name_place = _range(name if name is not None else kind)
        return Component(called, self._types(kind), negated, plus is not None, place, name_place)

    def _types(self, kind: Token | Tree[Token]) -> tuple[str, ...] | None:
        if isinstance(kind, Token):
            return (self._type(kind),)
        choices = [part for part in kind.children if isinstance(part, Token) and part.type in _TYPE_TOKENS]
        return tuple(map(self._type, choices)) if choices else None

    def _type(self, token: Token) -> str:
        """A type as an SQL literal."""
        if token.type == "WORD":
            return str(Literal(unquoted(str(token)), type=STRING))
        if token.type == "STRING":
            try:
                return str(Literal(literals.string(str(token)), type=STRING))
            except ValueError as error:
                raise self._source.error(_range(token), str(error), "Correct the text.") from None
        return str(token)

    # ── the other clauses ────────────────────────────────────────────────────────────────────────────────────────

    def _where(self, components: tuple[Component, ...]) -> tuple[Where | None, Strategy | None]:
        clause = self._clauses.get("where")
        if clause is None:
            return None, None
        body = next(part for part in clause.children if isinstance(part, Tree) and part.data == "body")
        around = next((part for part in clause.children if isinstance(part, Tree) and part.data == "around"), None)
        strategy = None
        if around is not None:
            strategy = self._strategy_named(_tokens(around)[0])
            self._check_covered(around, components)
        return where_of(self._source, _tokens(body)), strategy

    def _check_covered(self, around: Tree[Token], components: tuple[Component, ...]) -> None:
        """The components that `strategy(a, b[]) { … }` names must be those of SEQ that take events."""
        wanted = {component.name.casefold(): component.name for component in components if not component.negated}
        named: set[str] = set()
        for part in around.children:
            if isinstance(part, Tree):
                name = unquoted(str(_tokens(part)[0]))
                if name.casefold() not in wanted:
                    remedy = f"Name those of SEQ that take events: {', '.join(wanted.values())}."
                    raise self._source.error(_range(part), f"`{name}` is not a component that takes events", remedy)
                named.add(name.casefold())
        missing = [name for folded, name in wanted.items() if folded not in named]
        if missing:
            raise self._source.error(
                _range(around),
                f"the strategy does not cover {', '.join(f'`{name}`' for name in missing)}",
                "One strategy holds for the whole pattern: name all components that take events.",
            )

    def _strategy(self) -> Strategy | None:
        clause = self._clauses.get("strategy")
        return None if clause is None else self._strategy_named(_tokens(clause)[-1])

    def _strategy_named(self, token: Token) -> Strategy:
        name = str(token).lower().replace("-", "_")
        if name in _STRATEGIES:
            return _STRATEGIES[name]
        near = get_close_matches(name, _STRATEGIES, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise self._source.error(
            _range(token),
            f"`{token}` is not a strategy",
            f"{hint}There are skip_till_any_match (the default), skip_till_next_match and strict.",
        )

    def _skip(self, components: tuple[Component, ...]) -> Skip:
        clause = self._clauses.get("skip")
        if clause is None:
            return Skip(SkipKind.NO_SKIP)
        _, kind, *rest = _tokens(clause)
        if not rest:
            return Skip(_SKIPS[kind.type])
        name = unquoted(str(rest[0]))
        takers = {component.name.casefold(): component.name for component in components if not component.negated}
        if name.casefold() not in takers:
            raise self._source.error(
                _range(rest[0]),
                f"`{name}` is not a component that takes events",
                f"Skip to one of: {', '.join(takers.values())}.",
            )
        return Skip(_SKIPS[kind.type], takers[name.casefold()], or_fail=len(rest) > 1)

    def _window(self) -> Window | None:
        clause = self._clauses.get("within")
        if clause is None:
            return None
        _, number, *rest = _tokens(clause)
        place = Range(_range(number).start, _range(clause).end)
        text = self._source.of(place)
        try:
            if not rest:
                return to_span(int(number) if number.isdecimal() else float(number), "WITHIN")
            if len(rest) == 1 and re.fullmatch("events?", rest[0], re.IGNORECASE):
                if not number.isdecimal():
                    raise self._source.error(
                        _range(number), f"{number} is not a number of events", "Give a whole number."
                    )
                return EventCount(whole_number(int(number), "WITHIN", "WITHIN"))
            return to_span(text, "WITHIN")
        except MalformedPatternError as error:
            if error.element != "WITHIN":
                raise
            remedy = (
                "Write a number and a unit, such as 12 hours, 1 day 2 hours, 500 ms or 20 events; or a plain number."
            )
            raise self._source.error(place, error.problem, remedy) from None


_TYPE_TOKENS = ("WORD", "STRING", "NUMBER")


def _tokens(tree: Tree[Token]) -> list[Token]:
    """Every token below, in the order of the text."""
    return sorted(tree.scan_values(lambda value: isinstance(value, Token)), key=lambda token: token.start_pos or 0)


def _range(part: Token | Tree[Token]) -> Range:
    if isinstance(part, Token):
        return Range(part.start_pos or 0, part.end_pos or 0)
    return Range(part.meta.start_pos, part.meta.end_pos)
