"""The bits of an event: one for each distinct condition of a set of rules, 64 in a word.

In: the distinct own-event conditions of all rules, by number. Out: Columns that Spark computes, and in the workers the
words of rows. Conditions of comparisons and logic are computed by the workers, once for all rows that they do not tell
apart (`alike`); whatever else a condition may be, and whatever may fail on a row, is computed by Spark, row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.conditions.arrow.alike import Alike
from cepheid.conditions.arrow.expression import columns_of
from cepheid.conditions.arrow.holding import Holding, is_portable
from cepheid.conditions.expression import Expression
from cepheid.rows.views import WORD, PackedBits, Signed, Words
from cepheid.spark.masks import to_column
from cepheid.spark.pack_workers import mask_name

BITS_OF_A_MASK = 63
"""Spark's numbers have a sign."""
FEW = 16
"""Up to so many conditions Spark drops the rows that none wants: it computes them once more for that, row by row."""


@dataclass(frozen=True)
class Bits:
    """How the words of a table are made. Travels to the workers."""

    here: tuple[tuple[int, Expression], ...]
    """Numbers and conditions that the workers compute."""
    by_spark: tuple[int, ...]
    """The numbers of those that Spark computes: the i-th is a bit of a mask."""
    words: int

    @classmethod
    def of(cls, numbers: Mapping[Expression, int]) -> Bits:
        """Conditions by number."""
        here = tuple((number, part) for part, number in numbers.items() if is_portable(part))
        by_spark = tuple(number for part, number in numbers.items() if not is_portable(part))
        return cls(here, by_spark, max(numbers.values(), default=-1) // WORD + 1)

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of events that the workers need for this."""
        return tuple(dict.fromkeys(name for _, part in self.here for name in columns_of(part)))

    @property
    def masks(self) -> tuple[str, ...]:
        """The columns that hold what Spark computes."""
        return tuple(mask_name(page) for page in range(-(-len(self.by_spark) // BITS_OF_A_MASK)))

    def columns(self, numbers: Mapping[Expression, int]) -> list[Column]:
        """What Spark computes."""
        parts = {number: part for part, number in numbers.items()}
        made = []
        for page, name in enumerate(self.masks):
            mask = F.lit(0).cast("bigint")
            for place, number in enumerate(self.by_spark[page * BITS_OF_A_MASK : (page + 1) * BITS_OF_A_MASK]):
                bit = F.lit(1 << place).cast("bigint")
                mask = mask.bitwiseOR(F.when(to_column(parts[number]), bit).otherwise(F.lit(0).cast("bigint")))
            made.append(mask.alias(name))
        return made

    @cached_property
    def _alike(self) -> Alike:
        return Alike.of(part for _, part in self.here)

    def signed(self, table: pa.Table) -> Signed:
        """The bits of a table's rows; the table has the columns read, and the masks."""
        masks = [self._mask(table, name) for name in self.masks]
        sorts, rows = self._alike.sorts(table, [mask.view(np.int64) for mask in masks])
        holding = Holding(table.select(self.read).take(pa.array(rows)), portable=True)
        packed = PackedBits(self.words, len(rows))
        for number, part in self.here:
            packed.put(number, holding.of(part))
        for page, mask in enumerate(masks):
            own = mask[rows]
            for place, number in enumerate(self.by_spark[page * BITS_OF_A_MASK : (page + 1) * BITS_OF_A_MASK]):
                packed.put(number, own & np.uint64(1 << place) != 0)
        return Signed(sorts, dict(enumerate(packed.words())))

    def _mask(self, table: pa.Table, name: str) -> npt.NDArray[np.uint64]:
        column = pc.fill_null(table[name], 0).combine_chunks()
        mask: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return mask.view(np.uint64)


BITS = "__bits"
"""The column that holds the bits of rows on their way: a number for each row, and for each number its words."""


def sorted_out(words: Words) -> Signed:
    """Rows that have the same words are of one sort."""
    if not words:
        return Signed(None, words)
    encoded = _encoded(list(words.values()))
    return Signed(encoded.indices.to_numpy(), dict(zip(words, _decoded(encoded.dictionary, len(words)).T, strict=True)))


def _encoded(words: Sequence[npt.NDArray[np.uint64]]) -> pa.DictionaryArray:
    together = np.stack(words, axis=1)
    kind = pa.binary(8 * len(words))
    return pa.Array.from_buffers(kind, len(together), [None, pa.py_buffer(together)]).dictionary_encode()


def _decoded(dictionary: pa.FixedSizeBinaryArray, words: int) -> npt.NDArray[np.uint64]:
    values = np.frombuffer(dictionary.buffers()[1], np.uint64).reshape(-1, words)
    return values[dictionary.offset : dictionary.offset + len(dictionary)]


def bits_of(signed: Signed, wanted: Mapping[int, int], rows: npt.NDArray[np.int64]) -> pa.DictionaryArray:
    """Those bits of some rows that are wanted, given as masks by word."""
    encoded = _encoded([signed.words[word] & np.uint64(mask) for word, mask in wanted.items()])
    numbers = encoded.indices.to_numpy()
    return pa.DictionaryArray.from_arrays(signed.of_rows(numbers, rows), encoded.dictionary)


def numbered_bits(table: pa.Table, wanted: Mapping[int, int]) -> tuple[pa.Table, dict[int, npt.NDArray[np.uint64]]]:
    """The table with a number for the bits that `bits_of` wrote, and the words of each number. Numbers go by the bits:
    rows that nothing else tells apart are sorted by them (rule 12)."""
    encoded = table[BITS].combine_chunks()
    values = _decoded(encoded.dictionary, len(wanted))
    order = np.lexsort(values.view(np.int64).T[::-1])
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    numbers = pa.array(rank[encoded.indices.to_numpy()])
    words = np.ascontiguousarray(values[order].T)
    return table.set_column(table.column_names.index(BITS), BITS, numbers), dict(zip(wanted, words, strict=True))


def word_name(word: int) -> str:
    """The column that holds a word of bits."""
    return f"__word_{word}"
