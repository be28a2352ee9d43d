"""The rules of a set, bound to one DataFrame: what they share, and what each reads of it.

In: rules, a DataFrame, the order, the columns that matches show. Out: `BoundRules`. Used by the plans of batches and of
streams. A rule that cannot run there is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from cepheid.conditions.expression import TRUE, Expression
from cepheid.conditions.expression import Column as NamedColumn
from cepheid.conditions.printing import quoted
from cepheid.options import Asked, Limits
from cepheid.rows.columns import shown_columns
from cepheid.rows.rule_matches import EVENTS, RULE, SEVERITY, TAGS, RuleShape
from cepheid.rows.rules import refuse_clashes
from cepheid.rows.views import ALWAYS, View
from cepheid.rule import AnyRule, Rule, named, patterns_of, row_patterns_of
from cepheid.spark.frames import arrow_schema
from cepheid.spark.masks import to_column
from cepheid.spark.output import Output, moment_type
from cepheid.spark.plan import Plan
from cepheid.spark.rules.measures import Slots
from cepheid.spark.rules.row_rules import RowOutput, RowRulePlan, RowRuleWork, column_of

PlanOf = Callable[[Rule, Asked], Plan]


@dataclass(frozen=True, slots=True)
class RuleWork:
    """What a worker must know of one rule; travels to other processes."""

    view: View
    values: tuple[str, ...]
    """The columns that hold what the kernel compares."""
    shape: RuleShape
    """Its summaries have the names of the slots of the result that they go to."""


class BoundRules:
    """The rules of a set on one DataFrame."""

    def __init__(
        self,
        rules: Sequence[AnyRule],
        rows: DataFrame,
        order_by: tuple[str, ...],
        columns: tuple[str, ...] | None,
        plan_of: PlanOf,
        limits: Limits | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.rows = rows
        self.order_by = order_by
        self.shown = shown_columns(rows.schema.names, columns)
        self.plans: dict[str, Plan] = {}
        for rule in patterns_of(rules):
            with named(rule):
                self.plans[rule.name] = plan_of(rule, Asked(rule.measures, self.shown))
        self.row_plans: dict[str, RowRulePlan] = {}
        for row_rule in row_patterns_of(rules):
            with named(row_rule):
                self.row_plans[row_rule.name] = RowRulePlan(row_rule, rows, order_by, limits or Limits())
        every: list[Plan | RowRulePlan] = [*self.plans.values(), *self.row_plans.values()]
        self.order_by = every[0].order_by
        self.groups = tuple(dict.fromkeys(plan.partition_by for plan in every))
        """The distinct keys."""
        self.keys = tuple(dict.fromkeys(name for key in self.groups for name in key))
        refuse_clashes(self.keys)
        self.slots = Slots([plan.output for plan in every])

    def conditions(self) -> tuple[Expression, ...]:
        """The distinct conditions of all rules on single events."""
        parts = (predicate.own_event for plan in self.plans.values() for predicate in plan.automaton.predicates)
        own = (part for plan in self.row_plans.values() for part in plan.own)
        return tuple(dict.fromkeys(part for part in (*parts, *own) if part != TRUE))

    def travelling(self) -> tuple[str, ...]:
        """The columns of the events that go to the workers that match."""
        of_rows = (name for plan in self.row_plans.values() for name in plan.travelling)
        own = (*self.keys, *self.order_by, *self.shown, *of_rows)
        return tuple(dict.fromkeys((*own, *(part.name for part in self._computed() if isinstance(part, NamedColumn)))))

    def computed(self) -> list[Column]:
        """What Spark computes beside bits: values that engines compare, arguments of measures, a hash that breaks
        ties (rule 12)."""
        made = [
            to_column(part).alias(column_of(part)) for part in self._computed() if not isinstance(part, NamedColumn)
        ]
        return [*made, *(F.xxhash64(*(F.col(quoted(name)) for name in self._nested())).alias(tie) for tie in self.tie)]

    @property
    def tie(self) -> tuple[str, ...]:
        """The column of that hash, where there is one."""
        return ("__tie",) if self._nested() else ()

    def _nested(self) -> list[str]:
        kinds = {field.name: field.dataType for field in self.rows.schema.fields}
        return [name for name in self.travelling() if isinstance(kinds[name], ArrayType | StructType)]

    def read_by(self, plan: Plan) -> tuple[str, ...]:
        """The columns that a rule's engine and measures read."""
        return tuple(map(column_of, (*plan.tables(timeouts=False).columns, *plan.output.arguments)))

    def _computed(self) -> tuple[Expression, ...]:
        parts: dict[Expression, None] = {}
        for plan in self.plans.values():
            parts |= dict.fromkeys(plan.tables(timeouts=False).columns)
            parts |= dict.fromkeys(plan.output.arguments)
        for row_plan in self.row_plans.values():
            parts |= dict.fromkeys(row_plan.computed)
        return tuple(parts)

    def work(self, name: str, number_of: dict[Expression, int], timeouts: bool, with_moment: bool) -> RuleWork:
        """What a worker must know of a rule; `number_of`: the bits of conditions."""
        rule = next(rule for rule in patterns_of(self.rules) if rule.name == name)
        plan = self.plans[name]
        tables, automaton = plan.tables(timeouts), plan.automaton
        own = [predicate.own_event for predicate in automaton.predicates]
        bits = tuple(ALWAYS if part == TRUE else number_of[part] for part in own)
        kinds = arrow_schema(self.rows.schema)
        arguments = {f"__argument_{number}": column_of(part) for number, part in enumerate(plan.output.arguments)}
        slots = dict(self.slots.renamed(plan.output))
        summaries = tuple(
            replace(one, name=slots[one.name], argument=None if one.argument is None else arguments[one.argument])
            for one in plan.output.shape(timeouts=False).summaries
        )
        shape = RuleShape(
            name,
            automaton.variables,
            self.shown,
            rule.severity,
            rule.tags,
            tuple((key, kinds.field(key).type) for key in self.keys),
            with_moment,
            summaries,
        )
        view = View(tables.for_workers(), bits, plan.all_rows_travel is not None)
        return RuleWork(view, tuple(map(column_of, tables.columns)), shape)

    def row_work(self, name: str, number_of: dict[Expression, int], with_moment: bool = False) -> RowRuleWork:
        """What a worker must know of a rule that is a row pattern."""
        plan = self.row_plans[name]
        kinds = arrow_schema(self.rows.schema)
        keys = tuple((key, kinds.field(key).type) for key in self.keys)
        rule = plan.rule
        shape = RuleShape(name, rule.clause.variables, self.shown, rule.severity, rule.tags, keys, with_moment)
        bits = tuple(ALWAYS if part == TRUE else number_of[part] for part in plan.own)
        slots = tuple(slot for _, slot in self.slots.renamed(plan.output))
        return plan.work(bits, shape, slots)

    def worker_schema(self, with_moment: bool) -> StructType:
        """The columns that come from the workers."""
        by_name = {field.name: field.dataType for field in self.rows.schema.fields}
        time = by_name[self.order_by[0]]
        event = StructType([StructField(name, by_name[name]) for name in self.shown])
        entry = StructType(
            [StructField("variable", StringType()), StructField("sequence", IntegerType()), StructField("event", event)]
        )
        return StructType(
            [
                StructField(RULE, StringType()),
                *(StructField(name, by_name[name]) for name in self.keys),
                StructField("match_id", StringType()),
                StructField("start_time", time),
                StructField("end_time", time),
                *([StructField("at", moment_type(time))] if with_moment else []),
                StructField(EVENTS, ArrayType(entry)),
                StructField(SEVERITY, StringType()),
                StructField(TAGS, ArrayType(StringType())),
                *self.slots.fields(),
            ]
        )

    def result_columns(self, with_moment: bool) -> list[tuple[str, str]]:
        """Name and SQL text of each column of the result, over those of the workers."""
        own = [field.name for field in self.worker_schema(with_moment).fields if not self.slots.has(field.name)]
        texts = [(name, quoted(name)) for name in own]
        outputs: dict[str, Output | RowOutput] = {name: plan.output for name, plan in self.plans.items()}
        outputs |= {name: plan.output for name, plan in self.row_plans.items()}
        measures = ("measures", self.slots.measures(outputs))
        return [*texts[:-2], measures, *texts[-2:]]
