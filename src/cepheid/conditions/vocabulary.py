"""What the grammar's nodes and names stand for: the list of what a condition may say, and of what it may not.

Plain tables. Read by `reader` alone.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.conditions import types
from cepheid.conditions.expression import AggregateFunction, Operator
from cepheid.conditions.types import DataType

BINARY: dict[type[exp.Expr], Operator] = {
    exp.EQ: Operator.EQUAL,
    exp.NEQ: Operator.NOT_EQUAL,
    exp.LT: Operator.LESS,
    exp.LTE: Operator.LESS_OR_EQUAL,
    exp.GT: Operator.GREATER,
    exp.GTE: Operator.GREATER_OR_EQUAL,
    exp.NullSafeEQ: Operator.NULL_SAFE_EQUAL,
    exp.Add: Operator.ADD,
    exp.Sub: Operator.SUBTRACT,
    exp.Mul: Operator.MULTIPLY,
    exp.Div: Operator.DIVIDE,
    exp.Mod: Operator.MODULO,
    exp.IntDiv: Operator.INTEGER_DIVIDE,
}
AGGREGATES: dict[str, AggregateFunction] = {
    "FIRST": AggregateFunction.FIRST,
    "LAST": AggregateFunction.LAST,
    "SUM": AggregateFunction.SUM,
    "COUNT": AggregateFunction.COUNT,
    "AVG": AggregateFunction.AVG,
    "MEAN": AggregateFunction.AVG,
    "MIN": AggregateFunction.MIN,
    "MAX": AggregateFunction.MAX,
    "STDDEV": AggregateFunction.STDDEV,
    "STDDEV_SAMP": AggregateFunction.STDDEV,
    "STD": AggregateFunction.STDDEV,
}
"""By the names that they are called by. COUNT with DISTINCT is `COUNT_DISTINCT`."""
TYPES: dict[exp.DType, DataType] = {
    exp.DType.BOOLEAN: types.BOOLEAN,
    exp.DType.TINYINT: types.BYTE,
    exp.DType.SMALLINT: types.SHORT,
    exp.DType.INT: types.INT,
    exp.DType.BIGINT: types.LONG,
    exp.DType.FLOAT: types.FLOAT,
    exp.DType.DOUBLE: types.DOUBLE,
    exp.DType.TEXT: types.STRING,
    exp.DType.BINARY: types.BINARY,
    exp.DType.DATE: types.DATE,
    exp.DType.TIMESTAMP: types.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: types.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: types.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: types.TIMESTAMP_NTZ,
}


_QUERY = ("a condition cannot contain a query", "join what it reads to the events before matching")
_MOMENT = ("the present moment gives another value each time", "compare with a column of the event")
# Refused wherever they stand, also inside what is otherwise Spark's: what is wrong, what would be right.
REFUSED_NODES: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Subquery: _QUERY,
    exp.Select: _QUERY,
    exp.Values: _QUERY,
    exp.Table: _QUERY,
    exp.Command: _QUERY,
    exp.Show: _QUERY,
    exp.Describe: _QUERY,
    exp.Union: _QUERY,
    exp.Exists: _QUERY,
    exp.Window: (
        "a window function has no meaning inside a pattern",
        "read what variables have taken: LAST(v.column), SUM(v.column); or compute it as a column before matching",
    ),
    exp.Distinct: ("DISTINCT is known in COUNT alone", "write COUNT(DISTINCT v.column), or use a Python callable"),
    exp.Filter: ("FILTER is not supported in aggregates", "write CASE WHEN … THEN … END inside the aggregate"),
    exp.IgnoreNulls: ("IGNORE NULLS is not needed", "aggregates over a variable always skip NULLs; leave it out"),
    exp.RespectNulls: ("RESPECT NULLS is not supported", "aggregates over a variable always skip NULLs"),
    exp.Star: ("`*` is not a value", "name a column; a variable's events are counted by COUNT(v.*)"),
    exp.Parameter: ("parameters are not supported", "write the value itself"),
    exp.CurrentTimestamp: _MOMENT,
    exp.CurrentDate: _MOMENT,
    exp.CurrentTime: _MOMENT,
    exp.CurrentUser: ("the user is not part of the events", "write the name as text"),
    exp.SessionUser: ("the user is not part of the events", "write the name as text"),
}
_NOT_DETERMINISTIC = """
    RAND RANDOM RANDN RANDSTR UNIFORM UUID SHUFFLE NOW CURDATE CURRENT_DATE CURRENT_TIMESTAMP CURRENT_TIME
    LOCALTIMESTAMP LOCALTIME MONOTONICALLY_INCREASING_ID SPARK_PARTITION_ID INPUT_FILE_NAME INPUT_FILE_BLOCK_START
    INPUT_FILE_BLOCK_LENGTH CURRENT_USER USER SESSION_USER
