"""Sorting rows by partition and time.

In: a number for each row's partition, and its time. Out: the rows' order. Called by `arrange`. Rows usually come in
the order of time, so a counting sort by partition does nearly all of the work.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.engine.kernel.entrances import entrance


@entrance(allocates=True)
def grouped_by_time(
    codes: npt.NDArray[np.int64], count: int, time: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows by partition, then by time, then as they came; and where each of the `count` partitions begins."""
    bounds = np.zeros(count + 1, np.int64)
    for row in range(len(codes)):
        bounds[codes[row] + 1] += 1
    for group in range(count):
        bounds[group + 1] += bounds[group]
    order = np.empty(len(codes), np.int64)
    place = bounds[:-1].copy()
    for row in range(len(codes)):
        order[place[codes[row]]] = row
        place[codes[row]] += 1
    for group in range(count):
        for index in range(bounds[group] + 1, bounds[group + 1]):
            if time[order[index]] < time[order[index - 1]]:
                rows = order[bounds[group] : bounds[group + 1]].copy()
                sorted_rows = np.argsort(time[rows], kind="mergesort")
                for number in range(len(rows)):  # as a slice, numba would compile it for four seconds
                    order[bounds[group] + number] = rows[sorted_rows[number]]
                break
    return order, bounds
