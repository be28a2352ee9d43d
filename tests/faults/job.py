"""A streaming job that can be killed at any moment and started again: `python job.py PLACE [rows]`.

Reads `PLACE/in`, one file a micro-batch, keeps its checkpoint and its outputs in PLACE, flushes at the end. If the file
`PLACE/crash-<n>` exists, it is removed and the process kills itself between the write of micro-batch n and its commit.
With `rows`, it looks for the row pattern instead of the pattern.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cepheid import Pattern, RowPattern
from cepheid.spark.sinks import files

DDL = "key string, ts timestamp, id long, name string, price long"
PATTERN = (
    Pattern.begin("a")
    .where("name = 'a'")
    .followed_by("b")
    .where("name = 'b' AND price > LAST(a.price)")
    .one_or_more()
    .not_followed_by("c")
    .where("name = 'c'")
    .within("8 seconds")
)
ROW_PATTERN = RowPattern.parse("""
    PARTITION BY key ORDER BY ts, id
    MEASURES MATCH_NUMBER() AS number, FIRST(id) AS first, LAST(id) AS last, SUM(B.price) AS total, PREV(A.id) AS before
    PATTERN (A X*? B+) WITHIN INTERVAL '8' SECOND
    DEFINE A AS name = 'a', B AS name = 'b' AND price > A.price
""")


SLOW_START = "Python worker failed to connect back"
"""Spark gives the first worker of a stateful query ten seconds, for which a loaded machine may be too slow. Nothing has
been read by then."""


def spark() -> SparkSession:
    """A Spark that keeps few micro-batches."""
    return (
        SparkSession.builder.master(os.environ.get("CEPHEID_TEST_MASTER", "local[2]"))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.streaming.minBatchesToRetain", "4")
        .getOrCreate()
    )


def found_in(session: SparkSession, events: Path, rows: bool = False) -> Any:
    """The pattern, or the row pattern, on a stream of files, one a micro-batch."""
    stream = session.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(events))
    if rows:
        return ROW_PATTERN.match(stream, watermark="3 seconds", buckets=4)
    return PATTERN.match(stream, partition_by="key", order_by=["ts", "id"], watermark="3 seconds", buckets=4)


def main(place: Path, rows: bool) -> None:
    def crash(rows: DataFrame, batch: int) -> None:
        """Stands behind the sinks that have written already; the micro-batch is not committed yet."""
        marker = place / f"crash-{batch}"
        if marker.exists():
            marker.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    timeouts = {} if rows else {"timeouts": files(str(place / "timeouts"))}
    found_in(spark(), place / "in", rows).start(
        matches=files(str(place / "matches")),
        **timeouts,
        late=files(str(place / "late")),
        rejected=crash,
        checkpoint=str(place / "checkpoint"),
        flush=True,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["rows"])
