"""How much a checkpoint holds, from the small heads of its buckets: nothing else of the state comes to the driver.

In: a session and the path of a checkpoint. Out: `Totals`. Called by whatever shows or follows a stream.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from cepheid.spark.stream.state.saved import heads
from cepheid.spark.stream.state.store import head_of


@dataclass(frozen=True, slots=True)
class Totals:
    """What all buckets of a stream held when they were last touched."""

    runs: int
    pending: int
    state_bytes: int


def totals(session: SparkSession, checkpoint: str) -> Totals:
    """What all buckets held when they were last touched."""
    known = [head_of(bytes(row["value"]), row["bucket"]) for row in heads(session, checkpoint).collect()]
    return Totals(
        sum(head.runs for head in known),
        sum(head.pending for head in known),
        sum(head.base_bytes + head.journal_bytes for head in known),
    )