"""
NOT_DETERMINISTIC = frozenset(_NOT_DETERMINISTIC.split())
"""Functions whose value does not follow from the event; a run could not be repeated with them."""
OF_THE_PRESENT_WITHOUT_ARGUMENTS = frozenset({"UNIX_TIMESTAMP"})
RUNNING_CODE = frozenset({"JAVA_METHOD", "REFLECT", "TRY_REFLECT"})
"""Functions that call any method of the Java machine; a condition may come from a file."""

_SPARK_AGGREGATES = """
    ANY ANY_VALUE APPROX_COUNT_DISTINCT APPROX_PERCENTILE ARRAY_AGG BOOL_AND BOOL_OR COLLECT_LIST COLLECT_SET CORR
    COUNT_IF COVAR_POP COVAR_SAMP EVERY FIRST_VALUE KURTOSIS LAST_VALUE LISTAGG MAX_BY MEDIAN MIN_BY MODE
    PERCENTILE PERCENTILE_APPROX SKEWNESS SOME STDDEV_POP STRING_AGG TRY_AVG TRY_SUM VAR_POP
    VAR_SAMP VARIANCE LAG LEAD ROW_NUMBER RANK DENSE_RANK NTH_VALUE
"""
SPARK_AGGREGATES = frozenset(_SPARK_AGGREGATES.split())
"""Spark's other aggregates: over a single event they would have no meaning."""

WITH_UNIT = frozenset({"TIMESTAMPDIFF", "TIMESTAMPADD", "DATEDIFF", "DATE_DIFF", "DATEADD", "DATE_ADD"})
"""Functions that, given three arguments, begin with a unit of time."""
_UNIT_WORDS = """
    MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY DAYOFYEAR WEEK MONTH QUARTER YEAR
"""
_UNITS = frozenset(_UNIT_WORDS.split())


def refusal(node: exp.Expr) -> tuple[str, str] | None:
    """What is wrong with a node wherever it is, and what would be right; None if nothing is."""
    if not isinstance(node, exp.Anonymous):
        return REFUSED_NODES.get(type(node))
    return refused_function(node.name, len(node.expressions))


def refused_function(name: str, arguments: int) -> tuple[str, str] | None:
    """The same for a function that Spark knows, called with so many arguments."""
    upper = name.upper()
    if upper in RUNNING_CODE:
        return f"{name.lower()}() runs any code of the Java machine", "register a function of your own, and call that"
    if upper in NOT_DETERMINISTIC or (upper in OF_THE_PRESENT_WITHOUT_ARGUMENTS and not arguments):
        return f"{name.lower()}() gives another value each time", "compute it as a column before matching"
    return None


def is_unit(node: exp.Expr) -> bool:
    """Whether a name is the unit that a function begins with, as in `timestampdiff(MINUTE, …)`, and no column."""
    function = node.parent
    if not isinstance(function, exp.Anonymous) or function.name.upper() not in WITH_UNIT:
        return False
    if len(function.expressions) != 3 or not isinstance(node, exp.Column) or len(node.parts) != 1:
        return False
    return node is function.expressions[0] and node.name.upper() in _UNITS
