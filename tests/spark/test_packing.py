"""Cells hold the rows of their bucket, whatever shares a column on the way there."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.spark import workers
from cepheid.spark.workers import BUCKET, PAYLOAD, Pack, mask_width

ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(-5, 5), st.integers(0, 2**9 - 1), st.integers(0, 3)),
    min_size=1,
)


def unpacked(pack: Pack, batches: list[pa.RecordBatch]) -> dict[int, list[dict[str, Any]]]:
    """The rows of each bucket, in the order of its cells."""
    found = defaultdict(list)
    for cells in pack(batches):
        for bucket, cell in zip(cells.column(BUCKET), cells.column(PAYLOAD), strict=True):
            found[bucket.as_py()] += pa.ipc.open_stream(cell.as_buffer()).read_all().to_pylist()
    return found


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
        patch.setattr(workers, "PACKED_ROWS", size)
        assert unpacked(Pack(), apart.to_batches(max_chunksize=7)) == expected
        assert unpacked(Pack(("key",), 9, "mask"), together.to_batches(max_chunksize=7)) == expected


@pytest.mark.parametrize(("bits", "width"), [(0, 8), (7, 8), (8, 16), (15, 16), (31, 32), (32, 64), (64, 64)])
def test_masks_are_as_narrow_as_they_can_be(bits: int, width: int) -> None:
    assert mask_width(bits) == width
