"""What a row pattern finds in a stream: the face that users see.

In: a plan. Out: streaming DataFrames, and one query for all of them. Made by `RowPattern.match` and `cepheid.sql`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.errors import InputError
from cepheid.explain import Explanation
from cepheid.explain.text.row_patterns import explain
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.history import history_given
from cepheid.spark.stream.moving import migrate
from cepheid.spark.stream.operator import LATE, MATCHES, REJECTED
from cepheid.spark.stream.query import Starting, require_rocksdb, started
from cepheid.spark.stream.row_plan import RowStreamPlan
from cepheid.spark.stream.sinks import Sink

_NUMBERS = count()
"""Several clauses may meet in one query, where each name of counts may occur once."""


class FoundRowsInStream:
    """What a row pattern finds in a stream.

    Use `matches`, `late` and `rejected` in your own queries, each with its own state. `start` runs all outputs in one
    query with one state, and can flush.
    """

    def __init__(self, plan: RowStreamPlan) -> None:
        self.plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """The result of MATCH_RECOGNIZE: partition columns, measures and, with ALL ROWS, all other columns."""
        self.refuse_the_end()
        return self._output(MATCHES)

    @cached_property
    def late(self) -> DataFrame:
        """The rows that the watermark had already passed, unchanged."""
        return self._output(LATE)

    @cached_property
    def rejected(self) -> DataFrame:
        """The rows that could not be used, unchanged, with the reason."""
        return self._output(REJECTED)

    def start(
        self,
        *,
        checkpoint: str,
        matches: Sink | None = None,
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

        `trigger`, `flush`, `idle`, `history` and `seam` are those of `Pattern.match(...).start`: a flush ends the
        input, which decides `$` and open matches; a history has the rows before the stream. `on_error` says what
        happens if a row exceeds a limit or its conditions cannot be computed: `"stop"` stops the query, `"skip_key"`
        rejects the rows of its key that are at hand.
        """
        if not flush:
            self.refuse_the_end()
        sinks = {MATCHES: matches, LATE: late, REJECTED: rejected}
        given = {kind: sink for kind, sink in sinks.items() if sink is not None}
        return started(
            self.plan, Starting(checkpoint, given, trigger, name, flush, on_error, idle, history_given(history, seam))
        )

    def migrate(self, checkpoint: str, *, buckets: int) -> None:
        """Change the number of buckets of the state in a checkpoint, to more or fewer. Stop its query first; the next
        `start` continues with them. `cepheid migrate` does the same without your program.
        """
        migrate(self.plan, Checkpoint(self.plan.session, checkpoint), buckets)

    def explain(self) -> Explanation:
        """Explain what the clause means and how it is run."""
        return explain(self.plan.bound.pattern)

    def refuse_the_end(self) -> None:
        """Refuse a pattern that finds nothing before the end of the input, where no end is planned."""
        if self.plan.needs_the_end:
            raise InputError(
                "every match of this pattern ends with $, the last row of its partition, and a stream has no last row "
                "until its input is over.\n"
                "  Leave $ out, or end the input: RowPattern.match(...).start(..., flush=True)."
            )

    def _output(self, kind: str) -> DataFrame:
        require_rocksdb(self.plan.session)
        observed = f"{kind}.{self.plan.fingerprint[:8]}.{next(_NUMBERS)}"
        return self.plan.rows_of(kind)(self.plan.operated(observed=observed))
