"""What of a pattern SASE can say: one strategy for all links, + for loops, negations without bounds of their own.

In: a checked tree. Out: its strategy and its components, or an error that names the part which SASE has no words for.
Called by `writing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.errors import MalformedPatternError
from cepheid.sase.query import Strategy
from cepheid.sase.reading import INNER, LINKS
from cepheid.syntax.notation import quantifier
from cepheid.syntax.tree import (
    Condition,
    Element,
    Link,
    Not,
    NotLink,
    PatternTree,
    Variable,
    describe,
)
from cepheid.syntax.windows import PATTERN

_REMEDY = "Use to_json() to store it, or change that part."


@dataclass(frozen=True, slots=True)
class WrittenComponent:
    """One component as the tree has it."""

    name: str
    condition: Condition | None
    negated: bool
    repeats: bool


def cannot_say(part: str, problem: str, remedy: str = _REMEDY) -> MalformedPatternError:
    """The error for a part that SASE has no words for."""
    return MalformedPatternError(part, f"SASE text cannot say this: {problem}", remedy)


def components_of(tree: PatternTree) -> tuple[Strategy, tuple[WrittenComponent, ...]]:
    """The strategy of a pattern and its components, in the order of writing."""
    if tree.once_per is not None:
        raise cannot_say(PATTERN, "once_per", "SASE reports every match: drop once_per(…).")
    for element in tree.body.elements:
        _check(element)
    strategy = _strategy(tree)
    befores = [WrittenComponent(before.name, before.condition, True, False) for before in tree.not_before]
    return strategy, (*befores, *_components(tree, strategy))


def _check(element: Element | Not) -> None:
    what = describe(element)
    if element.within_previous is not None:
        raise cannot_say(what, "a window since the previous event", "SASE has one window for the whole pattern.")
    if isinstance(element, Not):
        if element.link is NotLink.NOT_NEXT:
            raise cannot_say(what, "not_next", "SASE negates over a whole stretch, which is not_followed_by.")
        return
    if not isinstance(element.body, Variable):
        raise cannot_say(what, "a group, one_of or all_of")
    if element.having is not None:
        raise cannot_say(what, "having")
    if element.within_since is not None:
        raise cannot_say(what, "a window since an element", "SASE has one window for the whole pattern.")
    if element.optional:
        raise cannot_say(what, "an optional element")
    if element.body.folds:
        raise cannot_say(what, f"the fold {element.body.folds[0].name!r}", "Use an aggregate, such as SUM(v.column).")
    loop = element.loop
    if loop is None:
        return
    for is_there, part in (
        (loop.minimum != 1 or loop.maximum is not None, f"the quantifier {quantifier(loop)}; its only one is +"),
        (loop.greedy, "whole" if loop.whole else "greedy"),
        (loop.until is not None, "until"),
        (loop.gaps is not None, "a bound between repetitions"),
    ):
        if is_there:
            raise cannot_say(what, part)


def _strategy(tree: PatternTree) -> Strategy:
    """The strategy that all links and loops agree on."""
    chosen: tuple[Strategy, str] | None = None
    for element in tree.body.elements:
        if isinstance(element, Not):
            continue
        for strategy, called in _strategies(element):
            if chosen is not None and strategy is not chosen[0]:
                raise cannot_say(
                    describe(element),
                    f"{called} is {strategy.value}, {chosen[1]} is {chosen[0].value}, and one strategy holds for all",
                    "Let all links and loops be of one kind: followed_by_any and allow_combinations, "
                    "followed_by and relaxed loops, or next and consecutive.",
                )
            chosen = chosen or (strategy, f"{called} of {describe(element)}")
    return Strategy.ANY if chosen is None else chosen[0]


def _strategies(element: Element) -> Iterator[tuple[Strategy, str]]:
    if element.link is not Link.BEGIN:
        yield next(strategy for strategy, link in LINKS.items() if link is element.link), "the link"
    if element.loop is not None:
        yield next(strategy for strategy, inner in INNER.items() if inner is element.loop.inner), "the loop"


def _components(tree: PatternTree, strategy: Strategy) -> Iterator[WrittenComponent]:
    """The components of the body, without the negations that a strategy implies."""
    elements = tree.body.elements
    implied = False
    for number, element in enumerate(elements):
        if isinstance(element, Not):
            if not implied:
                yield WrittenComponent(element.name, element.condition, True, False)
            implied = False
            continue
        assert isinstance(element.body, Variable)
        repeats = element.loop is not None
        yield WrittenComponent(element.body.name, element.body.condition, False, repeats)
        more = any(isinstance(later, Element) for later in elements[number + 1 :])
        implied = repeats and strategy is Strategy.NEXT and more
        if implied:
            following = elements[number + 1]
            if not isinstance(following, Not) or following.condition != element.body.condition:
                raise cannot_say(
                    describe(element),
                    "under skip till next match a repeating component takes every event that it can, "
                    "and this loop may ignore some",
                    f"Put .not_followed_by(…) with the conditions of {element.body.name!r} after it, or use "
                    "followed_by_any and allow_combinations, or next and consecutive.",
                )
