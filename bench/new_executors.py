"""A program that times first jobs on new executors, for `start`: `new_executors.py EXECUTORS CACHE REPEAT [CLASSES]`.

The driver is warm: both jobs have run on it before. Then its executors, of one core each, are killed; once others are
there, which have run nothing yet, a job is timed. CACHE is where executors keep compiled code; it is emptied where that
is to be measured. CLASSES is a file with Spark's classes, as `cepheid prepare` writes it. The control has the same
shape without Cepheid: rows to Python, a shuffle, rows to Python. Prints JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faults.kills import descendants
from faults.victims import EXECUTOR

from cepheid import Pattern
from cepheid.spark.preparing import USED_BY

EVENTS = 200_000
AT_REST = 4.0
"""Seconds after which a JVM that has registered is no longer busy with its own start."""
PATTERN = Pattern.begin("a").where("id % 3 = 0").followed_by("b").where("id % 3 = 1").skip("past_last_event")


def session(executors: int, cache: Path, classes: str | None) -> SparkSession:
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.executorEnv.CEPHEID_CACHE": str(cache),
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.executor.extraJavaOptions": USED_BY.format(classes) if classes else "",
    }
    return SparkSession.builder.master(f"local-cluster[{executors},1,1024]").config(map=options).getOrCreate()


def control(rows: DataFrame) -> int:
    moved = rows.mapInArrow(_same, rows.schema).repartition(2, "key")
    return moved.mapInArrow(_same, rows.schema).count()


def _same(batches: Any) -> Any:
    return batches


def matched(rows: DataFrame) -> int:
    return PATTERN.match(rows, partition_by="key", order_by="ts", buckets=2).matches.count()


def replace_executors(spark: SparkSession, executors: int) -> None:
    """Kill those that are there, and wait for others."""
    before = set(descendants(os.getpid(), EXECUTOR))
    for executor in before:
        os.kill(executor, signal.SIGKILL)
    while len(set(descendants(os.getpid(), EXECUTOR)) - before) < executors:
        time.sleep(0.05)
    wait_for_executors(spark, executors)


def wait_for_executors(spark: SparkSession, executors: int) -> None:
    tracker = spark.sparkContext._jsc.sc().statusTracker()  # type: ignore[attr-defined]
    while len(tracker.getExecutorInfos()) - 1 < executors:  # the driver is among them
        time.sleep(0.05)
    time.sleep(AT_REST)


def main(executors: int, cache: Path, repeat: int, classes: str | None = None) -> None:
    cache.mkdir(exist_ok=True)
    spark = session(executors, cache, classes)
    rows = spark.range(EVENTS).selectExpr("id % 1000 AS key", "id", "timestamp_millis(id) AS ts")
    counts: dict[str, set[int]] = {"control": set(), "matched": set()}

    def seconds(job: Callable[[DataFrame], int]) -> float:
        begun = time.perf_counter()
        counts[job.__name__].add(job(rows))
        return time.perf_counter() - begun

    wait_for_executors(spark, executors)
    for job in (control, matched):
        seconds(job)
    warm = {job: median(seconds(job) for _ in range(3)) for job in (control, matched)}
    said = {}
    for what, job, is_kept in (("control", control, True), ("sent", matched, False), ("kept", matched, True)):
        taken = []
        for _ in range(repeat):
            replace_executors(spark, executors)
            if not is_kept:
                shutil.rmtree(cache)
                cache.mkdir()
            taken.append(seconds(job))
        said[what] = {"elapsed": median(taken), "more": median(taken) - warm[job]}
    right = all(len(found) == 1 for found in counts.values())
    print(json.dumps({"jobs": said, "right": right}))
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
