"""All windows of a pattern that are lengths of time, each with the place that it belongs to.

In: a tree. Out: (span, owner, kind) triples, for the checks that compare windows with each other or with the order
column.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.syntax.tree import PatternTree, Span, describe, elements, walk

PATTERN = "the pattern"
"""How an error calls the pattern as a whole."""


def lengths(tree: PatternTree) -> Iterator[tuple[Span, str, str]]:
    """Every length of time in the pattern: whose it is, and which of its windows; the pattern's own window first."""
    if isinstance(tree.window, Span):
        yield tree.window, PATTERN, "window"
    if tree.once_per is not None:
        yield tree.once_per, PATTERN, "time between reported matches"
    for _, part in walk(tree.body):
        if part.within_previous is not None:
            yield part.within_previous, describe(part), "window since the previous event"
    for _, element in elements(tree.body):
        if element.within_since is not None:
            since = element.within_since
            yield since.span, describe(element), f"window since {since.variable!r}"
        gaps = element.loop.gaps if element.loop is not None else None
        if gaps is not None:
            for span in (*((gaps.every,) if gaps.every else ()), *(span for _, span in gaps.by_repetition)):
                yield span, describe(element), "window between its repetitions"
