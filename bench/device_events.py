"""Events of devices: a string key, a time, a type, and four further columns, as a fact table has them.

In: how many events and keys. Out: Parquet files. Called by the sections that measure Spark batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = "abcde"
PART = 1_250_000
"""Events in one file."""
FIRST = 1_700_000_000_000_000


def write_device_events(directory: Path, events: int, keys: int) -> str:
    """Parquet files with so many events in the order of their times; returns where they are."""
    directory.mkdir(parents=True)
    random = np.random.default_rng(events + keys)
    names = pa.array([f"device-{number:07d}" for number in range(keys)])
    notes = pa.array([f"note {number}" for number in range(1_000)])
    for begin in range(0, events, PART):
        count = min(PART, events - begin)
        times = FIRST + np.arange(begin, begin + count) * 1_000 + random.integers(0, 1_000, count)
        columns = {
            "key": names.take(pa.array(random.integers(0, keys, count))),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "name": pa.array(list(TYPES)).take(pa.array(random.integers(0, len(TYPES), count))),
            "price": random.random(count) * 100,
            "quantity": pa.array(random.integers(0, 100, count), pa.int32()),
            "store": pa.array(random.integers(0, 500, count)),
            "note": notes.take(pa.array(random.integers(0, len(notes), count))),
        }
        pq.write_table(pa.table(columns), directory / f"{begin:012}.parquet")
    return str(directory)
