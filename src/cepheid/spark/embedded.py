"""A Spark inside this process, for the demonstration.

In: a name. Out: a session that is stopped at the end. Programs that have a session of their own do not need this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

__all__ = ["SparkSession", "embedded_spark"]


@contextmanager
def embedded_spark(name: str) -> Iterator[SparkSession]:
    """A local Spark on all cores, quiet, whose workers use this very Python."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[*]").appName(name)
    options = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR"}
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
