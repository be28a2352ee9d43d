"""Queries with MATCH_RECOGNIZE on Spark.

In: the text of a query, DataFrames by name. Out: the DataFrame of its result. Each clause is run on its input and
replaced by a name; what is left is given to Spark with DataFrames for these names, which Spark's own `sql` takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cepheid.errors import InputError
from cepheid.match_recognize.queries import first_clause, tokenize
from cepheid.options import Limits, Movement
from cepheid.rowpattern.model import RowPattern
from cepheid.spark.row_patterns import BatchRowPlan, FoundRowPatterns
from cepheid.spark.stream.row_found import FoundRowsInStream
from cepheid.spark.stream.row_plan import RowStreamPlan
from cepheid.spark.stream.time import Timing

__all__ = ["SparkSession", "run"]

_RESULT = "__cepheid_matches_"


def run(text: str, spark: SparkSession | None, tables: Mapping[str, Any]) -> DataFrame:
    """The result of a query."""
    for name, table in tables.items():
        if not isinstance(table, DataFrame):
            raise InputError(
                f"{name}= is a {type(table).__name__}, not a Spark DataFrame.\n"
                "  Make one with spark.createDataFrame, or use RowPattern.match_events for rows in memory."
            )
    session = spark or next((table.sparkSession for table in tables.values()), None) or SparkSession.getActiveSession()
    if session is None:
        raise InputError("there is no Spark session.\n  Give one: sql(text, spark).")
    return _Query(text, session, dict(tables)).result()


class _Query:
    """A query whose clauses are run one after the other."""

    def __init__(self, text: str, session: SparkSession, tables: dict[str, DataFrame]) -> None:
        self._original = text
        self._session = session
        self._tables = tables
        self._found: dict[str, DataFrame] = {}

    def result(self) -> DataFrame:
        text = self._original
        while True:
            # Everything before the last replacement is done: from there on the text is the original's.
            shift = len(self._original) - len(text)
            clause = first_clause(text, self._original, shift)
            if clause is None:
                return self._run("", text)
            rows = self._run(clause.with_sql, f"SELECT * FROM {clause.input_sql}")
            name = f"{_RESULT}{len(self._found)}"
            self._found[name] = self._matched(clause.pattern, rows)
            text = f"{text[: clause.place.start]}{name}{text[clause.place.end :]}"

    def _matched(self, pattern: RowPattern, rows: DataFrame) -> DataFrame:
        limits = Limits()
        if rows.isStreaming:
            return FoundRowsInStream(RowStreamPlan(pattern, rows, None, limits, Timing())).matches
        movement = Movement(max_bucket_bytes=limits.max_bucket_bytes)
        return FoundRowPatterns(BatchRowPlan(pattern, rows, movement, limits)).matches

    def _run(self, with_sql: str, text: str) -> DataFrame:
        """Run SQL that names tables and results of clauses.

        Spark takes DataFrames in braces. A result stands in one place, a table may also qualify columns: it becomes a
        common table expression.
        """
        whole = with_sql + text
        words = {token.text.strip("`").casefold() for token in tokenize(whole) if token.is_name}
        tables = {name: frame for name, frame in self._tables.items() if name.casefold() in words}
        results = {name: frame for name, frame in self._found.items() if name in words}
        if not tables and not results:
            return self._session.sql(whole)
        escaped = whole.replace("{", "{{").replace("}", "}}")
        for name in results:
            escaped = re.sub(rf"\b{name}\b", f"{{{name}}}", escaped)
        if tables:
            escaped = _with_given(escaped, ", ".join(f"`{name}` AS (SELECT * FROM {{{name}}})" for name in tables))
        arguments: dict[str, Any] = {**tables, **results}
        return self._session.sql(escaped, **arguments)


def _with_given(text: str, given: str) -> str:
    """The query with common table expressions put before its own."""
    tokens = tokenize(text)
    if tokens and tokens[0].text == "WITH":
        last = tokens[1] if len(tokens) > 1 and tokens[1].text == "RECURSIVE" else tokens[0]
        return f"{text[: last.end]} {given}, {text[last.end :]}"
    return f"WITH {given} {text}"
