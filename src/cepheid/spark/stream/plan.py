"""A pattern on a streaming DataFrame: the plan.

In: a checked tree, a streaming DataFrame, the columns to partition and order by, how late events may come. Out: the
stream after the stateful operator, and what takes the rows of each output out of it. Used by `found` and `query`.

The plan: Spark computes masks and values as in batch; the watermark is taken from a guarded copy of the time (see
`time`); rows are packed into cells by bucket of keys; the stateful operator (`operator`) handles one bucket at a time
and gives cells of matches, timeouts, late and rejected rows, which are unpacked again.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from copy import copy

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from cepheid.conditions import bind
from cepheid.conditions.expression import SparkColumn, walk
from cepheid.engine.tables.model import Options
from cepheid.errors import InputError
from cepheid.explain import Execution, rows_that_travel
from cepheid.explain.why.leftovers import broken_schema
from cepheid.options import Asked
from cepheid.spark.buckets import parallelism, spread_ids
from cepheid.spark.explained import Explained
from cepheid.spark.frames import arrow_schema
from cepheid.spark.keys import hash_columns
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.plan import Plan
from cepheid.spark.steps import StepTables
from cepheid.spark.stream.accounts import OBSERVED, READ, read_rows
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.control import control_lines, moments
from cepheid.spark.stream.history import Given, bring, since
from cepheid.spark.stream.operating import in_cells, operated_by
from cepheid.spark.stream.operator import BROKEN, KIND, LATE, MATCHES, REJECTED, TALLIES, TIMEOUTS, UNMATCHED
from cepheid.spark.stream.outputs import OutputRows
from cepheid.spark.stream.state.bucket import StreamWork
from cepheid.spark.stream.state.leftovers import LeftoverWork
from cepheid.spark.stream.time import (
    ARRIVAL,
    METADATA,
    REASON,
    WATERMARKED,
    EventTime,
    Timing,
    with_arrival,
    without_watermark,
)
from cepheid.syntax.notation import to_text
from cepheid.syntax.tree import PatternTree


class StreamPlan(Plan):
    """How one pattern runs on one streaming DataFrame."""

    where = "a stream"

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
        steps: StepTables | None = None,
    ) -> None:
        self.timing = timing
        if timing.is_arrival:
            rows, order_by = with_arrival(rows, order_by, timing, () if steps is None else steps.tables)
        super().__init__(tree, rows, partition_by, order_by, asked, options, steps)
        self.name = self._checked_name(name)
        self.buckets_given = buckets
        configured = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        self.partitions = min(configured, parallelism(rows))
        self.seam: int | None = None
        """Where the stream begins, if events of a history come before it (see `history`)."""
        self.leftovers: tuple[str, ...] = ()
        """Which of broken runs and unmatched rows are looked for."""
        self.bucket_ids = spread_ids((buckets or self.partitions) if self.partition_by else 1, self.partitions)
        self._warn_if_unbounded()

    def check_time(self) -> None:
        """Refuse times that a stream cannot have."""
        self.time = EventTime(self.rows, self.order_by, self.timing)
        tables = () if self.steps is None or self.timing.is_arrival else self.steps.tables
        self._times = [EventTime(table, self.order_by, self.timing) for table in tables]

    @property
    def added_columns(self) -> tuple[str, ...]:
        return ARRIVAL if self.timing.is_arrival else ()

    def looking_for(self, kinds: Collection[str]) -> StreamPlan:
        """The plan with those of broken runs and unmatched rows among its outputs that are asked for."""
        leftovers = tuple(kind for kind in (BROKEN, UNMATCHED) if kind in kinds)
        if leftovers == self.leftovers:
            return self
        self._refuse_leftovers(leftovers, counts=TALLIES in kinds)
        plan = copy(self)
        plan.leftovers = leftovers
        plan.explained = Explained.of(bind(self.tree, self.schema_of_events)).computed() if BROKEN in leftovers else []
        if leftovers:
            plan.all_rows_travel = plan.all_rows_travel or "rows that no condition wants count as well"
        return plan

    def _refuse_leftovers(self, leftovers: tuple[str, ...], counts: bool) -> None:
        for kind in leftovers:
            if self.steps is not None:
                raise InputError(
                    f"{kind}: elements have their own keys or tables, so a row may have several keys.\n"
                    "  Leave it out, or match each key by itself."
                )
            if counts:
                raise InputError(
                    f"{kind}: a query that counts matches builds none, and so does not know which rows they took.\n"
                    "  Start a second query with its own checkpoint and a sink for matches."
                )
        if UNMATCHED in leftovers and self.automaton.window is None:
            raise InputError(
                "unmatched: the pattern has no window, so a later event may always complete a match with a row.\n"
                "  Add within(...); or store the stream and look for unmatched rows in a batch."
            )

    @property
    def travelling(self) -> tuple[str, ...]:
        """The columns of the events that the workers need: all, where rows that are in no match are looked for."""
        names = self.output.travelling
        return tuple(dict.fromkeys((*names, *self.rows.columns))) if self.leftovers else names

    def identity(self, timeouts: bool) -> Identity:
        """What the state belongs to."""
        return Identity(
            pattern=self.tables(timeouts).fingerprint + ("" if self.name is None else f" {self.name}"),
            text=to_text(self.tree) + ("" if self.name is None else f" (id {self.name})"),
            timeouts=timeouts,
            buckets=self.bucket_ids,
            partition_by=self.partition_by if self.steps is None else self.steps.steps.described(),
            order_by=self.order_by,
            columns=self._types(self.travelling),
            read=self._types(self.read),
            measured=tuple(map(str, self.output.arguments)),
            time=self.timing.source,
            leftovers=self.leftovers,
        )

    def bring(self, place: Checkpoint, given: Given | None, timeouts: bool) -> None:
        """Let the events of a history come before those of the stream."""
        if given is not None and self.timing.is_arrival:
            raise InputError(
                'history= goes by the time of events, and time="arrival" has none.\n  Leave one of them out.'
            )
        if given is not None and self.steps is not None:
            raise InputError(
                "history= is for one table, but the elements have their own tables or keys.\n"
                "  Put the history where the streams read it, so that they read it first."
            )
        self.seam = bring(self, place, given, timeouts, self.identity(timeouts).to_json())

    def _types(self, names: Sequence[str]) -> dict[str, str]:
        return {name: self.rows.schema[name].dataType.simpleString() for name in names}

    def operated(
        self,
        timeouts: bool,
        control: str | None = None,
        observed: str = "",
        on_error: str = "stop",
        counts: bool = False,
    ) -> DataFrame:
        """The stream after the stateful operator: cells by kind. `control`: the directory of the control source;
        `observed`: what the names of its counts in the query's progress end with; `counts`: matches are counted
        instead of built."""
        names = [f"{name}.{observed}" if observed else name for name in (READ, OBSERVED)]
        lines = None if control is None else control_lines(self.session, control)
        packed = self._packed(timeouts, names[0], None if lines is None else moments(lines, WATERMARKED))
        work = self.work(timeouts, on_error, counts)
        asked = (*self.leftovers, *((TIMEOUTS,) if timeouts else ()))
        return operated_by(packed, lines, self.bucket_ids, work, names[1], self.seam is not None, asked)

    def work(self, timeouts: bool, on_error: str = "stop", counts: bool = False) -> StreamWork:
        """What the workers must know."""
        shape = self.output.counts_shape(True) if counts else self.output.shape(timeouts=True)
        arguments = [summary.argument for summary in self.output.shape(True).summaries]
        measured = dict.fromkeys(argument for argument in arguments if argument is not None)
        return StreamWork(
            self.tables(timeouts).for_workers(),
            self.partition_by,
            self.order_by,
            shape,
            timeouts,
            (*self.output.travelling, *measured),
            self.travelling,
            self.identity(timeouts).to_json(),
            self.timing.is_arrival,
            on_error,
            self._leftover_work(),
            None if self._times else self.time.lag_ms(self.rows),
        )

    def _leftover_work(self) -> LeftoverWork | None:
        if not self.leftovers:
            return None
        explained = Explained.of(bind(self.tree, self.schema_of_events))
        computed = self.rows.select("*", *explained.computed()) if BROKEN in self.leftovers else self.rows
        return LeftoverWork(
            self.automaton.window if UNMATCHED in self.leftovers else None,
            explained.shipped(self.tree) if BROKEN in self.leftovers else None,
            arrow_schema(computed.schema),
            tuple(self.rows.columns),
            self.partition_by,
            self.order_by,
        )

    def rows_of(self, kind: str) -> OutputRows:
        """What takes the rows of one output out of the operator's cells."""
        schema = self._worker_schema(kind)
        if kind in (MATCHES, TIMEOUTS, TALLIES) and self.output.measures:
            names = self.output.counts_names(True) if kind == TALLIES else self.output.own_names(timeouts=True)
            return OutputRows(kind, schema, names, self.output.measured())
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
        if kind == TALLIES:
            fields = self.output.counts_schema(with_moment=True).fields
        if kind in (LATE, REJECTED, UNMATCHED):
            added = [StructField("reason", StringType())] if kind == REJECTED else []
            added.append(StructField("at", moment))
            self._refuse_clashes(kind, [field.name for field in added])
            names = self.rows.columns if kind == UNMATCHED else self.travelling
            fields = [StructField(name, self.rows.schema[name].dataType) for name in names] + added
        if kind == BROKEN:
            broken = broken_schema(arrow_schema(self.rows.schema), self.partition_by, self.order_by)
            self._refuse_clashes(kind, [name for name in broken.names if name not in self.partition_by])
            fields = [*from_arrow_schema(broken).fields, StructField("at", moment)]
        marked = {METADATA: 0}
        return StructType(
            [StructField(f.name, f.dataType, metadata=marked if f.name == "at" else None) for f in fields]
        )

    def with_buckets(self, ids: tuple[int, ...]) -> None:
        """Go on with the buckets that a checkpoint was written with."""
        self.bucket_ids = ids

    @property
    def has_columns(self) -> tuple[bool, ...]:
        """Of its only key, whether it has any columns."""
        return (bool(self.partition_by),)

    def reading(self, place: Checkpoint, saved: Identity) -> StreamPlan:
        """The plan that reads what a checkpoint holds."""
        plan = self.looking_for(saved.leftovers)
        plan.with_buckets(saved.buckets)
        return plan

    def work_on_state(self, timeouts: bool) -> StreamWork:
        """What must be known to read the state."""
        return self.work(timeouts)

    def execution(self) -> Execution:
        """How the plan runs, for explanations."""
        return Execution(
            "Spark, streaming",
            columns=self.output.travelling,
            computed=(
                f"mask of {len(self.automaton.predicates)} conditions",
                *(str(expression) for expression in self.tables(False).columns),
            ),
            rows=rows_that_travel(self.all_rows_travel),
            buckets=f"{len(self.bucket_ids)} buckets of keys" if self.partition_by else "one, for all rows",
            shuffle="packed: Arrow batches cut into a cell for each bucket, a state for each bucket",
            further=(("keys", self.keys_by_step), ("watermark", self._watermark())),
            warnings=()
            if self.partition_by
            else ("One bucket: without partition_by nothing is parallel. Name the columns that a match shares.",),
        )

    def key(self, kind: str) -> tuple[str, ...] | None:
        """The columns that tell the rows of an output apart, if any do."""
        if kind not in (MATCHES, TIMEOUTS):
            return None
        return ("match_id", "sequence") if self.output.every_row else ("match_id",)

    def kept(self) -> str | None:
        """What the checkpoint keeps of the plan, so that its state can be read; None if it has no text."""
        from cepheid.spark.stream.checkpoint.saved_plan import written_plan

        return written_plan(self)

    def decides_by_time(self, timeouts: bool) -> bool:
        """Whether time that moves on decides anything of partial matches: timeouts, or negations at the end."""
        return timeouts or any(position.endings for position in self.automaton.positions)

    def _packed(self, timeouts: bool, observed: str, moments: DataFrame | None) -> DataFrame:
        """Cells by bucket of what travels: the needed columns, bits and values, the time, why a row is rejected, its
        key's hash."""
        rows = self._guarded(moments).observe(observed, *read_rows())
        if moments is not None:
            rows = rows.where(F.col(REASON).isNotNull())
        if self.seam is not None:
            rows = rows.where(since(self.seam))
        return self.cells(rows, timeouts)

    def cells(self, rows: DataFrame, timeouts: bool) -> DataFrame:
        """Rows with a guarded time as cells by bucket."""
        return in_cells(self.travelled(rows, timeouts), self.bucket_ids, self.time)

    def travelled(self, rows: DataFrame, timeouts: bool) -> DataFrame:
        """What travels of rows with a guarded time."""
        if self.all_rows_travel is None:
            # NULL where a row is rejected. Asking for this column keeps Spark from dropping rows before the watermark
            # has seen them: time must move on with events that no condition wants, too.
            rows = rows.where(self.wanted() | F.col(WATERMARKED).isNull())
        return rows.select(
            *[without_watermark(self.rows.schema[name]) for name in self.travelling],
            *self.time.travelling(),
            *self.computed(timeouts),
            *hash_columns(self.rows.schema, self.partition_by),
        )

    def _guarded(self, moments: DataFrame | None) -> DataFrame:
        """The rows with their guarded time. Each table has a watermark of its own, of which Spark takes the least."""
        if self.steps is None or not self._times:
            return self.time.guarded(self.rows, moments)
        tables = zip(self._times, self.steps.tables, strict=True)
        return self.steps.candidates([time.guarded(table, moments) for time, table in tables])

    def _watermark(self) -> str:
        if len(self._times) < 2:
            return (self._times or [self.time])[0].described()
        least = "; ".join(dict.fromkeys(time.described() for time in self._times))
        return f"the least of {len(self._times)} tables: {least}"

    def _checked_name(self, name: str | None) -> str | None:
        has_column = any(
            isinstance(node, SparkColumn)
            for predicate in self.automaton.predicates
            for node in walk(predicate.own_event)
        )
        if has_column and name is None:
            raise InputError(
                "a condition is a Spark Column, which has no text to compare with that of the saved state.\n"
                '  Give the pattern an id, match(..., id="v1"), and another one whenever a condition changes.'
            )
        return name

    def _warn_if_unbounded(self) -> None:
        if self.automaton.window is None:
            warnings.warn(
                "the pattern has no window: on a stream, runs may wait forever and the state can grow "
                "without bound. Add within(...), or accept it if the skip strategy past_last_event keeps one run per "
                "key.",
                stacklevel=5,
            )

    def _refuse_clashes(self, kind: str, added: list[str]) -> None:
        taken = {name.lower(): name for name in self.rows.columns}
        for name in added:
            if name in taken:
                raise InputError(
                    f"the output {kind!r} adds a column {name!r}, but the events already have {taken[name]!r}.\n"
                    "  Rename the events' column."
                )
