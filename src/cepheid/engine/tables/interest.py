"""Which predicates matter to a run at a position, or at an end of the pattern."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.automaton.model import Continuation, Ending, Position, Take
from cepheid.engine.tables.pages import BITS, Pages
from cepheid.syntax.tree import Contiguity


def takes(position: Position) -> list[Take]:
    return [*(way.take for way in position.continuations), *position.rivals]


def looks_at_the_next(ways: tuple[Continuation, ...], rivals: tuple[Take, ...]) -> bool:
    """Whether the event right after the last taken one means something special: strict links, not_next."""
    takes = [*(way.take for way in ways), *rivals]
    return any(take.contiguity is Contiguity.STRICT for take in takes) or any(way.not_next for way in ways)


def with_rivals(ending: Ending, position: Position) -> tuple[Ending, tuple[Take, ...]]:
    """An ending, and the greedy loops of its position if its whole loops refer to them."""
    return ending, position.rivals if any(way.greedy for way in ending.whole) else ()


def interest(position: Position) -> frozenset[int]:
    """The predicates whose truth changes anything for a run that waits at a position."""
    return _changing(position.continuations, position.rivals)


def _changing(ways: tuple[Continuation, ...], rivals: tuple[Take, ...]) -> frozenset[int]:
    predicates: set[int] = set()
    for way in ways:
        predicates |= {*_of_take(way.take), *way.not_followed_by}
    for rival in rivals:
        predicates |= _of_take(rival)
    return frozenset(predicates)


def _of_take(take: Take) -> set[int]:
    return {take.predicate, *take.over, *take.openers}


def asked(position: Position) -> frozenset[int]:
    """All predicates that are looked at when an event is shown to a run at a position."""
    return _looked_at(position.continuations, position.rivals)


def _looked_at(ways: tuple[Continuation, ...], rivals: tuple[Take, ...]) -> frozenset[int]:
    predicates = set(_changing(ways, rivals))
    for way in ways:
        predicates |= {*way.not_next, *way.take.refused}
    for rival in rivals:
        predicates |= {*rival.refused}
    return frozenset(predicates)


def asked_at_end(ending: Ending, rivals: tuple[Take, ...]) -> frozenset[int]:
    """All predicates that are looked at when an event is shown to a run that waits at its end."""
    return _looked_at(ending.whole, rivals) | {guard.predicate for guard in ending.nots}


def concerned(interests: npt.NDArray[np.uint64], pages: Pages) -> npt.NDArray[np.uint64]:
    """For each bit of each page, the positions that have it among their interest, as bits of words of their own."""
    result = np.zeros((BITS * len(pages.predicates), -(-len(interests) // BITS)), np.uint64)
    for position, wanted in enumerate(interests.tolist()):
        for bit in range(BITS):
            if wanted >> bit & 1:
                result[BITS * pages.page_of[position] + bit, position // BITS] |= np.uint64(1 << position % BITS)
    return result
