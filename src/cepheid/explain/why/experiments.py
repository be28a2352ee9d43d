"""The pattern with one thing changed: what would match if a link were relaxed, a window longer, a not left out.

In: a pattern tree, its bound conditions, and arranged rows. Out: `Experiment`s, each with the number of matches that
the change would give. What gives matches where there were none is a cause. Called by `causes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cepheid.automaton.construction import build
from cepheid.conditions import BoundConditions, Predicate
from cepheid.conditions.expression import TRUE, Expression, Operator, combine
from cepheid.conditions.predicate import reads_variables
from cepheid.engine.assignments import Assignments
from cepheid.engine.tables.model import Options
from cepheid.errors import CepheidError, LimitError
from cepheid.explain.why.model import Kind
from cepheid.explain.why.nearness import parts_of
from cepheid.rows.arrange import Arranged
from cepheid.rows.in_memory import run
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Contiguity,
    Element,
    EventCount,
    Gaps,
    Link,
    Loop,
    Not,
    OneOf,
    Path,
    PatternTree,
    Sequence,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    Variable,
    describe,
    walk,
)

_SLOW_ROWS = 1_000
"""With more rows than this a pattern with Python callables, which only the reference runs, is not run again."""
_OPTIONS = Options(max_runs=200_000, max_matches_per_event=100_000, compact=False)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is changed."""

    kind: Kind
    element: str | None
    tree: PatternTree
    conditions: BoundConditions
    part: Expression | None = None
    """The part of a condition that is left out."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A change and what it would give."""

    change: Change
    matches: int
    found: Assignments | None
    """None where there were too many to list."""


def tried(change: Change, events: Arranged) -> Experiment:
    """Run the changed pattern."""
    try:
        automaton = build(change.tree, change.conditions)
        if len(events.time) > _SLOW_ROWS and any(predicate.calls_python for predicate in automaton.predicates):
            return Experiment(change, 0, None)
        found, _ = run(automaton, events, _OPTIONS)
    except LimitError:
        return Experiment(change, _OPTIONS.max_matches_per_event, None)
    except CepheidError:
        return Experiment(change, 0, None)
    return Experiment(change, len(found.at), found)


def changes(tree: PatternTree, conditions: BoundConditions, events: Arranged) -> Iterator[Change]:
    """Each single change that might let something match."""
    enough = _enough(events)

    def changed(kind: Kind, name: str | None, new: PatternTree) -> Change:
        return Change(kind, name, new, conditions)

    for path, part in walk(tree.body):
        if isinstance(part, Not):
            yield changed(Kind.NOT, part.name, without(tree, path))
            continue
        name = part.body.name if isinstance(part.body, Variable) else describe(part)
        for kind, edit in _edits(part, enough):
            yield changed(kind, name, edited(tree, path, edit))
    for before in tree.not_before:
        left = tuple(one for one in tree.not_before if one is not before)
        yield changed(Kind.NOT_BEFORE, before.name, replace(tree, not_before=left))
    if tree.window is not None:
        yield changed(Kind.WINDOW, None, replace(tree, window=_longer(tree.window, enough, len(events.time))))
    for name, predicate in conditions.where.items():
        for part_of in parts_of(predicate):
            kind = Kind.CONDITION if reads_variables(part_of) else Kind.PART
            yield Change(kind, name, tree, _without_part(conditions, name, predicate, part_of), part_of)


def loosened(tree: PatternTree, conditions: BoundConditions, events: Arranged) -> Change:
    """Only the elements' own conditions and their order are left."""
    enough = _enough(events)
    loose = replace(tree, not_before=(), window=None, skip=Skip(SkipKind.PAST_LAST_EVENT), once_per=None)
    while nots := [path for path, part in walk(loose.body) if isinstance(part, Not)]:
        loose = without(loose, nots[0])
    for path, part in list(walk(loose.body)):
        if isinstance(part, Element):
            for _, edit in _edits(part, enough):
                loose = edited(loose, path, edit)
    own = {name: Predicate(predicate.own_event, predicate.place) for name, predicate in conditions.where.items()}
    return Change(Kind.ORDER, None, loose, replace(conditions, where=MappingProxyType(own)))


def with_skip(tree: PatternTree, kind: SkipKind) -> PatternTree:
    """The pattern with another skip strategy."""
    return replace(tree, skip=Skip(kind), once_per=None)


