"""The Spark that a pattern runs on: where its workers are, and which Python they run.

In: a DataFrame. Out: facts about its session, or an `InputError`.
"""

from __future__ import annotations

import os
import sys

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from cepheid.errors import InputError


def require_dataframe(rows: object) -> DataFrame:
    """A DataFrame of Spark, classic or Connect."""
    if isinstance(rows, DataFrame):
        return rows
    raise InputError(
        f"match() was given a {type(rows).__module__}.{type(rows).__name__}, not a Spark DataFrame.\n"
        "  Use match_events() for rows in memory: lists of dicts, pandas DataFrames, Arrow tables."
    )


def context_of(rows: DataFrame) -> SparkContext | None:
    """Spark's context; Spark Connect has none."""
    try:
        return rows.sparkSession.sparkContext
    except PySparkException:
        return None


def has_local_workers(rows: DataFrame) -> bool:
    """Whether the workers run on this machine, as far as Spark tells."""
    context = context_of(rows)
    return context is not None and (context.master == "local" or str(context.master).startswith("local["))


def use_this_python(rows: DataFrame) -> None:
    """Local workers run `python3` from the PATH unless told otherwise, which may lack everything: make it this one."""
    context = context_of(rows)
    if context is not None and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
