"""The time of a stream: which times are usable, how the watermark is taken, what is late.

In: a user's arguments and the schema of a stream; in the workers, the watermark as Spark gives it. Out: Columns for the
plan, and answers for the operator. The only place that knows of these: the plan, the operator and the state ask here.

The watermark is taken from a guarded copy of the time, which is NULL where a time cannot be used, so that one time far
ahead does not make everything else late. The column that carries the watermark is left behind and only a computed copy
travels, since Spark drops late rows where it sees that column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, LongType, StructField, StructType, TimestampNTZType, TimestampType

from cepheid.conditions.printing import quoted
from cepheid.errors import InputError
from cepheid.options import duration, one_of
from cepheid.spark.buckets import plan_text
from cepheid.spark.shipping import mapped
from cepheid.syntax.durations import to_span

WATERMARK, MAX_AHEAD = "10 seconds", "1 hour"
"""What is taken if nothing is said."""
TIME, REASON, WATERMARKED = "__time", "__reason", "__event_time"
"""Columns that travel: the time in microseconds, why a row is rejected, and the one that carries the watermark."""
ARRIVAL = ("arrival", "arrival_order")
METADATA = "spark.watermarkDelayMs"
REASONS = {
    1: "no time",
    2: "a time before 1970",
    3: "a time further ahead than max_ahead",
    4: "no value in an order column",
}
_ROWS = 33
"""Bits for the rows of one partition."""
NO_WATERMARK = -1
"""The watermark in microseconds before Spark has seen any time."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How a stream's times are taken."""

    watermark: str | None = None
    """How much later than the latest event an event may come; None: as the stream says itself, or 10 seconds."""
    max_ahead: str = MAX_AHEAD
    """How far ahead of the clock a time may lie."""
    source: str = "event"
    """Whether time is that of the events, or that of the micro-batch in which they arrive."""

    def __post_init__(self) -> None:
        choices = '"event": by the column that order_by names first; "arrival": by the micro-batch.'
        one_of(self.source, "time", ("event", "arrival"), choices)
        duration(self.max_ahead, "max_ahead")
        if self.watermark is not None:
            duration(self.watermark, "watermark")

    @property
    def is_arrival(self) -> bool:
        return self.source == "arrival"

    @property
    def delay_ms(self) -> int:
        """How far the watermark lags behind the latest event: whole milliseconds, as Spark counts."""
        return 0 if self.is_arrival else -(-microseconds(self.watermark or WATERMARK) // 1000)


def microseconds(text: str) -> int:
    """A length of time that has been checked."""
    return int(to_span(text, "a stream").length)


def with_arrival(
    rows: DataFrame, order_by: tuple[str, ...], timing: Timing, given: Sequence[DataFrame] = ()
) -> tuple[DataFrame, tuple[str, ...]]:
    """The stream with the time of its micro-batch and the place in it as columns; both are the same on a replay.
    `given`: the tables that the rows were made of, if they are not the caller's own."""
    if order_by or timing.watermark is not None:
        raise InputError(
            'time="arrival" takes events in the order in which they come, so order_by and watermark have no '
            "meaning.\n  Leave them out."
        )
    clash = next((name for name in rows.columns if name.lower() in ARRIVAL), None)
    if clash is not None:
        raise InputError(
            f'time="arrival" adds the columns {" and ".join(ARRIVAL)}, and the events have {clash!r} already.\n'
            "  Rename that column."
        )
    fields = [field for table in (rows, *given) for field in table.schema.fields]
    marked = next((field.name for field in fields if METADATA in field.metadata), None)
    if marked is not None:
        raise InputError(
            f'the stream has a watermark on {marked!r}, but time="arrival" asks for none.\n  Leave one of them out.'
        )
    timed = rows.select("*", now().alias(ARRIVAL[0]))
    numbered = StructType([*timed.schema.fields, StructField(ARRIVAL[1], LongType())])
    return mapped(timed, Numbered(ARRIVAL[1]), numbered), ARRIVAL  # Spark refuses monotonically_increasing_id() here


@dataclass(frozen=True, slots=True)
class Numbered:
    """Adds a column that numbers the rows of a micro-batch: by Spark's partition, then in their order."""

    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        first = (0 if context is None else context.partitionId()) << _ROWS
        for batch in batches:
            numbers = pa.array(range(first, first + batch.num_rows), pa.int64())
            yield pa.RecordBatch.from_arrays([*batch.columns, numbers], names=[*batch.schema.names, self.name])
            first += batch.num_rows


class EventTime:
    """The time of one stream, as Spark computes with it."""

    def __init__(self, rows: DataFrame, order_by: tuple[str, ...], timing: Timing) -> None:
        self.timing = timing
        self.field: StructField = rows.schema[order_by[0]]
        self._ties = order_by[1:]
        self._check(rows)

    @property
    def has_own_watermark(self) -> bool:
        """Whether the stream brings a watermark."""
        return METADATA in self.field.metadata

    def guarded(self, rows: DataFrame, moments: DataFrame | None = None) -> DataFrame:
        """The rows with their guarded time, which carries the watermark, and the reason why they are rejected.
        `moments`: rows of a guarded time alone, which only move the watermark; there is no reason in them."""
        marked = rows.select("*", *self._judged())
        if self.has_own_watermark:
            return marked
        if moments is not None:
            marked = marked.unionByName(moments, allowMissingColumns=True)
        return marked.withWatermark(WATERMARKED, self._delay)

    @property
    def _delay(self) -> str:
        return f"{self.timing.delay_ms} milliseconds"

    def lag_ms(self, rows: DataFrame) -> int | None:
        """How far behind the latest event of a micro-batch Spark's watermark is, at most, in the next one; None where
        that is not known: Spark takes the least of all watermarks, and the stream may have others inside."""
        if self.timing.is_arrival or self.has_own_watermark or "EventTimeWatermark" in plan_text(rows, "extended"):
            return None
        return self.timing.delay_ms

    def micros(self) -> Column:
        """The time in microseconds."""
        return F.unix_micros(self._time())

    def travelling(self) -> list[Column]:
        """What travels of the time beside the user's columns."""
        return [F.col(REASON)] if self.is_copied else [F.col(REASON), F.unix_micros(WATERMARKED).alias(TIME)]

    @property
    def is_copied(self) -> bool:
        """Whether the time in microseconds is a copy of the user's column, so that it need not travel. That of a
        rejected row is there, too, and nobody asks for it."""
        return not isinstance(self.field.dataType, DateType)

    def described(self) -> str:
        """Where the watermark is, for explanations."""
        return "the stream's own" if self.has_own_watermark else f"{self.timing.delay_ms} ms behind the latest event"

    def _time(self) -> Column:
        """The time as Spark's watermark takes it; a time without zone counts as UTC, as it does in the engine."""
        name = quoted(self.field.name)
        if isinstance(self.field.dataType, TimestampType):
            return F.col(name)
        if isinstance(
            self.field.dataType, DateType
        ):  # the first and last dates have no timestamp, and are no use anyway
            first, last = "DATE'1969-12-31'", "DATE'9999-12-31'"
            name = f"CASE WHEN {name} < {first} THEN {first} WHEN {name} > {last} THEN {last} ELSE {name} END"
        text = f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', CAST({name} AS TIMESTAMP_NTZ))"
        return F.timestamp_micros(F.expr(text))

    def _judged(self) -> list[Column]:
        """Why a row cannot be used, as a number of `REASONS`, 0 if it can; and its time if it can.

        Both in one select, and both ask first whether the time is too far ahead: so Spark makes one pass over the rows
        and computes that once. It is NULL where there is no time, and false before 1970.
        """
        time = F.unix_micros(self._time())
        ahead = min(microseconds(self.timing.max_ahead), 1 << 61)  # the clock and this fit 64 bits
        is_ahead = time > F.unix_micros(now()) + F.lit(ahead)
        has_null = F.lit(False)
        for name in self._ties:
            has_null = has_null | F.col(quoted(name)).isNull()
        reason = F.when(is_ahead, 3).when(time.isNull(), 1).when(time < 0, 2).when(has_null, 4).otherwise(0)
        usable = F.when(is_ahead, None).when((time >= 0) & ~has_null, self._time())
        return [reason.cast("tinyint").alias(REASON), usable.alias(WATERMARKED)]

    def _check(self, rows: DataFrame) -> None:
        """Refuse times that Spark's watermark cannot follow, and watermarks that contradict each other."""
        name, kind = self.field.name, self.field.dataType
        if not isinstance(kind, TimestampType | TimestampNTZType | DateType):
            raise InputError(
                f"order_by={name!r} has type {kind.simpleString()}; on a stream the time of "
                "the events is a timestamp or a date.\n  Convert it, for instance with timestamp_millis(...)."
            )
        marked = [field.name for field in rows.schema.fields if METADATA in field.metadata]
        if marked and name not in marked:
            raise InputError(
                f"the stream has a watermark on {marked[0]!r}, but order_by is {name!r}.\n"
                "  Order by the column with the watermark, or leave the watermark out: match(..., watermark=...) sets "
                "one."
            )
        if marked and self.timing.watermark is not None:
            raise InputError(
                f"watermark={self.timing.watermark!r} is given, but the stream has a watermark on {marked[0]!r} "
                "already.\n  Leave one of them out."
            )


def now() -> Column:
    """The time of the micro-batch, in such a form that Spark's generated code is the same in all of them.

    Spark puts that time into the plan as a literal, after all optimization, and writes literals into the code that it
    generates. That code would be new in each micro-batch: Spark would compile it twice, and the JVM optimize it from
    the beginning. For `zip_with` Spark 4 generates no code: it is handed over as an object, with all that is in it.
    Should a later version generate some, a test will notice (`test_micro_batches_share_generated_code`). It is asked
    for each row, so the arrays are constants: arrays with that time in them would be made anew for each.
    """
    one = F.array(F.lit(0))
    return F.zip_with(one, one, lambda _, __: F.current_timestamp())[0]


def without_watermark(field: StructField) -> Column:
    """A user's column; a computed copy of it where it carries the watermark."""
    if METADATA in field.metadata:
        return F.expr(f"{quoted(field.name)} + INTERVAL '0' SECOND").alias(field.name)
    return F.col(quoted(field.name))


def from_spark(watermark_ms: int) -> int:
    """Spark's watermark in the engine's microseconds."""
    return 1000 * watermark_ms if watermark_ms > 0 else NO_WATERMARK  # 0: Spark has seen no time yet


def watermark_after(latest: int, lag_ms: int) -> int:
    """Where the watermark is at least after a micro-batch with an event of this time: known before Spark says so."""
    return from_spark(latest // 1000 - lag_ms)


def timer_for(deadline: int | None, watermark_ms: int) -> int | None:
    """The timer of Spark's that fires when the watermark reaches a moment; a time that has passed fires next."""
    return None if deadline is None else max(-(-deadline // 1000), watermark_ms + 1, 1)
