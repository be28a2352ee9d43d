"""Merging positions that no input can tell apart.

In: positions as `construction` closes them, whose TAKEs lead to states of the graph, and the number of each such state.
Out: the same automaton with one position for each class of equal ones.

Unrolled repetitions and the two ends of every construction leave many copies. Two positions are equal if they end alike
and have the same continuations, in the same order, into equal positions. The start stays position 0 and has a class of
its own, since no link applies there. Positions from which no match can be completed are kept: their partial matches
still time out (rule 9).

The classes are refined until nothing changes (Hopcroft): where a class falls apart its largest piece keeps the number,
and only what leads into the other pieces is looked at again. A loop unrolled n times costs n steps, not n rounds.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from cepheid.automaton.model import Continuation, Position


def merge_equal(positions: list[Position], numbers: dict[int, int]) -> tuple[Position, ...]:
    """The positions with equal ones merged, numbered in the order of their first copies.

    `numbers`: for each state of the graph that a TAKE leads to, the place of its position in the list.
    """
    shapes: dict[Hashable, int] = {}
    ways = [
        [(shapes.setdefault(_way(way), len(shapes)), numbers[way.take.target]) for way in position.continuations]
        for position in positions
    ]
    classes = _classes([_ends(index, position) for index, position in enumerate(positions)], ways)
    final: dict[int, int] = {}
    for number in classes:
        final.setdefault(number, len(final))
    merged: dict[int, Position] = {}
    for number, position, leads in zip(classes, positions, ways, strict=True):
        if number not in merged:
            merged[number] = _renumbered(position, [final[classes[target]] for _, target in leads])
    return tuple(merged.values())


def _classes(ends: list[Hashable], ways: list[list[tuple[int, int]]]) -> list[int]:
    """The coarsest classes whose positions end alike and go the same ways, by number and target, into equal classes."""
    found: dict[Hashable, int] = {}
    classes = [found.setdefault(end, len(found)) for end in ends]
    members: list[set[int]] = [set() for _ in found]
    for index, number in enumerate(classes):
        members[number].add(index)
    leading: list[list[int]] = [[] for _ in ends]
    for index, leads in enumerate(ways):
        for _, target in leads:
            leading[target].append(index)
    moved = set(range(len(ends)))
    while moved:
        touched: dict[int, set[int]] = {}
        for target in moved:
            for index in leading[target]:
                touched.setdefault(classes[index], set()).add(index)
        moved = set()
        for number, looked_at in touched.items():
            pieces: dict[Hashable, set[int]] = {}
            for index in looked_at:
                reached = tuple(dict.fromkeys((way, classes[target]) for way, target in ways[index]))
                pieces.setdefault(reached, set()).add(index)
            untouched = members[number] - looked_at if len(looked_at) < len(members[number]) else set()
            apart = sorted((piece for piece in (untouched, *pieces.values()) if piece), key=len)
            members[number] = apart.pop()
            for piece in apart:
                for index in piece:
                    classes[index] = len(members)
                members.append(piece)
                moved |= piece
    return classes


def _ends(index: int, position: Position) -> Hashable:
    """Everything about a position but its continuations."""
    return (index == 0, position.accepts, position.endings, position.rivals)


def _way(way: Continuation) -> Hashable:
    """Everything about a continuation but where it leads."""
    return replace(way, take=replace(way.take, target=0))


def _renumbered(position: Position, targets: list[int]) -> Position:
    """With targets named by class; continuations that became the same are listed once."""
    continuations = dict.fromkeys(
        replace(continuation, take=replace(continuation.take, target=target))
        for continuation, target in zip(position.continuations, targets, strict=True)
    )
    return replace(position, continuations=tuple(continuations))
