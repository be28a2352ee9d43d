"""Rows of a stream into cells, by key and bucket, with the bits of all conditions. Runs in Spark's Python workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.rows.views import Signed
from cepheid.spark.keys import HASHES
from cepheid.spark.rules.bucket import GROUP
from cepheid.spark.rules.conditions import word_name
from cepheid.spark.rules.later import GENERATION, MARK
from cepheid.spark.rules.workers import Group, PackRules
from cepheid.spark.stream.time import REASON, TIME


def hash_name(group: int, part: int) -> str:
    """The column that holds a part of the hash of a key, while a row has several keys."""
    return f"__key_{group}_{part}"


@dataclass(frozen=True)
class PackStream(PackRules):
    """Makes cells of the rows of a micro-batch. Rejected rows go with the first key only, marks with every key."""

    def rows(self, table: pa.Table, signed: Signed, number: int) -> npt.NDArray[np.int64]:
        """The rows that some rule of a key wants; with those of the first key, the rejected ones."""
        reasons = table[REASON].to_numpy()
        is_rejected = reasons > 0
        rows = self.groups[number].rows(signed, table.num_rows, is_rejected | (reasons == MARK))
        return rows if number == 0 else rows[~is_rejected[rows]]

    def columns(self, table: pa.Table, number: int) -> pa.Table:
        """What travels of a table for a key: also what the state and its accounts need."""
        own = table.select([*self.groups[number].columns, REASON, TIME, GENERATION])
        for part, name in enumerate(HASHES):
            own = own.append_column(name, table[hash_name(number, part)])
        return own.append_column(GROUP, pa.array(np.full(table.num_rows, number, np.int32)))

    def bits_of(self, signed: Signed, group: Group, places: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """The bits as they are kept in state: word by word."""
        return {
            word_name(word): pa.array(signed.of_rows(signed.words[word], places).view(np.int64))
            for word in group.wanted
        }

    def once(self, group: Group) -> tuple[str, ...]:
        """None: events wait in one table with those of other cells."""
        return ()
