"""What Spark computes of a pattern's conditions: a bit for each predicate, and columns for what the engine compares.

In: bound predicates and expressions. Out: Spark Columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.conditions import Predicate
from cepheid.conditions.expression import TRUE, Expression, Operation, Operator, SparkColumn, walk
from cepheid.engine.tables.model import Tables
from cepheid.spark.pack_workers import mask_name, mask_width, value_name

_INTEGERS = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}


def mask(predicates: Sequence[Predicate]) -> Column:
    """A number whose bit i says that the own-event part of predicate i holds; unknown does not hold (rule 11).

    It is as narrow as the number of predicates allows: it travels with every row.
    """
    kind = _INTEGERS[mask_width(len(predicates))]
    nothing = F.lit(0).cast(kind)
    result = nothing
    for index, predicate in enumerate(predicates):
        bit = F.lit(1 << index if index < 63 else -(1 << 63)).cast(kind)
        always = predicate.own_event == TRUE
        result = result.bitwiseOR(bit if always else F.when(to_column(predicate.own_event), bit).otherwise(nothing))
    return result


def computed(predicates: Sequence[Predicate], tables: Tables) -> list[Column]:
    """What the engine reads of each row: a mask for each page of predicates, and the values it compares."""
    masks = [
        mask([predicates[index] for index in page]).alias(mask_name(number)) for number, page in enumerate(tables.pages)
    ]
    return masks + [to_column(value).alias(value_name(index)) for index, value in enumerate(tables.columns)]


def wanted(predicates: Iterable[Predicate]) -> Column:
    """Whether the own-event part of any predicate holds."""
    result = F.lit(False)
    for predicate in predicates:
        result = result | to_column(predicate.own_event)
    return result


def to_column(expression: Expression) -> Column:
    """An expression over the event as Spark computes it: its text, but for the Columns in it."""
    if isinstance(expression, SparkColumn):
        assert isinstance(expression.column, Column)
        return expression.column
    if not any(isinstance(node, SparkColumn) for node in walk(expression)):
        return F.expr(str(expression))
    if isinstance(expression, Operation) and expression.operator is Operator.CASE:
        guard, value, _ = expression.operands  # what is computed where a Column holds, NULL elsewhere
        return F.when(to_column(guard), to_column(value))
    if isinstance(expression, Operation) and expression.operator in (Operator.AND, Operator.OR):
        parts = [to_column(operand) for operand in expression.operands]
        result = parts[0]
        for part in parts[1:]:
            result = result & part if expression.operator is Operator.AND else result | part
        return result
    raise AssertionError(f"a Column inside {expression}: where() combines Columns by AND and OR only")
