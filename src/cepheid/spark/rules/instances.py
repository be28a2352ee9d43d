"""The rules that run on a stream, and the live runs of each in one bucket.

In: what a worker must know of a rule, and since when it runs. Out: which events it looks at, and its matcher. Called by
`bucket`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.matcher import Matcher
from cepheid.engine.runs.joining import join
from cepheid.engine.runs.snapshot import restore, snapshot
from cepheid.spark.rules.bound import RuleWork
from cepheid.spark.stream.state.pending import OwnKeys, hashes_bytes, hashes_from

Work = TypeVar("Work")


@dataclass(frozen=True)
class Instance(Generic[Work]):
    """A rule that runs: a pattern or a row pattern."""

    rule: Work
    """What a worker must know of it."""
    name: str
    """Tells it from every other instance, also of the same rule."""
    since: int
    """The generation in which it began."""
    waits: bool = False
    """Whether it begins with a history that is brought to it (see `later`)."""

    def sees(self, generation: Integers, histories: Collection[int]) -> npt.NDArray[np.bool_]:
        """Which events it looks at, by the generation in which they came; `histories`: those that have come."""
        if self.waits and self.since not in histories:
            return np.zeros(len(generation), bool)
        return np.asarray((generation >= self.since) | (generation == -self.since))


RuleInstance: TypeAlias = Instance[RuleWork]


class RuleRuns:
    """The live runs of one instance, and which of the bucket's rows they hold."""

    def __init__(self, instance: RuleInstance) -> None:
        self.instance = instance
        self.matcher = Matcher(instance.rule.view.tables)
        self.keys: pa.Array = pa.array([], pa.binary(16))
        """The key of each slot, as its hash."""
        self.rows: Integers = np.zeros(0, np.int64)
        """For each event that the matcher holds, its row in the bucket."""
        self.ordinals: Integers = np.zeros(0, np.int64)
        """The same, its number among those that key and order do not tell apart."""

    def tidy(self, watermark: int) -> None:
        """Forget the events that nothing holds and the keys that would be the same if they began anew."""
        stays, kept = self.matcher.tidy(watermark)
        self.keys = self.keys.filter(pa.array(stays))
        self.rows, self.ordinals = self.rows[kept], self.ordinals[kept]

    def only(self, is_own: OwnKeys) -> None:
        """Keep only what belongs to some keys; the rows of the others are forgotten by the next `tidy`."""
        stays = is_own(self.keys)
        self.matcher.only(stays)
        self.keys = self.keys.filter(pa.array(stays))

    def join(self, others: Sequence[RuleRuns], before: Sequence[int]) -> None:
        """Take over the runs of others, whose keys are others; `before`: by how much their rows in the bucket have
        moved."""
        parts = [self, *others]
        self.matcher = join(Matcher(self.instance.rule.view.tables), [one.matcher for one in parts])
        self.keys = pa.concat_arrays([one.keys for one in parts])
        moved = [one.rows + first for one, first in zip(others, before, strict=True)]
        self.rows = np.concatenate([self.rows, *moved])
        self.ordinals = np.concatenate([one.ordinals for one in parts])

    def to_parts(self) -> list[bytes]:
        """All of it as bytes."""
        return [snapshot(self.matcher), hashes_bytes(self.keys), self.rows.tobytes(), self.ordinals.tobytes()]

    def with_parts(self, parts: list[bytes]) -> RuleRuns:
        """What `to_parts` wrote."""
        self.matcher = restore(self.matcher, parts[0])
        self.keys = hashes_from(parts[1])
        self.rows, self.ordinals = (np.frombuffer(part, np.int64).copy() for part in parts[2:])
        return self
