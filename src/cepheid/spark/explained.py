"""Conditions as Python can follow them: what only Spark computes becomes a column that Spark has computed.

In: bound conditions. Out: the same with `ComputedColumn`s, and the expression of each such column; an automaton in a
form that travels to the workers. Called by `why` and by what lists broken runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.sql import Column

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import Predicate
from cepheid.conditions.expression import ComputedColumn, Expression, SparkColumn, SparkExpression, with_children
from cepheid.conditions.folding import BoundFold
from cepheid.conditions.registers import Registers
from cepheid.spark.masks import to_column
from cepheid.syntax.tree import PatternTree

if TYPE_CHECKING:  # workers need no parser
    from cepheid.conditions import BoundConditions


@dataclass(frozen=True)
class Explained:
    """A pattern's conditions without anything that only Spark computes."""

    conditions: BoundConditions
    columns: dict[str, Expression]
    """What Spark computes, by the name of its column."""

    @classmethod
    def of(cls, bound: BoundConditions) -> Explained:
        """Take what only Spark computes out of the conditions. It reads one event alone."""
        columns: dict[Expression, ComputedColumn] = {}

        def changed(node: Expression) -> Expression:
            if not isinstance(node, SparkColumn | SparkExpression):
                return with_children(node, changed)
            name = f"__computed_{len(columns)}"
            return columns.setdefault(node, ComputedColumn(name, text=str(node), type=node.type))

        def without(predicate: Predicate) -> Predicate:
            return Predicate(changed(predicate.expression), predicate.place)

        where = {name: without(predicate) for name, predicate in bound.where.items()}
        until = {path: without(predicate) for path, predicate in bound.until.items()}
        conditions = replace(bound, where=MappingProxyType(where), until=MappingProxyType(until))
        return cls(conditions, {column.name: node for node, column in columns.items()})

    def computed(self) -> list[Column]:
        """These columns."""
        return [to_column(node).alias(name) for name, node in self.columns.items()]

    def shipped(self, tree: PatternTree) -> ShippedAutomaton:
        """The pattern as workers get it."""
        automaton = build(tree, self.conditions)
        return ShippedAutomaton(replace(automaton, registers=Registers.laid_out(())), self.conditions.folds)


@dataclass(frozen=True)
class ShippedAutomaton:
    """An automaton with its conditions, which travels to other processes."""

    without_registers: Automaton
    folds: tuple[BoundFold, ...]

    def automaton(self) -> Automaton:
        """The automaton, ready to be run."""
        given = self.without_registers
        expressions = [predicate.expression for predicate in (*given.predicates, *given.having)]
        return replace(given, registers=Registers.laid_out(expressions, self.folds))
