"""Measures on rows in memory: what they read of events, and what is computed from that.

In: measures bound to a pattern and to the columns of a table. Out: the columns and summaries that `assemble` needs, and
the finished columns of the result. The SQL around the aggregates is computed by the portable evaluator; a function
that only Spark has is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, parse
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.arrow.expression import columns_of
from cepheid.conditions.arrow.values import arrow_type
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Aggregate, AggregateFunction, Column, Expression
from cepheid.conditions.measures import Measure, bind_measures
from cepheid.conditions.scope import Scope
from cepheid.engine.assignments import Assignments, Integers
from cepheid.errors import ConditionError
from cepheid.rows.arrange import Arranged
from cepheid.rows.summaries import Summary
from cepheid.syntax.tree import PatternTree

_KEEPS_TYPE = (AggregateFunction.FIRST, AggregateFunction.LAST, AggregateFunction.MIN, AggregateFunction.MAX)


class Measured:
    """The measures of one pattern over one table."""

    def __init__(
        self, texts: Mapping[str, str], tree: PatternTree, schema: Schema, partition_by: tuple[str, ...]
    ) -> None:
        self.measures = bind_measures(texts, tree, schema, partition_by)
        self._zone = schema.zone
        self._aggregates = tuple(dict.fromkeys(a for measure in self.measures for a in measure.aggregates))
        arguments = dict.fromkeys(a.argument for a in self._aggregates if a.argument is not None)
        self._arguments = {argument: f"__argument_{number}" for number, argument in enumerate(arguments)}
        self._partition_by = partition_by

    @property
    def names(self) -> list[str]:
        return [measure.name for measure in self.measures]

    def read(self, events: Arranged, taken_by: Callable[[list[int]], Integers], variables: tuple[str, ...]) -> Arranged:
        """The events with what the aggregates read of them as further columns. Only events that the variables in
        question took are read: an argument need not make sense on others."""
        for argument, name in self._arguments.items():
            readers = [variables.index(a.variable) for a in self._aggregates if a.argument == argument]
            rows = taken_by(readers)
            columns = list(columns_of(argument)) or events.column_names[:1]
            events = events.with_column(name, rows, self._values(argument, events.taken(columns, rows)))
        return events

    @staticmethod
    def taken(found: Assignments) -> Callable[[list[int]], Integers]:
        """The events that some variables took in matches."""
        return lambda variables: np.unique(found.row[np.isin(found.variable, variables)])

    def summaries(self, automaton: Automaton, events: Arranged) -> tuple[Summary, ...]:
        """How the aggregates are computed for each match; the events have the columns of `read`."""
        return tuple(self._summary(aggregate, automaton, events) for aggregate in self._aggregates)

    def finished(self, table: pa.Table) -> pa.Table:
        """A result with measures in the place of their aggregates."""
        own = table.drop_columns([str(aggregate) for aggregate in self._aggregates])
        for measure in self.measures:
            own = own.append_column(measure.name, self._column(measure, table))
        return own

    def _summary(self, aggregate: Aggregate, automaton: Automaton, events: Arranged) -> Summary:
        argument = None if aggregate.argument is None else self._arguments[aggregate.argument]
        kind = None if argument is None else events.type_of(argument)
        if kind is None or aggregate.function not in _KEEPS_TYPE:
            kind = arrow_type(aggregate.type)
        variable = automaton.variables.index(aggregate.variable)
        return Summary(str(aggregate), aggregate.function, variable, argument, aggregate.offset, aggregate.type, kind)

    def _values(self, argument: Expression, table: pa.Table) -> Any:
        if isinstance(argument, Column):  # as it is, with its own type
            column = table[argument.name].combine_chunks()
            return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        return self._evaluated(argument, table, "a measure")

    def _column(self, measure: Measure, table: pa.Table) -> Any:
        if len(measure.pieces) == 1 and isinstance(measure.pieces[0], Aggregate):
            return table[str(measure.pieces[0])]
        place = f"measure {measure.name!r}"
        given = table.select([*self._partition_by, *(str(aggregate) for aggregate in measure.aggregates)])
        try:
            scope = Scope(place, Schema.from_arrow(given.schema, self._zone), (), (), frozenset())
            bound = Checker(scope).bind(parse(measure.sql(str)))
        except ConditionError as error:
            raise ConditionError(place, error.problem, error.remedy) from None
        return self._evaluated(bound, given, place)

    def _evaluated(self, expression: Expression, table: pa.Table, place: str) -> Any:
        try:
            return evaluate_or_fall_back(expression, table)
        except ConditionError as error:  # what only Spark computes
            raise ConditionError(place, error.problem, error.remedy) from None
