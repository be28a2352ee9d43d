"""The Spark that benchmarks run on, and jobs on it.

In: how many cores. Out: a session that is stopped at the end. Called by the sections that measure Spark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.spark import SESSION_OPTIONS

CORES = 2
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
    **SESSION_OPTIONS,
}
"""Eight partitions: the 200 that Spark takes without adaptive planning would only hurt the SQL that we are compared
with. Checkpoints are on the local disk, where Spark's usual way to write them starts a process for each file that might
be a symbolic link (docs/tuning.md)."""


@contextmanager
def benchmark_spark(cores: int = CORES) -> Iterator[SparkSession]:
    """A local Spark with so many cores, the same for everything that is compared."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with TemporaryDirectory() as place:
        builder = SparkSession.builder.master(f"local[{cores}]").appName("cepheid benchmarks").config(map=OPTIONS)
        session = builder.config("spark.sql.warehouse.dir", place).config("spark.local.dir", place).getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def as_installed(session: SparkSession) -> Iterator[None]:
    """The session without the options that make patterns cheaper."""
    for name in SESSION_OPTIONS:
        session.conf.unset(name)
    try:
        yield
    finally:
        for name, value in SESSION_OPTIONS.items():
            session.conf.set(name, value)


def run(rows: DataFrame) -> None:
    """Compute every row and every column, and throw them away: Spark's `noop` sink."""
    rows.write.format("noop").mode("overwrite").save()


def summary(answer: DataFrame, *names: str) -> tuple[int, Decimal | None]:
    """How many rows an answer has, and the sum of hashes over some columns: answers that agree in both are the same,
    in whatever order their rows are."""
    hashes = F.sum(F.xxhash64(*names).cast("decimal(20,0)"))
    [row] = answer.select(F.count(F.lit(1)), hashes).collect()
    return row[0], row[1]
