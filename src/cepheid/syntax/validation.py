"""Refuses malformed patterns: a tree comes in; nothing or a `MalformedPatternError` comes out.

`check` covers everything that the specification lists under "Rejected" and that needs neither the meaning of a
condition nor a schema: the rules about parts (`part_rules`), then those about the whole. Whoever finishes a
pattern calls it; later rooms may assume a checked tree.
"""

from __future__ import annotations

from difflib import get_close_matches

from cepheid.errors import MalformedPatternError
from cepheid.syntax.part_rules import check_part
from cepheid.syntax.positions import (
    are_apart,
    can_be_empty,
    elements_that_only_start,
    nots_at_the_end,
    nots_before_any_event,
)
from cepheid.syntax.tree import (
    Element,
    NotLink,
    Path,
    PatternTree,
    Since,
    SkipKind,
    describe,
    elements,
    negations,
    variables,
)
from cepheid.syntax.whole_rules import check_whole
from cepheid.syntax.windows import PATTERN

__all__ = ["can_be_empty", "check"]


def check(tree: PatternTree) -> None:
    """Raises `MalformedPatternError` unless the tree is a whole, well-formed pattern."""
    check_part(tree)
    _check_not_empty(tree)
    _check_nots_before_any_event(tree)
    _check_nots_at_the_end(tree)
    _check_first_elements(tree)
    _check_since(tree)
    check_whole(tree)
    _check_not_before(tree)
    _check_skip(tree)


def _check_not_empty(tree: PatternTree) -> None:
    if not tree.body.elements:
        raise MalformedPatternError(
            f"not_before {tree.not_before[-1].name!r}" if tree.not_before else PATTERN,
            "no element that takes an event follows" if tree.not_before else "it has no elements",
            'Continue with begin: Pattern.begin("a") or .begin("a").',
        )


def _check_nots_before_any_event(tree: PatternTree) -> None:
    for _, element in nots_before_any_event(tree.body):
        raise MalformedPatternError(
            describe(element),
            "a match can reach it before any event is taken, because everything before it is optional",
            "Put an element that is not optional before it; for what must not come before the match use "
            f"Pattern.not_before({element.name!r}).",
        )


def _check_nots_at_the_end(tree: PatternTree) -> None:
    at_the_end = dict(nots_at_the_end(tree.body))
    for path, element in negations(tree.body):
        if path in at_the_end:
            unbounded = tree.window is None and element.within_previous is None
            if element.link is NotLink.NOT_FOLLOWED_BY and unbounded:
                raise MalformedPatternError(
                    describe(element),
                    "not_followed_by at the end of a pattern needs a window, or it would wait forever",
                    f'Add within("10 minutes") to the pattern, or within("10 minutes", since="previous") after '
                    f"not_followed_by({element.name!r}).",
                )
        elif element.within_previous is not None:
            raise MalformedPatternError(
                describe(element),
                "it has a window of its own, but is not at the end: elements that take events follow",
                "Put the window on the element that follows: the negation lasts until that element takes an event.",
            )


def _check_first_elements(tree: PatternTree) -> None:
    for _, element in elements_that_only_start(tree.body):
        if element.within_previous is not None:
            raise MalformedPatternError(
                describe(element),
                "it can only take the first event of a match, and no previous event exists then",
                'Drop its within(…, since="previous"), or put that on a later element.',
            )


def _check_since(tree: PatternTree) -> None:
    """Rule 17: a window since an element needs an element that comes before it."""
    paths = {variable.name: path for path, _, variable in variables(tree.body)}
    for path, element in elements(tree.body):
        if element.within_since is not None:
            _check_since_on(tree, paths, path, element, element.within_since)


def _check_since_on(tree: PatternTree, paths: dict[str, Path], path: Path, element: Element, since: Since) -> None:
    name, target = since.variable, paths.get(since.variable)
    problem = None
    if target is None:
        is_not = any(negation.name == name for _, negation in negations(tree.body))
        problem = f"{name!r} is a negation and takes no events" if is_not else f"{name!r} is not a variable"
        if name == "first":
            problem += "; for the window of the whole pattern leave since out"
    elif target[: len(path)] == path:
        problem = f"{name!r} is {'the element itself' if target == path else 'a part of it'}"
    elif (apart := are_apart(tree.body, path, target)) is not None:
        problem = f"{name!r} is in another part of {describe(apart)}, which need not come before"
    elif target > path:
        problem = f"{name!r} comes later"
    if problem is not None:
        names = [other for other, place in paths.items() if place < path and not are_apart(tree.body, path, place)]
        remedy = _suggestion(name, names) if names else "No element comes before this one: drop the window."
        raise MalformedPatternError(describe(element), f"it has a window since {name!r}, but {problem}", remedy)


def _check_not_before(tree: PatternTree) -> None:
    if tree.not_before and tree.window is None:
        raise MalformedPatternError(
            f"not_before {tree.not_before[0].name!r}",
            "the pattern has no window, so nothing says how far back it looks",
            'Add within("10 minutes") or within(events=10) to the pattern.',
        )


def _check_skip(tree: PatternTree) -> None:
    kind, target = tree.skip.kind, tree.skip.target
    what = f"skip {kind.value}"
    if kind not in (SkipKind.TO_FIRST, SkipKind.TO_LAST):
        if target is not None or tree.skip.or_fail:
            raise MalformedPatternError(
                what, "it takes neither a target nor or_fail", f"Use skip.{kind.value} as it is."
            )
        return
    names = [variable.name for _, _, variable in variables(tree.body)]
    if target in names:
        return
    others = {negation.name for _, negation in negations(tree.body)} | {before.name for before in tree.not_before}
    problem = f"{target!r} is a negation and takes no events" if target in others else f"{target!r} is not a variable"
    raise MalformedPatternError(f"{what}({target!r})", problem, _suggestion(str(target), names))


def _suggestion(target: str, names: list[str]) -> str:
    same = [name for name in names if name.lower() == target.lower()]
    near = same or get_close_matches(target, names, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{hint}Name a variable that takes events: {', '.join(names)}."
