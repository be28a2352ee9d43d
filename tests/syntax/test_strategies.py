"""The random patterns themselves: well-formed by construction, and covering the language."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import Phase, given, settings
from syntax.strategies import is_well_formed, unfiltered_patterns

from cepheid.syntax.positions import nots_at_the_end
from cepheid.syntax.tree import (
    AllOfMembers,
    Contiguity,
    Element,
    Loop,
    Not,
    OneOf,
    PatternTree,
    Sequence,
    SkipKind,
    Variable,
    around,
    walk,
)

WANTED = {
    *("window EventCount", "window NoneType", "window Span", "not before", "not inside", "not at the end with window"),
    *("three deep", "optional looped group", "looped since previous", "greedy", "until", "greedy until"),
    *("one gap", "gaps by repetition", "bounded", "AllOf", "AnyOf", "no condition"),
    *(f"skip {kind.value}" for kind in SkipKind),
    *(f"inner {inner.value}" for inner in Contiguity),
}

BEYOND = {
    *("one_of", "all_of", "looped one_of", "looped all_of", "at least", "one_of in a loop", "having", "whole"),
    *("optional whole", "since", "since on a group", "once per", "all_of non_deterministic", "all_of strict"),
}
"""Of rules 13 to 19."""


def constructs(tree: PatternTree) -> Iterator[str]:
    """The constructs of WANTED that a pattern uses."""
    yield f"window {type(tree.window).__name__}"
    yield f"skip {tree.skip.kind.value}"
    if tree.not_before:
        yield "not before"
    if tree.once_per is not None:
        yield "once per"
    if any(last.within_previous for _, last in nots_at_the_end(tree.body)):
        yield "not at the end with window"
    for path, element in walk(tree.body):
        if len(path) == 3:
            yield "three deep"
        if isinstance(element, Not):
            if len(path) > 1:
                yield "not inside"
            continue
        yield from constructs_of_element(element)
        if isinstance(element.body, OneOf) and any(holder.loop for holder in around(tree.body, path)):
            yield "one_of in a loop"


def constructs_of_element(element: Element) -> Iterator[str]:
    match element.body:
        case Sequence():
            if element.optional and element.loop is not None:
                yield "optional looped group"
        case Variable(condition=condition):
            yield "no condition" if condition is None else type(condition).__name__
        case OneOf():
            yield "one_of" if element.loop is None else "looped one_of"
        case AllOfMembers(members=members, at_least=least, inner=inner):
            yield "all_of" if element.loop is None else "looped all_of"
            yield "at least" if least < len(members) else f"all_of {inner.value}"
    if element.having is not None:
        yield "having"
    if element.within_since is not None:
        yield "since" if isinstance(element.body, Variable) else "since on a group"
    if element.loop is not None and element.loop.whole:
        yield "optional whole" if element.optional else "whole"
    if element.loop is not None:
        yield from constructs_of_loop(element.loop)
        if element.within_previous is not None:
            yield "looped since previous"


def constructs_of_loop(loop: Loop) -> Iterator[str]:
    yield f"inner {loop.inner.value}"
    if loop.maximum is not None:
        yield "bounded"
    if loop.greedy:
        yield "greedy" if loop.until is None else "greedy until"
    if loop.until is not None:
        yield "until"
    if loop.gaps is not None:
        yield "one gap" if loop.gaps.every is not None else "gaps by repetition"


def test_patterns_are_well_formed_before_the_filter_and_cover_the_language() -> None:
    seen: set[str] = set()

    @settings(max_examples=400, phases=[Phase.generate])
    @given(unfiltered_patterns())
    def look_at(tree: PatternTree) -> None:
        assert is_well_formed(tree)
        seen.update(constructs(tree))

    look_at()
    assert WANTED - seen == set()
    assert seen & BEYOND == set()


def test_patterns_beyond_the_twelve_rules_are_well_formed_and_cover_them() -> None:
    seen: set[str] = set()

    @settings(max_examples=600, phases=[Phase.generate])
    @given(unfiltered_patterns(beyond=True))
    def look_at(tree: PatternTree) -> None:
        assert is_well_formed(tree)
        seen.update(constructs(tree))

    look_at()
    assert BEYOND - seen == set()
