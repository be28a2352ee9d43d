"""A streaming job that can be killed at any moment and started again: `python job.py PLACE [rows]`.

Reads `PLACE/in`, one file a micro-batch, keeps its checkpoint and its outputs in PLACE, flushes at the end. Where there
is a `PLACE/kafka.json`, events come from the topic that it names, and timeouts go to a topic: `job.py PLACE send` sends
what is in `PLACE/in`, `job.py PLACE read` writes the timeouts of the topic to `PLACE/timeouts.json`. What each
micro-batch has counted is added to `PLACE/progress.jsonl`. If the file `PLACE/crash-<n>` exists, it is removed and the
process kills itself between the write of micro-batch n and its commit. With `rows`, it looks for the row pattern
instead of the pattern.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

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
MANY = 1_000
"""How often one task, or one executor, may fail in a job whose workers and executors are killed."""
PATIENT = {
    "spark.task.maxFailures": str(MANY),
    "spark.stage.maxConsecutiveAttempts": str(MANY),
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.executor.memory": "512m",
}


READY = {
    "spark.python.daemon.module": "faults.ready_daemon",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
"""Workers that begin at once. Spark has a daemon for each environment of workers: with this one all have the same."""


def spark(**more: str) -> SparkSession:
    """A Spark that keeps few micro-batches."""
    master = os.environ.get("CEPHEID_TEST_MASTER", f"local[2,{MANY}]")
    ready = READY if master.startswith("local") else {}  # the machines of a cluster do not have the tests
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.streaming.minBatchesToRetain", "4")
        .config(map={**PATIENT, **ready, **more})
        .getOrCreate()
    )


class Progress(StreamingQueryListener):
    """Writes down what each micro-batch has counted."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(json.loads(event.progress.json)) + "\n")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        pass


class Topics:
    """Events in one topic of Kafka, timeouts in another."""

    def __init__(self, place: Path) -> None:
        named = json.loads((place / "kafka.json").read_text())
        self.servers = {"kafka.bootstrap.servers": named["servers"]}
        self.events, self.timeouts, self.size, self.connector = (
            named[name] for name in ("events", "timeouts", "size", "connector")
        )

    def send(self, session: SparkSession, place: Path) -> None:
        """All events in the order of their files, those of a key to one partition."""
        lines = [line for file in sorted((place / "in").iterdir()) for line in file.read_text().splitlines()]
        rows = session.createDataFrame([(json.loads(line)["key"], line) for line in lines], "key string, value string")
        rows.coalesce(1).write.format("kafka").options(**self.servers, topic=self.events).save()

    def stream(self, session: SparkSession) -> DataFrame:
        reader = session.readStream.format("kafka").options(**self.servers, subscribe=self.events)
        rows = reader.options(startingOffsets="earliest", maxOffsetsPerTrigger=self.size).load()
        return rows.select(F.from_json(F.col("value").cast("string"), DDL).alias("event")).select("event.*")

    def write(self, rows: DataFrame, batch: int) -> None:
        """A sink for timeouts: at least once, so each has its name as key."""
        messages = rows.select(F.col("match_id").alias("key"), F.lit(str(batch)).alias("value"))
        messages.write.format("kafka").options(**self.servers, topic=self.timeouts).save()

    def read(self, session: SparkSession, place: Path) -> None:
        """The names of the timeouts in the topic, as often as they are there."""
        rows = session.read.format("kafka").options(**self.servers, subscribe=self.timeouts).load()
        names = [row[0] for row in rows.selectExpr("string(key)").collect()]
        (place / "timeouts.json").write_text(json.dumps(names))


def found_in(session: SparkSession, events: Path, rows: bool = False) -> Any:
    """The pattern, or the row pattern, on a stream of files, one a micro-batch."""
    return found(session.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(events)), rows)


def found(stream: DataFrame, rows: bool = False) -> Any:
    if rows:
        return ROW_PATTERN.match(stream, watermark="3 seconds", buckets=4)
    return PATTERN.match(stream, partition_by="key", order_by=["ts", "id"], watermark="3 seconds", buckets=4)


def main(place: Path, step: str) -> None:
    topics = Topics(place) if (place / "kafka.json").exists() else None
    session = spark(**({"spark.jars": topics.connector} if topics else {}))
    if topics and step == "send":
        return topics.send(session, place)
    if topics and step == "read":
        return topics.read(session, place)

    def last(rows: DataFrame, batch: int) -> None:
        """Comes after the sinks that have written already; the micro-batch is not committed yet."""
        rows.write.mode("overwrite").parquet(str(place / "rejected" / f"{batch:09}"))
        marker = place / f"crash-{batch}"
        if marker.exists():
            marker.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    rows = step == "rows"
    stream = found(topics.stream(session), rows) if topics else found_in(session, place / "in", rows)
    timeouts = {} if rows else {"timeouts": topics.write if topics else files(str(place / "timeouts"))}
    session.streams.addListener(Progress(place / "progress.jsonl"))
    (place / "starting").touch()
    stream.start(
        matches=files(str(place / "matches")),
        **timeouts,
        late=files(str(place / "late")),
        rejected=last,
        checkpoint=str(place / "checkpoint"),
        flush=True,
    )
    session.stop()  # every micro-batch's progress is told before


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:] or [""])
