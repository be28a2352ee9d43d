"""What a stream's checkpoint says of itself: whose state it is, and how far the stream has come.

In: a session and the path of a checkpoint. Out: facts as (what, how) pairs. Called by the command line.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from cepheid.spark.stream.checkpoint.layout import Checkpoint


def checkpoint_facts(session: SparkSession, path: str) -> tuple[tuple[str, str], ...]:
    """The pattern, key, order, columns and buckets of a checkpoint, and its last micro-batch."""
    place = Checkpoint(session, path)
    identity, last = place.identity(), place.last_batch()
    return (
        ("pattern", identity.text),
        ("partition_by", ", ".join(identity.partition_by) or "nothing"),
        ("order_by", ", ".join(identity.order_by)),
        ("columns", ", ".join(f"{name} {kind}" for name, kind in identity.columns.items())),
        ("measures read", ", ".join(identity.measured) or "nothing"),
        ("timeouts", "looked for" if identity.timeouts else "not looked for"),
        *((kind, "looked for") for kind in identity.leftovers),
        ("buckets", f"{len(identity.buckets)}"),
        ("last micro-batch", "none yet" if last is None else str(last)),
        ("input", "ended by a flush" if place.is_over() else "open"),
    )
