"""A pattern on a streaming DataFrame: the plan, and what comes back.

In: a checked tree, a streaming DataFrame, the columns to partition and order by, how late events may come. Out:
`FoundInStream`, whose DataFrames are streams and whose `start` runs one query for all of them.

The plan: Spark computes masks and values as in batch; the watermark is taken from a guarded copy of the time, so that a
time far ahead moves nothing; rows are packed into cells by bucket of keys; a stateful operator (`streaming_operator`)
handles one bucket at a time and gives cells of matches, timeouts, late and rejected rows, which are unpacked again.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import (
    DateType,
    DoubleType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.automaton.fingerprint import fingerprint
from cepheid.conditions import Schema, bind
from cepheid.conditions.expression import Column as NamedColumn
from cepheid.conditions.expression import SparkColumn, walk
from cepheid.conditions.printing import quoted
from cepheid.engine.matcher import warm_up
from cepheid.engine.tables.programs import NotCompiled
from cepheid.engine.tables.tabulate import Options, Tables, tabulate
from cepheid.errors import InputError
from cepheid.explain import Execution, Explanation, explain, rows_that_travel
from cepheid.rows.in_memory import check_units
from cepheid.spark.buckets import parallelism, spread_ids
from cepheid.spark.frames import arrow_schema, order_columns, partition_columns, refuse_names_by_case
from cepheid.spark.masks import computed, wanted
from cepheid.spark.output import Asked, Output
from cepheid.spark.session import has_local_workers, use_this_python
from cepheid.spark.shipping import shipped
from cepheid.spark.stream.bucket import KEYS, REASON, TIME, StreamWork
from cepheid.spark.stream.failures import full_disk_told
from cepheid.spark.stream.identity import identity
from cepheid.spark.stream.operator import (
    COUNTED,
    KIND,
    LATE,
    MATCHES,
    OUTPUT,
    REJECTED,
    TIMEOUTS,
    StreamOperator,
)
from cepheid.spark.stream.outputs import OutputRows
from cepheid.spark.stream.sinks import PROVIDER, ROCKSDB, Sink, start
from cepheid.spark.workers import BUCKET, PAYLOAD, Pack
from cepheid.syntax.durations import to_span
from cepheid.syntax.notation import to_text
from cepheid.syntax.tree import PatternTree, SpanUnit

DEFAULT_WATERMARK = "10 seconds"
WATERMARKED = "__event_time"
OBSERVED = "cepheid"
"""The counts of a micro-batch in a query's progress."""
ARRIVAL = ("arrival", "arrival_order")
WATERMARK_METADATA = "spark.watermarkDelayMs"


@dataclass(frozen=True, slots=True)
class Timing:
    """How a stream's times are taken."""

    watermark: str | None
    """How much later than the latest event an event may come; None: as the stream says itself, or 10 seconds."""
    max_ahead: str
    """How far ahead of the clock a time may lie."""
    source: str = "event"
    """Whether time is that of the events, or that of the micro-batch in which they arrive."""

    @property
    def is_arrival(self) -> bool:
        return self.source == "arrival"

    def __post_init__(self) -> None:
        if self.source not in ("event", "arrival"):
            raise InputError(
                f'time={self.source!r} is neither "event" nor "arrival".\n'
                '  "event": by the column that order_by names first; "arrival": by the micro-batch.'
            )


