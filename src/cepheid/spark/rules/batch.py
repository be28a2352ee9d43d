"""A set of rules on a batch DataFrame: the plan, and what comes back.

In: rules, a DataFrame, the order. Out: `RulesInDataFrame`, whose DataFrames are lazy.

The plan: one scan. Spark computes the bucket of each row by each distinct key, and what only Spark can; the workers
compute a bit for each distinct condition and pack the rows that some rule wants into cells, by key and bucket; Spark
moves the cells; each bucket is sorted once and each rule is matched on the rows that concern it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.conditions.expression import Expression
from cepheid.conditions.printing import quoted
from cepheid.engine.tables.model import Options
from cepheid.explain import Explanation
from cepheid.explain.rules import explain_rules
from cepheid.explain.text.document import Record, Section
from cepheid.options import Asked, Limits, Movement, count, yes_or_no
from cepheid.rows.row_rules import in_set
from cepheid.rows.views import ALWAYS, masks_of
from cepheid.rule import AnyRule, RowRule, Rule, unknown_rule
from cepheid.spark.batch import BatchPlan, Found
from cepheid.spark.buckets import bucket_count, estimated_bytes, parallelism
from cepheid.spark.frames import arrow_schema
from cepheid.spark.masks import to_column
from cepheid.spark.pack_workers import BUCKET, PAYLOAD
from cepheid.spark.packing import bucket_of, moved
from cepheid.spark.row_patterns import BatchRowPlan, FoundRowPatterns
from cepheid.spark.rules.bound import BoundRules
from cepheid.spark.rules.conditions import FEW, Bits
from cepheid.spark.rules.row_rules import column_of
from cepheid.spark.rules.workers import Group, MatchRules, PackRules, group_name
from cepheid.spark.shipping import mapped, shipped


class RulesInDataFrame:
    """What a set of rules finds in a DataFrame: matches and timeouts of all rules as lazy DataFrames."""

    def __init__(self, plan: RulesPlan) -> None:
        self._plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """One row per match of any rule: `rule`, the columns of all keys, `match_id`, `start_time`, `end_time`,
        `events`, `measures`, `severity` and `tags`."""
        return self._plan.result(timeouts=False)

    @cached_property
    def timeouts(self) -> DataFrame:
        """The runs of any rule that ran out of time, with the moment `at` which they did."""
        return self._plan.result(timeouts=True)

    @property
    def counts(self) -> DataFrame:
        """How many matches each rule has, as a DataFrame of `rule` and `matches`; rules without any have 0."""
        session = self._plan.bound.rows.sparkSession
        names = session.createDataFrame([(rule.name,) for rule in self._plan.bound.rules], "rule string")
        counted = self.matches.groupBy("rule").agg(F.count(F.lit(1)).alias("matches"))
        return names.join(counted, "rule", "left").fillna(0, ["matches"])

    def __getitem__(self, name: str) -> Found | FoundRowPatterns:
        """What one rule finds by itself, as `Pattern.match`, or `RowPattern.match`, returns it."""
        plan = self._plan.single(name)
        return FoundRowPatterns(plan) if isinstance(plan, BatchRowPlan) else Found(plan)

    def show(self, n: int = 20, truncate: bool = True) -> None:
        """Print the first `n` matches as Spark does. Runs the query as far as that needs."""
        self.matches.show(count(n, "n"), truncate=yes_or_no(truncate, "truncate"))

    def explain(self) -> Explanation:
        """Explain what the rules share and how Spark runs them on this DataFrame."""
        return self._plan.explain()


class RulesPlan:
    """How a set of rules runs on one DataFrame."""

    def __init__(
        self,
        rules: Sequence[AnyRule],
        rows: DataFrame,
        order_by: tuple[str, ...],
        columns: tuple[str, ...] | None,
        movement: Movement,
        options: Options,
        limits: Limits,
    ) -> None:
        def plan_of(rule: Rule, asked: Asked) -> BatchPlan:
            return BatchPlan(rule.tree, rows, rule.partition_by, order_by, asked, movement, options)

        self.columns, self.movement, self.options, self.limits = columns, movement, options, limits
        self.bound = BoundRules(rules, rows, order_by, columns, plan_of, limits)
        self.numbers: dict[Expression, int] = {part: i for i, part in enumerate(self.bound.conditions())}
        self.bits = Bits.of(self.numbers)

    def single(self, name: str) -> BatchPlan | BatchRowPlan:
        """The plan of one rule by itself."""
        rule = next((rule for rule in self.bound.rules if rule.name == name), None)
        if rule is None:
            raise unknown_rule(name, [rule.name for rule in self.bound.rules])
        bound, asked = self.bound, Asked(rule.measures, self.columns)
        if isinstance(rule, RowRule):
            clause = in_set(rule.clause, bound.order_by, rule.clause.rows)
            return BatchRowPlan(clause, bound.rows, self.movement, self.limits)
        return BatchPlan(rule.tree, bound.rows, rule.partition_by, bound.order_by, asked, self.movement, self.options)

    @cached_property
    def buckets(self) -> int:
        """How many buckets the keys are spread over."""
        rows = self.bound.rows
        return self.movement.buckets or bucket_count(estimated_bytes(rows), parallelism(rows))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The distinct keys, with the buckets and bits of their rules."""
        made: list[Group] = []
        first = 0
        for key in self.bound.groups:
            plans = [plan for plan in self.bound.plans.values() if plan.partition_by == key]
            row_plans = [plan for plan in self.bound.row_plans.values() if plan.partition_by == key]
            own = {self.numbers.get(one.own_event, ALWAYS) for plan in plans for one in plan.automaton.predicates}
            own |= {self.numbers.get(part, ALWAYS) for plan in row_plans for part in plan.own}
            every = bool(row_plans) or any(plan.all_rows_travel is not None for plan in plans)
            read = {column for plan in plans for column in self.bound.read_by(plan)}
            read |= {column for plan in row_plans for column in (*plan.travelling, *map(column_of, plan.computed))}
            columns = dict.fromkeys((*key, *self.bound.order_by, *self.bound.shown, *sorted(read)))
            travelling = (*columns, *self.bound.tie)
            made.append(Group(key, first, masks_of(sorted(own)), every, travelling))
            first += self._buckets_of(key)
        return tuple(made)

    def _buckets_of(self, key: tuple[str, ...]) -> int:
        return self.buckets if key else 1

    def result(self, timeouts: bool) -> DataFrame:
        """The lazy DataFrame of matches, or of timeouts."""
        bound, groups = self.bound, self.groups
        schema = bound.worker_schema(with_moment=timeouts)
        cells = mapped(
            self._prepared(), PackRules(self.bits, groups, bound.order_by), f"`{BUCKET}` int, `{PAYLOAD}` binary"
        )
        rules = tuple(
            tuple(
                bound.work(name, self.numbers, timeouts, with_moment=timeouts)
                for name, plan in bound.plans.items()
                if plan.partition_by == group.partition_by
            )
            for group in groups
        )
        row_rules = tuple(
            tuple(
                bound.row_work(name, self.numbers)
                for name, row_plan in bound.row_plans.items()
                if row_plan.partition_by == group.partition_by and not timeouts  # rows have none
            )
            for group in groups
        )
        match = MatchRules(
            groups, rules, row_rules, bound.order_by, arrow_schema(schema), timeouts, self.movement.max_bucket_bytes
        )
        total = sum(self._buckets_of(key) for key in bound.groups)
        matched = moved(cells, total).mapInArrow(shipped(match), schema)
        return matched.select(*(F.expr(text).alias(name) for name, text in bound.result_columns(timeouts)))

    def _prepared(self) -> DataFrame:
        """What goes to the workers that pack: the needed columns, what Spark computes, the bucket by each key."""
        bound, rows = self.bound, self.bound.rows
        unordered = F.lit(False)
        for name in bound.order_by:
            unordered = unordered | F.col(quoted(name)).isNull()
        if self.movement.nulls == "drop":
            rows = rows.where(~unordered)
        if (
            len(self.numbers) <= FEW
            and not bound.row_plans
            and all(plan.all_rows_travel is None for plan in bound.plans.values())
        ):
            keep = unordered
            for part in self.numbers:
                keep = keep | to_column(part)
            rows = rows.where(keep)
        own = dict.fromkeys((*bound.travelling(), *self.bits.read))
        buckets = []
        for number, key in enumerate(bound.groups):
            place = bucket_of(rows.schema, key, self.buckets) if key else F.lit(0).cast("bigint")
            if self.movement.nulls == "error":
                place = F.when(unordered, F.lit(0).cast("bigint")).otherwise(place)
            buckets.append(place.cast("int").alias(group_name(number)))
        return rows.select(
            *(F.col(quoted(name)) for name in own), *bound.computed(), *self.bits.columns(self.numbers), *buckets
        )

    def explain(self) -> Explanation:
        """What the rules share, and how Spark runs them."""
        facts = (
            ("conditions", f"{len(self.bits.here)} computed by the workers, {len(self.bits.by_spark)} by Spark"),
            ("columns", ", ".join(self.bound.travelling())),
            ("buckets", f"{sum(self._buckets_of(key) for key in self.bound.groups)} in all"),
            ("scans", "one"),
        )
        return explain_rules(self.bound.rules, Section("execution: Spark, batch", records=(Record("", facts),)))


__all__ = ["RulesInDataFrame", "RulesPlan"]
