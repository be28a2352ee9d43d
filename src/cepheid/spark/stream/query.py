"""The one query that serves all outputs of a stream.

In: a plan, a sink for each output, a checkpoint. Out: a running query. Called by `found` and by the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from cepheid.errors import InputError, StateError
from cepheid.options import duration
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.session import missing_options, settings
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.control import Silence
from cepheid.spark.stream.failures import failures_told, watched
from cepheid.spark.stream.history import Given
from cepheid.spark.stream.operator import KIND, MATCHES, TALLIES, TIMEOUTS
from cepheid.spark.stream.poison import checked_on_error
from cepheid.spark.stream.sinks import Function, Output, Sink, writer
from cepheid.spark.stream.state.totals import totals
from cepheid.spark.stream.time import EventTime, microseconds

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SMALL = 4 << 20
"""Bytes of cells that the driver may get from all buckets together, each with one cell."""
CELLS_OF_A_TASK = 16
"""Cells whose rows one task writes: with few matches most tasks, and files, would be next to empty."""
NOW = {"availableNow": True}
_TRIGGERS = ("processingTime", "availableNow", "once")
_WITHOUT_MICRO_BATCHES = ("continuous", "realTime")


@dataclass(frozen=True, slots=True)
class Starting:
    """How a query is started."""

    checkpoint: str
    sinks: Mapping[str, Sink]
    trigger: str | Mapping[str, Any] | None = None
    name: str | None = None
    flush: bool = False
    on_error: str = "stop"
    idle: str | None = None
    history: Given | None = None


class RowsOfKind(Protocol):
    """Takes the rows of one kind out of what the operator gives. Plain data (see `outputs`)."""

    def __call__(self, operated: DataFrame, /) -> DataFrame: ...
    def here(self, session: SparkSession, cells: pa.ChunkedArray, /) -> DataFrame: ...


class StreamingPlan(Protocol):
    """A plan as a query knows it."""

    time: EventTime
    partitions: int
    buckets_given: int | None

    @property
    def session(self) -> SparkSession: ...
    def identity(self, timeouts: bool) -> Identity: ...
    def with_buckets(self, ids: tuple[int, ...]) -> None: ...
    def bring(self, place: Checkpoint, given: Given | None, timeouts: bool) -> None: ...
    def operated(
        self,
        timeouts: bool,
        control: str | None = None,
        observed: str = "",
        on_error: str = "stop",
        counts: bool = False,
    ) -> DataFrame: ...
    def rows_of(self, kind: str) -> RowsOfKind: ...
    def schema(self, kind: str) -> StructType: ...
    def key(self, kind: str) -> tuple[str, ...] | None: ...
    def decides_by_time(self, timeouts: bool) -> bool: ...
    def kept(self) -> str | None: ...


@dataclass
class Router:
    """Splits a micro-batch by kind; the operator runs once, however many sinks there are. Over Spark Connect it travels
    to the server with all that it holds.

    Cells are few, and most are small: small ones come with their kinds, and their rows are made here. That saves a job
    with Python workers for each sink. If a cell of a kind is large, the rows of that kind stay where they are.
    """

    rows_of: dict[str, RowsOfKind]
    writers: dict[str, Function]
    small: int
    """The bytes of a small cell, at most."""

    def __call__(self, cells: DataFrame, batch: int) -> None:
        cells = cells.cache()
        try:
            # As text, and not persist(): PySpark looks for each function and each class in all jars, every time.
            is_asked = f"`{KIND}` IN ({', '.join(map(repr, self.writers))})"
            small = f"CASE WHEN {is_asked} AND length(`{PAYLOAD}`) <= {self.small} THEN `{PAYLOAD}` END AS `{PAYLOAD}`"
            told = cells.selectExpr(f"`{KIND}`", small).toArrow()
            for kind, write in self.writers.items():
                own = told.filter(pc.equal(told[KIND], kind))[PAYLOAD]
                if len(own) and not own.null_count:
                    write(self.rows_of[kind].here(cells.sparkSession, own), batch)
                elif len(own):
                    few = cells.coalesce(-(-len(own) // CELLS_OF_A_TASK))
                    write(self.rows_of[kind](few), batch)
        finally:
            cells.unpersist()


def started(
    plan: StreamingPlan,
    how: Starting,
    wait: Callable[[StreamingQuery], object] = lambda query: query.awaitTermination(),
) -> StreamingQuery:
    """Start the query. With `flush`, let it work through all there is, end the input and return when it is done; `wait`
    is called with each query that is waited for."""
    trigger, on_error = trigger_of(how.trigger), checked_on_error(how.on_error)
    idle = _checked_idle(plan, how, trigger)
    if how.flush and trigger not in ({}, NOW):
        raise InputError(
            f"flush=True ends the input, so the trigger {how.trigger!r} has nothing to wait for.\n"
            '  Leave the trigger out, or give "available now".'
        )
    if not how.sinks:
        raise InputError('no sink is given.\n  Name at least one output, such as start(matches="console", ...).')
    if MATCHES in how.sinks and TALLIES in how.sinks:
        raise InputError(
            "both matches and counts have a sink, but a query either builds matches or counts them.\n"
            "  Start a second query for the counts, with its own checkpoint."
        )
    with failures_told(how.checkpoint):
        place = Checkpoint(plan.session, how.checkpoint)
        refuse_another(plan.session, place)
        outputs = {kind: Output(kind, plan.schema(kind), plan.key(kind)) for kind in how.sinks}
        writers = {kind: writer(plan.session, outputs[kind], sink, place.path) for kind, sink in how.sinks.items()}
        timeouts, counts = TIMEOUTS in how.sinks, TALLIES in how.sinks
        _go_on(plan, place, timeouts, how.flush)
        small = SMALL // len(plan.identity(timeouts).buckets)
        router = Router({kind: plan.rows_of(kind) for kind in how.sinks}, writers, small)
        plan.bring(place, how.history, timeouts)

        def begin(trigger: dict[str, Any]) -> StreamingQuery:
            with settings(plan.session, _needed(plan.session, plan.partitions)):
                operated = plan.operated(timeouts, place.control, on_error=on_error, counts=counts)
                stream = operated.writeStream.foreachBatch(router).option("checkpointLocation", place.path)
                if how.name is not None:
                    stream = stream.queryName(how.name)
                try:
                    stream = stream.trigger(**trigger) if trigger else stream
                except (PySparkException, ValueError, TypeError) as error:
                    raise InputError(
                        f"trigger={how.trigger!r} is not understood by Spark: {str(error).splitlines()[0][:200]}\n"
                        f"  {_TRIGGER_REMEDY}"
                    ) from None
                return watched(stream.start(), place.path)

        if not how.flush:
            waiting = 0 if idle is None else _waiting(plan, place, timeouts)
            query = begin(trigger)
            if idle is not None:
                Silence(query, place, idle, waiting, plan.decides_by_time(timeouts)).start()
            return query
        wait(begin(NOW))
        place.end()
        query = begin(NOW)
        wait(query)
        place.ended()
        return query


_TRIGGER_REMEDY = (
    'Give a time between micro-batches, "10 seconds", or "available now"; or {"processingTime": "10 seconds"}.'
)


def trigger_of(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """What Spark's `trigger` takes, from what a user gives."""
    if given is None:
        return {}
    if isinstance(given, str):
        if given.strip().lower() == "available now":
            return dict(NOW)
        return {"processingTime": duration(given, "trigger", ', or "available now"')}
    if isinstance(given, Mapping) and any(name in _WITHOUT_MICRO_BATCHES for name in given):
        raise InputError(
            f"trigger={given!r}: Spark runs no stateful operator of Python without micro-batches.\n"
            '  Use a short processing time, such as "1 second", and a small watermark or time="arrival".'
        )
    if not isinstance(given, Mapping) or len(given) > 1 or any(name not in _TRIGGERS for name in given):
        raise InputError(f"trigger={given!r} is not a trigger.\n  {_TRIGGER_REMEDY}")
    return dict(given)


