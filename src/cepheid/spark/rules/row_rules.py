"""Row patterns among the rules of a set on Spark: what each reads of the rows that all rules share, and its work.

In: a rule, a DataFrame, the order of the set. Out: `RowRulePlan` for the driver and `RowRuleWork` for the workers. The
own conditions of its variables are bits among those of all rules; it sees every row of its key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, LongType

from cepheid.conditions import types
from cepheid.conditions.expression import Column as NamedColumn
from cepheid.conditions.expression import Expression
from cepheid.engine.row_values import Mask
from cepheid.engine.tables.row_patterns import RowTables
from cepheid.errors import ConditionError, InputError
from cepheid.options import Limits
from cepheid.rowpattern.binding import BoundRowPattern, located
from cepheid.rowpattern.expression import NUMBER, Folded, Value, replaced
from cepheid.rows.arrange import Arranged
from cepheid.rows.row_rules import RowsTaken, in_set, taken_by
from cepheid.rows.rule_matches import RuleShape, assemble_rule, in_schema
from cepheid.rows.views import ALWAYS, WORD, Signed
from cepheid.rule import RowRule
from cepheid.spark.row_patterns import RowPatternPlan

MATCH_NUMBER = NamedColumn(NUMBER, type=types.LONG)
"""What stands for MATCH_NUMBER() in a measure."""


@dataclass(frozen=True, slots=True)
class RowMeasure:
    """A measure over what the workers read."""

    name: str
    expression: Expression

    def sql(self, column_of: Callable[[Expression], str]) -> str:
        """Its SQL text; `column_of` says which column holds a read."""

        def change(node: Expression) -> Expression | None:
            if isinstance(node, Value | Folded) or node == MATCH_NUMBER:
                return NamedColumn(column_of(node), type=node.type)
            return None

        return str(replaced(self.expression, change))


@dataclass(frozen=True, slots=True)
class RowOutput:
    """What a row pattern gives for its measures, as `Slots` knows it of patterns."""

    measures: tuple[RowMeasure, ...]
    aggregates: tuple[tuple[Expression, DataType], ...]
    """What the workers read of a match, with types."""


class RowRulePlan:
    """How a row pattern runs on one DataFrame beside other rules."""

    def __init__(self, rule: RowRule, rows: DataFrame, order_by: tuple[str, ...], limits: Limits) -> None:
        self.rule = rule
        self._plan = RowPatternPlan(in_set(rule.clause, order_by), rows, limits)
        if self._plan.tables is None:
            raise InputError(
                "the engine cannot run this row pattern, so the reference evaluator would.\n"
                "  Run it by itself: RowPattern.parse(…).match(df)."
            )
        self.tables = self._plan.tables
        self.partition_by, self.order_by = self._plan.partition_by, self._plan.bound.order_names
        self.own: tuple[Expression, ...] = self.tables.own
        """The own condition of each variable."""
        self.computed = tuple(self._plan.computed)
        """What Spark computes of each row beside the bits."""

    @property
    def travelling(self) -> tuple[str, ...]:
        """The columns of the input that the workers need."""
        return self._plan.travelling

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that its conditions and measures read of rows."""
        return (*self.travelling, *(column_of(part) for part in self.computed))

    @property
    def fingerprint(self) -> str:
        """What the rows that it keeps belong to: the clause but for its measures, and the columns that are read."""
        clause = str(replace(self._plan.bound.pattern, measures=()))
        return f"rows {hashlib.sha256(clause.encode()).hexdigest()} with {', '.join(sorted(self.read))}"

    @property
    def needs_the_end(self) -> bool:
        """Whether every match must end with the input."""
        return self.tables.program.needs_the_end

    @property
    def output(self) -> RowOutput:
        """What comes of its measures."""
        measures = tuple(RowMeasure(one.name, one.expression) for one in self._plan.bound.measures)
        reads = zip(self._plan.reads, self._plan.read_types(), strict=True)
        return RowOutput(measures, (*reads, (MATCH_NUMBER, LongType())))

    def work(self, bits: tuple[int, ...], shape: RuleShape, slots: tuple[str, ...]) -> RowRuleWork:
        """What a worker must know of it."""
        computed = {part: column_of(part) for part in self.computed}
        return RowRuleWork(self._plan.bound, self.tables, self._plan.reads, computed, bits, shape, slots)


@dataclass(frozen=True)
class RowRuleWork:
    """What a worker must know of a row pattern in a set; travels to other processes."""

    bound: BoundRowPattern
    tables: RowTables
    reads: tuple[Value | Folded, ...]
    computed: Mapping[Expression, str]
    bits: tuple[int, ...]
    """By variable, the number of its own condition among those of all rules."""
    shape: RuleShape
    slots: tuple[str, ...]
    """The columns of the result that hold the reads, and the number of the match."""

    def matches(self, events: Arranged, signed: Signed, schema: pa.Schema) -> pa.Table | None:
        """Its matches with the columns that all rules have; None if there are none."""
        try:
            taken = taken_by(self.bound, self.tables, events, self.own(signed, len(events.time)), self.computed)
        except ConditionError as error:
            raise located(error) from None
        return self.assembled(events, taken, schema) if len(taken.assignments.at) else None

    def assembled(self, events: Arranged, taken: RowsTaken, schema: pa.Schema) -> pa.Table:
        """The rows of what was found, with the columns that all rules have."""
        try:
            read = [*(taken.reads.of(one) for one in self.reads), taken.reads.number()]
        except ConditionError as error:
            raise located(error) from None
        table = assemble_rule(events, taken.assignments, self.shape)
        for name, values in zip(self.slots, read, strict=True):
            table = table.append_column(name, values.cast(schema.field(name).type))
        return in_schema(table, schema)

    def own(self, signed: Signed, count: int) -> Mask:
        """Which rows satisfy the own condition of each variable."""
        columns: list[npt.NDArray[np.bool_]] = []
        for number in self.bits:
            if number == ALWAYS:
                columns.append(np.ones(count, bool))
            else:
                bit = (signed.words[number // WORD] >> np.uint64(number % WORD)) & np.uint64(1)
                columns.append(signed.of_rows(bit, np.arange(count)) != 0)
        return np.stack(columns, axis=1)


def column_of(part: Expression) -> str:
    """The column that holds a value: the events' own, or one named by what it holds, so that it stays the same
    whatever other rules there are."""
    if isinstance(part, NamedColumn):
        return part.name
    return f"__value_{hashlib.sha256(f'{part} {part.type}'.encode()).hexdigest()[:16]}"
