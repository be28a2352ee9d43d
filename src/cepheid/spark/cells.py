"""Rows of one bucket as one binary value, made small where that is cheap: Spark copies, sums up and compresses each
byte of it.

In: rows sorted by bucket. Out: cells, and the rows of a cell. `workers.Pack` makes them; matching reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ORIGINAL = b"cepheid.original"
"""Of a field that was made narrower: the type that it had."""
_WIDE = {str(kind): kind for kind in (pa.int16(), pa.int32(), pa.int64())}
_NARROW = (pa.int8(), pa.int16(), pa.int32())


def narrowed(rows: pa.Table) -> pa.Table:
    """The rows with integers as narrow as their values allow."""
    for index, field in enumerate(rows.schema):
        if str(field.type) not in _WIDE:
            continue
        least, most = pc.min_max(rows.column(index)).as_py().values()
        most = 0 if most is None else max(most, ~least)  # all NULL; ~least: the largest value that needs as many bits
        kind = next((kind for kind in _NARROW if most < 1 << kind.bit_width - 1), field.type)
        if kind.bit_width < field.type.bit_width:
            narrow = pa.field(field.name, kind, metadata={_ORIGINAL: str(field.type)})
            rows = rows.set_column(index, narrow, rows.column(index).cast(kind, safe=False))
    return rows


def cells_of(rows: pa.Table, bounds: list[int], keys: tuple[str, ...]) -> pa.Array:
    """The rows between each two bounds as one binary value. Strings of `keys` are written once a cell: a key usually
    has many rows."""
    sink = pa.BufferOutputStream()
    offsets = [0]
    for begin, end in pairwise(bounds):
        cell = rows.slice(begin, end - begin)
        for index, field in enumerate(cell.schema):
            if field.name in keys and _is_text(field.type):
                cell = cell.set_column(index, field.name, cell[field.name].dictionary_encode())
            elif pa.types.is_dictionary(field.type):
                cell = cell.set_column(index, field.name, fitting(cell.column(index).combine_chunks()))
        with pa.ipc.new_stream(sink, cell.schema) as writer:
            writer.write_table(cell)
        offsets.append(sink.tell())
    places = pa.py_buffer(np.array(offsets, np.int32))
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, places, sink.getvalue()])


def fitting(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values without those that are not there, if there are many of them."""
    if len(column.dictionary) <= len(column) // 8:
        return column
    numbers = column.indices.to_numpy(zero_copy_only=False)
    used, numbers = np.unique(numbers, return_inverse=True)
    kind = column.indices.type
    return pa.DictionaryArray.from_arrays(pa.array(numbers, kind), column.dictionary.take(pa.array(used)))


def rows_of(cell: pa.Buffer) -> pa.Table:
    """The rows of a cell, with the types that they had; strings of keys are still dictionaries."""
    rows = pa.ipc.open_stream(cell).read_all()
    for index, field in enumerate(rows.schema):
        if field.metadata and _ORIGINAL in field.metadata:
            kind = _WIDE[field.metadata[_ORIGINAL].decode()]
            rows = rows.set_column(index, field.name, rows.column(index).cast(kind))
    # Cells are put together: whether a column can be NULL, as Spark sees it, must not depend on what was narrow.
    fields = [pa.field(field.name, field.type) for field in rows.schema]
    return pa.Table.from_arrays(rows.columns, schema=pa.schema(fields))


def _is_text(kind: pa.DataType) -> bool:
    """Whether values are of any length."""
    return any(
        is_one(kind)
        for is_one in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
    )


@dataclass(frozen=True)
class Named:
    """Work on batches whose columns come under other names."""

    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.work(batch.rename_columns(list(self.names)) for batch in batches)
