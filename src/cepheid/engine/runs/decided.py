"""What the kernel has decided, call by call, as assignments.

In: the nodes of matches or timeouts that a call of the kernel left in the pool. Out: `Assignments`. Called by
`matcher`. Nodes may be collected after each call, so what they stand for is read out at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.kernel import buffer
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.pool import Pool

Sift: TypeAlias = Callable[[Integers, Integers, Integers], npt.NDArray[np.bool_]]
"""Given the lengths of some matches and the variables and rows of their events, which of the matches stay."""

ENTRY = 24
"""Bytes for an event of a match: its match, its variable, its row."""


class Decided:
    """Matches or timeouts as they come out of the kernel, part by part."""

    def __init__(self) -> None:
        self.parts: list[tuple[Integers, Integers, Integers]] = []
        self.moments: list[Integers] = []
        self.count = 0
        self.entries = 0
        self.sift: Sift | None = None

    def bytes_with(self, pool: Pool, table: Integers, counter: int) -> int:
        """The memory that this takes together with what the kernel has decided since the last call."""
        more = int(pool.nodes[table[: pool.counters[counter], 0], l.N_DEPTH].sum(dtype=np.int64))
        return self.entries * ENTRY + more * ENTRY

    def add(self, pool: Pool, table: Integers, counter: int) -> None:
        """Take over what the kernel has decided since the last call."""
        count = int(pool.counters[counter])
        pool.counters[counter] = 0
        if count == 0:
            return
        lengths = pool.nodes[table[:count, 0], l.N_DEPTH].astype(np.int64)
        moments = table[:count, 1].copy()
        variable, row = buffer.extract(pool.nodes, np.ascontiguousarray(table[:count, 0]), np.cumsum(lengths))
        if self.sift is not None:
            stays = self.sift(lengths, variable, row)
            entries = np.repeat(stays, lengths)
            lengths, moments, variable, row = lengths[stays], moments[stays], variable[entries], row[entries]
        match = np.repeat(np.arange(self.count, self.count + len(lengths)), lengths)
        self.parts.append((match, variable, row))
        self.moments.append(moments)
        self.count += len(lengths)
        self.entries += len(row)

    def assignments(self) -> Assignments:
        nothing = np.zeros(0, np.int64)
        match, variable, row = (np.concatenate([part[index] for part in self.parts] or [nothing]) for index in range(3))
        return Assignments(match, variable, row, np.concatenate(self.moments or [nothing]))
