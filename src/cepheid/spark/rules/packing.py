"""Rows of a stream into cells, by key and bucket, with the bits of all conditions. Runs in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.rows.views import Words
from cepheid.spark.cells import cells_of, narrowed
from cepheid.spark.keys import HASHES
from cepheid.spark.rules.bucket import GENERATION, GROUP
from cepheid.spark.rules.conditions import Bits, word_name
from cepheid.spark.rules.workers import Group, group_name
from cepheid.spark.stream.time import REASON, TIME
from cepheid.spark.workers import BUCKET, PAYLOAD, gathered


def hash_name(group: int, part: int) -> str:
    """The column that holds a part of the hash of a key, while a row has several keys."""
    return f"__key_{group}_{part}"


@dataclass(frozen=True)
class PackStream:
    """Makes cells of the rows of a micro-batch. Rejected rows go with the first key only."""

    bits: Bits
    groups: tuple[Group, ...]
    order_by: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            words = self.bits.words_of(table)
            is_rejected = table[REASON].to_numpy() != 0
            for number, group in enumerate(self.groups):
                refused = is_rejected if number == 0 else np.zeros(len(is_rejected), bool)
                rows = group.rows(words, table.num_rows, refused)
                if number:
                    rows = rows[~is_rejected[rows]]
                if len(rows):
                    yield self._packed(table, words, number, group, rows)

    def _packed(
        self, table: pa.Table, words: Words, number: int, group: Group, rows: npt.NDArray[np.int64]
    ) -> pa.RecordBatch:
        buckets = table[group_name(number)].to_numpy()[rows]
        order = np.argsort(buckets, kind="stable")
        names, begins = np.unique(buckets[order], return_index=True)
        places = rows[order]
        own = [*group.columns, REASON, TIME, GENERATION]
        packed = table.select(own).take(pa.array(places))
        for part, name in enumerate(HASHES):
            packed = packed.append_column(name, table[hash_name(number, part)].take(pa.array(places)))
        for word in group.words:
            packed = packed.append_column(word_name(word), pa.array(words[word][places].view(np.int64)))
        packed = packed.append_column(GROUP, pa.array(np.full(len(places), number, np.int32)))
        cells = cells_of(narrowed(packed).combine_chunks(), [*begins, len(order)], ())
        return pa.RecordBatch.from_arrays([pa.array(names, pa.int32()), cells], [BUCKET, PAYLOAD])
