"""A pattern bound to the columns of a DataFrame: what the plans of batches and of streams share.

In: a checked tree, a DataFrame, the columns to partition and order by, what is asked of the result. Out: `Plan`, which
has refused what cannot run. Each thing is computed once: the pattern is bound once, and its tables are kept.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pyspark.sql import Column, DataFrame

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.conditions import bind
from cepheid.conditions.expression import Column as NamedColumn
from cepheid.conditions.expression import walk
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.errors import InputError
from cepheid.explain import Execution, Explanation, explain
from cepheid.options import Asked
from cepheid.rows.in_memory import check_units
from cepheid.spark.analysis import refuse_unrepeatable, schema_of
from cepheid.spark.code import provide_code
from cepheid.spark.frames import arrow_schema, order_columns, partition_columns, refuse_names_by_case, unit_of
from cepheid.spark.masks import computed, wanted
from cepheid.spark.output import EventColumns, Output
from cepheid.spark.steps import StepTables
from cepheid.syntax.tree import PatternTree

_OWN = re.compile(
    r"__(bucket|payload|kind|tie|time|event_time|reason|ordinal|candidate|step|group|"
    r"(mask|value|computed|argument|aggregate|key|role|group|word)_[0-9a-f_]+)"
)
"""The names of the columns that travel beside those of the events."""


class Plan:
    """How one pattern runs on one DataFrame."""

    where = "a DataFrame"
    """What the pattern runs on, in errors."""

    def __init__(
        self,
        tree: PatternTree,
        rows: DataFrame,
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
        asked: Asked,
        options: Options,
        steps: StepTables | None = None,
    ) -> None:
        for table in (rows,) if steps is None else steps.tables:
            refuse_names_by_case(table.schema)
            _refuse_own_names(table.columns)
        self.tree = tree
        self.steps = steps
        """Where elements have keys or tables of their own; then `rows` are their candidates."""
        self.rows = rows
        self.session = rows.sparkSession
        arrow = arrow_schema(rows.schema)
        self.schema_of_events = schema_of(rows) if steps is None else steps.schema(rows, self.added_columns)
        self.partition_by = partition_columns(rows.schema, partition_by)
        self.order_by = order_columns(rows.schema, arrow, order_by)
        self.check_time()
        check_units(tree, unit_of(arrow, self.order_by), self.order_by[0])
        bound = bind(tree, self.schema_of_events)
        self.automaton = build(tree, bound)
        refuse_unrepeatable(self.automaton.predicates, rows)
        self.asked = asked
        shown = tuple(rows.columns) if steps is None else (*steps.shown, *self.added_columns)
        of_variable = {} if steps is None else steps.own(self.added_columns)
        events = EventColumns(rows, self.schema_of_events, shown, of_variable)
        self.output = Output(asked, tree, events, self.automaton, self.partition_by, self.order_by)
        arguments = [node for argument in self.output.arguments for node in walk(argument)]
        self.read = tuple(
            dict.fromkeys([*bound.columns, *(node.name for node in arguments if isinstance(node, NamedColumn))])
        )
        """The columns that conditions and measures read."""
        self.options = options
        self.all_rows_travel = why_all_rows_travel(self.automaton)
        """Why no row may be dropped early; None if they may."""
        self.explained: list[Column] = []
        """What only Spark computes of conditions, where Python follows runs (see `explained`)."""
        self._tables: dict[bool, Tables] = {}
        self.tables(timeouts=False)  # refuse now what the engine cannot run
        provide_code(rows, "compact" if self.tables(timeouts=False).compact.is_compact else "main")

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that the plan itself adds to the events."""
        return ()

    @property
    def keys_by_step(self) -> str:
        """What the keys are, for explanations, where they differ by element."""
        return "" if self.steps is None else " ".join(self.steps.steps.described())

    def check_time(self) -> None:
        """Refuse times that this kind of plan cannot take."""

    def tables(self, timeouts: bool) -> Tables:
        """The pattern's tables for the engine."""
        if timeouts not in self._tables:
            try:
                options = replace(self.options, timeouts=timeouts, computes_early=True)
                self._tables[timeouts] = tabulate(self.automaton, options)
            except NotCompiled as reason:
                raise InputError(
                    f"the engine cannot run this pattern on {self.where}: it has {reason}.\n"
                    "  Compute that part as a column first, or run the pattern on rows in memory with match_events."
                ) from reason
        return self._tables[timeouts]

    def computed(self, timeouts: bool) -> list[Column]:
        """What the engine and the measures read of each row, as Spark computes it."""
        read = computed(self.automaton.predicates, self.tables(timeouts))
        return [*read, *self.output.argument_columns(), *self.output.tie_columns(), *self.explained]

    def wanted(self) -> Column:
        """Whether any condition could hold on a row."""
        return wanted(self.automaton.predicates)

    def execution(self) -> Execution:
        """How the plan runs, for explanations."""
        raise NotImplementedError

    def explain(self) -> Explanation:
        """What the pattern means and how Spark runs it on this DataFrame."""
        return explain(self.tree, self.schema_of_events, self.execution(), self.options)


def _refuse_own_names(names: list[str]) -> None:
    taken = next((name for name in names if _OWN.fullmatch(name.lower())), None)
    if taken is not None:
        raise InputError(
            f"the events have a column {taken!r}, a name that Cepheid uses itself on the way to the workers.\n"
            f"  Rename it, for instance withColumnRenamed({taken!r}, {taken.strip('_')!r})."
        )
