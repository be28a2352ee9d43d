"""Several patterns over the same events: each distinct condition is a bit that is computed once, and each pattern sees
only the rows that concern it.

In: the distinct conditions of several patterns as words of bits (`Signed`), a pattern's tables, and which bits are its
own. Out: the rows that concern it, and the columns that the engine reads of them. Called by the code that matches sets
of rules, in memory and in Spark's workers.

Leaving rows out is sound if `why_all_rows_travel` says so: such a row satisfies no condition of the pattern, and
nothing in the pattern looks at rows that satisfy none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.columns import Columns, columns_of
from cepheid.engine.tables.model import Tables

Words: TypeAlias = Mapping[int, npt.NDArray[np.uint64]]
"""The bits of all conditions, 64 in a word: arrays of words by number. A missing word has no bits."""
WORD = 64
ALWAYS = -1
"""The number of a condition that holds for every event, and so needs no bit."""


@dataclass(frozen=True)
class Signed:
    """Rows with their bits. Rows that satisfy the same conditions are of one sort, whose bits are stored once. A rule
    is evaluated on sorts, so its cost depends on the rows that concern it."""

    sorts: Integers | None
    """The sort of each row; None if each row is a separate sort."""
    words: Words
    """The bits of each sort."""

    def holding(self, wanted: Mapping[int, int]) -> npt.NDArray[np.bool_] | None:
        """The sorts that have at least one of the given bits, by word; None if all of these words are missing."""
        satisfied = [self.words[word] & np.uint64(mask) for word, mask in wanted.items() if word in self.words]
        if not satisfied:
            return None
        together = satisfied[0]
        for more in satisfied[1:]:
            together = together | more
        return np.asarray(together != 0)

    def rows(self, wanted: Mapping[int, int]) -> Integers:
        """The rows that have at least one of the given bits, in their order."""
        sorts = self.holding(wanted)
        if sorts is None:
            return np.zeros(0, np.int64)
        chosen = np.flatnonzero(sorts)  # numpy finds what is true faster than what is not zero
        if self.sorts is None:
            return chosen
        order, bounds = self._by_sort
        if not len(chosen):
            return np.zeros(0, np.int64)
        return np.sort(np.concatenate([order[bounds[sort] : bounds[sort + 1]] for sort in chosen]))

    def of_rows(self, values: npt.NDArray[np.uint64], rows: Integers) -> npt.NDArray[np.uint64]:
        """The values of some rows, from the values of sorts."""
        return values[rows] if self.sorts is None else values[self.sorts[rows]]

    def of(self, rows: Integers, words: Collection[int]) -> Signed:
        """Some words of some rows."""
        own = {word: values for word, values in self.words.items() if word in words}
        if self.sorts is None:
            return Signed(None, {word: values[rows] for word, values in own.items()})
        return Signed(self.sorts[rows], own)

    @cached_property
    def _by_sort(self) -> tuple[Integers, Integers]:
        """The rows by sort, and where each sort begins."""
        assert self.sorts is not None
        count = max((len(values) for values in self.words.values()), default=0)
        small = self.sorts.astype(np.uint16) if count <= 1 << 16 else self.sorts  # numpy sorts those by radix
        bounds = np.concatenate(([0], np.cumsum(np.bincount(self.sorts, minlength=count))))
        return np.argsort(small, kind="stable"), bounds


@dataclass(frozen=True, slots=True)
class View:
    """What one pattern reads of events that it shares with others."""

    tables: Tables
    bits: tuple[int, ...]
    """By predicate of the automaton, the number of its condition among those of all patterns, or `ALWAYS`."""
    sees_all_rows: bool

    def rows(self, signed: Signed, count: int) -> Integers:
        """The rows that concern the pattern."""
        if self.sees_all_rows:
            return np.arange(count)
        return signed.rows(masks_of(self.bits))

    def columns(
        self, signed: Signed, rows: Integers, time: Integers, values: Sequence[pa.Array | pa.ChunkedArray]
    ) -> Columns:
        """What the engine reads of the pattern's rows: their bits, times, and the values that the kernel compares."""
        return columns_of(time, self.own_bits(signed, rows), values, self.tables)

    def own_bits(self, signed: Signed, rows: Integers) -> npt.NDArray[np.uint64]:
        """The bits of some rows as the pattern numbers them."""
        pages = self.tables.pages
        own = np.zeros((len(rows), len(pages)), np.uint64)
        one = np.uint64(1)
        signed = signed.of(rows, {number // WORD for number in self.bits})
        for page, predicates in enumerate(pages):
            of_sorts: npt.NDArray[np.uint64] | None = None
            for place, predicate in enumerate(predicates):
                number = self.bits[predicate]
                if number == ALWAYS:
                    own[:, page] |= one << np.uint64(place)
                elif (word := signed.words.get(number // WORD)) is not None:
                    bit = ((word >> np.uint64(number % WORD)) & one) << np.uint64(place)
                    of_sorts = bit if of_sorts is None else of_sorts | bit
            if of_sorts is not None:
                own[:, page] |= of_sorts if signed.sorts is None else of_sorts[signed.sorts]
        return own


def masks_of(bits: Sequence[int]) -> dict[int, int]:
    """Bits by their numbers as masks, word by word."""
    masks: dict[int, int] = {}
    for number in bits:
        if number != ALWAYS:
            masks[number // WORD] = masks.get(number // WORD, 0) | 1 << number % WORD
    return masks


class PackedBits:
    """Words of bits while they are built. Bits go to arrays of bytes first: a pass over bytes costs an eighth of one
    over words, and there is one pass for each condition."""

    def __init__(self, words: int, count: int) -> None:
        self._bytes = [np.zeros(count, np.uint8) for _ in range(words * WORD // 8)]
        self._count = count

    def put(self, number: int, satisfied: npt.NDArray[np.bool_]) -> None:
        """Set the bit of one condition, which must not be set yet."""
        self._bytes[number // 8] |= satisfied.view(np.uint8) << np.uint8(number % 8)

    def words(self) -> list[npt.NDArray[np.uint64]]:
        """The words."""
        each = WORD // 8
        made = []
        for first in range(0, len(self._bytes), each):
            together = np.stack(self._bytes[first : first + each], axis=1)
            made.append(together.view("<u8").reshape(self._count).astype(np.uint64, copy=False))
        return made


def words_of(holds: Sequence[npt.NDArray[np.bool_]], count: int) -> list[npt.NDArray[np.uint64]]:
    """Conditions, one array each, as words of bits."""
    packed = PackedBits(-(-len(holds) // WORD), count)
    for number, satisfied in enumerate(holds):
        packed.put(number, satisfied)
    return packed.words()


def integers(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.uint64]:
    """A column of words as it travels, as the words that they are."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    whole: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(whole).view(np.uint64)
