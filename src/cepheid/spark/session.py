"""The Spark that a pattern runs on: where its workers are, which Python they run, which options make it fast.

In: a DataFrame or its session. Out: facts about it, or an `InputError`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cepheid.errors import InputError

SESSION_OPTIONS = {"spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1)}
"""Session options that make patterns cheaper. With a limit on the bytes of an Arrow batch, Spark adds up the sizes of
all columns after every row; this value removes the limit. The limit on rows stays."""


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


@contextmanager
def settings(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """The session with these options; afterwards it has its own again."""
    before = {name: session.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, given in before.items():
            if given is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, given)


def missing_options(session: SparkSession) -> dict[str, str]:
    """Those of the options that nobody has set in this session."""
    return {name: value for name, value in SESSION_OPTIONS.items() if session.conf.get(name, None) is None}


def advice(session: SparkSession) -> str:
    """What to set for speed, for explanations; empty where it is set, or is what Spark does anyway."""
    slow = {name: value for name, value in SESSION_OPTIONS.items() if str(session.conf.get(name)).rstrip("b") != value}
    return ", ".join(f'spark.conf.set("{name}", "{value}")' for name, value in slow.items())
