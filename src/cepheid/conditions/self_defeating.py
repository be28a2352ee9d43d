"""Patterns that mean something else than they seem to: right by the rules, and of no use.

In: a checked tree. Out: sentences, each with the way out. Explanations show them; a match warns of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.conditions.binding import bind
from cepheid.syntax.tree import Contiguity, Element, Not, NotLink, PatternTree, Variable, walk


def self_defeating(tree: PatternTree) -> Iterator[str]:
    """What makes the pattern useless."""
    where = bind(tree, None).where
    after: Element | None = None
    for _, part in walk(tree.body):
        if isinstance(part, Element):
            after = part
        elif after is not None and _forbids_its_own(after, part) and where[_name(after)] == where[part.name]:
            loop, name = after.loop, _name(after)
            assert loop is not None
            found = "nothing can match" if loop.minimum > 1 else "only runs of a single event can match"
            yield (
                f"The negation {part.name!r} has the condition of the loop {name!r} before it. A negation directly "
                f"after a loop applies between the loop's events as well, so {found}. For the longest run, leave the "
                "negation out and write whole() on the loop."
            )


def _forbids_its_own(loop: Element, negation: Not) -> bool:
    """Whether the negation looks at the event that the loop takes next (rule 7)."""
    return (
        isinstance(loop.body, Variable)
        and loop.loop is not None
        and loop.loop.maximum != 1
        and loop.loop.inner is Contiguity.STRICT
        and negation.link is NotLink.NOT_NEXT
    )


def _name(element: Element) -> str:
    assert isinstance(element.body, Variable)
    return element.body.name
