"""A pattern on a batch DataFrame: the plan, and what comes back.

In: a checked tree, a DataFrame, the columns to partition and order by. Out: `Found`, whose DataFrames are lazy.

The plan: Spark drops the rows that no condition wants, where the pattern allows it, and computes a mask with one bit
per condition. Then, packed: Arrow batches become one binary cell per bucket of keys, Spark moves the cells, and each
bucket is sorted and matched in one call of the engine. Or, sorted: Spark moves and sorts the rows themselves, and the
engine carries its state from one Arrow batch to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, overload

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, StructType

from cepheid.conditions.printing import quoted
from cepheid.engine.tables.model import Options, Tables
from cepheid.errors import InputError
from cepheid.explain import Execution, Explanation, Timeline, rows_that_travel
from cepheid.explain.results import FEW, counted, to_html
from cepheid.explain.timeline.panels import Failure
from cepheid.explain.why.asking import Inquiry
from cepheid.explain.why.document import Why
from cepheid.explain.why.following import MOST_ROWS
from cepheid.explain.why.funnel import Funnel
from cepheid.explain.why.grey import failures_of
from cepheid.explain.why.of_match import WhyMatch
from cepheid.options import Asked, Movement, count, yes_or_no
from cepheid.rows.assemble import Shape
from cepheid.spark.buckets import bucket_count, estimated_bytes, parallelism
from cepheid.spark.keys import key_columns
from cepheid.spark.leftovers import broken_runs, unmatched_rows
from cepheid.spark.output import result_columns
from cepheid.spark.pack_workers import BUCKET, Pack, mask_name
from cepheid.spark.packing import bucket_of, packed
from cepheid.spark.plan import Plan
from cepheid.spark.session import advice
from cepheid.spark.shipping import mapped, shipped
from cepheid.spark.sorted_rows import MatchSorted
from cepheid.spark.steps import StepTables
from cepheid.spark.timelines import timeline_of
from cepheid.spark.why import inquire, why_of_match
from cepheid.spark.workers import MatchPacked
from cepheid.syntax.tree import PatternTree

__all__ = ["BatchPlan", "DataFrame", "Found"]


class Found:
    """What a pattern finds in a DataFrame: matches and timeouts as lazy DataFrames."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """One row per match, or with `rows="all"` one row per event of a match."""
        return self._plan.result(timeouts=False)

    @cached_property
    def timeouts(self) -> DataFrame:
        """The runs that ran out of time, with the moment `at` which they did."""
        return self._plan.result(timeouts=True)

    @cached_property
    def broken(self) -> DataFrame:
        """The runs that something other than time ended, with the `reason` and the `event` that ended each.

        Every run is followed one by one, which is slow: for a sample of keys, see `pattern.why`.
        """
        return broken_runs(self._plan)

    @cached_property
    def unmatched(self) -> DataFrame:
        """The rows that are in no match."""
        return unmatched_rows(self._plan)

    def counts(self) -> DataFrame:
        """Count the matches that end with each event.

        The lazy DataFrame has a row for each event that ends any match: the partition columns, `end_time`, `matches`,
        and for each measure its total over these matches. Measures must be COUNT or SUM over one variable. With
        `no_skip` the matches are counted without being built, so there may be billions of them. If `explain` says that
        each run is kept by itself, they are built and then counted.
        """
        return self._plan.counts()

    @overload
    def why(
        self, match_id: None = None, *, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS
    ) -> Why: ...

    @overload
    def why(self, match_id: str) -> WhyMatch: ...

    def why(
        self, match_id: str | None = None, *, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS
    ) -> Why | WhyMatch:
        """Say why the pattern finds what it finds, and not more: see `Pattern.why`.

        `match_id` asks about one match instead: which element took which event, and why others were passed over.
        """
        if match_id is not None:
            return why_of_match(self._plan, self._whole_matches(), match_id)
        return Why(self._inquiry(key, most_rows).account)

    def funnel(self, *, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS) -> Funnel:
        """How many rows and runs got to each element, and where the others were lost: a table and a picture. Rows are
        counted over everything, runs of a few keys are followed, as by `why`."""
        return Funnel(self._inquiry(key, most_rows).account, self._plan.tree)

    def _inquiry(self, key: Mapping[str, Any] | None, most_rows: int) -> Inquiry:
        plan, most = self._plan, count(most_rows, "most_rows")
        keys, order, nulls = plan.partition_by, plan.order_by, plan.movement.nulls
        return inquire(plan.tree, plan.rows, keys, order, key, plan.options, most, nulls, plan.steps)

    def count(self) -> int:
        """Count the rows of `matches`. Runs the query."""
        return self.matches.count()

    def show(self, n: int = 20, truncate: bool = True) -> None:
        """Print the first `n` matches as Spark does. Runs the query as far as that needs."""
        self.matches.show(count(n, "n"), truncate=yes_or_no(truncate, "truncate"))

    def _repr_html_(self) -> str:
        """The first matches, for a notebook. Runs the query as far as that needs."""
        rows = [row.asDict() for row in self.matches.limit(FEW + 1).collect()]
        number = f"more than {FEW} rows" if len(rows) > FEW else counted(len(rows), self.matches.columns)
        more = f"the first {FEW}; found.matches is the DataFrame of all" if len(rows) > FEW else ""
        return to_html(self.matches.columns, rows[:FEW], number, more)

    def explain(self) -> Explanation:
        """Explain what the pattern means and how Spark runs it on this DataFrame."""
        return self._plan.explain()

    def timeline(self, n: int = 10, failed: int | None = None, *, most_rows: int = MOST_ROWS) -> Timeline:
        """Draw matches and events of up to `n` partitions on a time axis. Runs the query and collects what is drawn.

        `failed` runs of each partition that became no match are drawn in grey, with what ended them: those that came
        furthest. Without it, three are drawn where nothing matched. Runs are followed in up to `most_rows` rows of a
        few keys, as by `why`.
        """
        plan = self._plan
        rows = plan.rows if plan.steps is None else plan.rows.drop(*plan.steps.role_names)

        def failures(is_empty: bool) -> tuple[Failure, ...]:
            wanted = count(failed, "failed") if failed is not None else 3 if is_empty else 0
            return failures_of(self._inquiry(None, most_rows), wanted) if wanted else ()

        return timeline_of(self._whole_matches(), rows, plan.tree, plan.partition_by, plan.order_by, n, failures)

    def _whole_matches(self) -> DataFrame:
        """The matches with whole events, whatever was asked for."""
        plan = self._plan
        return BatchPlan(
            plan.tree, plan.rows, plan.partition_by, plan.order_by, Asked(), plan.movement, plan.options, plan.steps
        ).result(timeouts=False)


class BatchPlan(Plan):
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
        steps: StepTables | None = None,
    ) -> None:
        self.movement = movement
        super().__init__(tree, rows, partition_by, order_by, asked, options, steps)

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
        output = self.output
        matched = self._matched(output.shape(timeouts), output.worker_schema(timeouts), timeouts)
        if not output.measures:
            return matched
        return matched.select(*result_columns(output.own_names(timeouts), output.measured()))

    def counts(self) -> DataFrame:
        """The lazy DataFrame of how many matches end with each event."""
        output = self.output
        if self.movement.shuffle == "spark" and any(position.endings for position in self.automaton.positions):
            raise InputError(
                "counts() of matches that wait at their end needs all events of a key at once.\n"
                '  Say shuffle="packed", or count the rows of the matches.'
            )
        matched = self._matched(output.counts_shape(False), output.counts_schema(False), timeouts=False)
        if not output.measures:
            return matched
        return matched.select(*result_columns(output.counts_names(False), output.measured()))

    def _matched(self, shape: Shape, schema: StructType, timeouts: bool) -> DataFrame:
        """What the workers give, in this form."""
        tables = self.tables(timeouts)
        prepared = self._prepared(timeouts)
        work = (tables.for_workers(), self.partition_by, self.order_by, shape, timeouts)
        if self.movement.shuffle == "packed":
            match = MatchPacked(*work, self.movement.max_bucket_bytes)
            return self._packed(prepared, tables).mapInArrow(shipped(match), schema)
        return mapped(self._sorted(prepared), MatchSorted(*work), schema)

    def cells(self) -> DataFrame:
        """What travels, packed: the cells of each bucket in one place."""
        return self._packed(self._prepared(timeouts=False), self.tables(timeouts=False))

    def _prepared(self, timeouts: bool) -> DataFrame:
        """What travels: needed columns, bits of the conditions, the values that the engine and the measures read."""
        tables, rows = self.tables(timeouts), self.rows
        unordered = F.lit(False)
        for name in self.order_by:
            unordered = unordered | F.col(quoted(name)).isNull()
        if self.movement.nulls == "drop":
            rows = rows.where(~unordered)
        if self.all_rows_travel is None:
            keep = self.wanted()
            rows = rows.where(keep if self.movement.nulls == "drop" else keep | unordered)
        own = [F.col(quoted(name)) for name in self.output.travelling]
        read = self.computed(timeouts)
        if self.movement.shuffle == "packed":
            page, bits = len(tables.pages) - 1, self._mask_beside_bucket(tables)
            bucket = F.shiftleft(self._bucket(unordered), bits)
            if bits:
                read[page] = bucket.bitwiseOR(read[page].cast("bigint")).alias(BUCKET)
            else:
                read.append(bucket.alias(BUCKET))
        return rows.select(*own, *read)

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
        together = key_columns(self.rows.schema, self.partition_by)
        moved = prepared.repartition(self.buckets, *together) if keys else prepared.coalesce(1)
        first = (*self.partition_by, *self.order_by)
        kinds = {field.name: field.dataType for field in prepared.schema.fields}
        rest = [name for name in prepared.columns if name not in first and isinstance(kinds[name], AtomicType)]
        order = [F.col(quoted(name)) for name in self.order_by]
        return moved.sortWithinPartitions(*keys, *order, *(F.col(quoted(name)).asc_nulls_last() for name in rest))

    def execution(self) -> Execution:
        """How the plan runs, for explanations."""
        tables = self.tables(timeouts=False)
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
            further=(("keys", self.keys_by_step), ("faster with", advice(self.rows.sparkSession))),
            warnings=()
            if self.partition_by
            else ("One bucket: without partition_by nothing is parallel. Name the columns that a match shares.",),
        )
