"""Which bits of an event hold which predicates.

In: the sets of predicates that are looked at together, one for each position of an automaton. Out: `Pages`. A page is
a word of 64 bits. All predicates of a position share a page, so the kernel reads one word an event and position; a
predicate may be on several pages. A pattern with up to 64 predicates has a single page, in their own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.engine.tables.representation import NotCompiled

BITS = 64


@dataclass(frozen=True, slots=True)
class Pages:
    """The predicates of each page, in the order of its bits, and the page of each set that was asked for."""

    predicates: tuple[tuple[int, ...], ...]
    page_of: tuple[int, ...]

    def bits(self, page: int, predicates: Iterable[int]) -> int:
        """Some predicates as bits of a page that has them."""
        places = self.predicates[page]
        return sum(1 << places.index(predicate) for predicate in set(predicates))


def pages(asked: Sequence[frozenset[int]], predicates: int) -> Pages:
    """Every set on the first page that has room for it."""
    if predicates <= BITS:
        return Pages((tuple(range(predicates)),), (0,) * len(asked))
    filled: list[list[int]] = []
    page_of = []
    for together in asked:
        if len(together) > BITS:
            raise NotCompiled(f"more than {BITS} conditions that are asked at one place")
        page = next(
            (number for number, page in enumerate(filled) if len(together.union(page)) <= BITS),
            len(filled),
        )
        if page == len(filled):
            filled.append([])
        filled[page] += sorted(together.difference(filled[page]))
        page_of.append(page)
    return Pages(tuple(map(tuple, filled)), tuple(page_of))
