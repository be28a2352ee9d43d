"""A worker that packs rows loads the engine meanwhile, once, and a pattern finds it there."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from cepheid.spark.ahead import NAME, make_ready
from cepheid.spark.pack_workers import Pack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOADED = ("cepheid.spark.workers", "numba", "pandas")
DEADLINE = 60.0

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


@pytest.fixture
def new_workers(spark: SparkSession) -> Iterator[None]:
    """Workers of another environment are other processes."""
    spark.sparkContext.environment["CEPHEID_TEST"] = "ahead"
    yield
    del spark.sparkContext.environment["CEPHEID_TEST"]


def loaded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: what it has loaded when packing begins, and in the end."""
    for _ in batches:
        names = [[name for name in LOADED if name in sys.modules]]
        make_ready(Pack())
        until = time.monotonic() + DEADLINE
        while any(thread.name == NAME for thread in threading.enumerate()) and time.monotonic() < until:
            time.sleep(0.01)
        names.append([name for name in LOADED if name in sys.modules])
        make_ready(Pack())
        names.append([thread.name for thread in threading.enumerate() if thread.name == NAME])
        yield pa.RecordBatch.from_pydict({"names": names})


def test_a_worker_that_packs_loads_the_engine_meanwhile_and_once(spark: SparkSession, new_workers: None) -> None:
    found = spark.range(1).mapInArrow(loaded, "names array<string>").collect()
    assert [row.names for row in found] == [[], list(LOADED), []]


def test_outside_a_worker_nothing_begins() -> None:
    before = threading.active_count()
    make_ready(Pack())
    assert threading.active_count() == before
