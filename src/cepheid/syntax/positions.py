"""Where elements stand in a pattern: what may be passed by, which nots are at the end, what can only come first.

Questions about a tree that need no condition and no event. A tree comes in; answers go out. Used by `validation` and
by the automaton's construction.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.syntax.tree import Element, Not, Path, Sequence


def can_be_empty(element: Element | Not) -> bool:
    """Whether a match may pass by this without taking an event for it (rule 3). A not never takes one."""
    if isinstance(element, Not) or element.optional:
        return True
    return isinstance(element.body, Sequence) and all(can_be_empty(inner) for inner in element.body.elements)


def nots_at_the_end(sequence: Sequence, prefix: Path = ()) -> Iterator[tuple[Path, Not]]:
    """The nots behind which nothing is written that takes events (rule 7), those of the last group included.

    A not that is followed by optional elements only is not among them: it guards the way to these.
    """
    for index in range(len(sequence.elements) - 1, -1, -1):
        element, path = sequence.elements[index], (*prefix, index)
        if isinstance(element, Not):
            yield path, element
            continue
        if isinstance(element.body, Sequence):
            yield from nots_at_the_end(element.body, path)
        return


def nots_before_any_event(sequence: Sequence, prefix: Path = ()) -> Iterator[tuple[Path, Not]]:
    """The nots that a match can reach before it has taken an event, in the order of writing.

    They stand at the start, or behind nothing but elements that may be passed by.
    """
    for index, element in enumerate(sequence.elements):
        path = (*prefix, index)
        if isinstance(element, Not):
            yield path, element
            continue
        if isinstance(element.body, Sequence):
            yield from nots_before_any_event(element.body, path)
        if not can_be_empty(element):
            return


def elements_that_only_start(sequence: Sequence, prefix: Path = ()) -> Iterator[tuple[Path, Element]]:
    """The elements that can take the first event of a match and no other: nothing stands before them, nothing repeats.

    A quantifier counts as a repetition whatever its numbers, so that `times(0, 1)` does not depend on its maximum.
    """
    first = sequence.elements[0] if sequence.elements else None
    if not isinstance(first, Element) or first.loop is not None:
        return
    path = (*prefix, 0)
    yield path, first
    if isinstance(first.body, Sequence):
        yield from elements_that_only_start(first.body, path)
