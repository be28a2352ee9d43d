"""A row pattern on a streaming DataFrame: the plan.

In: a row pattern, a streaming DataFrame, how late rows may come. Out: the stream after the stateful operator, and what
takes the rows of each output out of it. Used by `row_found` and `query`.

As with patterns, time is guarded, rows are packed into cells by bucket of keys, and the operator handles one bucket at
a time; a bucket is `state.row_bucket.BucketRows`. All rows travel, since the rows of a match are neighbours.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, StructField, StructType, TimestampNTZType, TimestampType

from cepheid.errors import InputError
from cepheid.options import Limits
from cepheid.rowpattern.model import Node, Quantified, RowPattern, Sort, Variable, children, walk
from cepheid.spark.buckets import parallelism, spread_ids
from cepheid.spark.keys import hash_columns
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.row_patterns import RowPatternPlan
from cepheid.spark.row_workers import MASK
from cepheid.spark.stream.accounts import OBSERVED, READ, read_rows
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.control import control_lines, moments
from cepheid.spark.stream.history import Given, bring, since
from cepheid.spark.stream.operating import in_cells, operated_by
from cepheid.spark.stream.operator import KIND, MATCHES, REJECTED
from cepheid.spark.stream.outputs import ComputedRows, OutputRows
from cepheid.spark.stream.state.row_bucket import RowStreamWork
from cepheid.spark.stream.time import REASON, WATERMARKED, EventTime, Timing, without_watermark


class RowStreamPlan(RowPatternPlan):
    """How one row pattern runs on one streaming DataFrame."""

    def __init__(
        self, pattern: RowPattern, rows: DataFrame, buckets: int | None, limits: Limits, timing: Timing
    ) -> None:
        super().__init__(pattern, rows, limits)
        self.timing = timing
        self.seam: int | None = None
        """Where the stream begins, if rows of a history come before it (see `history`)."""
        self.time = EventTime(rows, (self._time_column(),), timing)
        if self.tables is None:
            raise InputError(
                "only the reference evaluator can run this row pattern, and it needs all rows at once, so it cannot "
                "follow a stream.\n  The log says what the engine cannot compute. Rewrite that part, or run it on "
                "batches."
            )
        self.buckets_given = buckets
        configured = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        self.partitions = min(configured, parallelism(rows))
        self.bucket_ids = spread_ids((buckets or self.partitions) if self.partition_by else 1, self.partitions)
        self._warn_if_unbounded()

    @property
    def session(self) -> SparkSession:
        return self.rows.sparkSession

    @property
    def fingerprint(self) -> str:
        """The row pattern but for its measures."""
        return hashlib.sha256(str(replace(self.bound.pattern, measures=())).encode()).hexdigest()

    @property
    def needs_the_end(self) -> bool:
        """Whether every match must end with the input: nothing is found before that."""
        assert self.tables is not None
        return self.tables.program.needs_the_end

    def identity(self, timeouts: bool) -> Identity:
        """What the state belongs to."""
        columns = {name: self.rows.schema[name].dataType.simpleString() for name in self.travelling}
        return Identity(
            pattern=self.fingerprint,
            text=" ".join(str(self.bound.pattern).split()),
            timeouts=False,
            buckets=self.bucket_ids,
            partition_by=self.partition_by,
            order_by=tuple(map(_sorted_by, self.bound.order_by)),
            columns=columns,
            read=columns,
            measured=tuple(map(str, self.reads)),
            time=self.timing.source,
        )

    def operated(
        self,
        timeouts: bool = False,
        control: str | None = None,
        observed: str = "",
        on_error: str = "stop",
        counts: bool = False,
    ) -> DataFrame:
        """The stream after the stateful operator: cells by kind. `control`: the directory of the control source;
        `observed`: what the names of its counts in the query's progress end with. A row pattern has no timeouts and no
        counts of matches as outputs."""
        names = [f"{name}.{observed}" if observed else name for name in (READ, OBSERVED)]
        lines = None if control is None else control_lines(self.session, control)
        packed = self._packed(names[0], None if lines is None else moments(lines, WATERMARKED))
        return operated_by(packed, lines, self.bucket_ids, self.work(on_error), names[1], self.seam is not None)

    def bring(self, place: Checkpoint, given: Given | None, timeouts: bool) -> None:
        """Let the rows of a history come before those of the stream."""
        self.seam = bring(self, place, given, timeouts, self.identity(timeouts).to_json())

    def work(self, on_error: str = "stop") -> RowStreamWork:
        """What the workers must know."""
        return RowStreamWork(
            **self.work_fields(),
            shown=self.travelling,
            identity=self.identity(False).to_json(),
            on_error=on_error,
            lag_ms=self.time.lag_ms(self.rows),
        )

    def rows_of(self, kind: str) -> OutputRows | ComputedRows:
        """What takes the rows of one output out of the operator's cells."""
        if kind == MATCHES:
            return ComputedRows(kind, self.worker_schema, self.result_columns())
        fields = [StructField(name, self.rows.schema[name].dataType) for name in self.travelling]
        if kind == REJECTED:
            fields.append(StructField("reason", StringType()))
        return OutputRows(kind, StructType(fields))

    def schema(self, kind: str) -> StructType:
        """The columns of one output."""
        nothing = self.session.createDataFrame([], f"`{KIND}` string, `{PAYLOAD}` binary")
        return self.rows_of(kind)(nothing).schema

    def key(self, kind: str) -> tuple[str, ...] | None:
        """Nothing is known that tells the rows of a result apart: it has the columns that the clause says."""
        return None

    def kept(self) -> str:
        """What the checkpoint keeps of the plan, so that its state can be read."""
        from cepheid.spark.stream.checkpoint.saved_plan import written_row_plan

        return written_row_plan(self)

    def with_buckets(self, ids: tuple[int, ...]) -> None:
        """Go on with the buckets that a checkpoint was written with."""
        self.bucket_ids = ids

    @property
    def has_columns(self) -> tuple[bool, ...]:
        """Of its only key, whether it has any columns."""
        return (bool(self.partition_by),)

    def reading(self, place: Checkpoint, saved: Identity) -> RowStreamPlan:
        """The plan that reads what a checkpoint holds."""
        self.with_buckets(saved.buckets)
        return self

    def work_on_state(self, timeouts: bool) -> RowStreamWork:
        """What must be known to read the state."""
        return self.work()

    def decides_by_time(self, timeouts: bool) -> bool:
        """Whether time that moves on decides open matches."""
        return self.bound.pattern.within is not None

    def column_of(self, name: str) -> Column:
        """A column of the input as it travels."""
        return without_watermark(self.rows.schema[name])

    def _packed(self, observed: str, moments: DataFrame | None) -> DataFrame:
        """Cells by bucket of what travels: the needed columns, bits and values, the time, why a row is rejected, its
        key's hash."""
        rows = self.time.guarded(self.rows, moments).observe(observed, *read_rows())
        if moments is not None:
            rows = rows.where(F.col(REASON).isNotNull())
        if self.seam is not None:
            rows = rows.where(since(self.seam))
        return self.cells(rows, timeouts=False)

    def cells(self, rows: DataFrame, timeouts: bool) -> DataFrame:
        """Rows with a guarded time as cells by bucket."""
        return in_cells(self.travelled(rows, timeouts), self.bucket_ids, self.time)

    def travelled(self, rows: DataFrame, timeouts: bool) -> DataFrame:
        """What travels of rows with a guarded time."""
        mask = self.mask()
        assert mask is not None
        return rows.select(
            *self.columns(),
            *self.time.travelling(),
            mask.alias(MASK),
            *hash_columns(self.rows.schema, self.partition_by),
        )

    def _time_column(self) -> str:
        """The column that a stream's rows are in order by."""
        remedy = "Order by a timestamp or date first, ascending: rows of a stream are matched in the order of time."
        if not self.bound.order_by:
            raise InputError(f"MATCH_RECOGNIZE on a stream has no ORDER BY.\n  {remedy}")
        first, name = self.bound.order_by[0], self.bound.order_names[0]
        if first.descending:
            raise InputError(f"ORDER BY {name} DESC: a stream cannot be read from its end.\n  {remedy}")
        kind = self.rows.schema[name].dataType
        if not isinstance(kind, TimestampType | TimestampNTZType | DateType):
            raise InputError(f"ORDER BY {name}: it is a {kind.simpleString()}, and so no time.\n  {remedy}")
        return name

    def _warn_if_unbounded(self) -> None:
        pattern = self.bound.pattern
        loops = [node for node in walk(pattern.pattern) if isinstance(node, Quantified) and node.most is None]
        free = {name for loop in loops for name in _variables(loop)} - set(self.bound.defines)
        if pattern.within is None and free:
            warnings.warn(
                f"{min(free)} has no condition and may be repeated without end: on a stream a match can stay open "
                "forever, and all its rows are kept. Add WITHIN INTERVAL … after PATTERN, or a condition.",
                stacklevel=4,
            )


def _variables(node: Node) -> Iterator[str]:
    if isinstance(node, Variable):
        yield node.name
    for child in children(node):
        yield from _variables(child)


def _sorted_by(sort: Sort) -> str:
    nulls = "" if sort.nulls_first != sort.descending else f" NULLS {'FIRST' if sort.nulls_first else 'LAST'}"
    return f"{sort.column.parts[0]}{' DESC' if sort.descending else ''}{nulls}"