def _edits(element: Element, enough: Span) -> Iterator[tuple[Kind, Callable[[Element], Element]]]:
    """What can be loosened at one element."""
    loop = element.loop
    if element.link is Link.NEXT:
        yield Kind.STRICT, lambda one: replace(one, link=Link.FOLLOWED_BY)
    if loop is not None and loop.inner is Contiguity.STRICT:
        yield Kind.STRICT, lambda one: _with_loop(one, inner=Contiguity.RELAXED)
    if isinstance(element.body, AllOfMembers) and element.body.inner is Contiguity.STRICT:
        yield Kind.STRICT, _relaxed_members
    if loop is not None and loop.until is not None:
        yield Kind.UNTIL, lambda one: _with_loop(one, until=None)
    if loop is not None and loop.greedy:
        yield (Kind.WHOLE if loop.whole else Kind.GREEDY), lambda one: _with_loop(one, greedy=False, whole=False)
    if element.having is not None:
        yield Kind.HAVING, lambda one: replace(one, having=None)
    if element.within_previous is not None:
        yield Kind.WINDOW, lambda one: replace(one, within_previous=enough)
    if element.within_since is not None:
        yield Kind.WINDOW, lambda one: replace(one, within_since=None)
    if loop is not None and loop.gaps is not None:
        yield Kind.WINDOW, lambda one: _with_loop(one, gaps=Gaps(every=enough))
    if loop is not None and loop.minimum > 1:
        yield Kind.LOOP, lambda one: _with_loop(one, minimum=1)


def _with_loop(element: Element, **changed: object) -> Element:
    assert element.loop is not None
    loop: Loop = replace(element.loop, **changed)  # type: ignore[arg-type]
    return replace(element, loop=loop)


def _relaxed_members(element: Element) -> Element:
    assert isinstance(element.body, AllOfMembers)
    return replace(element, body=replace(element.body, inner=Contiguity.RELAXED))


def edited(tree: PatternTree, path: Path, edit: Callable[[Element], Element]) -> PatternTree:
    """The tree with one element changed."""

    def inside(body: Body, path: Path) -> Body:
        parts = list(body.parts)
        part = parts[path[0]]
        assert isinstance(part, Element)
        parts[path[0]] = edit(part) if len(path) == 1 else replace(part, body=inside(part.body, path[1:]))
        return _with_parts(body, parts)

    body = inside(tree.body, path)
    assert isinstance(body, Sequence)
    return replace(tree, body=body)


def without(tree: PatternTree, path: Path) -> PatternTree:
    """The tree without one not."""

    def inside(body: Body, path: Path) -> Body:
        parts = list(body.parts)
        if len(path) == 1:
            del parts[path[0]]
        else:
            part = parts[path[0]]
            assert isinstance(part, Element)
            parts[path[0]] = replace(part, body=inside(part.body, path[1:]))
        return _with_parts(body, parts)

    body = inside(tree.body, path)
    assert isinstance(body, Sequence)
    return replace(tree, body=body)


def _with_parts(body: Body, parts: list[Element | Not]) -> Body:
    match body:
        case Sequence():
            return Sequence(tuple(parts))
        case OneOf():
            return OneOf(tuple(part for part in parts if isinstance(part, Element)))
        case AllOfMembers():
            return replace(body, members=tuple(part for part in parts if isinstance(part, Element)))
        case Variable():
            return body


def _without_part(
    conditions: BoundConditions, name: str, predicate: Predicate, left_out: Expression
) -> BoundConditions:
    kept = tuple(part for part in parts_of(predicate) if part is not left_out)
    expression = combine(Operator.AND, kept) if kept else TRUE
    where = {**conditions.where, name: Predicate(expression, predicate.place)}
    return replace(conditions, where=MappingProxyType(where))


def _enough(events: Arranged) -> Span:
    """A length of time that all rows are within."""
    time = events.time
    length = int(np.max(time) - np.min(time)) + 1 if len(time) else 1
    return Span(length, events.unit or SpanUnit.ORDER)


def _longer(window: Span | EventCount, enough: Span, rows: int) -> Span | EventCount:
    return (
        EventCount(max(rows, window.events))
        if isinstance(window, EventCount)
        else Span(max(enough.length, window.length), window.unit)
    )
