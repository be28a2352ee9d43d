"""What a stream's checkpoint holds: the partial matches that wait, and the events that wait for the watermark.

In: the path of a checkpoint, and what `match` returned for the stream where the checkpoint does not say it itself. Out:
DataFrames. For users' programs and the command line; the query need not run. Everything is brought to the driver: this
is for looking, not for large state.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from cepheid.engine.runs.live import described, live
from cepheid.spark.frames import arrow_schema
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.checkpoint.saved_plan import kept_plan
from cepheid.spark.stream.found import FoundInStream
from cepheid.spark.stream.state.bucket import BucketRuns
from cepheid.spark.stream.state.saved import saved_buckets, saved_rows
from cepheid.spark.stream.state.store import BucketStore
from cepheid.spark.stream.state.totals import Totals, totals

SHOWN = 1_000
"""Partial matches of one cohort that are listed, at most."""


class StateReader:
    """The last committed state of a stream.

    `StateReader.open(spark, checkpoint)` reads the pattern from the checkpoint. If a condition is a Spark Column, use
    `StateReader(found, checkpoint)` with the result of `match`.
    """

    def __init__(self, found: FoundInStream, checkpoint: str) -> None:
        self._session = found.plan.session
        self._checkpoint = checkpoint
        saved = Checkpoint(self._session, checkpoint).identity()
        self._plan = found.plan.looking_for(saved.leftovers)
        self._plan.with_buckets(saved.buckets)
        self._timeouts = saved.timeouts

    @classmethod
    def open(cls, session: SparkSession, checkpoint: str) -> StateReader:
        """The state in a checkpoint that holds its pattern."""
        return cls(FoundInStream(kept_plan(Checkpoint(session, checkpoint))), checkpoint)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that the stream is partitioned by."""
        return self._plan.partition_by

    def pending(self) -> DataFrame:
        """The events that the watermark has not passed yet."""
        names = list(self._plan.output.travelling)
        tables = [bucket.pending.select(names) for bucket in self._buckets() if bucket.pending is not None]
        schema = StructType([self._plain(name) for name in names])
        return self._frame(tables, schema)

    def runs(self) -> DataFrame:
        """The waiting runs: key, start, last event, what each has taken so far, what it waits for and until when. Of
        runs that are kept as one, the 1,000 oldest are listed; `totals` counts them all."""
        plan = self._plan
        time = plan.rows.schema[plan.order_by[0]].dataType
        taken = StructType([StructField("variable", StringType()), StructField("time", time)])
        fields = [self._plain(name) for name in plan.partition_by]
        fields += [StructField("start_time", time), StructField("last_time", time)]
        fields += [StructField("taken", ArrayType(taken)), StructField("waits_for", ArrayType(StringType()))]
        fields += [StructField("until", time)]
        schema = StructType(fields)
        rows = [row for bucket in self._buckets() for row in self._runs_of(bucket)]
        return self._frame([pa.Table.from_pylist(rows, schema=arrow_schema(schema))], schema)

    def totals(self) -> Totals:
        """How many runs and events wait; the state itself stays where it is."""
        return totals(self._session, self._checkpoint)

    def _frame(self, tables: list[pa.Table], schema: StructType) -> DataFrame:
        if not any(table.num_rows for table in tables):
            return self._session.createDataFrame([], schema)
        return self._session.createDataFrame(pa.concat_tables(tables).cast(arrow_schema(schema)), schema)

    def _plain(self, name: str) -> StructField:
        return StructField(name, self._plan.rows.schema[name].dataType)

    def _runs_of(self, bucket: BucketRuns) -> Iterator[dict[str, Any]]:
        key, time, names = self._plan.partition_by, self._plan.order_by[0], self._plan.automaton.variables
        rows = [] if bucket.rows is None else bucket.rows.select([*key, time]).to_pylist()
        matcher, moment = bucket.matcher, bucket.watermark
        for run, slot in zip(*(found.tolist() for found in live(matcher, moment)), strict=True):
            for found in islice(described(matcher, run, slot, moment), SHOWN):
                taken = [
                    {"variable": names[variable], "time": rows[event][time]}
                    for variable, event in zip(found.variables, found.events, strict=True)
                ]
                yield {
                    **{name: rows[found.events[0]][name] for name in key},
                    "start_time": taken[0]["time"],
                    "last_time": taken[-1]["time"],
                    "taken": taken,
                    "waits_for": [names[variable] for variable in found.waits_for] or ["the negations at the end"],
                    "until": self._moment(found.until),
                }

    def _moment(self, time: int | None) -> Any:
        """A time of the engine's as a value of the order column; NULL where nothing ends the waiting."""
        if time is None:
            return None
        kind = arrow_schema(self._plan.rows.schema).field(self._plan.order_by[0]).type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return pa.scalar(time, pa.timestamp("us", getattr(kind, "tz", None))).cast(kind, safe=False).as_py()
        return time

    def _buckets(self) -> Iterator[BucketRuns]:
        """All buckets, restored."""
        rows = [row.asDict() for row in saved_rows(self._session, self._checkpoint).collect()]
        work = self._plan.work(self._timeouts)
        for number, values in saved_buckets(rows).items():
            yield BucketStore(values, work).load(number)[1]


__all__ = ["StateReader"]