class FoundInStream:
    """What a pattern finds in a stream: streaming DataFrames, one for each output, and one query for all of them.

    `matches`, `timeouts`, `late` and `rejected` are for queries of your own, each with a state of its own. `start` runs
    all outputs in one query with one state, and can flush.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """One row per match."""
        return self._output(MATCHES)

    @cached_property
    def timeouts(self) -> DataFrame:
        """One row per partial match that ran out of time."""
        return self._output(TIMEOUTS)

    @cached_property
    def late(self) -> DataFrame:
        """The events that came behind the watermark, as they came."""
        return self._output(LATE)

    @cached_property
    def rejected(self) -> DataFrame:
        """The events whose time cannot be used, as they came, with the reason."""
        return self._output(REJECTED)

    def start(
        self,
        *,
        checkpoint: str,
        matches: Sink | None = None,
        timeouts: Sink | None = None,
        late: Sink | None = None,
        rejected: Sink | None = None,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        flush: bool = False,
    ) -> StreamingQuery:
        """Run one query for all outputs that a sink is given for, and return it.

        `trigger`: as in Spark's `DataStreamWriter.trigger`, such as `{"processingTime": "1 second"}`. `flush`: work
        through all that there is, then end the input: everything that waits is decided, the query stops, and the
        checkpoint cannot be used again; `start` returns when that is done.
        """
        sinks = {MATCHES: matches, TIMEOUTS: timeouts, LATE: late, REJECTED: rejected}
        given = {kind: sink for kind, sink in sinks.items() if sink is not None}
        with full_disk_told(checkpoint):
            return start(self.plan, given, checkpoint, dict(trigger or {}), name, flush)

    def explain(self) -> Explanation:
        """What the pattern means and how Spark runs it on this stream."""
        plan = self.plan
        return explain(plan.tree, Schema.from_arrow(arrow_schema(plan.rows.schema)), plan.execution(), plan.options)

    def _output(self, kind: str) -> DataFrame:
        plan = self.plan
        if plan.session.conf.get(PROVIDER, "") != ROCKSDB:
            raise InputError(
                f"Spark keeps the state of streams by {plan.session.conf.get(PROVIDER, 'its default')}, "
                "which cannot hold a pattern's state.\n"
                f'  Set spark.conf.set("{PROVIDER}", "{ROCKSDB}") first; start() does so itself.'
            )
        # Several patterns may meet in one query, where each name of counts may occur once.
        observed = f"{OBSERVED}.{kind}.{plan.name or fingerprint(plan.automaton)[:8]}"
        return plan.rows_of(kind)(plan.operated(timeouts=kind == TIMEOUTS, observed=observed))


class StreamPlan:
    """How one pattern runs on one streaming DataFrame."""

    def __init__(
        self,
        tree: PatternTree,
        rows: DataFrame,
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
        asked: Asked,
        buckets: int | None,
        options: Options,
        timing: Timing,
        name: str | None,
    ) -> None:
        refuse_names_by_case(rows.schema)
        self.timing = timing
        if timing.is_arrival:
            rows, order_by = self._arriving(rows, order_by)
        self.rows = rows
        self.session = rows.sparkSession
        arrow = arrow_schema(rows.schema)
        self.partition_by = partition_columns(rows.schema, partition_by)
        self.order_by = order_columns(rows.schema, arrow, order_by)
        self.time = rows.schema[self.order_by[0]]
        self._check_time()
        check_units(tree, SpanUnit.MICROSECOND, self.order_by[0])
        self.tree = tree
        bound = bind(tree, Schema.from_arrow(arrow))
        self.automaton = build(tree, bound)
        self.output = Output(asked, tree, rows, self.automaton, self.partition_by, self.order_by)
        arguments = [node for argument in self.output.arguments for node in walk(argument)]
        self.read = (*bound.columns, *(node.name for node in arguments if isinstance(node, NamedColumn)))
        """The columns that conditions and measures read: with other types of these, saved state would mean something
        else, whether they travel or not."""
        self.asked = asked
        self.name = self._checked_name(name)
        self.options = options
        self.buckets_given = buckets
        configured = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        self.partitions = min(configured, parallelism(rows))
        self.bucket_ids = spread_ids((buckets or 2 * self.partitions) if self.partition_by else 1, self.partitions)
        self.all_rows_travel = why_all_rows_travel(self.automaton)
        """Why no row may be dropped early; None if they may."""
        self.tables(False)  # refuse now what the engine cannot run
        self._warn_if_unbounded()
        if has_local_workers(rows):
            use_this_python(rows)
            warm_up()  # the workers are on this machine and find the compiled kernel there

    def tables(self, timeouts: bool) -> Tables:
        """The pattern's tables for the engine."""
        options = replace(self.options, timeouts=timeouts, computes_early=True)
        try:
            return tabulate(self.automaton, options)
        except NotCompiled as reason:
            raise InputError(
                f"the engine cannot run this pattern on a stream: it has {reason}.\n"
                "  Compute that part as a column first."
            ) from reason

    def identity(self, timeouts: bool) -> str:
        """What the state belongs to."""
        return identity(
            fingerprint(self.automaton) + ("" if self.name is None else f" {self.name}"),
            to_text(self.tree) + ("" if self.name is None else f" (id {self.name})"),
            timeouts,
            self.bucket_ids,
            self.partition_by,
            self.order_by,
            self._types(self.output.travelling),
            dict(self.asked.measures),
            self.timing.source,
            self._types(self.read),
        )

    def _types(self, names: Sequence[str]) -> dict[str, str]:
        return {name: self.rows.schema[name].dataType.simpleString() for name in names}

    def operated(self, timeouts: bool, control: str | None = None, observed: str = OBSERVED) -> DataFrame:
        """The stream behind the stateful operator: cells by kind. `control`: the directory that says when the input is
        over; `observed`: the name of its counts in the query's progress."""
        tables = self.tables(timeouts)
        packed = self._prepared(tables).mapInArrow(shipped(Pack()), f"`{BUCKET}` int, `{PAYLOAD}` binary")
        if control is not None:
            ids = F.explode(F.array(*[F.lit(number) for number in self.bucket_ids]))
            ends = self.session.readStream.schema("value string").text(control)
            packed = packed.unionByName(ends.select(ids.alias(BUCKET), F.lit(None).cast("binary").alias(PAYLOAD)))
        work = self.work(timeouts)
        operated = packed.groupBy(BUCKET).transformWithStateInPandas(
            StreamOperator(work), OUTPUT, "append", "EventTime"
        )
        counts = [F.coalesce(F.sum(counted), F.lit(0)).alias(counted) for counted in COUNTED]
        return operated.observe(observed, *counts)

    def work(self, timeouts: bool) -> StreamWork:
        """What the workers must know."""
        return StreamWork(
            self.tables(timeouts).for_workers(),
            self.partition_by,
            self.order_by,
            self.output.shape(timeouts=True),
            timeouts,
            (*self.output.travelling, *self._argument_names()),
            self.output.travelling,
            self.identity(timeouts),
            self.timing.is_arrival,
        )

    def rows_of(self, kind: str) -> OutputRows:
        """What takes the rows of one output out of the operator's cells."""
        schema = self._worker_schema(kind)
        if kind in (MATCHES, TIMEOUTS) and self.output.measures:
            return OutputRows(kind, schema, self.output.own_names(timeouts=True), self.output.measured())
        return OutputRows(kind, schema)

    def schema(self, kind: str) -> StructType:
        """The columns of one output."""
        nothing = self.session.createDataFrame([], f"`{KIND}` string, `{PAYLOAD}` binary")
        return self.rows_of(kind)(nothing).schema

    def _worker_schema(self, kind: str) -> StructType:
        """The columns of one output as the operator gives them; `at` is its event time, so that further stateful
        operators can follow."""
        fields = self.output.worker_schema(timeouts=True).fields
        moment = next(field.dataType for field in fields if field.name == "at")
        if kind in (LATE, REJECTED):
            added = [StructField("reason", StringType())] if kind == REJECTED else []
            added.append(StructField("at", moment))
            self._refuse_clashes(kind, [field.name for field in added])
            fields = [StructField(name, self.rows.schema[name].dataType) for name in self.output.travelling] + added
        marked = {WATERMARK_METADATA: 0}
        return StructType(
            [StructField(f.name, f.dataType, metadata=marked if f.name == "at" else None) for f in fields]
        )

    def with_buckets(self, ids: tuple[int, ...]) -> None:
        """Go on with the buckets that a checkpoint was written with."""
        self.bucket_ids = ids

    def execution(self) -> Execution:
        """How the plan runs, for explanations."""
        tables = self.tables(False)
        late = "the stream's own" if self._own_watermark() else f"{self._delay_ms()} ms behind the latest event"
        return Execution(
            "Spark, streaming",
            columns=self.output.travelling,
            computed=(
                f"mask of {len(self.automaton.predicates)} conditions",
                *(str(expression) for expression in tables.columns),
            ),
            rows=rows_that_travel(self.all_rows_travel),
            buckets=f"{len(self.bucket_ids)} buckets of keys" if self.partition_by else "one, for all rows",
            shuffle="packed: Arrow batches cut into a cell for each bucket, a state for each bucket",
            further=(("watermark", late),),
            warnings=()
            if self.partition_by
            else ("One bucket: without partition_by nothing is parallel. Name the columns that a match shares.",),
        )

    def _prepared(self, tables: Tables) -> DataFrame:
        """What travels: the needed columns, bits and values, time in microseconds, why a row is rejected, its key's
        hash, its bucket. The watermarked column is left behind: Spark would drop late rows where it is."""
        predicates = self.automaton.predicates
        guarded = F.when(self._reason() == 0, self._event_time())
        rows = self.rows.select("*", guarded.alias(WATERMARKED), self._reason().cast("tinyint").alias(REASON))
        if not self._own_watermark():
            rows = rows.withWatermark(WATERMARKED, f"{self._delay_ms()} milliseconds")
        if self.all_rows_travel is None:
            # NULL where a row is rejected. Asking for this column keeps Spark from dropping rows before the watermark
            # has seen them: time must move on with events that no condition wants, too.
            rows = rows.where(wanted(predicates) | F.col(WATERMARKED).isNull())
        prepared = rows.select(
            *[self._without_watermark(self.rows.schema[name]) for name in self.output.travelling],
            REASON,
            F.unix_micros(WATERMARKED).alias(TIME),
            *computed(predicates, tables),
            *self.output.argument_columns(),
            *self.output.tie_columns(),
            *self._key_hashes(),
        )
        ids = F.array(*[F.lit(number) for number in self.bucket_ids])
        place = F.pmod(F.col(KEYS[0]), F.lit(len(self.bucket_ids))) + 1
        return prepared.select("*", F.element_at(ids, place.cast("int")).alias(BUCKET))

    def _argument_names(self) -> list[str]:
        """The columns that measures read."""
        arguments = [summary.argument for summary in self.output.shape(True).summaries]
        return list(dict.fromkeys(argument for argument in arguments if argument is not None))

    def _key_hashes(self) -> list[Column]:
        """128 bits of hash; a NULL is told from a missing part by where it stands, and 0.0 and -0.0 are one key."""
        keys = [F.col(quoted(name)) for name in self.partition_by]
        nulls = [key.isNull() for key in keys]
        for number, name in enumerate(self.partition_by):
            if isinstance(self.rows.schema[name].dataType, FloatType | DoubleType):
                keys[number] = keys[number] + F.lit(0.0)
        return [F.xxhash64(F.lit(salt), *keys, *nulls).alias(name) for salt, name in zip((17, 71), KEYS, strict=True)]

    def _event_time(self) -> Column:
        """The time as Spark's watermark takes it; a time without zone counts as UTC, as it does in the engine."""
        time = F.col(quoted(self.time.name))
        if isinstance(self.time.dataType, TimestampType):
            return time
        text = f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', CAST({quoted(self.time.name)} AS TIMESTAMP_NTZ))"
        return F.timestamp_micros(F.expr(text))

    def _reason(self) -> Column:
        """Why a row cannot be used, as a number of `REASONS`; 0 if it can."""
        time = self._event_time()
        ahead = to_span(self.timing.max_ahead, "max_ahead").length
        limit = F.timestamp_micros(F.unix_micros(F.current_timestamp()) + F.lit(int(ahead)))
        ties = [F.col(quoted(name)).isNull() for name in self.order_by[1:]]
        has_null = F.lit(False)
        for tie in ties:
            has_null = has_null | tie
        return (
            F.when(time.isNull(), 1)
            .when(time < F.timestamp_micros(F.lit(0)), 2)
            .when(time > limit, 3)
            .when(has_null, 4)
            .otherwise(0)
        )

    def _without_watermark(self, field: StructField) -> Column:
        """A user's column; a computed copy of it where it carries the watermark."""
        column = F.col(quoted(field.name))
        if WATERMARK_METADATA in field.metadata:
            return F.expr(f"{quoted(field.name)} + INTERVAL '0' SECOND").alias(field.name)
        return column

    def _arriving(self, rows: DataFrame, order_by: tuple[str, ...]) -> tuple[DataFrame, tuple[str, ...]]:
        """The stream with the time of its micro-batch and the place in it as columns; both are the same on a replay."""
        if order_by or self.timing.watermark is not None:
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
        added = (F.current_timestamp(), F.monotonically_increasing_id())
        return rows.select("*", *[column.alias(name) for column, name in zip(added, ARRIVAL, strict=True)]), ARRIVAL

    def _delay_ms(self) -> int:
        if self.timing.is_arrival:
            return 0
        span = to_span(self.timing.watermark or DEFAULT_WATERMARK, "watermark")
        return -(-int(span.length) // 1000)

    def _own_watermark(self) -> bool:
        return WATERMARK_METADATA in self.time.metadata

    def _check_time(self) -> None:
        """Refuse times that Spark's watermark cannot follow, and watermarks that contradict each other."""
        if not isinstance(self.time.dataType, TimestampType | TimestampNTZType | DateType):
            raise InputError(
                f"order_by={self.time.name!r} has type {self.time.dataType.simpleString()}; on a stream the time of "
                "the events is a timestamp or a date.\n  Convert it, for instance with timestamp_millis(...)."
            )
        marked = [field.name for field in self.rows.schema.fields if WATERMARK_METADATA in field.metadata]
        if marked and self.time.name not in marked:
            raise InputError(
                f"the stream has a watermark on {marked[0]!r}, but order_by is {self.time.name!r}.\n"
                "  Order by the column with the watermark, or leave the watermark out: match(..., watermark=...) sets "
                "one."
            )
        if marked and self.timing.watermark is not None:
            raise InputError(
                f"watermark={self.timing.watermark!r} is given, but the stream has a watermark on {marked[0]!r} "
                "already.\n  Leave one of them out."
            )

    def _checked_name(self, name: str | None) -> str | None:
        has_column = any(
            isinstance(node, SparkColumn)
            for predicate in self.automaton.predicates
            for node in walk(predicate.own_event)
        )
        if has_column and name is None:
            raise InputError(
                "a condition is a Spark Column, which has no text that saved state could be compared by.\n"
                '  Give the pattern an id, match(..., id="v1"), and another one whenever a condition changes.'
            )
        return name

    def _warn_if_unbounded(self) -> None:
        if self.automaton.window is None:
            warnings.warn(
                "the pattern has no window: on a stream, partial matches may wait for ever and the state can grow "
                "without bound. Add within(...), or accept it knowingly where the skip strategy past_last_event keeps "
                "one run a key.",
                stacklevel=5,
            )

    def _refuse_clashes(self, kind: str, added: list[str]) -> None:
        taken = {name.lower(): name for name in self.rows.columns}
        for name in added:
            if name in taken:
                raise InputError(
                    f"the output {kind!r} has a column {name!r} of its own, and so have the events ({taken[name]!r}).\n"
                    "  Rename the events' column."
                )
