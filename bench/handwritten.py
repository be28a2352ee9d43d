"""Cepheid beside what a Spark user writes by hand: window functions, a join, a loop over each key.

The same events, the same matches, CPU seconds of whole jobs in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from made_events import write_events
from measuring import Settings, compare
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from reporting import Column, Section
from sessions import CORES, benchmark_spark, run, summary

from cepheid import Pattern

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EVENTS = 10_000_000
LOOP_EVENTS = 1_000_000
"""The loop over each key is so slow that it gets fewer events."""
PER_KEY = 100
WINDOW = 10
"""Events of a key that fall into a window, on average."""
FOUND = "key long, start_time timestamp, end_time timestamp"


@dataclass(frozen=True, slots=True)
class Task:
    """The same question asked twice: as a pattern, and by hand."""

    pattern: Pattern
    by_hand: Callable[[DataFrame], DataFrame]
    events: int
    bar: float
    """Of the CPU seconds of what is written by hand, the share that a pattern may need."""


def tasks(window: int) -> dict[str, Task]:
    """What is compared, by name."""
    a, b, c = (f"type = {number}" for number in range(3))
    start = Pattern.begin("a").where(a)
    strict = start.next("b").where(b).next("c").where(c)
    pairs = start.followed_by_any("b").where(b).within(f"{window} ms")
    seq = start.followed_by("b").where(b).followed_by("c").where(c).within(f"{window} ms").skip("past_last_event")
    return {
        "strict a b c: two lead()": Task(strict, by_lead, EVENTS, 0.65),
        "a ↠ b within t: self-join": Task(pairs, lambda events: by_join(events, window), EVENTS, 1.0),
        "a → b → c within t, past last event: loop in applyInPandas": Task(
            seq, lambda events: by_loop(events, window), LOOP_EVENTS, 1.0
        ),
    }


def by_lead(events: DataFrame) -> DataFrame:
    """Three types in a row, by window functions; structs are made of the few rows that stay."""
    following = Window.partitionBy("key").orderBy("ts")
    own = [name for name in events.columns if name != "key"]
    ahead = [F.lead(name, steps).over(following).alias(f"{name}_{steps}") for name in own for steps in (1, 2)]
    found = events.select("*", *ahead).where("type = 0 AND type_1 = 1 AND type_2 = 2")

    def event(suffix: str) -> SparkColumn:
        return F.struct("key", *(F.col(name + suffix).alias(name) for name in own))

    return found.select(
        "key",
        F.col("ts").alias("start_time"),
        F.col("ts_2").alias("end_time"),
        *(event(suffix).alias(name) for suffix, name in (("", "a"), ("_1", "b"), ("_2", "c"))),
    )


def by_join(events: DataFrame, window: int) -> DataFrame:
    """Every a with every b behind it, by a join with bounds in time."""
    first = events.where("type = 0").select(F.col("key"), F.col("ts").alias("start_time"), F.struct("*").alias("a"))
    second = events.where("type = 1").select(
        F.col("key").alias("other_key"), F.col("ts").alias("end_time"), F.struct("*").alias("b")
    )
    return first.join(
        second,
        F.expr(
            "key = other_key AND end_time > start_time "
            f"AND end_time < start_time + INTERVAL '{window / 1000:.3f}' SECOND"
        ),
    ).drop("other_key")


def by_loop(events: DataFrame, window: int) -> DataFrame:
    """Every a waits for the next b, then for the next c; the earliest wins, and all begins anew behind it."""

    def follow(rows: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        rows = rows.sort_values("ts")
        found: list[tuple[Any, Any, Any]] = []
        waiting_for_b: list[Any] = []
        waiting_for_c: list[Any] = []
        for key, kind, ts in zip(rows["key"], rows["type"], rows["ts"], strict=True):
            oldest = ts - pd.Timedelta(milliseconds=window)
            waiting_for_b = [start for start in waiting_for_b if start > oldest]
            waiting_for_c = [start for start in waiting_for_c if start > oldest]
            if kind == 0:
                waiting_for_b.append(ts)
            elif kind == 1:
                waiting_for_c += waiting_for_b
                waiting_for_b = []
            elif kind == 2 and waiting_for_c:
                found.append((key, min(waiting_for_c), ts))
                waiting_for_b, waiting_for_c = [], []
        return pd.DataFrame(found, columns=["key", "start_time", "end_time"])

    return events.select("key", "type", "ts").groupBy("key").applyInPandas(follow, FOUND)


def measure(settings: Settings) -> Section:
    """One row a task."""
    section = Section(
        "handwritten",
        "handwritten: the same matches by a pattern and by hand, on Spark",
        (
            Column("task", "task"),
            Column("events", "events"),
            Column("matches", "matches"),
            Column("cpu", "Cepheid, CPU s"),
            Column("spread", "least–most"),
            Column("elapsed", "elapsed s"),
            Column("memory", "memory, GB"),
            Column("by_hand", "by hand, CPU s"),
            Column("by_hand_spread", "least–most"),
            Column("by_hand_elapsed", "elapsed s"),
            Column("by_hand_memory", "memory, GB"),
            Column("ratio", "Cepheid / by hand"),
            Column("bar", "bar"),
            Column("reached", "reached"),
            Column("right", "same matches"),
        ),
        notes=[
            f"{CORES} cores, {PER_KEY} events a key, windows of about {WINDOW} events of a key; median of "
            f"{settings.repeat} jobs each, in turn, after one of each that is not counted. Read Parquet, compute all "
            "rows with the events of each match (noop sink).",
            "same matches: as many, with the same sum of hashes over key, first and last time; the loop keeps no more.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        for number, name in enumerate(tasks(1)):
            count = settings.events or (20_000 if settings.smoke else tasks(1)[name].events)
            keys = max(1, count // PER_KEY)
            task = tasks(WINDOW * keys)[name]
            if settings.wants(name):
                path = write_events(Path(place) / str(number), count, keys)
                section.rows.append({"task": name, "events": count, **_row(spark, task, path, settings)})
    return section


def _row(spark: SparkSession, task: Task, path: str, settings: Settings) -> dict[str, Any]:
    def ours() -> DataFrame:
        return task.pattern.match(spark.read.parquet(path), partition_by="key", order_by="ts").matches

    def theirs() -> DataFrame:
        return task.by_hand(spark.read.parquet(path))

    measured = compare(settings.repeat, {"ours": lambda: run(ours()), "theirs": lambda: run(theirs())})
    (_, cost), (_, by_hand) = measured["ours"], measured["theirs"]
    found, expected = (summary(answer(), "key", "start_time", "end_time") for answer in (ours, theirs))
    ratio = cost.cpu / by_hand.cpu
    return {
        "matches": found[0],
        "cpu": cost.cpu,
        "spread": cost.spread,
        "elapsed": cost.elapsed,
        "memory": cost.memory / 1e9,
        "by_hand": by_hand.cpu,
        "by_hand_spread": by_hand.spread,
        "by_hand_elapsed": by_hand.elapsed,
        "by_hand_memory": by_hand.memory / 1e9,
        "ratio": ratio,
        "bar": task.bar,
        "reached": None if settings.smoke else ratio <= task.bar,
        "right": found == expected,
    }


def draw(section: Section) -> Figure:
    """CPU seconds, ours and by hand."""
    from plots import bars

    return bars(
        [str(row["task"]).replace(": ", "\n") for row in section.rows],
        {
            "Cepheid": [row["cpu"] for row in section.rows],
            "by hand": [row["by_hand"] for row in section.rows],
        },
        "CPU seconds",
        logarithmic=False,
    )
