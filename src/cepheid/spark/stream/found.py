"""What a pattern finds in a stream: the face that users see.

In: a plan. Out: streaming DataFrames, and one query for all of them. Made by `Pattern.match`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.explain import Explanation
from cepheid.spark.stream.accounts import accounts
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.history import history_given
from cepheid.spark.stream.moving import migrate
from cepheid.spark.stream.operator import BROKEN, LATE, MATCHES, REJECTED, TALLIES, TIMEOUTS, UNMATCHED
from cepheid.spark.stream.plan import StreamPlan
from cepheid.spark.stream.query import Starting, require_rocksdb, started
from cepheid.spark.stream.sinks import Sink
from cepheid.spark.stream.why import WhyStream, why_stream


class FoundInStream:
    """What a pattern finds in a stream: one streaming DataFrame per output, or one query for all outputs.

    Use `matches`, `timeouts`, `broken`, `unmatched`, `late`, `rejected` and `counts()` in your own queries, each with
    its own state. `start` runs all outputs in one query with one state, and can flush.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """One row per match."""
        return self._output(MATCHES)

    @cached_property
    def timeouts(self) -> DataFrame:
        """One row per run that ran out of time."""
        return self._output(TIMEOUTS)

    def counts(self) -> DataFrame:
        """One row per event that ends any match: the partition columns, `end_time`, the moment `at` which the matches
        were decided, their number `matches`, and for each measure its total over them. Measures must be COUNT or SUM
        over one variable. With `no_skip` the matches are counted without being built, unless `explain` says that each
        run is kept by itself."""
        return self._output(TALLIES)

    @cached_property
    def broken(self) -> DataFrame:
        """One row per run that something other than time ended, with the `reason` and the `event` that ended it.

        Every run is followed one by one while matching, which is slow: tens of thousands of events a second.
        """
        return self._output(BROKEN)

    @cached_property
    def unmatched(self) -> DataFrame:
        """The events that are in no match, unchanged. Each is reported when the window that begins with it is over."""
        return self._output(UNMATCHED)

    @cached_property
    def late(self) -> DataFrame:
        """The events that the watermark had already passed, unchanged."""
        return self._output(LATE)

    @cached_property
    def rejected(self) -> DataFrame:
        """The events that cannot be used, unchanged, with the reason."""
        return self._output(REJECTED)

    def start(
        self,
        *,
        checkpoint: str,
        matches: Sink | None = None,
        counts: Sink | None = None,
        timeouts: Sink | None = None,
        broken: Sink | None = None,
        unmatched: Sink | None = None,
        late: Sink | None = None,
        rejected: Sink | None = None,
        trigger: str | Mapping[str, Any] | None = None,
        name: str | None = None,
        flush: bool = False,
        on_error: str = "stop",
        idle: str | None = None,
        history: DataFrame | None = None,
        seam: datetime | str | None = None,
    ) -> StreamingQuery:
        """Start one query for all outputs that have a sink, and return it.

        `trigger` is the time between micro-batches, such as `"10 seconds"`, or `"available now"`, or what Spark's
        `DataStreamWriter.trigger` takes, such as `{"processingTime": "10 seconds"}`.

        `counts` is the sink for the rows of `counts()`; a query has a sink for them or for `matches`, not for both.

        `broken` and `unmatched` cost state and time, and are tracked only if they have a sink. A checkpoint keeps the
        choice of its first start.

        With `flush`, the query processes everything available and then ends the input: everything that still waits is
        decided, the query stops, and the checkpoint cannot be used again. `start` returns when that is done.

        `on_error` says what happens if an event exceeds a limit or its conditions cannot be computed: `"stop"` stops
        the query; `"skip_moment"` rejects all events of its key at its time; `"skip_key"` also drops the runs of that
        key. The last two report it in `rejected`.

        With `idle`, such as `"30 seconds"`, time follows the clock once no event has arrived for that long: the
        watermark becomes the present minus its delay. So timeouts and negations at the end are decided even if the
        whole source is silent. Older events that arrive later are late.

        `history` is a batch DataFrame with the columns of the stream. Its events are handled first, then those of the
        stream. `seam` is the moment at which the stream takes over: before it the history counts, from then on the
        stream. By default it is right after the last event of the history. A restart does not read the history again.
        """
        sinks = {MATCHES: matches, TALLIES: counts, TIMEOUTS: timeouts, LATE: late, REJECTED: rejected}
        sinks |= {BROKEN: broken, UNMATCHED: unmatched}
        given = {kind: sink for kind, sink in sinks.items() if sink is not None}
        before = history_given(history, seam)
        how = Starting(checkpoint, given, trigger, name, flush, on_error, idle, before)
        return started(self.plan.looking_for(given), how)

    def migrate(self, checkpoint: str, *, buckets: int) -> None:
        """Change the number of buckets of the state in a checkpoint, to more or fewer. Stop its query first; the next
        `start` continues with them. `cepheid migrate` does the same without your program, if the checkpoint keeps the
        pattern.
        """
        migrate(self.plan, Checkpoint(self.plan.session, checkpoint), buckets)

    def why(self, query: StreamingQuery) -> WhyStream:
        """Say what became of the events in the latest micro-batches of a query that `start` returned: handled, late,
        rejected, irrelevant, or waiting for the watermark.

        To find out which condition is never true, ask `pattern.why` about a batch of the same events.
        """
        return why_stream(accounts(query))

    def explain(self) -> Explanation:
        """Explain what the pattern means and how Spark runs it on this stream."""
        return self.plan.explain()

    def _output(self, kind: str) -> DataFrame:
        plan = self.plan.looking_for((kind,))
        require_rocksdb(plan.session)
        # Several patterns may share a query, in which each name of counts may occur only once.
        observed = f"{kind}.{plan.name or plan.tables(kind == TIMEOUTS).fingerprint[:8]}"
        operated = plan.operated(timeouts=kind == TIMEOUTS, observed=observed, counts=kind == TALLIES)
        return plan.rows_of(kind)(operated)
