"""Merging positions that no input can tell apart.

In: positions as `construction` numbers them. Out: the same automaton with one position for each class of equal ones.

Unrolled repetitions and the two ends of every construction leave many copies. Two positions are equal if they end
alike and have the same continuations into equal positions; the classes are refined until nothing changes (Moore). The
start stays position 0 and has a class of its own, since no link applies there. Positions from which no match can be
completed are kept: their partial matches still time out (rule 9).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from cepheid.automaton.model import Position


def merge_equal(positions: list[Position]) -> tuple[Position, ...]:
    """The positions with equal ones merged, numbered in the order of their first copies."""
    classes = [0] + [1] * (len(positions) - 1)
    count = 0
    while count < len(set(classes)):
        count = len(set(classes))
        numbers: dict[Hashable, int] = {}
        classes = [
            numbers.setdefault((classes[index], _signature(position, classes)), len(numbers))
            for index, position in enumerate(positions)
        ]
    merged: dict[int, Position] = {}
    for index, position in enumerate(positions):
        if classes[index] not in merged:
            merged[classes[index]] = _renumbered(position, classes)
    return tuple(merged.values())


def _signature(position: Position, classes: list[int]) -> Hashable:
    return _renumbered(position, classes)


def _renumbered(position: Position, classes: list[int]) -> Position:
    """With targets named by class; continuations that became the same are listed once."""
    continuations = dict.fromkeys(
        replace(continuation, take=replace(continuation.take, target=classes[continuation.take.target]))
        for continuation in position.continuations
    )
    rivals = tuple(replace(rival, target=classes[rival.target]) for rival in position.rivals)
    return Position(tuple(continuations), rivals, position.accepts, position.endings)
