"""Sorting rows by partition and time: the kernel's function, always with arrays of one kind.

Arrays that Arrow owns cannot be written to, others can, and numba compiles a function for each mixture of them. Called
by `rows`; `warming` has the one form compiled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.engine.kernel import sorting

Integers = npt.NDArray[np.int64]


def grouped_by_time(codes: Integers, count: int, time: Integers) -> tuple[Integers, Integers]:
    """The rows by partition, then by time, then as they came; and where each of the `count` partitions begins."""
    return sorting.grouped_by_time(_read_only(codes), count, _read_only(time))


def _read_only(values: Integers) -> Integers:
    seen = np.ascontiguousarray(values).view()
    seen.flags.writeable = False
    return seen
