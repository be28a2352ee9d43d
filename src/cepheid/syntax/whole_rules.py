"""Rule 16's refusals: a whole loop at which a match can end needs something that ends the waiting.

A tree whose parts are well-formed comes in; nothing or a `MalformedPatternError` comes out. Called by `validation`.
"""

from __future__ import annotations

from cepheid.errors import MalformedPatternError
from cepheid.syntax.positions import elements_at_the_end, entering_links, is_always_taken
from cepheid.syntax.tree import Contiguity, Element, Loop, Path, PatternTree, around, describe, elements, variables


def check_whole(tree: PatternTree) -> None:
    """Raises `MalformedPatternError` for a whole loop that could wait forever."""
    at_the_end = set(elements_at_the_end(tree.body))
    for path, element in elements(tree.body):
        if element.loop is not None and element.loop.whole and path in at_the_end:
            _check(tree, path, element, element.loop)


def _check(tree: PatternTree, path: Path, element: Element, loop: Loop) -> None:
    if _has_deadline(tree, path, element):
        return
    ends = (
        loop.inner is Contiguity.STRICT
        or loop.minimum == loop.maximum
        or loop.until is not None
        or (loop.gaps is not None and loop.gaps.every is not None)
    )
    if not ends:
        raise MalformedPatternError(
            describe(element),
            "it is whole and a match can end with it, but nothing says when no further event can come",
            "Make it consecutive(), or give it an until, a fixed number, a bound between its events or a window: "
            'one_or_more(within="5 minutes"), within("5 minutes", since="previous"), or within(…) on the pattern.',
        )
    links = entering_links(tree.body, path)
    if element.optional and links and links != {Contiguity.STRICT}:
        raise MalformedPatternError(
            describe(element),
            "it is whole and optional and a match can end before it, but nothing says how long its first event may "
            "take",
            'Link it by next, or give a window: within("5 minutes", since="previous"), or within(…) on the pattern.',
        )


def _has_deadline(tree: PatternTree, path: Path, element: Element) -> bool:
    """Whether a window bounds every event of the loop: the pattern's, since the previous event or a variable."""
    if tree.window is not None or element.within_previous is not None:
        return True
    paths = {variable.name: place for place, _, variable in variables(tree.body)}
    return any(
        is_always_taken(tree.body, paths[holder.within_since.variable])
        for holder in (*around(tree.body, path), element)
        if holder.within_since is not None
    )
