"""What comes out of a match on Spark: which columns travel, the form of the result, and its schema.

In: what the caller asked for. Out: `Output`. Shared by the batch and the streaming plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, StringType, StructField, StructType

from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema
from cepheid.conditions.expression import Aggregate, AggregateFunction
from cepheid.conditions.measures import Measure, bind_measures
from cepheid.conditions.printing import quoted
from cepheid.options import Asked
from cepheid.rows.assemble import Shape
from cepheid.rows.columns import shown_columns
from cepheid.rows.counts import refuse_other_measures
from cepheid.rows.summaries import Summary
from cepheid.spark.frames import arrow_schema
from cepheid.spark.masks import to_column
from cepheid.syntax.tree import PatternTree

_FUNCTIONS = {
    AggregateFunction.COUNT: F.count,
    AggregateFunction.SUM: F.sum,
    AggregateFunction.AVG: F.avg,
    AggregateFunction.MIN: F.min,
    AggregateFunction.MAX: F.max,
    AggregateFunction.FIRST: F.first,
    AggregateFunction.LAST: F.last,
    AggregateFunction.COUNT_DISTINCT: F.count_distinct,
    AggregateFunction.STDDEV: F.stddev,
}


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The columns of the events, as far as the result needs to know them."""

    rows: DataFrame
    schema: Schema
    shown: tuple[str, ...]
    of_variable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those of a variable's events, where not all events have the same."""


