"""Events that follow from their numbers alone, so that another program can make the very same ones.

In: how many events and keys. Out: an Arrow table, or a Parquet file of it. Called by `peers`, `handwritten` and
`growth`; bench/java/MadeEvent.java makes the same events.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = 5
PRICES = 100
PART = 1_000_000
"""Events in one file."""


def made_events(begin: int, end: int, keys: int) -> pa.Table:
    """The events from one number to another: a key, a type, a price, and the number as the time in milliseconds."""
    number = np.arange(begin, end, dtype=np.uint64)
    three = number * np.uint64(3)
    return pa.table(
        {
            "key": (_scrambled(three) % np.uint64(keys)).astype(np.int64),
            "type": (_scrambled(three + np.uint64(1)) % np.uint64(TYPES)).astype(np.int32),
            "price": (_scrambled(three + np.uint64(2)) % np.uint64(PRICES)).astype(np.int32),
            "ts": pa.array(number.astype(np.int64), pa.timestamp("ms", "UTC")),
        }
    )


def write_events(directory: Path, events: int, keys: int) -> str:
    """Parquet files with so many events; returns where they are."""
    directory.mkdir(parents=True)
    for begin in range(0, events, PART):
        pq.write_table(made_events(begin, min(begin + PART, events), keys), directory / f"{begin:012}.parquet")
    return str(directory)


def _scrambled(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finishing steps of the generator SplitMix64."""
    with np.errstate(over="ignore"):
        bits = (value + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
