"""The engines that cases of MATCH_RECOGNIZE run on: each turns a case into a table, or raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from sql_cases import SqlCase
from sql_streams import bucket

from cepheid import RowPattern, SkipError
from cepheid.conditions import Schema
from cepheid.engine.tables.row_patterns import tabulate
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import BoundRowPattern, bind
from cepheid.rows.row_order import OrderedRows, ordered
from cepheid.rows.row_patterns import by_engine, by_reference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SqlEngine: TypeAlias = Callable[[SqlCase], pa.Table]


def reference(case: SqlCase) -> pa.Table:
    """The literal evaluator."""
    return by_reference(*_arranged(case))


def kernel(case: SqlCase) -> pa.Table:
    """The compiled matcher; a case that it would leave to the reference fails."""
    bound, rows = _arranged(case)
    return by_engine(bound, tabulate(bound), rows)


def _arranged(case: SqlCase) -> tuple[BoundRowPattern, OrderedRows]:
    table = case.table
    bound = bind(read(case.clause), Schema.from_arrow(table.schema))
    return bound, ordered(table, bound.partition_by, bound.order_by)


def batch(spark: SparkSession) -> SqlEngine:
    """`RowPattern.match` on a DataFrame."""
    from pyspark.errors import PySparkException

    def engine(case: SqlCase) -> pa.Table:
        rows = spark.createDataFrame(case.table)
        try:
            return RowPattern.parse(case.clause).match(rows, buckets=2).matches.toArrow()
        except PySparkException as error:  # an error in a worker reaches the driver as Spark's own
            raise SkipError(str(error)) if "SkipError" in str(error) else error from error

    return engine


SQL_ENGINES: dict[str, SqlEngine] = {"sql-reference": reference, "sql-kernel": kernel, "sql-bucket": bucket}
