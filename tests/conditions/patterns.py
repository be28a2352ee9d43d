"""Small pattern trees for the tests of this folder."""

from __future__ import annotations

from cepheid.syntax.tree import (
    Condition,
    Element,
    Fold,
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


def condition(where: str | Condition | None) -> Condition | None:
    return SqlText(where) if isinstance(where, str) else where


def element(
    name: str,
    where: str | Condition | None = None,
    *,
    folds: tuple[Fold, ...] = (),
    until: str | None = None,
) -> Element:
    loop = None if until is None else Loop(1, None, until=condition(until))
    return Element(Link.FOLLOWED_BY, Variable(name, condition(where), folds), loop)


def group(*elements: Element | Not, until: str | None = None) -> Element:
    loop = None if until is None else Loop(1, None, until=condition(until))
    return Element(Link.FOLLOWED_BY, Sequence(elements), loop)


def absent(name: str, where: str | None = None) -> Not:
    return Not(NotLink.NOT_FOLLOWED_BY, name, condition(where))


def pattern(*elements: Element | Not, not_before: tuple[NotBefore, ...] = ()) -> PatternTree:
    return PatternTree(Sequence(elements), not_before=not_before)
