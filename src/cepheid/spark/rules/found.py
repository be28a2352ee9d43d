"""What a set of rules finds in a stream: the face that users see.

In: a plan. Out: one query for all rules and outputs, which may follow a source of rules that changes. Made by
`PatternSet.match_stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame

from cepheid.explain import Explanation
from cepheid.spark.rules.query import RulesQuery, Source
from cepheid.spark.rules.stream_plan import RulesStreamPlan
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.history import history_given
from cepheid.spark.stream.moving import migrate
from cepheid.spark.stream.operator import LATE, MATCHES, REJECTED, TIMEOUTS
from cepheid.spark.stream.query import Starting
from cepheid.spark.stream.sinks import Sink


class RulesInStream:
    """What a set of rules finds in a stream. `start` runs one query for all rules and outputs."""

    def __init__(self, plan: RulesStreamPlan) -> None:
        self.plan = plan

    def start(
        self,
        *,
        checkpoint: str,
        matches: Sink | None = None,
        timeouts: Sink | None = None,
        late: Sink | None = None,
        rejected: Sink | None = None,
        rejected_rules: Sink | None = None,
        rules: Source | None = None,
        trigger: str | Mapping[str, Any] | None = None,
        name: str | None = None,
        flush: bool = False,
        on_error: str = "stop",
        idle: str | None = None,
        history: DataFrame | Callable[[], DataFrame] | None = None,
        seam: datetime | str | None = None,
    ) -> RulesQuery:
        """Start one query for all rules, and return it. The arguments are those of `FoundInStream.start`, and:

        You can start another set of rules on the same checkpoint: unchanged rules keep their runs, new ones start with
        the events that arrive from then on, changed ones start again, and removed ones are dropped. `query.changes`
        says what happened. A key that no earlier rule had needs its own checkpoint.

        `rules=directory("rules/")` follows the files of a directory: a change takes effect between two micro-batches,
        in this process. A rule that cannot be used goes to `rejected_rules` (`file`, `reason`), to the log
        `cepheid.rules` and to `query.rejected`. Its last correct version keeps running; if there is none, it is left
        out. The other rules are not affected.

        `history` is a batch DataFrame with the columns of the stream, or a function that returns one. At the first
        start its events are handled before those of the stream, up to the `seam`. Later it is read for rules that are
        new or changed. These see each event once, whether it is in the history, or the stream reads it from then on, or
        both. A function is called each time, so that it can return the latest events.
        """
        before = history_given(history, seam)
        sinks = {MATCHES: matches, TIMEOUTS: timeouts, LATE: late, REJECTED: rejected}
        given = {kind: sink for kind, sink in sinks.items() if sink is not None}
        how = Starting(checkpoint, given, trigger, name, flush, on_error, idle, before)
        return RulesQuery(self.plan, how, rules, rejected_rules)

    def migrate(self, checkpoint: str, *, buckets: int) -> None:
        """Change the number of buckets that each key has in a checkpoint, to more or fewer. Stop the query first; the
        next `start` continues with them. The rules that run on the checkpoint keep their runs, whatever this set has.
        `cepheid migrate` does the same without your program.
        """
        migrate(self.plan, Checkpoint(self.plan.session, checkpoint), buckets)

    def explain(self) -> Explanation:
        """Explain what the rules share and how Spark runs them on this stream."""
        return self.plan.explain()
