"""Workers that take turns at the buckets of a stream, as Spark lets them: each remembers only what it did itself."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from cepheid.spark.stream.state import neighbours
from cepheid.spark.stream.state import store as streaming_store


class Workers:
    """Two workers are on one machine, and leave steps for each other, now whole buckets, now entries; more are on a
    machine each. With none, every step is done by one that has never seen the bucket."""

    def __init__(self, count: int) -> None:
        self.memories: list[OrderedDict[str, Any]] = [OrderedDict() for _ in range(count)]
        self.chance, self.worth = Random(count), Random(count)
        self.machine = TemporaryDirectory() if count == 2 else None

    def take_turns(self) -> None:
        """Let one of them do the next step."""
        neighbours.PLACE = None if self.machine is None else Path(self.machine.name) / "steps"
        neighbours.SMALL, neighbours.WORTH = self.worth.choice(((1 << 20, 16), (0, 0)))
        streaming_store._MEMORY = self.chance.choice(self.memories) if self.memories else OrderedDict()
