"""Rows of one bucket as one binary value, made small where that is cheap: Spark copies, sums up and compresses each
byte of it.

In: rows sorted by bucket. Out: cells, and the rows of a cell. `pack_workers.Pack` makes them; matching reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_ORIGINAL, _ZONE, _LEAST = b"cepheid.original", b"cepheid.zone", b"cepheid.least"
"""Of a field that was made narrower: the type that it had, its time zone, and the number that was taken from all."""
_COPY = b"cepheid.copy"
"""Of a field that is there twice where its cell is opened: the name of its copy."""
_WIDE = {str(kind): kind for kind in (pa.int16(), pa.int32(), pa.int64())}
_NARROW = (pa.int8(), pa.int16(), pa.int32())
_TIME = str(pa.timestamp("us"))

LIGHT = 3 << 16
"""About how many bytes a binary value has that a stream sends through Spark. The JVM copies it a dozen times on its
way, once with twice the room. With Spark's usual heap of 1 GB, an array of half a megabyte is "humongous" for its
collector and goes to the old generation at once: cells and entries of that size cost 0.04 of 1.3 CPU seconds a
micro-batch more."""


def narrowed(rows: pa.Table) -> pa.Table:
    """The rows with integers and times as narrow as their values allow. Where it makes them narrower, the least value
    is taken from all: times that are large lie close together."""
    for index, field in enumerate(rows.schema):
        is_time = _is_time(field.type)
        if not is_time and str(field.type) not in _WIDE:
            continue
        column = rows.column(index)
        if is_time:
            column = column.cast(pa.int64())
        least, most = pc.min_max(column).as_py().values()
        if least is None:  # all NULL
            least = most = 0
        plain, apart = _fitting(max(most, ~least)), _fitting(most - least)  # ~: the largest that needs as many bits
        kind = min(plain, apart, key=lambda kind: kind.bit_width)
        if kind.bit_width >= field.type.bit_width:
            continue
        metadata = {**(field.metadata or {}), _ORIGINAL: _TIME if is_time else str(field.type)}
        if is_time and field.type.tz is not None:
            metadata[_ZONE] = field.type.tz
        if kind.bit_width < plain.bit_width:
            metadata[_LEAST] = str(least)
            column = pc.subtract(column, number(least, column.type))
        rows = rows.set_column(index, pa.field(field.name, kind, metadata=metadata), column.cast(kind, safe=False))
    return rows


def with_copy(rows: pa.Table, name: str, copy: str) -> pa.Table:
    """Rows that have a column a second time, as whole numbers: the copy is made where their cells are opened. Cells
    that are joined have the same copies, since one plan packs them."""
    field = rows.schema.field(name).with_metadata({_COPY: copy})
    return rows.set_column(rows.schema.get_field_index(name), field, rows[name])


def _is_time(kind: pa.DataType) -> bool:
    """Whether values are times as Spark has them."""
    return bool(pa.types.is_timestamp(kind) and kind.unit == "us")


def _fitting(most: int) -> pa.DataType:
    """The narrowest type for whole numbers up to `most`, and as far below zero."""
    return next((kind for kind in _NARROW if most < 1 << kind.bit_width - 1), pa.int64())


def cut(
    buckets: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], size: int, cell_bytes: int | None
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """The bucket of each cell, and its bounds among rows that are sorted by bucket and have `size` bytes together: one
    cell for each bucket, which ends there, or as many of about `cell_bytes` as its rows fill."""
    if cell_bytes is None or size <= cell_bytes:
        return buckets, [0, *ends.tolist()]
    most = max(1, cell_bytes * int(ends[-1]) // size)
    counts = np.diff(ends, prepend=0)
    cells = -(-counts // most)
    numbers = np.arange(cells.sum()) - np.repeat(np.cumsum(cells) - cells, cells)
    begins = np.repeat(ends - counts, cells) + numbers * most
    return np.repeat(buckets, cells), [*begins.tolist(), int(ends[-1])]


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
                cell = cell.set_column(index, field.name, used(cell.column(index).combine_chunks()))
        with pa.ipc.new_stream(sink, cell.schema) as writer:
            writer.write_table(cell)
        offsets.append(sink.tell())
    places = pa.py_buffer(np.array(offsets, np.int32))
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, places, sink.getvalue()])


def plain(numbers: npt.NDArray[Any]) -> pa.Array:
    """Numbers as an array. `pa.array` would import pandas, to see whether they are a series, and so would `pa.scalar`
    and `to_numpy`: a quarter of a second of a new worker."""
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


def number(value: int, kind: pa.DataType) -> pa.Scalar:
    """A whole number as a scalar, in the same way."""
    return plain(np.array([value], kind.to_pandas_dtype()))[0]


def numbers_of(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """The numbers of a column without NULLs, the way back."""
    array = column.combine_chunks()
    numbers = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return numbers[array.offset : array.offset + len(array)]


def used(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values without those that are not there, if there are many of them."""
    if len(column.dictionary) <= len(column) // 8:
        return column
    numbers = column.indices.to_numpy(zero_copy_only=False)
    there, numbers = np.unique(numbers, return_inverse=True)
    kind = column.indices.type
    return pa.DictionaryArray.from_arrays(pa.array(numbers, kind), column.dictionary.take(pa.array(there)))


