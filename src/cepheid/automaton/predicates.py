"""Predicates by number: one table for an automaton, and one that several automata can share.

In: predicates, in any order and as often as they are met. Out: the number of each. Equal ones, wherever they were
written, have one number. An automaton numbers its own predicates from 0 and stays valid by itself; whoever runs
several automata over the same events adds each to a shared table, evaluates the table once, and finds the answers of
an automaton by the numbers that `add` gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.conditions import Predicate


class PredicateTable:
    """Distinct predicates in the order in which they were first met."""

    def __init__(self) -> None:
        self._numbers: dict[Predicate, int] = {}

    def number(self, predicate: Predicate) -> int:
        """The number of a predicate, a new one if it is new."""
        return self._numbers.setdefault(predicate, len(self._numbers))

    def add(self, predicates: Iterable[Predicate]) -> tuple[int, ...]:
        """The numbers here of an automaton's predicates: the i-th answers for its predicate i."""
        return tuple(self.number(predicate) for predicate in predicates)

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