class Output:
    """The form of the result for one pattern and one DataFrame."""

    def __init__(
        self,
        asked: Asked,
        tree: PatternTree,
        events: EventColumns,
        automaton: Automaton,
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
    ) -> None:
        self._rows = rows = events.rows
        self._of_variable = events.of_variable
        self._automaton = automaton
        self._partition_by = partition_by
        self._time = rows.schema[order_by[0]].dataType
        self.measures = bind_measures(dict(asked.measures), tree, events.schema, partition_by)
        self.every_row = asked.rows == "all"
        bare = bool(self.measures) and not self.every_row and asked.columns is None
        self.columns = None if bare else shown_columns(events.shown, asked.columns)
        shown = self.columns or ()
        self.travelling = tuple(dict.fromkeys((*partition_by, *order_by, *shown)))
        """The columns of the events that the workers need beside bits and values."""
        self._aggregates = tuple(dict.fromkeys(a for measure in self.measures for a in measure.aggregates))
        arguments = dict.fromkeys(a.argument for a in self._aggregates if a.argument is not None)
        self.arguments = tuple(sorted(arguments, key=str))
        """What measures read of events. Sorted: the columns that hold it are numbered, and state keeps these columns,
        so the order of the measures must not matter."""
        self._types = self._types_of_aggregates()
        self.shape(timeouts=False).check_names(partition_by, [measure.name for measure in self.measures])

    def counts_shape(self, with_moment: bool) -> Shape:
        """The form where matches are counted."""
        refuse_other_measures(self.measures)
        return replace(self.shape(with_moment), every_row=False, counts=True)

    def counts_schema(self, with_moment: bool) -> StructType:
        """The columns that come from the workers where matches are counted."""
        fields = [self._rows.schema[name] for name in self._partition_by]
        fields = [StructField(field.name, field.dataType) for field in fields]
        fields.append(StructField("end_time", self._time))
        fields += [StructField("at", moment_type(self._time))] if with_moment else []
        fields.append(StructField("matches", LongType()))
        fields += [StructField(_aggregate_name(i), kind) for i, kind in enumerate(self._types)]
        return StructType(fields)

    def counts_names(self, with_moment: bool) -> tuple[str, ...]:
        """The columns of the counts beside the measures."""
        names = self.counts_schema(with_moment).names
        return tuple(names[: len(names) - len(self._types)])

    def shape(self, timeouts: bool) -> Shape:
        """The form that the workers give to it."""
        return Shape(
            self._automaton.variables,
            self._automaton.looping,
            self.columns,
            with_moment=timeouts,
            every_row=self.every_row,
            summaries=tuple(self._summary(number) for number in range(len(self._aggregates))),
            of_variable=self._of_variable,
        )

    def argument_columns(self) -> list[Column]:
        """What the measures read of each event, computed by Spark."""
        return [to_column(argument).alias(_argument_name(i)) for i, argument in enumerate(self.arguments)]

    def tie_columns(self) -> list[Column]:
        """A hash of the columns that cannot be sorted by, so that they break ties as well (rule 12); none if there are
        no such columns."""
        kinds = {field.name: field.dataType for field in self._rows.schema.fields}
        nested = [name for name in self.travelling if isinstance(kinds[name], ArrayType | StructType)]
        return [F.xxhash64(*(F.col(quoted(name)) for name in nested)).alias("__tie")] if nested else []

    def worker_schema(self, timeouts: bool) -> StructType:
        """The columns that come from the workers."""
        fields = self._own_fields(timeouts)
        fields += [StructField(_aggregate_name(i), kind) for i, kind in enumerate(self._types)]
        return StructType(fields)

    def own_names(self, timeouts: bool) -> tuple[str, ...]:
        """The columns of the result beside the measures."""
        return tuple(field.name for field in self._own_fields(timeouts))

    def measured(self) -> tuple[tuple[str, str], ...]:
        """Name and SQL text of each measure, over the columns of the workers."""
        names = {aggregate: _aggregate_name(i) for i, aggregate in enumerate(self._aggregates)}
        return tuple((measure.name, measure.sql(names.__getitem__)) for measure in self.measures)

    @property
    def aggregates(self) -> tuple[tuple[Aggregate, DataType], ...]:
        """What the measures read of variables, with the types that Spark gives to it."""
        return tuple(zip(self._aggregates, self._types, strict=True))

    def _own_fields(self, timeouts: bool) -> list[StructField]:
        by_name = {field.name: field for field in self._rows.schema.fields}
        fields = [StructField(name, by_name[name].dataType) for name in self._partition_by]
        fields.append(StructField("match_id", StringType()))
        moment = [StructField("at", moment_type(self._time))] if timeouts else []
        event = [StructField(name, by_name[name].dataType) for name in self.columns or ()]
        if self.every_row:
            fields += [StructField("variable", StringType()), StructField("sequence", IntegerType()), *moment]
            return fields + [field for field in event if field.name not in self._partition_by]
        fields += [StructField("start_time", self._time), StructField("end_time", self._time), *moment]
        if self.columns is not None:
            shape = self.shape(timeouts)
            for name in self._automaton.variables:
                struct = StructType([StructField(one, by_name[one].dataType) for one in shape.columns_of(name)])
                fields.append(StructField(name, ArrayType(struct) if name in self._automaton.looping else struct))
        return fields

    def _summary(self, number: int) -> Summary:
        aggregate = self._aggregates[number]
        argument = None if aggregate.argument is None else _argument_name(self.arguments.index(aggregate.argument))
        arrow = arrow_schema(StructType([StructField("value", self._types[number])])).field(0).type
        variable = self._automaton.variables.index(aggregate.variable)
        name = _aggregate_name(number)
        return Summary(name, aggregate.function, variable, argument, aggregate.offset, aggregate.type, arrow)

    def _types_of_aggregates(self) -> list[DataType]:
        """The types that Spark gives to the aggregates; only the analysis of a query, no job."""
        if not self._aggregates:
            return []
        return [field.dataType for field in self._rows.select(*map(_in_spark, self._aggregates)).schema.fields]


def result_columns(own: Iterable[str], measured: Iterable[tuple[str, str]]) -> list[Column]:
    """The columns of a result with measures, from those of the workers."""
    return [F.col(quoted(name)) for name in own] + [F.expr(text).alias(name) for name, text in measured]


def _in_spark(aggregate: Aggregate) -> Column:
    argument = F.lit(1) if aggregate.argument is None else to_column(aggregate.argument)
    return _FUNCTIONS[aggregate.function](argument)


def _argument_name(index: int) -> str:
    return f"__argument_{index}"


def _aggregate_name(index: int) -> str:
    return f"__aggregate_{index}"


def moment_type(time: DataType) -> DataType:
    arrow = arrow_schema(StructType([StructField("time", time)])).field(0).type
    if pa.types.is_timestamp(arrow):
        return time
    kind: DataType = from_arrow_type(pa.timestamp("us") if pa.types.is_date(arrow) else pa.int64())
    return kind


__all__ = ["Asked", "Measure", "Output", "result_columns"]
