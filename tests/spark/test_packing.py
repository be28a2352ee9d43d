"""Cells hold the rows of their bucket, whatever shares a column on the way there."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.spark import pack_workers
from cepheid.spark.cells import bytes_of, cells_of, joined, narrowed, numbers_of, opened, plain, rows_of, with_copy
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, Pack, PackByHash, PackByNumber, mask_width
from cepheid.spark.workers import largest_key

ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(-5, 5), st.integers(0, 2**9 - 1), st.integers(0, 3)),
    min_size=1,
)


def unpacked(pack: Pack, batches: list[pa.RecordBatch]) -> dict[int, list[dict[str, Any]]]:
    """The rows of each bucket, in the order of its cells."""
    found = defaultdict(list)
    for cells in pack(batches):
        for bucket, cell in zip(cells.column(BUCKET), cells.column(PAYLOAD), strict=True):
            found[bucket.as_py()] += rows_of(cell.as_buffer()).to_pylist()
    return found


def test_cells_whose_values_need_different_widths_can_be_put_together() -> None:
    schema = pa.schema([pa.field("mask", pa.int16(), nullable=False)])
    cells = [narrowed(pa.table({"mask": pa.array([value], pa.int16())}, schema=schema)) for value in (1, 300)]
    rows = pa.concat_tables([rows_of(cells_of(cell, [0, 1], ())[0].as_buffer()) for cell in cells])
    assert rows["mask"].to_pylist() == [1, 300]


@given(ROWS, st.integers(1, 40))
def test_a_mask_beside_the_bucket_and_keys_written_once_change_no_row(rows: list[Any], size: int) -> None:
    keys, times, masks, buckets = (list(column) for column in zip(*rows, strict=True))
    own = {"key": pa.array(keys, pa.string()), "time": pa.array(times)}
    apart = pa.table({**own, "mask": pa.array(masks, pa.int16()), BUCKET: pa.array(buckets, pa.int64())})
    together = pa.table({**own, BUCKET: pa.array([b << 9 | m for b, m in zip(buckets, masks, strict=True)])})
    expected: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for key, time, mask, bucket in rows:
        expected[bucket].append({"key": key, "time": time, "mask": mask})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack_workers, "PACKED_ROWS", size)
        assert unpacked(Pack(), apart.to_batches(max_chunksize=7)) == expected
        assert unpacked(Pack(("key",), 9, "mask"), together.to_batches(max_chunksize=7)) == expected


@pytest.mark.parametrize(("bits", "width"), [(0, 8), (7, 8), (8, 16), (15, 16), (31, 32), (32, 64), (64, 64)])
def test_masks_are_as_narrow_as_they_can_be(bits: int, width: int) -> None:
    assert mask_width(bits) == width


EDGES = [sign * 2**bits + step for bits in (7, 15, 31) for sign in (1, -1) for step in (-1, 0, 1)]
INTEGERS = {
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.sampled_from([*EDGES, 0, 2**63 - 1, -(2**63)]),
}


NEAR_THE_LEAST = st.sampled_from([-(2**63) + near for near in (0, 1, 127, 128, 2**31 - 1, 2**31)])
VALUES = {
    **INTEGERS,
    pa.timestamp("us"): NEAR_THE_LEAST | INTEGERS[pa.int64()],
    pa.timestamp("us", "Europe/Vienna"): NEAR_THE_LEAST | INTEGERS[pa.int64()],
    pa.timestamp("ns", "UTC"): INTEGERS[pa.int64()],
    pa.string(): st.sampled_from(["a", "b", ""]),
}


@given(st.data(), st.sampled_from(list(VALUES)), st.booleans())
def test_values_travel_narrow_and_come_back(data: st.DataObject, kind: pa.DataType, nulls: bool) -> None:
    """One cell alone, and several that need different widths put together, in one piece."""
    value = st.none() | VALUES[kind] if nulls else VALUES[kind]
    parts = data.draw(st.lists(st.lists(value, min_size=1, max_size=4), min_size=1, max_size=3))
    tables = [pa.table({"value": pa.array(values, kind), "place": range(len(values))}) for values in parts]
    has_copy = kind != pa.string() and data.draw(st.booleans())
    sent = [with_copy(table, "value", "copy") if has_copy else table for table in tables]
    cells = [cells_of(narrowed(table), [0, table.num_rows], ("value",))[0].as_buffer() for table in sent]
    for table, cell in zip(tables, cells, strict=True):
        back = rows_of(cell)
        assert back["value"].cast(kind).equals(table["value"])
        assert 0 <= back.nbytes - bytes_of(opened(cell)) <= len(back.columns)  # bits that say what is NULL
    put_together = joined([opened(cell) for cell in cells])
    assert put_together["value"].cast(kind).equals(pa.concat_tables(tables).combine_chunks()["value"])
    assert put_together["value"].num_chunks == 1
    assert put_together.column_names == ["value", "place", *["copy"] * has_copy]
    if has_copy:
        assert put_together["copy"].equals(put_together["value"].cast(pa.int64()))


def test_rows_that_came_in_pieces_are_put_together() -> None:
    table = pa.table({"value": pa.chunked_array([[1, 2], [300]]), "at": pa.chunked_array([[5], [6, 7]])})
    [cell] = cells_of(narrowed(table), [0, 3], ())
    assert joined([opened(cell.as_buffer())] * 2).to_pydict() == {"value": [1, 2, 300] * 2, "at": [5, 6, 7] * 2}


@pytest.mark.parametrize(
    ("values", "narrow"),
    [
        ([127, -128, None], pa.int8()),
        ([128, 0], pa.int16()),
        ([-129, 0], pa.int16()),
        ([2**15, 0], pa.int32()),
        ([2**31, 0], pa.int64()),
        ([None], pa.int8()),
        ([2**62, None, 2**62 + 127], pa.int8()),
        ([2**62, 2**62 + 128], pa.int16()),
        ([-(2**63), 2**31 - 1 - 2**63], pa.int32()),
        ([-(2**63), 2**31 - 2**63], pa.int64()),
        ([-(2**63), 2**63 - 1], pa.int64()),
    ],
)
def test_integers_are_as_narrow_as_their_values(values: list[int | None], narrow: pa.DataType) -> None:
    assert narrowed(pa.table({"value": pa.array(values, pa.int64())})).schema.field("value").type == narrow


def test_the_largest_key_is_found_among_all_cells() -> None:
    cells = [
        pa.table({"key": pa.array(["a", "b", None]).dictionary_encode(), "place": pa.array([1, 1, 2])}),
        pa.table({"key": pa.array(["b", None, None]), "place": pa.array([1, 2, 2])}),
    ]
    assert largest_key(cells, ("key",)) == ({"key": None}, 3)
    assert largest_key(cells, ("key", "place")) == ({"key": None, "place": 2}, 3)
    assert largest_key(cells, ("place",)) == ({"place": 1}, 3)


def test_the_largest_key_takes_a_fraction_of_the_memory_that_the_rows_take() -> None:
    """The bucket fills the worker's memory already: what names its largest key must fit beside it."""
    count = 500_000
    keys = pa.array([f"customer-{number % 9_973}" for number in range(count)]).dictionary_encode()
    cells = [pa.table({"key": keys, "time": pa.array(range(count))})] * 4
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        assert largest_key(cells, ("key",)) == ({"key": "customer-0"}, 4 * (count // 9_973 + 1))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < count
    assert pa.total_allocated_bytes() - before < count


KEYS = {
    "number": st.integers(-(2**63), 2**63 - 1),
    "small": st.integers(-3, 3),
    "day": st.dates(),
    "at": st.datetimes(),
}
KINDS = {"number": pa.int64(), "small": pa.int8(), "day": pa.date32(), "at": pa.timestamp("us")}


@given(st.data(), st.sets(st.sampled_from(sorted(KEYS)), min_size=1, max_size=2), st.integers(1, 9))
def test_a_key_of_numbers_is_in_one_bucket_with_all_its_rows(
    data: st.DataObject, names: set[str], buckets: int
) -> None:
    keys = tuple(sorted(names))
    known = data.draw(st.lists(st.tuples(*(st.none() | KEYS[name] for name in keys)), min_size=1, max_size=6))
    rows = [(*key, number) for number, key in enumerate(data.draw(st.lists(st.sampled_from(known), min_size=1)))]
    columns = zip((*keys, "row"), zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(values, KINDS.get(name, pa.int64())) for name, values in columns})
    found = unpacked(PackByNumber(keys, buckets=buckets), table.to_batches(max_chunksize=5))
    assert all(0 <= bucket < buckets for bucket in found)
    assert sorted(row["row"] for listed in found.values() for row in listed) == list(range(len(rows)))
    places: dict[Any, set[int]] = defaultdict(set)
    for bucket, listed in found.items():
        for row in listed:
            places[tuple(row[name] for name in keys)].add(bucket)
            assert row == dict(zip((*keys, "row"), rows[row["row"]], strict=True))
    assert all(len(one) == 1 for one in places.values())


PACKING = """
import sys
import numpy as np
import pyarrow as pa
from cepheid.spark.cells import plain
from cepheid.spark.pack_workers import BUCKET, Pack, PackByHash, PackByNumber
numbers = plain(np.arange(40))
later = plain(np.arange(40) + (1 << 50)).cast(pa.timestamp("us"))
rows = pa.Table.from_arrays(
    [numbers.cast(pa.string()), later, numbers, numbers], ["key", "ts", "id", BUCKET]
)
print(sum(len(cells) for cells in Pack(("key",), 3, "mask")(rows.to_batches())))
print(sum(len(cells) for cells in PackByNumber(("id",), buckets=4)(rows.to_batches())))
print(sum(len(cells) for cells in PackByHash(ids=(0, 1), hashed="id", time=("ts", "time"))(rows.to_batches())))
print(sorted({"numba", "pandas", "sqlglot", "cepheid.engine"} & sys.modules.keys()))
"""


def test_packing_needs_neither_engine_nor_pandas() -> None:
    """A new worker begins with it, and importing them takes most of a second (see `spark.ahead`)."""
    run = subprocess.run([sys.executable, "-c", PACKING], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n") == ["5", "4", "2", "[]", ""]


def test_numbers_to_arrays_and_back() -> None:
    for numbers in (np.arange(6, dtype=np.int32)[::2], np.zeros(0), np.array([-1, 2], np.int8)):
        assert plain(numbers).equals(pa.array(numbers))
    column = pa.chunked_array([pa.array([1, 2, 3]).slice(1), pa.array([4])])
    assert numbers_of(column).tolist() == [*numbers_of(column.slice(0, 2)).tolist(), 4] == [2, 3, 4]


def test_buckets_by_hash_are_sparks_and_the_time_is_copied() -> None:
    """`pmod` of the hash says the place among the ids; a hash may be negative."""
    hashes = [-5, -1, 0, 1, 7, -(1 << 63)]
    times = [None, 5, -3, 1 << 40, 0, 9]
    rows = pa.table({"hash": hashes, "ts": pa.array(times, pa.timestamp("us", "UTC"))})
    pack = PackByHash(ids=(4, 9, 2), hashed="hash", time=("ts", "copy"))
    found = {}
    for batch in pack(rows.to_batches()):
        for bucket, cell in zip(batch[BUCKET].to_pylist(), batch[PAYLOAD], strict=True):
            assert opened(cell.as_buffer()).column_names == ["hash", "ts"]
            table = rows_of(cell.as_buffer())
            assert table["copy"].to_pylist() == table["ts"].cast(pa.int64()).to_pylist()
            found |= dict.fromkeys(table["hash"].to_pylist(), bucket)
    assert found == {number: (4, 9, 2)[number % 3] for number in hashes}


@pytest.mark.parametrize("cell_bytes", [None, 1, 100, 1_000, 1 << 20])
def test_cells_are_cut_where_they_are_too_large(cell_bytes: int | None) -> None:
    """Every row is in one cell, in its bucket and in its order; no cell is larger, and none is empty."""
    for counts in ([300], [0, 5, 1, 0, 200], [1, 1]):
        buckets = np.repeat(np.arange(len(counts)), counts)
        places = np.random.default_rng(1).permutation(len(buckets))
        rows = pa.table({BUCKET: buckets[places], "row": np.arange(len(buckets)) * 1_000_000})
        found: dict[int, list[int]] = {}
        sizes = []
        for batch in Pack(cell_bytes=cell_bytes)(rows.to_batches()):
            for bucket, cell in zip(batch[BUCKET].to_pylist(), batch[PAYLOAD], strict=True):
                table = opened(cell.as_buffer())
                sizes.append((table.num_rows, table.nbytes))
                found.setdefault(bucket, []).extend(rows_of(cell.as_buffer())["row"].to_pylist())
        expected = {
            number: rows.filter(pc.equal(rows[BUCKET], number))["row"].to_pylist()
            for number, size in enumerate(counts)
            if size
        }
        assert found == expected
        assert all(count == 1 or size <= (cell_bytes or size) for count, size in sizes)
        assert min(count for count, _ in sizes) > 0
        if cell_bytes is None:
            assert len(sizes) == len(expected)
