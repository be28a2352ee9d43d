"""The bits of an event: one for each distinct condition of a set of rules, 64 in a word.

In: the distinct own-event conditions of all rules, by number. Out: Columns that Spark computes, and in the workers the
words of a table. Conditions of comparisons and logic are computed by the workers on whole columns (`holding`, where the
measurement is); whatever else a condition may be, and whatever may fail on a row, is computed by Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.conditions.arrow.expression import columns_of
from cepheid.conditions.arrow.holding import Holding, is_portable
from cepheid.conditions.expression import Expression
from cepheid.rows.views import WORD, PackedBits
from cepheid.spark.masks import to_column
from cepheid.spark.workers import mask_name

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

    def words_of(self, table: pa.Table) -> list[npt.NDArray[np.uint64]]:
        """The words of a table that has the columns read, and the masks."""
        holding = Holding(table)
        packed = PackedBits(self.words, table.num_rows)
        for number, part in self.here:
            packed.put(number, holding.of(part))
        for page, name in enumerate(self.masks):
            mask = pc.fill_null(table[name], 0).combine_chunks().to_numpy(zero_copy_only=False).astype(np.uint64)
            for place, number in enumerate(self.by_spark[page * BITS_OF_A_MASK : (page + 1) * BITS_OF_A_MASK]):
                packed.put(number, mask & np.uint64(1 << place) != 0)
        return packed.words()


def word_name(word: int) -> str:
    """The column that holds a word of bits."""
    return f"__word_{word}"
