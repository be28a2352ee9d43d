"""Rows that are packed, moved and matched by the workers give what the same rows give in memory."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Limits, RowPattern
from cepheid.conditions import Schema
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import bind
from cepheid.rowpattern.expression import reads_of
from cepheid.rows.row_patterns import tabulated
from cepheid.spark import pack_workers, settling
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, PackByNumber
from cepheid.spark.row_workers import MASK, MatchRows, read_name

CLAUSE = """
    PARTITION BY k ORDER BY {}
    MEASURES FIRST(row) AS since, LAST(C.v) AS last, COUNT(B.v) AS n
    PATTERN (A B+ C) DEFINE A AS v < 2, B AS v >= 2 AND v < 5, C AS v >= 5 OR v IS NULL
"""
ORDERS = ("t", "t DESC", "t DESC NULLS LAST", "t NULLS FIRST, row DESC", "v, t")
TIMES = st.integers(0, 5) | st.sampled_from([-(2**63), -(2**63) + 1, 2**63 - 1, 2**31, 2**33, 10**15])
KEYS = st.sampled_from([0, 1, 2, 7, 1_000, -1, -(2**63), 2**63 - 1])
VALUES = st.integers(0, 6)


def matched(clause: str, table: pa.Table, pack: PackByNumber, size: int) -> list[tuple[Any, ...]]:
    """What the workers find, in batches of so many rows, bucket by bucket."""
    cells: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for batch in pack(table.to_batches(max_chunksize=size)):
        for number in range(batch.num_rows):
            cells[batch.column(BUCKET)[number].as_py()].append(batch.slice(number, 1).select([BUCKET, PAYLOAD]))
    bound = bind(read(clause), Schema.from_arrow(table.schema))
    reads = tuple(read for measure in bound.measures for read in reads_of(measure.expression))
    kinds = [table.schema.field("k").type, *[pa.int64()] * len(reads)]
    schema = pa.schema(list(zip(["k", *map(read_name, range(len(reads)))], kinds, strict=True)))
    limits = Limits()
    match = MatchRows(
        bound, tabulated(bound, limits.max_steps), ("k",), reads, {}, schema, max_bucket_bytes=limits.max_bucket_bytes
    )
    found = [row for bucket in cells.values() for batch in match(bucket) for row in batch.to_pylist()]
    return sorted((tuple(row.values()) for row in found), key=str)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=60)
@given(data=st.data())
def test_workers_find_what_is_found_in_memory(order: str, data: st.DataObject) -> None:
    """Unsorted rows, ties, one key and many, extreme and missing keys and times; the first parts may have no row of a
    bucket, and other widths than later ones."""
    keys, times, values = KEYS, TIMES, VALUES
    if data.draw(st.booleans()):
        keys, times, values = st.none() | KEYS, st.none() | TIMES, st.none() | VALUES
    if data.draw(st.booleans()):
        keys = st.just(data.draw(keys))
    rows = data.draw(st.lists(st.tuples(keys, times, values), min_size=1, max_size=60))
    if data.draw(st.booleans()):
        rows.sort(key=lambda row: (row[1] is not None, row[1] or 0))
    clock = pa.timestamp("us", "UTC") if data.draw(st.booleans()) else pa.int64()
    table = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.int64()).cast(clock),
            "v": pa.array([row[2] for row in rows], pa.int64()),
            "row": pa.array(range(len(rows)), pa.int64()),
        }
    )
    clause, size = CLAUSE.format(order), data.draw(st.integers(1, 30))
    expected = RowPattern.parse(clause).match_events(table.combine_chunks()).matches_table.to_pylist()
    pack = PackByNumber(("k",), buckets=data.draw(st.sampled_from([1, 3, 300, 40_000])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack_workers, "PACKED_ROWS", data.draw(st.integers(1, 40)))
        found = matched(clause, table, pack, size)
    assert MASK not in table.column_names  # so that the workers compute the conditions
    assert found == sorted((tuple(row.values()) for row in expected), key=str)


CLEARED = """
import resource, sys
import numpy as np
import pyarrow as pa
from cepheid.spark import settling

if "worker" in sys.argv:
    settling.TaskContext.get = staticmethod(object)
settling.settle("Pack")

def use():
    held = [np.full(2 << 20, 7, np.uint8) for _ in range(4)]
    return [pa.array(one[::2]) for one in held]

use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_a_worker_uses_its_memory_again() -> None:
    """The system would clear every page of every array; in the user's own process nothing is changed."""

    def pages(*who: str) -> int:
        done = subprocess.run([sys.executable, "-c", CLEARED, *who], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert pages("worker") < pages() / 5


def test_a_worker_settles_once_for_each_kind_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its second task: then everything is loaded. Later ones would keep what every task leaves behind."""
    monkeypatch.setattr(pa, "set_memory_pool", lambda pool: None)
    begun: list[str] = []
    frozen: list[tuple[str, ...]] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(tuple(begun)))
    monkeypatch.setattr(settling, "_begun", {})
    settling.settle("Pack")
    settling.settle("Pack")
    assert not frozen  # this process is no worker
    monkeypatch.setattr(settling.TaskContext, "get", staticmethod(object))
    for kind in ("Pack", "Match", "Pack", "Match", "Match", "Pack"):
        begun.append(kind)
        settling.settle(kind)
    assert frozen == [("Pack", "Match", "Pack"), ("Pack", "Match", "Pack", "Match")]
