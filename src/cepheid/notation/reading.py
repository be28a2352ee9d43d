"""The printed notation → pattern tree.

In: text. Out: a checked tree, or an error that shows the place in the text. Called by the face. There is one method
for each rule of the grammar; what an element has in `< >` is read by a table, so that more can be added.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from cepheid.conditions import bind
from cepheid.conditions.source import Range, Source
from cepheid.errors import ConditionError, MalformedPatternError
from cepheid.notation.complaints import complaint
from cepheid.notation.conditions import Conditions
from cepheid.syntax.durations import to_span
from cepheid.syntax.parameters import parameters
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Fold,
    Gaps,
    Link,
    Loop,
    Not,
    NotBefore,
    NotLink,
    OneOf,
    ParameterValue,
    PatternTree,
    Sequence,
    Since,
    Skip,
    SkipKind,
    Span,
    Variable,
    Window,
)
from cepheid.syntax.validation import check

CALLED = "pattern text"
_LINKS = {"->": Link.NEXT, "~>": Link.FOLLOWED_BY, "~>>": Link.FOLLOWED_BY_ANY}
_NOT_LINKS = {"->": NotLink.NOT_NEXT, "~>": NotLink.NOT_FOLLOWED_BY}
_SKIPS = {
    "PAST_LAST_EVENT": SkipKind.PAST_LAST_EVENT,
    "TO_NEXT": SkipKind.TO_NEXT,
    "TO_FIRST": SkipKind.TO_FIRST,
    "TO_LAST": SkipKind.TO_LAST,
}
_DEEPEST = 100
"""Groups in groups; beyond this Python's own stack would end."""


@cache
def _grammar() -> Lark:
    return Lark.open_from_package(
        "cepheid.notation",
        "grammar.lark",
        start="pattern",
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
    )


def read(text: str) -> PatternTree:
    """The pattern that a text says."""
    if not isinstance(text, str):
        raise MalformedPatternError(CALLED, f"{text!r} is not text", "Give text: a[x = 1] ~> b within 5 minutes.")
    source = Source(text, CALLED)
    try:
        return _Reading(source).tree(_grammar().parse(text))
    except UnexpectedInput as error:
        raise complaint(source, error) from None
    except RecursionError:
        raise MalformedPatternError(CALLED, "the text is nested too deeply", "Write it with fewer groups.") from None


