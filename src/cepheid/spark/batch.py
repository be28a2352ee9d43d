"""A pattern on a batch DataFrame: the plan, and what comes back.

In: a checked tree, a DataFrame, the columns to partition and order by. Out: `Found`, whose DataFrames are lazy.

The plan: Spark drops the rows that no condition wants, where the pattern allows it, and computes a mask with one bit
per condition. Then, packed: Arrow batches become one binary cell per bucket of keys, Spark moves the cells, and each
bucket is sorted and matched in one call of the engine. Or, sorted: Spark moves and sorts the rows themselves, and the
engine carries its state from one Arrow batch to the next.
"""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.conditions import Schema, bind
from cepheid.conditions.printing import quoted
from cepheid.engine.matcher import warm_up
from cepheid.engine.negation_after import NegationPlan, gaps_of, without_nots
from cepheid.engine.tables.programs import NotCompiled
from cepheid.engine.tables.tabulate import Options, Tables, tabulate
from cepheid.errors import InputError
from cepheid.explain import Execution, Explanation, Timeline, explain, rows_that_travel
from cepheid.options import Asked, Movement
from cepheid.rows.in_memory import check_units
from cepheid.spark.buckets import bucket_count, estimated_bytes, parallelism
from cepheid.spark.frames import arrow_schema, order_columns, partition_columns, refuse_names_by_case, unit_of
from cepheid.spark.masks import computed, wanted
from cepheid.spark.output import Output, result_columns
from cepheid.spark.packing import bucket_of, hashed_keys, packed
from cepheid.spark.session import advice, has_local_workers, use_this_python
from cepheid.spark.shipping import shipped
from cepheid.spark.sorted_rows import MatchSorted
from cepheid.spark.timelines import timeline_of
from cepheid.spark.workers import BUCKET, MatchPacked, Pack, mask_name
from cepheid.syntax.tree import PatternTree

__all__ = ["BatchPlan", "DataFrame", "Found"]


