"""What a job from the command line needs of Spark: rows, writing with counts, and how far it is.

In: settings, places and formats as strings. Out: DataFrames, counts. The commands themselves are in `cli`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.errors import InputError
from cepheid.spark.embedded import after_interrupt, hushed
from cepheid.spark.session import context_of
from cepheid.spark.stream.accounts import Account, account
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.state.totals import Totals, totals

__all__ = [
    "Counted",
    "DataFrame",
    "Figures",
    "StreamingQuery",
    "Watch",
    "counted",
    "read_rows",
    "running",
    "stop",
    "stop_between_batches",
    "watched",
    "write_rows",
]


def read_rows(
    session: SparkSession,
    format: str | None,
    path: Sequence[str],
    table: str | None,
    schema: str | None,
    where: str | None,
    options: Mapping[str, str],
    is_stream: bool = False,
) -> DataFrame:
    """The rows of a path or a table, as a stream if asked for."""
    if is_stream:
        return _stream(session, format, path, table, schema, where, options)
    reader = session.read.options(**options)
    if schema is not None:
        reader = reader.schema(schema)
    rows = reader.table(table) if table is not None else reader.format(format or "parquet").load(list(path))
    return rows if where is None else rows.where(where)


def _stream(
    session: SparkSession,
    format: str | None,
    path: Sequence[str],
    table: str | None,
    schema: str | None,
    where: str | None,
    options: Mapping[str, str],
) -> DataFrame:
    reader = session.readStream.options(**options)
    if schema is not None:
        reader = reader.schema(schema)
    if table is not None:
        rows = reader.table(table)
    elif len(path) > 1:
        raise InputError(f"a stream reads one path, not {len(path)}.\n  Put the files below one directory.")
    else:
        rows = reader.format(format or "parquet").load(path[0] if path else None)
    return rows if where is None else rows.where(where)


@dataclass(frozen=True, slots=True)
class Figures:
    """One micro-batch in figures, and what all buckets hold after it."""

    account: Account
    seconds: float
    runs: int
    pending: int
    lag: float | None
    """How many seconds the watermark is behind the clock."""


class Watch:
    """Follows the micro-batches of a job: adds up what changes in them, from what the checkpoint held before."""

    def __init__(self, session: SparkSession, checkpoint: str) -> None:
        self.seen: dict[int, Figures] = {}
        is_begun = Checkpoint(session, checkpoint).last_batch() is not None
        before = totals(session, checkpoint) if is_begun else Totals(0, 0, 0)
        self.runs, self.pending = before.runs, before.pending

    def look(self, query: StreamingQuery) -> list[Figures]:
        """The micro-batches that have ended since the last look."""
        fresh = []
        for progress in (json.loads(one.json) for one in query.recentProgress):
            found = account(progress)
            if found is None or found.batch in self.seen:
                continue
            self.runs += found.runs_change
            self.pending += found.pending_change
            seconds = progress.get("durationMs", {}).get("triggerExecution", 0) / 1000
            self.seen[found.batch] = Figures(found, seconds, self.runs, self.pending, _lag(progress))
            fresh.append(self.seen[found.batch])
        return fresh

    def total(self, name: str) -> int:
        """What all micro-batches together have counted."""
        return sum(int(getattr(one.account, name)) for one in self.seen.values())


def _lag(progress: dict[str, Any]) -> float | None:
    watermark = progress.get("eventTime", {}).get("watermark")
    if watermark is None or watermark.startswith("1970"):  # Spark's watermark before the first event
        return None
    return (datetime.now(UTC) - datetime.fromisoformat(watermark)).total_seconds()


def running(session: SparkSession) -> frozenset[str]:
    """The ids of the queries that run."""
    return frozenset(str(query.id) for query in session.streams.active)


def stop(session: SparkSession, others: frozenset[str], patience: float = 10) -> None:
    """End the queries of a job that was interrupted, all but the others."""

    def stop_all() -> None:
        with hushed(session):
            for query in session.streams.active:
                if str(query.id) not in others:
                    stop_between_batches(query, patience)

    after_interrupt(stop_all, patience + 20)


def stop_between_batches(query: StreamingQuery, patience: float) -> None:
    """Stop a query when its micro-batch has ended, if it does so soon: in the midst of one Spark fills the log."""
    last, deadline = _batch(query), monotonic() + patience
    while query.isActive and query.status["isTriggerActive"] and _batch(query) == last and monotonic() < deadline:
        sleep(0.05)
    query.stop()


def _batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that count themselves while they are used once."""

    rows: DataFrame
    observation: Observation

    def count(self) -> int:
        """How many there were; known when the job that used them is done."""
        return int(self.observation.get["rows"])


def counted(rows: DataFrame, name: str) -> Counted:
    """The same rows, counted on the way."""
    observation = Observation(name)
    return Counted(rows.observe(observation, F.count(F.lit(1)).alias("rows")), observation)


def write_rows(
    rows: DataFrame,
    format: str | None,
    path: str | None,
    table: str | None,
    mode: str,
    options: Mapping[str, str],
    partition_by: Sequence[str],
) -> None:
    """Write rows to a path or a table, or show some of them."""
    if format == "console":
        rows.show(20, truncate=False)
        return
    writer = rows.write.mode(mode).options(**options)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    if table is not None:
        (writer.format(format) if format else writer).saveAsTable(table)
    elif format == "noop":
        rows.write.mode("overwrite").format("noop").save()
    else:
        writer.format(format or "parquet").save(path)


@contextmanager
def watched(session: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """Tells every moment how many tasks of the running stages are done; Spark Connect does not say."""
    context = context_of(session.range(0))
    if context is None:
        yield
        return
    tracker, is_over = context.statusTracker(), Event()

    def watch() -> None:
        seen: dict[int, tuple[int, int]] = {}
        while not is_over.wait(0.3):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    seen[int(stage)] = (info.numCompletedTasks, info.numTasks)
            for stage in seen:  # a stage that has ended is no longer active
                info = tracker.getStageInfo(stage)
                if info is not None:
                    seen[stage] = (info.numCompletedTasks, info.numTasks)
            tell(sum(done for done, _ in seen.values()), sum(tasks for _, tasks in seen.values()))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join(timeout=5)