def _checked_idle(plan: StreamingPlan, how: Starting, trigger: dict[str, Any]) -> float | None:
    """How many seconds without events move time on, if any do."""
    if how.idle is None:
        return None
    seconds = microseconds(duration(how.idle, "idle")) / 1e6
    remedy = "Leave idle= out"
    if seconds <= 0:
        raise InputError(
            f'idle={how.idle!r} is not longer than zero.\n  {remedy}, or give a length such as "30 seconds".'
        )
    if how.flush or trigger == NOW:
        raise InputError(f"idle={how.idle!r} waits for events, and this query ends when there are none.\n  {remedy}.")
    if plan.time.has_own_watermark:
        raise InputError(
            f"idle={how.idle!r} moves the watermark, but the stream brings one of its own.\n"
            f"  {remedy}; or leave out withWatermark, and say match(..., watermark=...)."
        )
    return seconds


def _waiting(plan: StreamingPlan, place: Checkpoint, timeouts: bool) -> int:
    """How many events, and partial matches that time decides, wait in all buckets."""
    if place.last_batch() is None:
        return 0
    held = totals(plan.session, place.path)
    return held.pending + (held.runs if plan.decides_by_time(timeouts) else 0)


def _go_on(plan: StreamingPlan, place: Checkpoint, timeouts: bool, flush: bool) -> None:
    """Let the plan go on with what the checkpoint holds, or refuse it; a new checkpoint is made ready."""
    saved = place.prepare(plan.identity(timeouts), flush)
    if saved is not None and plan.buckets_given in (None, len(saved.buckets)):  # which ids they have is ours to choose
        plan.with_buckets(saved.buckets)
    given = plan.identity(timeouts)
    if saved is not None:
        saved.refuse_difference(given)
    if saved is None or place.renew(saved, given):
        text = plan.kept()
        if text is not None:
            place.keep_plan(text)


def refuse_another(session: SparkSession, place: Checkpoint) -> None:
    """Spark would stop a query that runs on the same checkpoint, without a word."""
    running = {str(query.id): query for query in session.streams.active}
    if running and (known := place.query_id()) in running:
        name = running[known].name
        raise StateError(
            f"a query{'' if name is None else f' {name!r}'} runs on the checkpoint {place.path!r} already ({known}).\n"
            "  Stop it first, or give this one its own checkpoint."
        )


def require_rocksdb(session: SparkSession) -> None:
    """Refuse a session whose state store cannot hold the state of a query that a user starts."""
    if session.conf.get(PROVIDER, "") != ROCKSDB:
        raise InputError(
            f"Spark keeps the state of streams in {session.conf.get(PROVIDER, 'its default')}, "
            "which cannot hold a pattern's state.\n"
            f'  Call spark.conf.set("{PROVIDER}", "{ROCKSDB}") first; start() does so itself.'
        )


def _needed(session: SparkSession, partitions: int) -> dict[str, str]:
    """What the query needs of its session: a query takes the settings as they are when it starts."""
    return {
        PROVIDER: ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",  # would read what is written over
        "spark.sql.shuffle.partitions": str(partitions),
        **missing_options(session),
    }
