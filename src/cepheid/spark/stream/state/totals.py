"""How much a checkpoint holds, from the small heads of its buckets: the state itself is not read for that.

In: a session and the path of a checkpoint. Out: `Totals`. Called by whatever shows or follows a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from cepheid.spark.stream.state.store import head_of


@dataclass(frozen=True, slots=True)
class Totals:
    """What all buckets of a stream held when they were last touched."""

    runs: int
    pending: int
    state_bytes: int


def totals(session: SparkSession, checkpoint: str) -> Totals:
    """What all buckets held when they were last touched."""
    heads = [head_of(bytes(row["value"][0]), row["key"][0]) for row in variable(session, checkpoint, "head")]
    return Totals(
        sum(head.runs for head in heads),
        sum(head.pending for head in heads),
        sum(head.base_bytes + head.journal_bytes for head in heads),
    )


def variable(session: SparkSession, checkpoint: str, name: str) -> list[Any]:
    """A state variable of all buckets, as it was committed last."""
    return session.read.format("statestore").option("stateVarName", name).load(checkpoint).collect()
