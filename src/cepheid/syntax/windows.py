"""All windows of a pattern that are lengths of time, each with the place where it stands.

In: a tree. Out: (span, owner, kind) triples, for the checks that compare windows with each other or with the order
column.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.syntax.tree import Element, PatternTree, Span, describe, walk

PATTERN = "the pattern"
"""How an error calls the pattern as a whole."""


def lengths(tree: PatternTree) -> Iterator[tuple[Span, str, str]]:
    """Every length of time in the pattern: whose it is, and which of its windows; the pattern's own window first."""
    if isinstance(tree.window, Span):
        yield tree.window, PATTERN, "window"
    for _, element in walk(tree.body):
        if element.within_previous is not None:
            yield element.within_previous, describe(element), "window since the previous event"
        if isinstance(element, Element) and element.loop is not None and element.loop.gaps is not None:
            gaps = element.loop.gaps
            for span in (*((gaps.every,) if gaps.every else ()), *(span for _, span in gaps.by_repetition)):
                yield span, describe(element), "window between its repetitions"
