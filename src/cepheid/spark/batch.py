"""A pattern on a batch DataFrame: the plan, and what comes back.

In: a checked tree, a DataFrame, the columns to partition and order by. Out: `Found`, whose DataFrames are lazy.

The plan: Spark computes a mask with one bit per condition and drops rows that no condition wants, where the pattern
allows it; each Arrow batch is packed into one binary cell per bucket of keys; Spark moves the cells; each bucket is
sorted and matched in one call of the engine.
"""

from __future__ import annotations

from functools import cached_property
from inspect import signature

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, bind
from cepheid.conditions.expression import TRUE
from cepheid.engine.arrange import column_named, time_unit
from cepheid.engine.in_memory import check_units
from cepheid.engine.matcher import warm_up
from cepheid.engine.negation_after import NegationPlan, gaps_of, without_nots
from cepheid.engine.programs import NotCompiled
from cepheid.engine.tables import Options, Tables, tabulate
from cepheid.errors import InputError
from cepheid.spark.masks import mask, to_column
from cepheid.spark.workers import BUCKET, MASK, PAYLOAD, MatchPacked, pack, value_name
from cepheid.syntax.tree import Contiguity, EventCount, NotLink, PatternTree

__all__ = ["BatchPlan", "DataFrame", "Found"]


class Found:
    """What a pattern finds in a DataFrame: lazy DataFrames of matches and of timeouts."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """One row per match."""
        return self._plan.result(timeouts=False)

    @cached_property
    def timeouts(self) -> DataFrame:
        """One row per partial match that ran out of time, with the moment `at` which it did."""
        return self._plan.result(timeouts=True)

    def explain(self) -> str:
        """The automaton and how Spark runs it."""
        return self._plan.explain()


class BatchPlan:
    """How one pattern runs on one DataFrame."""

    def __init__(
        self,
        tree: PatternTree,
        rows: DataFrame,
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
        buckets: int | None,
        options: Options,
        negation: NegationPlan = "pushed",
    ) -> None:
        if not order_by:
            raise InputError(
                "order_by is missing: the rows of a DataFrame have no order of their own.\n"
                '  Name the time of the events first, then columns that break ties: order_by=["ts", "id"].'
            )
        self.rows = rows
        self.arrow = arrow_schema(rows.schema)
        self.partition_by = tuple(column_named(self.arrow.names, name, "partition_by") for name in partition_by)
        self.order_by = tuple(column_named(self.arrow.names, name, "order_by") for name in order_by)
        check_units(tree, time_unit(self.arrow.field(self.order_by[0]).type, self.order_by[0]), self.order_by[0])
        self.automaton = build(tree, bind(tree, Schema.from_arrow(self.arrow)))
        self.options = options
        self.buckets = buckets or self._default_buckets()
        self.drops_rows = may_drop_rows(self.automaton)
        self.gaps = gaps_of(self.automaton) if negation == "after" else None
        self.tables()  # refuse now what the engine cannot run
        context = self._context()
        if context is not None and str(context.master).startswith("local"):
            warm_up()  # the workers are on this machine and find the compiled kernel there

    def tables(self, timeouts: bool = False) -> Tables:
        """The pattern's tables for the engine."""
        options = Options(timeouts, self.options.max_runs, self.options.max_matches_per_event)
        automaton = self.automaton if self.gaps is None or timeouts else without_nots(self.automaton)
        try:
            return tabulate(automaton, options)
        except NotCompiled as reason:
            raise InputError(
                f"the engine cannot run this pattern on a DataFrame: it has {reason}.\n"
                "  Compute that part as a column first, or run the pattern on rows in memory with match_events."
            ) from reason

    def result(self, timeouts: bool) -> DataFrame:
        """The lazy DataFrame of matches, or of timeouts."""
        tables = self.tables(timeouts)
        bucket = F.pmod(F.xxhash64(*self.partition_by), F.lit(self.buckets)) if self.partition_by else F.lit(0)
        values = [to_column(expression).alias(value_name(index)) for index, expression in enumerate(tables.columns)]
        prepared = self.rows.select("*", mask(self.automaton.predicates).alias(MASK), *values)
        if self.drops_rows:
            prepared = prepared.where(F.col(MASK) != 0)
        packed = prepared.select("*", bucket.cast("int").alias(BUCKET)).mapInArrow(
            pack, f"`{BUCKET}` int, `{PAYLOAD}` binary"
        )
        schema = self.result_schema(timeouts)
        work = MatchPacked(
            tables.for_workers(), self.partition_by, self.order_by, timeouts, None if timeouts else self.gaps
        )
        return self._moved(packed).mapInArrow(work, schema)

    def _moved(self, packed: DataFrame) -> DataFrame:
        """Cells of one bucket in one place, buckets spread evenly."""
        count = self.buckets if self.partition_by else 1
        if hasattr(packed, "repartitionById"):
            moved: DataFrame = packed.repartitionById(count, BUCKET)
            return moved
        return packed.repartition(count, BUCKET)

    def result_schema(self, timeouts: bool) -> StructType:
        """The columns of the result: keys, identity, times, one column per variable."""
        by_name = {field.name: field for field in self.rows.schema.fields}
        time = by_name[self.order_by[0]].dataType
        fields = [StructField(name, by_name[name].dataType) for name in self.partition_by]
        fields += [
            StructField("match_id", StringType()),
            StructField("start_time", time),
            StructField("end_time", time),
        ]
        if timeouts:
            fields.append(StructField("at", _moment_type(time, self.arrow.field(self.order_by[0]).type)))
        event = StructType([StructField(field.name, field.dataType) for field in self.rows.schema.fields])
        for name in self.automaton.variables:
            fields.append(StructField(name, ArrayType(event) if name in self.automaton.looping else event))
        return StructType(fields)

    def explain(self) -> str:
        dropped = "rows that no condition wants are dropped first" if self.drops_rows else "all rows travel"
        place = (
            f"{self.buckets} buckets of keys"
            if self.partition_by
            else "one bucket: without partition_by nothing is parallel"
        )
        return f"{self.automaton}\n\nSpark: {dropped}; {place}"

    def _default_buckets(self) -> int:
        """Four for each core, as far as Spark tells."""
        context = self._context()
        if context is not None:
            return 4 * int(context.defaultParallelism)
        return int(self.rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "32") or 32)

    def _context(self) -> SparkContext | None:
        """Spark's context; Spark Connect has none."""
        try:
            return self.rows.sparkSession.sparkContext
        except PySparkException:
            return None


def arrow_schema(schema: StructType) -> pa.Schema:
    """A DataFrame's columns as Arrow has them; which zone times are shown in makes no difference."""
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def may_drop_rows(automaton: Automaton) -> bool:
    """Whether events that satisfy no condition make no difference: nothing asks for neighbours or counts events."""
    if isinstance(automaton.window, EventCount) or any(p.own_event == TRUE for p in automaton.predicates):
        return False
    for position in automaton.positions[1:]:
        takes = [continuation.take for continuation in position.continuations] + list(position.rivals)
        if any(take.contiguity is Contiguity.STRICT for take in takes):
            return False
        if any(continuation.not_next for continuation in position.continuations):
            return False
        if any(guard.link is NotLink.NOT_NEXT for ending in position.endings for guard in ending.nots):
            return False
    return True


def _moment_type(time: DataType, arrow: pa.DataType) -> DataType:
    if pa.types.is_timestamp(arrow):
        return time
    kind = pa.timestamp("us") if pa.types.is_date(arrow) else pa.int64()
    moment: DataType = from_arrow_type(kind)
    return moment
