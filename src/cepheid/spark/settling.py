"""How a Python worker settles down to many tasks of a kind: what it has loaded is taken out of Python's search for
garbage, and memory that it frees is kept for what comes next.

PySpark looks through all objects of a worker after each task (`gc.collect()` in its daemon). With the engine loaded,
with numba, Arrow and sqlglot, that takes a tenth of a second: more than most tasks. What is there when a worker begins
its second task of a kind stays for as long as it lives, so Python need not look at it again.

In: the kind of the work. Out: nothing. Called in workers, before their work.

Preconditions: PySpark has just collected, so what is there is in use; and it is done once for each kind of work, so
that what a single task happens to hold at that moment is all that can stay behind. Objects are still freed when nobody
refers to them; only cycles of the objects of that moment are not.

Memory: arrays of some megabytes come from the system and go back to it, which clears every page of each anew; that was
a fifth of all CPU time where row patterns are matched. The allocator of glibc keeps what is freed up to twice the size
of the largest array that it had from the system and got back, and looks at sizes up to 32 MB. So one such array is
taken and given back, untouched; Arrow's arrays come from the same place. Elsewhere this does nothing.
"""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

_begun: dict[str, int] = {}
"""How many tasks of each kind this process has begun."""
_SECOND = 2
_LARGE = 31 << 20
"""Bytes of an array, less than what glibc always gives back."""


def settle(kind: str) -> None:
    """In a worker: a task of this kind begins."""
    if TaskContext.get() is None:  # not a worker: the process is the user's
        return
    if not _begun:
        np.empty(_LARGE, np.uint8)
        pa.set_memory_pool(pa.system_memory_pool())
    _begun[kind] = _begun.get(kind, 0) + 1
    if _begun[kind] == _SECOND:
        gc.freeze()
