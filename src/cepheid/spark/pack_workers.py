"""What packs rows by bucket in Spark's Python workers, before they are moved.

In: Arrow batches. Out: Arrow batches. Everything here must travel to another process: plain functions and frozen data.
Packing is the first that a new worker does, so nothing here imports the engine, which takes half a second; `ahead` has
that loaded meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.spark.cells import cells_of, cut, narrowed, number, numbers_of, plain, with_copy

BUCKET, PAYLOAD = "__bucket", "__payload"
PACKED_ROWS = 1 << 19
PACKED_BYTES = 64 << 20
"""Rows and bytes that are packed together: many buckets would otherwise get a few rows in each cell."""


def mask_name(page: int) -> str:
    """The column that holds a page of bits."""
    return f"__mask_{page}"


def mask_width(bits: int) -> int:
    """The width of the narrowest integer that holds so many bits and is not negative; 64 if there is none."""
    return next((width for width in (8, 16, 32) if bits < width), 64)


def value_name(index: int) -> str:
    """The column that holds the value of an expression that the engine reads."""
    return f"__value_{index}"


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches, some together, their columns still in pieces."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= PACKED_ROWS or size >= PACKED_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class Pack:
    """Makes a few binary cells of many rows, one per bucket: Spark then moves cells, not rows.

    Each column costs the JVM much for each row, so a mask may travel in the low `bits` of the bucket's column. `keys`
    name the columns whose strings are written once a cell. `cell_bytes`: about how large a cell may be, if it matters.
    """

    keys: tuple[str, ...] = ()
    bits: int = 0
    mask: str = ""
    cell_bytes: int | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            buckets, rows = self.split(table)
            most = int(buckets.max())
            small = buckets.astype(np.int16) if most < 1 << 15 else buckets  # numpy sorts those by radix
            order = np.argsort(small, kind="stable")
            counts = np.bincount(buckets, minlength=most + 1)
            names = np.flatnonzero(counts)
            narrow = narrowed(rows)  # first: what is put in one piece, and then in order, is small
            names, bounds = cut(names, np.cumsum(counts[names]), narrow.nbytes, self.cell_bytes)
            cells = cells_of(narrow.combine_chunks().take(plain(order)), bounds, self.keys)
            yield pa.RecordBatch.from_arrays([plain(names.astype(np.int32)), cells], [BUCKET, PAYLOAD])

    def split(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Table]:
        """The bucket of each row, and the rows without it."""
        numbers = numbers_of(table[BUCKET])
        if not self.bits:
            return numbers, table.drop_columns([BUCKET])
        mask = (numbers & ((1 << self.bits) - 1)).astype(f"int{mask_width(self.bits)}")
        return numbers >> self.bits, table.set_column(table.column_names.index(BUCKET), self.mask, plain(mask))


@dataclass(frozen=True)
class PackByHash(Pack):
    """The same where rows have the hash of their key, so that no column has their buckets, which have these ids. The
    time that a stream goes by is a copy of a user's column, and does not travel."""

    ids: tuple[int, ...] = (0,)
    hashed: str = ""
    time: tuple[str, str] | None = None
    """The column, and the name of its copy in microseconds; None where there is one already."""

    def split(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Table]:
        """The bucket of each row, and the rows."""
        places = np.mod(numbers_of(table[self.hashed]), len(self.ids))
        if self.time is not None:
            table = with_copy(table, *self.time)
        return np.array(self.ids, np.int64)[places], table


@dataclass(frozen=True)
class PackByNumber(Pack):
    """The same where the key is of whole numbers: their buckets are computed here, so no column has them."""

    buckets: int = 1

    def split(self, table: pa.Table) -> tuple[npt.NDArray[np.int64], pa.Table]:
        """The bucket of each row, and the rows."""
        mixed = np.zeros(table.num_rows, np.uint64)
        for name in self.keys:
            column = table[name]
            kind = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
            numbers = numbers_of(pc.fill_null(column.cast(kind), number(0, kind)))
            mixed ^= numbers.astype(np.int64).view(np.uint64)
            mixed *= np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: neighbours go far apart
            mixed ^= mixed >> np.uint64(32)
        mixed &= np.uint64(0xFFFFFFFF)
        return ((mixed * np.uint64(self.buckets)) >> np.uint64(32)).view(np.int64), table
