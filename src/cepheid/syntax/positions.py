"""Where elements are in a pattern: what may be passed by, what comes first, what can come last, what a link leads to.

Questions about a tree that need no condition and no event. A tree comes in; answers go out. Used by `validation` and
by the evaluators.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Contiguity,
    Element,
    Not,
    OneOf,
    Path,
    Sequence,
    Variable,
    around,
    variables,
)


def can_be_empty(part: Element | Not) -> bool:
    """Whether a match may pass by this without taking an event for it (rule 3). A not never takes one."""
    if isinstance(part, Not) or part.optional:
        return True
    if isinstance(part.body, Variable):
        return False
    enough = any if isinstance(part.body, OneOf) else all
    return enough(can_be_empty(inner) for inner in part.body.parts)


def openers(element: Element) -> tuple[str, ...]:
    """The variables that a link into the element leads to: those that a relaxed link looks at (rules 2 and 13)."""
    body = element.body
    if isinstance(body, Variable):
        return (body.name,)
    entered = body.parts[:1] if isinstance(body, Sequence) else body.parts
    return tuple(name for part in entered if isinstance(part, Element) for name in openers(part))


def nots_at_the_end(body: Body, prefix: Path = ()) -> Iterator[tuple[Path, Not]]:
    """The negations after which nothing is written that takes events (rule 7), those of the last group included.

    A negation that is followed by optional elements only is not among them: it guards the way to these.
    """
    for index in range(len(body.parts) - 1, -1, -1):
        part, path = body.parts[index], (*prefix, index)
        if isinstance(part, Not):
            yield path, part
            continue
        yield from nots_at_the_end(part.body, path)
        if isinstance(body, Sequence):
            return


def nots_before_any_event(body: Body, prefix: Path = ()) -> Iterator[tuple[Path, Not]]:
    """The negations that a match can reach before it has taken an event, in the order of writing.

    They come first, or after nothing but elements that may be passed by.
    """
    for index, part in enumerate(body.parts):
        path = (*prefix, index)
        if isinstance(part, Not):
            yield path, part
            continue
        yield from nots_before_any_event(part.body, path)
        if isinstance(body, Sequence) and not can_be_empty(part):
            return


def elements_that_only_start(body: Body, prefix: Path = ()) -> Iterator[tuple[Path, Element]]:
    """The elements that can take the first event of a match and no other: nothing comes before them, nothing repeats.

    A quantifier counts as a repetition whatever its numbers, so that `times(0, 1)` does not depend on its maximum; so
    does an `all_of`, whatever the number of members that it needs.
    """
    if isinstance(body, AllOfMembers):
        return
    for index, part in enumerate(body.parts[:1] if isinstance(body, Sequence) else body.parts):
        if isinstance(part, Element) and part.loop is None:
            path = (*prefix, index)
            yield path, part
            yield from elements_that_only_start(part.body, path)


def elements_at_the_end(body: Body, prefix: Path = ()) -> Iterator[Path]:
    """The elements at which a match can end: they take its last event, or are the last that it skips."""
    for index in range(len(body.parts) - 1, -1, -1):
        part, path = body.parts[index], (*prefix, index)
        if isinstance(part, Not):
            continue
        yield path
        yield from elements_at_the_end(part.body, path)
        if isinstance(body, Sequence) and not can_be_empty(part):
            return


def entering_links(body: Body, path: Path) -> set[Contiguity]:
    """The links by which a match can come to the element at a path; none at the start of a match, where none applies.

    The first element of a group is reached by the link into the group, and between iterations by that of the loop.
    """
    index, *inner = path
    part = body.parts[index]
    assert isinstance(part, Element)
    links = set() if part.link.value == "begin" else {part.link.contiguity}
    for deeper in inner:
        if part.loop is not None and part.loop.repeats:
            links = links | {part.loop.inner}
        inside, part = part.body, part.body.parts[deeper]
        assert isinstance(part, Element)
        if isinstance(inside, Sequence) and deeper > 0:
            links = {part.link.contiguity}
        elif isinstance(inside, AllOfMembers) and inside.at_least > 1:
            links = links | {inside.inner}
    return links


def is_always_taken(body: Body, path: Path) -> bool:
    """Whether every match takes an event with the variable at this path."""
    inside = body
    for element, index in zip((*around(body, path), None), path, strict=True):
        if isinstance(inside, OneOf) and len(inside.alternatives) > 1:
            return False
        if isinstance(inside, AllOfMembers) and inside.at_least < len(inside.members):
            return False
        part = inside.parts[index]
        if can_be_empty(part):
            return False
        inside = inside if element is None else element.body
    return True


def readable_at(body: Body, path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables that a condition at a path can read, besides those inside, and those of other alternatives.

    Earlier elements can be read, the other members of an `all_of` (rule 14), and another alternative of a `one_of` only
    where a loop is around both (rule 13).
    """
    readable: list[str] = []
    excluded: list[str] = []
    for place, _, variable in variables(body):
        apart = are_apart(body, path, place)
        if apart is None:
            if place < path:
                readable.append(variable.name)
        elif isinstance(apart.body, AllOfMembers):
            readable.append(variable.name)
        elif apart.loop is not None or _is_in_a_loop(body, path, apart):
            if place < path:
                readable.append(variable.name)
        else:
            excluded.append(variable.name)
    return tuple(readable), tuple(excluded)


def _is_in_a_loop(body: Body, path: Path, element: Element) -> bool:
    for holder in around(body, path):
        if holder is element:
            return False
        if holder.loop is not None:
            return True
    return False


def are_apart(body: Body, one: Path, other: Path) -> Element | None:
    """The `one_of` or `all_of` in which two paths are in different alternatives or members, if there is one."""
    for depth, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            holders = list(around(body, one[: depth + 1]))
            holder = holders[-1] if holders else None
            return None if holder is None or isinstance(holder.body, Sequence) else holder
    return None
