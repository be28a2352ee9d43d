"""The control source: how a stream is told that its input is over, or that time moves on although no events come.

In: the directory that the control source reads (see `checkpoint.layout`), a query and how long it may be silent. Out:
what a plan needs of that source; a thread that writes to it. Called by `plan` and by `query`.

The source is part of every plan from the first start, since Spark does not let a query gain a source later. Each line
is read once and is replayed with its micro-batch, so that what it decides is decided exactly once.

* `end` ends the input of all buckets.
* A number moves time: it goes through the watermark like the time of an event, in microseconds. So the watermark
  follows the clock less its delay, and events that come later are late by the usual rule.
* `moved …` brings a part of a bucket, after a change of the buckets (see `moving`).
* `history …` and `rows …` bring events that come before those of the stream (see `history`).
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.spark.stream.accounts import accounts
from cepheid.spark.stream.checkpoint.layout import END, MOVED, Checkpoint

LOOKS = 4
"""How often a query is looked at within the time that it may be silent."""


def control_lines(session: SparkSession, directory: str) -> DataFrame:
    """The control source: a stream of lines."""
    return session.readStream.schema("value string").text(directory)


def told(lines: DataFrame, buckets: Sequence[int], bucket: str, payload: str) -> DataFrame:
    """Cells for the operator: one without rows for each bucket, once the input is over; parts of buckets that move."""
    value, parts = F.col("value"), F.split("value", " ")
    is_end = value == END
    every = F.array(*[F.lit(number) for number in buckets])
    named = F.explode(F.when(is_end, every).otherwise(F.array(parts[2].cast("int"))))
    return lines.where(is_end | value.startswith(MOVED)).select(
        named.alias(bucket), F.when(~is_end, F.unbase64(parts[3])).alias(payload)
    )


def moments(lines: DataFrame, name: str) -> DataFrame:
    """The moments that time is moved on to, as a column of this name."""
    moment: Column = F.timestamp_micros(F.col("value").try_cast("bigint"))
    return lines.where(F.col("value").rlike("^[0-9]+$")).select(moment.alias(name))


class Silence(threading.Thread):
    """Moves time on with the clock while no events come to a query and something waits to be decided; ends with the
    query."""

    def __init__(
        self, query: StreamingQuery, checkpoint: Checkpoint, idle: float, waiting: int, runs_too: bool
    ) -> None:
        super().__init__(name=f"cepheid silence of {query.id}", daemon=True)
        self.query = query
        self.checkpoint = checkpoint
        self.idle = idle
        """Seconds without events after which time moves on."""
        self.waiting = waiting
        """How many events wait for the watermark, in all buckets, and partial matches that time decides."""
        self.runs_too = runs_too
        """Whether time decides partial matches, or only ends them."""
        self._seen = -1

    def run(self) -> None:
        last = time.monotonic()
        while self.query.isActive:
            time.sleep(self.idle / LOOKS)
            try:
                if self._events_came():
                    last = time.monotonic()
                elif time.monotonic() - last >= self.idle and self.waiting:
                    self.checkpoint.move_on(time.time_ns() // 1000)
                    last = time.monotonic()
            except (PySparkException, OSError) as error:
                if self.query.isActive:
                    warnings.warn(f"time could not be moved on: {str(error).splitlines()[0][:200]}", stacklevel=1)

    def _events_came(self) -> bool:
        """Whether micro-batches since the last look have brought events; adds up what waits now."""
        fresh = [one for one in accounts(self.query) if one.batch > self._seen]
        self.waiting += sum(one.pending_change + self.runs_too * one.runs_change for one in fresh)
        self._seen = max([self._seen, *(one.batch for one in fresh)])
        return any(one.rows for one in fresh)
