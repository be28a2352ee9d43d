"""The engines that cases of MATCH_RECOGNIZE run on: each turns a case into a table, or raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
from sql_cases import SqlCase

from cepheid.conditions import Schema
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import bind
from cepheid.rows.row_order import ordered
from cepheid.rows.row_patterns import by_reference

SqlEngine: TypeAlias = Callable[[SqlCase], pa.Table]


def reference(case: SqlCase) -> pa.Table:
    """The literal evaluator."""
    table = case.table
    bound = bind(read(case.clause), Schema.from_arrow(table.schema))
    return by_reference(bound, ordered(table, bound.partition_by, bound.order_by))


SQL_ENGINES: dict[str, SqlEngine] = {"sql-reference": reference}
