"""What Spark says of conditions before anything runs: types of what only it computes, and what it would not repeat.

In: a DataFrame and parts of conditions. Out: a `Schema` that asks Spark's analysis, or our error. No job is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepheid.conditions import DataType, Predicate, Schema
from cepheid.conditions.expression import SparkColumn, walk
from cepheid.conditions.vocabulary import refused_function
from cepheid.errors import ConditionError
from cepheid.spark.frames import arrow_schema

_CALLED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\((\)?)")
_CLASS = re.compile(r"\[[A-Z_.]+\] ")


def schema_of(rows: DataFrame) -> Schema:
    """The columns of a DataFrame, the clock of its session, and the types that Spark gives to what only it computes."""
    zone = rows.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    arrow = arrow_schema(rows.schema)
    return Schema.from_arrow(arrow, zone, lambda text: type_in_spark(rows, text))


def type_in_spark(rows: DataFrame, text: str) -> DataType:
    """The type of a text over the columns of a DataFrame; a `ValueError` where Spark refuses it."""
    try:
        [field] = rows.select(F.expr(text)).schema.fields
    except (AnalysisException, ParseException) as error:
        raise ValueError(f"Spark refuses it: {_said(error)}") from None
    [(_, data_type)] = Schema.from_arrow(arrow_schema(StructType([field])))
    return data_type


def _said(error: PySparkException) -> str:
    """What Spark says, without the class of the error and where in our text it was."""
    first = str(error).split("\n")[0].split(" SQLSTATE:")[0]
    return _CLASS.sub("", first).rstrip(".")


def refuse_unrepeatable(predicates: Sequence[Predicate], rows: DataFrame) -> None:
    """Conditions are computed when rows are filtered and once more when bits are made, and again after a failure: a
    Column that gives another value each time would not be one condition."""
    for predicate in predicates:
        for node in walk(predicate.expression):
            if isinstance(node, SparkColumn):
                assert isinstance(node.column, Column)
                _refuse_unrepeatable(node.column, rows, predicate.place)


def _refuse_unrepeatable(column: Column, rows: DataFrame, place: str) -> None:
    for name, closed in _CALLED.findall(str(column)):
        refused = refused_function(name, 0 if closed else 1)
        if refused is not None:
            raise ConditionError(place, f"{refused[0]}, in {column}", refused[1])
    try:
        # A join condition is where Spark's analysis refuses whatever is not deterministic.
        rows.join(rows.sparkSession.range(1).select(F.lit(1).alias("__one")), column, "left").schema  # noqa: B018
    except AnalysisException as error:
        if "DETERMINISTIC" in str(error.getCondition() or error).upper():
            problem = f"{column} gives another value each time"
            raise ConditionError(place, problem, "compute it as a column before matching") from None
        raise ConditionError(place, f"Spark refuses {column}: {_said(error)}", "check it against the columns") from None
