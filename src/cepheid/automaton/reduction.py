"""Merging positions that no input can tell apart.

In: positions as `construction` closes them, whose TAKEs lead to states of the graph, and the number of each such state.
Out: the same automaton with one position for each class of equal ones.

Unrolled repetitions and the two ends of every construction leave many copies. Two positions are equal if they end alike
and have the same continuations into equal positions; the classes are refined until nothing changes (Moore). The start
stays position 0 and has a class of its own, since no link applies there. Positions from which no match can be completed
are kept: their partial matches still time out (rule 9).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from cepheid.automaton.model import Position, Take


def merge_equal(positions: list[Position], numbers: dict[int, int]) -> tuple[Position, ...]:
    """The positions with equal ones merged, numbered in the order of their first copies.

    `numbers`: for each state of the graph that a TAKE leads to, the place of its position in the list.
    """
    shapes: dict[Hashable, int] = {}
    found: dict[Hashable, int] = {}
    classes: list[int] = []
    ways: list[list[tuple[int, int]]] = []
    for index, position in enumerate(positions):
        ends = (index == 0, position.accepts, position.endings, tuple(map(_shape, position.rivals)))
        classes.append(found.setdefault(ends, len(found)))
        ways.append(
            [
                (
                    shapes.setdefault((_shape(way.take), way.not_next, way.not_followed_by, way.greedy), len(shapes)),
                    target,
                )
                for way in position.continuations
                for target in (numbers[way.take.target],)
            ]
        )
    count = 0
    while count < len(found):
        count = len(found)
        found = {}
        refined = []
        for own, leads in zip(classes, ways, strict=True):
            reached = (own, frozenset((shape, classes[target]) for shape, target in leads))
            refined.append(found.setdefault(reached, len(found)))
        classes = refined
    merged: dict[int, Position] = {}
    for index, position in enumerate(positions):
        if classes[index] not in merged:
            merged[classes[index]] = _renumbered(position, [classes[target] for _, target in ways[index]])
    return tuple(merged.values())


def _shape(take: Take) -> Hashable:
    """Everything about a TAKE but where it leads."""
    return (take.variable, take.predicate, take.contiguity.value, take.gap, take.over, take.refused)


def _renumbered(position: Position, targets: list[int]) -> Position:
    """With targets named by class; continuations that became the same are listed once. Rivals lead nowhere."""
    continuations = dict.fromkeys(
        replace(continuation, take=replace(continuation.take, target=target))
        for continuation, target in zip(position.continuations, targets, strict=True)
    )
    rivals = tuple(replace(rival, target=0) for rival in position.rivals)
    return Position(tuple(continuations), rivals, position.accepts, position.endings)