class _Reading:
    """Turns one syntax tree into a pattern tree."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._conditions = Conditions(source)
        self._places: dict[str, Range] = {}
        """Where each name is given."""

    def tree(self, pattern: Tree[Token]) -> PatternTree:
        befores = [part for part in _trees(pattern, "befores") for part in _trees(part, "negated")]
        clauses = self._clauses(pattern)
        tree = PatternTree(
            body=self._sequence(_trees(pattern, "sequence")[0]),
            skip=self._skip(clauses.get("skip")),
            window=self._window(clauses.get("within")),
            not_before=tuple(self._not_before(before) for before in befores),
            partition_by=tuple(map(_name, _tokens(clauses["by"], "NAME"))) if "by" in clauses else (),
            once_per=self._span(_trees(clauses["once_per"], "span")[0]) if "once_per" in clauses else None,
            parameters=self._parameters(clauses.get("with_values")),
        )
        self._check(tree)
        return tree

    def _check(self, tree: PatternTree) -> None:
        """The checks of the rooms below, whose errors are shown in the text."""
        try:
            check(tree)
            bind(tree, None)
        except ConditionError as error:
            raise self._conditions.anchored(error) from None
        except MalformedPatternError as error:
            place = next((place for name, place in self._places.items() if repr(name) in error.element), None)
            if place is None:
                raise
            raise self._source.error(place, error.problem, error.remedy) from None

    # ── elements ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _sequence(self, sequence: Tree[Token], depth: int = 0) -> Sequence:
        if depth > _DEEPEST:
            raise self._too_deep(sequence)
        elements: list[Element | Not] = []
        for part in _trees(sequence):
            if part.data == "element":
                elements.append(self._element(part, Link.BEGIN, depth))
                continue
            sign = _tokens(_trees(part, "link")[0])[0]
            if part.data == "following":
                elements.append(self._element(_trees(part, "element")[0], _LINKS[str(sign)], depth))
            elif str(sign) in _NOT_LINKS:
                elements.append(self._not(_trees(part, "negated")[0], _NOT_LINKS[str(sign)]))
            else:
                raise self._source.error(
                    _range(sign), "`~>>` leads to an event, not to a negation", "Write ~> ! or -> !."
                )
        return Sequence(tuple(elements))

    def _element(self, element: Tree[Token], link: Link, depth: int) -> Element:
        atom, *rest = _trees(element)
        result = Element(link, self._variable(atom) if atom.data == "variable" else self._group(atom, depth + 1))
        for part in rest:
            result = self._quantified(part, result) if part.data == "quantifier" else self._with_extras(part, result)
        return result

    def _group(self, group: Tree[Token], depth: int) -> Body:
        [inner] = _trees(group)
        if inner.data == "sequence":
            return self._sequence(inner, depth)
        if depth > _DEEPEST:
            raise self._too_deep(inner)
        members = tuple(self._element(member, Link.BEGIN, depth) for member in _trees(inner, "element"))
        return OneOf(members) if inner.data == "one_of" else AllOfMembers(members, at_least=len(members))

    def _variable(self, variable: Tree[Token]) -> Variable:
        return Variable(self._named(variable), self._condition(variable))

    def _not(self, negated: Tree[Token], link: NotLink) -> Not:
        result = Not(link, self._named(negated), self._condition(negated))
        for extra in (extra for extras in _trees(negated, "extras") for extra in _trees(extras)):
            if extra.data != "since_previous":
                raise self._source.error(
                    _range(extra), "a negation has no such part", "It may have: within … since previous."
                )
            result = replace(result, within_previous=self._span(_trees(extra, "span")[0]))
        return result

    def _not_before(self, negated: Tree[Token]) -> NotBefore:
        for extras in _trees(negated, "extras"):
            raise self._source.error(_range(extras), "a negation at the start has no such part", "Leave it out.")
        return NotBefore(self._named(negated), self._condition(negated))

    def _named(self, part: Tree[Token]) -> str:
        token = _tokens(part, "NAME")[0]
        self._places[_name(token)] = _range(token)  # of a name that is given twice, the second place
        return _name(token)

    def _too_deep(self, part: Tree[Token]) -> MalformedPatternError:
        return self._source.error(_range(part), "groups are nested too deeply", "Write fewer groups in groups.")

    def _condition(self, part: Tree[Token]) -> Condition | None:
        found = _trees(part, "condition")
        return self._conditions.read(_within_brackets(found[0])) if found else None

    # ── quantifiers and what is in < > ───────────────────────────────────────────────────────────────────────

    def _quantified(self, quantifier: Tree[Token], element: Element) -> Element:
        signs = {token.type for token in _tokens(quantifier)}
        times = _trees(quantifier, "times")
        loop = None
        if times:
            counts = [self._count(token) for token in _tokens(times[0], "COUNT")]
            unbounded = len(counts) == 1 and bool(_tokens(times[0], "COMMA"))
            loop = Loop(counts[0], None if unbounded else counts[-1])
        elif signs & {"PLUS", "STAR"}:
            loop = Loop(1, None)
        if loop is not None and loop.minimum == 0:
            raise self._source.error(
                _range(quantifier), "a quantifier counts from 1", "Write * or ? for what may be missing: a{1,3}?."
            )
        return replace(element, loop=loop, optional=bool(signs & {"STAR", "QUESTION"}))

    def _with_extras(self, extras: Tree[Token], element: Element) -> Element:
        seen: set[str] = set()
        for extra in _trees(extras):
            kind = str(extra.data)
            if kind in seen and kind != "fold":
                raise self._source.error(_range(extra), "this is said twice", "Leave one of the two out.")
            seen.add(kind)
            element = self._extras[kind](self, extra, element)
        return element

    def _inner(self, extra: Tree[Token], element: Element) -> Element:
        inner = Contiguity.STRICT if extra.data == "consecutive" else Contiguity.NON_DETERMINISTIC
        if not isinstance(element.body, AllOfMembers) and element.loop is None:
            raise self._no_loop(extra)
        if isinstance(element.body, AllOfMembers):
            element = replace(element, body=replace(element.body, inner=inner))
        return element if element.loop is None else replace(element, loop=replace(element.loop, inner=inner))

    def _at_least(self, extra: Tree[Token], element: Element) -> Element:
        if not isinstance(element.body, AllOfMembers):
            raise self._source.error(_range(extra), "`at least` belongs to all of: (a & b & c)", "Leave it out.")
        return replace(element, body=replace(element.body, at_least=self._count(_tokens(extra, "COUNT")[0])))

    def _having(self, extra: Tree[Token], element: Element) -> Element:
        return replace(element, having=self._condition(extra))

    def _no_loop(self, extra: Tree[Token]) -> MalformedPatternError:
        return self._source.error(
            _range(extra), "this belongs to an element that repeats", "Write + or {n} after the element."
        )

    def _loop_extra(self, extra: Tree[Token], element: Element) -> Element:
        loop = element.loop
        if loop is None:
            raise self._no_loop(extra)
        match extra.data:
            case "greedy" | "whole":
                loop = replace(loop, greedy=True, whole=extra.data == "whole")
            case "until":
                loop = replace(loop, until=self._condition(extra))
            case "gaps":
                loop = replace(loop, gaps=self._gaps(extra))
        return replace(element, loop=loop)

    def _since_previous(self, extra: Tree[Token], element: Element) -> Element:
        return replace(element, within_previous=self._span(_trees(extra, "span")[0]))

    def _since(self, extra: Tree[Token], element: Element) -> Element:
        span = self._span(_trees(extra, "span")[0])
        return replace(element, within_since=Since(_name(_tokens(extra, "NAME")[0]), span))

    def _fold(self, extra: Tree[Token], element: Element) -> Element:
        if not isinstance(element.body, Variable):
            raise self._source.error(_range(extra), "a group has no folds", "Put the fold on a variable.")
        init, update = (self._conditions.sql(_within_brackets(part)).text for part in _trees(extra, "condition"))
        fold = Fold(_name(_tokens(extra, "NAME")[0]), init, update)
        return replace(element, body=replace(element.body, folds=(*element.body.folds, fold)))

    _extras: dict[str, Callable[[_Reading, Tree[Token], Element], Element]] = {  # noqa: RUF012
        "consecutive": _inner,
        "combinations": _inner,
        "at_least": _at_least,
        "having": _having,
        "greedy": _loop_extra,
        "whole": _loop_extra,
        "until": _loop_extra,
        "gaps": _loop_extra,
        "fold": _fold,
        "since_previous": _since_previous,
        "since": _since,
    }

    def _gaps(self, extra: Tree[Token]) -> Gaps:
        every = _trees(extra, "span")
        if every:
            return Gaps(every=self._span(every[0]))
        gaps = _trees(extra, "gap")
        return Gaps(
            by_repetition=tuple(
                (self._count(_tokens(gap, "COUNT")[0]), self._span(_trees(gap, "span")[0])) for gap in gaps
            )
        )

    # ── clauses ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _clauses(self, pattern: Tree[Token]) -> dict[str, Tree[Token]]:
        clauses: dict[str, Tree[Token]] = {}
        for part in _trees(pattern):
            if part.data in ("befores", "sequence"):
                continue
            if part.data in clauses:
                raise self._source.error(_range(part), f"`{part.data}` is given twice", "Leave one of the two out.")
            clauses[str(part.data)] = part
        return clauses

    def _window(self, clause: Tree[Token] | None) -> Window | None:
        if clause is None:
            return None
        spans = _trees(clause, "span")
        return self._span(spans[0]) if spans else EventCount(self._count(_tokens(clause, "COUNT")[0]))

    def _skip(self, clause: Tree[Token] | None) -> Skip:
        if clause is None:
            return Skip(SkipKind.NO_SKIP)
        tokens = _tokens(clause)
        kind = next(_SKIPS[token.type] for token in tokens if token.type in _SKIPS)
        target = next((_name(token) for token in tokens if token.type == "NAME"), None)
        return Skip(kind, target, any(token.type == "OR_FAIL" for token in tokens))

    def _parameters(self, clause: Tree[Token] | None) -> tuple[tuple[str, ParameterValue], ...]:
        given: dict[str, object] = {}
        for part in () if clause is None else _trees(clause, "parameter"):
            name, _, value = _tokens(part)
            if _name(name) in given:
                raise self._source.error(_range(name), f"`{name}` has a value already", "Leave one of the two out.")
            try:
                given[_name(name)] = json.loads(value)
                parameters(given)
            except (ValueError, MalformedPatternError) as error:
                problem = error.problem if isinstance(error, MalformedPatternError) else str(error)
                raise self._source.error(_range(part), problem, "Give a number, text, true, false or null.") from None
        return parameters(given)

    def _span(self, span: Tree[Token]) -> Span:
        tokens = _tokens(span)
        place = _range(span)
        text = self._source.of(place)
        try:
            if len(tokens) == 1:
                return to_span(int(text) if text.isdecimal() else float(text), CALLED)
            return to_span(text, CALLED)
        except MalformedPatternError as error:
            raise self._source.error(place, error.problem, error.remedy) from None

    def _count(self, token: Token) -> int:
        if len(token) > 9:
            raise self._source.error(_range(token), "this number is too large", "Give a smaller one.")
        return int(token)


def _trees(tree: Tree[Token], name: str | None = None) -> list[Tree[Token]]:
    """The parts below, in the order of the text."""
    return [part for part in tree.children if isinstance(part, Tree) and name in (None, part.data)]


def _tokens(tree: Tree[Token], name: str | None = None) -> list[Token]:
    """The tokens right below, in the order of the text."""
    return [part for part in tree.children if isinstance(part, Token) and name in (None, part.type)]


def _name(token: Token) -> str:
    return token[1:-1].replace("``", "`") if token.startswith("`") else str(token)


def _within_brackets(condition: Tree[Token]) -> Range:
    return Range(condition.meta.start_pos + 1, condition.meta.end_pos - 1)


def _range(part: Token | Tree[Token]) -> Range:
    if isinstance(part, Token):
        return Range(part.start_pos or 0, part.end_pos or 0)
    return Range(part.meta.start_pos, part.meta.end_pos)