class Found:
    """What a pattern finds in a DataFrame: lazy DataFrames of matches and of timeouts."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """One row per match, or one per event of a match."""
        return self._plan.result(timeouts=False)

    @cached_property
    def timeouts(self) -> DataFrame:
        """The same for partial matches that ran out of time, with the moment `at` which they did."""
        return self._plan.result(timeouts=True)

    def explain(self) -> Explanation:
        """What the pattern means and how Spark runs it on this DataFrame."""
        plan = self._plan
        return explain(plan.tree, Schema.from_arrow(arrow_schema(plan.rows.schema)), plan.execution(), plan.options)

    def timeline(self, n: int = 10) -> Timeline:
        """Matches and events of up to `n` partitions on a time axis; runs the plan and collects what is drawn."""
        plan = self._plan
        drawn = BatchPlan(
            plan.tree, plan.rows, plan.partition_by, plan.order_by, Asked(), plan.movement, plan.options
        ).result(timeouts=False)
        return timeline_of(drawn, plan.rows, plan.tree, plan.partition_by, plan.order_by, n)


class BatchPlan:
    """How one pattern runs on one DataFrame."""

    def __init__(
        self,
        tree: PatternTree,
        rows: DataFrame,
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
        asked: Asked,
        movement: Movement,
        options: Options,
        negation: NegationPlan = "pushed",
    ) -> None:
        refuse_names_by_case(rows.schema)
        self.tree = tree
        self.rows = rows
        arrow = arrow_schema(rows.schema)
        self.partition_by = partition_columns(rows.schema, partition_by)
        self.order_by = order_columns(rows.schema, arrow, order_by)
        check_units(tree, unit_of(arrow, self.order_by), self.order_by[0])
        self.automaton = build(tree, bind(tree, Schema.from_arrow(arrow)))
        self.output = Output(asked, tree, rows, self.automaton, self.partition_by, self.order_by)
        self.movement = movement
        self.options = options
        self.all_rows_travel = why_all_rows_travel(self.automaton)
        """Why no row may be dropped early; None if they may."""
        if negation == "after" and movement.shuffle == "spark":
            raise InputError('negation="after" goes with shuffle="packed" only.\n  Leave one of the two out.')
        self.gaps = gaps_of(self.automaton) if negation == "after" else None
        """The nots that are looked at behind the engine, if they are."""
        self.tables()  # refuse now what the engine cannot run
        if has_local_workers(rows):
            use_this_python(rows)
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

    @cached_property
    def buckets(self) -> int:
        """How many buckets the keys are spread over."""
        if not self.partition_by:
            return 1
        return self.movement.buckets or bucket_count(self.estimated_bytes, parallelism(self.rows))

    @cached_property
    def estimated_bytes(self) -> int | None:
        """The size of the input as Spark estimates it."""
        return estimated_bytes(self.rows)

    def result(self, timeouts: bool) -> DataFrame:
        """The lazy DataFrame of matches, or of timeouts."""
        tables = self.tables(timeouts)
        prepared = self._prepared(tables)
        work = (tables.for_workers(), self.partition_by, self.order_by, self.output.shape(timeouts), timeouts)
        schema = self.output.worker_schema(timeouts)
        if self.movement.shuffle == "packed":
            match = MatchPacked(*work, self.movement.max_bucket_bytes, None if timeouts else self.gaps)
            matched = self._packed(prepared, tables).mapInArrow(shipped(match), schema)
        else:
            matched = self._sorted(prepared).mapInArrow(shipped(MatchSorted(*work)), schema)
        if not self.output.measures:
            return matched
        return matched.select(*result_columns(self.output.own_names(timeouts), self.output.measured()))

    def _prepared(self, tables: Tables) -> DataFrame:
        """What travels: needed columns, bits of the conditions, the values that the engine and the measures read."""
        predicates = self.automaton.predicates
        rows = self.rows
        unordered = F.lit(False)
        for name in self.order_by:
            unordered = unordered | F.col(quoted(name)).isNull()
        if self.movement.nulls == "drop":
            rows = rows.where(~unordered)
        if self.all_rows_travel is None:
            keep = wanted(predicates)
            rows = rows.where(keep if self.movement.nulls == "drop" else keep | unordered)
        own = [F.col(quoted(name)) for name in self.output.travelling]
        read = computed(predicates, tables)
        if self.movement.shuffle == "packed":
            page, bits = len(tables.pages) - 1, self._mask_beside_bucket(tables)
            bucket = F.shiftleft(self._bucket(unordered), bits)
            if bits:
                read[page] = bucket.bitwiseOR(read[page].cast("bigint")).alias(BUCKET)
            else:
                read.append(bucket.alias(BUCKET))
        return rows.select(*own, *read, *self.output.argument_columns(), *self.output.tie_columns())

    def _mask_beside_bucket(self, tables: Tables) -> int:
        """How many bits the last mask has, if it and the bucket fit one positive number; else 0."""
        bits = len(tables.pages[-1])
        return bits if bits + (self.buckets - 1).bit_length() < 64 else 0

    def _bucket(self, unordered: Column) -> Column:
        """The bucket of a row's key. Rows without an order value all go to the first, where they are counted."""
        number = F.lit(0).cast("bigint")
        if self.partition_by:
            number = bucket_of(self.rows.schema, self.partition_by, self.buckets)
        if self.movement.nulls == "error":
            number = F.when(unordered, F.lit(0).cast("bigint")).otherwise(number)
        return number

    def _packed(self, prepared: DataFrame, tables: Tables) -> DataFrame:
        """Cells of one bucket in one place, buckets spread evenly."""
        pack = Pack(self.partition_by, self._mask_beside_bucket(tables), mask_name(len(tables.pages) - 1))
        return packed(prepared, pack, self.buckets)

    def _sorted(self, prepared: DataFrame) -> DataFrame:
        """Rows of one key in one place, sorted as the packed way sorts them."""
        keys = [F.col(quoted(name)) for name in self.partition_by]
        moved = (
            prepared.repartition(self.buckets, *hashed_keys(self.rows.schema, self.partition_by))
            if keys
            else prepared.coalesce(1)
        )
        first = (*self.partition_by, *self.order_by)
        kinds = {field.name: field.dataType for field in prepared.schema.fields}
        rest = [name for name in prepared.columns if name not in first and isinstance(kinds[name], AtomicType)]
        order = [F.col(quoted(name)) for name in self.order_by]
        return moved.sortWithinPartitions(*keys, *order, *(F.col(quoted(name)).asc_nulls_last() for name in rest))

    def execution(self) -> Execution:
        """How the plan runs, for explanations."""
        tables = self.tables()
        moved = {
            "packed": "packed: Arrow batches cut into a cell for each bucket, each bucket sorted by its worker",
            "spark": "spark: rows are moved and sorted by Spark, which is slower and has no bound on a bucket",
        }
        masks = len(tables.pages)
        buckets = (
            f"{self.buckets} bucket{'s' if self.buckets > 1 else ''} of keys"
            if self.partition_by
            else "one, for all rows"
        )
        return Execution(
            "Spark, batch",
            columns=self.output.travelling,
            computed=(
                f"{masks} mask{'s' if masks > 1 else ''} of {len(self.automaton.predicates)} conditions",
                *(str(expression) for expression in tables.columns),
            ),
            rows=rows_that_travel(self.all_rows_travel),
            buckets=buckets if self.movement.buckets or not self.partition_by else f"{buckets}, by the input's size",
            shuffle=moved[self.movement.shuffle],
            further=(("faster with", advice(self.rows.sparkSession)),),
            warnings=()
            if self.partition_by
            else ("One bucket: without partition_by nothing is parallel. Name the columns that a match shares.",),
        )
