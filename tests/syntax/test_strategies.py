"""The random patterns themselves: well-formed by construction, and covering the language."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import Phase, given, settings
from syntax.strategies import is_well_formed, unfiltered_patterns

from cepheid.syntax.positions import nots_at_the_end
from cepheid.syntax.tree import Contiguity, Element, Loop, Not, PatternTree, Sequence, SkipKind, walk

WANTED = {
    *("window EventCount", "window NoneType", "window Span", "not before", "not inside", "not at the end with window"),
    *("three deep", "optional looped group", "looped since previous", "greedy", "until", "greedy until"),
    *("one gap", "gaps by repetition", "bounded", "AllOf", "AnyOf", "no condition"),
    *(f"skip {kind.value}" for kind in SkipKind),
    *(f"inner {inner.value}" for inner in Contiguity),
}


def constructs(tree: PatternTree) -> Iterator[str]:
    """The constructs of WANTED that a pattern uses."""
    yield f"window {type(tree.window).__name__}"
    yield f"skip {tree.skip.kind.value}"
    if tree.not_before:
        yield "not before"
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


def constructs_of_element(element: Element) -> Iterator[str]:
    if isinstance(element.body, Sequence):
        if element.optional and element.loop is not None:
            yield "optional looped group"
    else:
        yield "no condition" if element.body.condition is None else type(element.body.condition).__name__
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