def rows_of(cell: pa.Buffer) -> pa.Table:
    """The rows of a cell, with the types that they had; strings of keys are still dictionaries."""
    return widened(opened(cell))


def opened(cell: pa.Buffer) -> pa.Table:
    """The rows of a cell as they travelled."""
    return pa.ipc.open_stream(cell).read_all()


def widened(rows: pa.Table) -> pa.Table:
    """Rows as they travelled, with the types and copies that they had."""
    return _with_copies(_widened(rows), rows.schema)


def _widened(rows: pa.Table) -> pa.Table:
    for index, field in enumerate(rows.schema):
        if _is_narrow(field):
            kind = _original(field)
            numbers = pa.int64() if _is_time(kind) else kind
            column = rows.column(index).cast(numbers)
            if least := _least(field):
                column = pc.add(column, pa.scalar(least, numbers))
            rows = rows.set_column(index, field.name, column.cast(kind))
    # Cells are put together: whether a column can be NULL, as Spark sees it, must not depend on what was narrow.
    return pa.Table.from_arrays(rows.columns, schema=_original_schema(rows))


def bytes_of(rows: pa.Table) -> int:
    """The bytes that rows will have when they are wide."""
    more = sum(_original(field).bit_width - field.type.bit_width for field in rows.schema if _is_narrow(field))
    more += 64 * len(_copies(rows.schema))
    return int(rows.nbytes + rows.num_rows * more // 8)


def joined(cells: list[pa.Table]) -> pa.Table:
    """The rows of cells, as they travelled, in one piece and wide. Numbers and times go to their place at once: to make
    each cell wide first would write them twice."""
    schema, count = _original_schema(cells[0]), sum(cell.num_rows for cell in cells)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name, kind in zip(schema.names, schema.types, strict=True):
        is_whole = str(kind) in _WIDE or _is_time(kind)
        if is_whole and not any(cell[name].null_count for cell in cells):
            columns[name] = _joined(name, kind, cells, count)
    others = [name for name in schema.names if name not in columns]
    if others:
        rest = pa.concat_tables(_widened(cell.select(others)) for cell in cells).combine_chunks()
        columns |= dict(zip(others, rest.columns, strict=True))
    return _with_copies(pa.table({name: columns[name] for name in schema.names}), cells[0].schema)


def _joined(name: str, kind: pa.DataType, cells: list[pa.Table], count: int) -> pa.Array:
    """A column of `joined` that has no NULL."""
    numbers = np.empty(count, f"int{kind.bit_width}")
    begin = 0
    for cell in cells:
        least = _least(cell.schema.field(name))
        for chunk in cell[name].chunks:
            place = numbers[begin : begin + len(chunk)]
            place[:] = (chunk.view(pa.int64()) if _is_time(chunk.type) else chunk).to_numpy()
            if least:
                place += least
            begin += len(chunk)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(numbers)])


def _copies(schema: pa.Schema) -> dict[str, str]:
    """The columns that have a copy, and its name."""
    return {field.name: field.metadata[_COPY].decode() for field in schema if _COPY in (field.metadata or {})}


def _with_copies(rows: pa.Table, travelled: pa.Schema) -> pa.Table:
    for name, copy in _copies(travelled).items():
        rows = rows.append_column(copy, rows[name].cast(pa.int64()))
    return rows


def _is_narrow(field: pa.Field) -> bool:
    return bool(field.metadata) and _ORIGINAL in field.metadata


def _least(field: pa.Field) -> int:
    return int(field.metadata.get(_LEAST, b"0")) if field.metadata else 0


def _original(field: pa.Field) -> pa.DataType:
    """The type that a column had before it was made narrow."""
    if not _is_narrow(field):
        return field.type
    name = field.metadata[_ORIGINAL].decode()
    if name != _TIME:
        return _WIDE[name]
    zone = field.metadata.get(_ZONE)
    return pa.timestamp("us", None if zone is None else zone.decode())


def _original_schema(rows: pa.Table) -> pa.Schema:
    return pa.schema([pa.field(field.name, _original(field)) for field in rows.schema])


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
