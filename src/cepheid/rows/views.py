"""Several patterns over the same events: each distinct condition is a bit that is computed once, and each pattern sees
only the rows that concern it.

In: the distinct conditions of several patterns as words of bits, a pattern's tables, and which bits are its own. Out:
the rows that concern it, arranged, and the columns that the engine reads of them. Called where sets of rules are
matched, in memory and in Spark's workers.

Leaving rows out is sound where `why_all_rows_travel` says so: such a row satisfies no condition of the pattern, and
nothing in the pattern looks at rows that satisfy none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.columns import Columns, columns_of
from cepheid.engine.tables.model import Tables

Words: TypeAlias = Sequence[npt.NDArray[np.uint64]] | Mapping[int, npt.NDArray[np.uint64]]
"""The bits of all conditions, 64 in a word: arrays of words by number."""
WORD = 64
ALWAYS = -1
"""The number of a condition that holds for every event, and so needs no bit."""


@dataclass(frozen=True, slots=True)
class View:
    """What one pattern reads of events that it shares with others."""

    tables: Tables
    bits: tuple[int, ...]
    """By predicate of the automaton, the number of its condition among those of all patterns, or `ALWAYS`."""
    sees_all_rows: bool

    def rows(self, words: Words, count: int) -> Integers:
        """The rows that concern the pattern."""
        if self.sees_all_rows:
            return np.arange(count)
        wanted: dict[int, int] = {}
        for number in self.bits:
            wanted[number // WORD] = wanted.get(number // WORD, 0) | 1 << number % WORD
        satisfied = [words[word] & np.uint64(mask) for word, mask in wanted.items()]
        together = satisfied[0]
        for more in satisfied[1:]:
            together = together | more
        return np.flatnonzero(together != 0)  # numpy finds what is true faster than what is not zero

    def columns(
        self, words: Words, rows: Integers, time: Integers, values: Sequence[pa.Array | pa.ChunkedArray]
    ) -> Columns:
        """What the engine reads of the pattern's rows: their bits, times, and the values that the kernel compares."""
        return columns_of(time, self.own_bits(words, rows), values, self.tables)

    def own_bits(self, words: Words, rows: Integers) -> npt.NDArray[np.uint64]:
        """The bits of some rows as the pattern numbers them."""
        pages = self.tables.pages
        own = np.zeros((len(rows), len(pages)), np.uint64)
        read = {number // WORD: words[number // WORD][rows] for number in self.bits if number != ALWAYS}
        one = np.uint64(1)
        for page, predicates in enumerate(pages):
            for place, predicate in enumerate(predicates):
                number = self.bits[predicate]
                if number == ALWAYS:
                    own[:, page] |= one << np.uint64(place)
                else:
                    own[:, page] |= ((read[number // WORD] >> np.uint64(number % WORD)) & one) << np.uint64(place)
        return own


class PackedBits:
    """Words of bits in the making. Bits go to arrays of bytes first: a pass over bytes costs an eighth of one over
    words, and there is one for each condition."""

    def __init__(self, words: int, count: int) -> None:
        self._bytes = [np.zeros(count, np.uint8) for _ in range(words * WORD // 8)]
        self._count = count

    def put(self, number: int, satisfied: npt.NDArray[np.bool_]) -> None:
        """The bit of one condition, which has none yet."""
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
