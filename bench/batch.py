"""Spark batch beside the least that any plan must do, and beside the SQL that a user writes by hand.

The floor: read, compute the mask, hand the rows to Python as Arrow, and nothing else. By hand: two `lead()` over a
window. All in one run, in turn, CPU seconds of the JVM and of all Python processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from device_events import write_device_events
from measuring import Measured, Settings, compare, forget_peaks, largest_worker
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from reporting import Cell, Section
from reporting import Column as Shown
from sessions import CORES, as_installed, benchmark_spark, run, summary

from cepheid import Pattern
from cepheid.spark import SESSION_OPTIONS

if TYPE_CHECKING:
    import pyarrow as pa

EVENTS, KEYS = 10_000_000, 100_000
A, B, C = (f"name = '{name}'" for name in "abc")
RELAXED = Pattern.begin("a").where(A).followed_by("b").where(B).followed_by("c").where(C).skip("past_last_event")
STRICT = Pattern.begin("a").where(A).next("b").where(B).next("c").where(C).skip("past_last_event")
NARROW = ("ts",)
"""What the structs of the result hold, where not all columns are asked for."""
COMPARED = ("key", "a", "b", "c")
FLOOR_BAR, LEAD_BAR = 1.5, 0.65


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table: what is measured, what it is compared with, and how dear it may be."""

    name: str
    job: Callable[[DataFrame], DataFrame]
    beside: str | None = None
    bar: float | None = None
    as_installed: bool = False
    """Whether the session is without the options that make it cheaper."""


def matches(pattern: Pattern, columns: Iterable[str] | None) -> Callable[[DataFrame], DataFrame]:
    """The matches of a pattern, with some columns of their events, or with all."""
    return lambda events: pattern.match(events, partition_by="key", order_by="ts", columns=columns).matches


def floor(events: DataFrame, *columns: str) -> DataFrame:
    """Nothing but the transport: the mask of the pattern and some columns, as Arrow in Python."""
    mask = F.lit(0).cast("bigint")
    for number, condition in enumerate((A, B, C)):
        bit = F.when(F.expr(condition), F.lit(1 << number)).otherwise(F.lit(0)).cast("bigint")
        mask = mask.bitwiseOR(bit)

    def consumed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from ()

    return events.select(*columns, mask.alias("mask")).mapInArrow(consumed, "nothing int")


def by_lead(events: DataFrame, *columns: str) -> DataFrame:
    """Three types in a row, by window functions; `columns`: what is wanted of each of the three events.

    Structs are made of the few rows that stay: to look ahead for whole structs costs a fifth more.
    """
    following = Window.partitionBy("key").orderBy("ts")
    ahead = [
        F.lead(name, steps).over(following).alias(f"{name}_{steps}")
        for name in dict.fromkeys(("name", *columns))
        for steps in (1, 2)
        if name != "key"
    ]
    found = events.select("*", *ahead).where("name = 'a' AND name_1 = 'b' AND name_2 = 'c'")

    def event(suffix: str) -> Column:
        return F.struct(*(F.col(name if name == "key" else name + suffix).alias(name) for name in columns))

    return found.select("key", event("").alias("a"), event("_1").alias("b"), event("_2").alias("c"))


CASES = (
    Case("floor: scan + mask → Arrow", lambda events: floor(events, "key", "ts"), as_installed=True),
    Case("relaxed a → b → c", matches(RELAXED, NARROW), "floor: scan + mask → Arrow", FLOOR_BAR, as_installed=True),
    Case("two lead()", lambda events: by_lead(events, *NARROW)),
    Case("strict a b c", matches(STRICT, NARROW), "two lead()", LEAD_BAR, as_installed=True),
    Case("floor, with the option", lambda events: floor(events, "key", "ts")),
    Case("relaxed, with the option", matches(RELAXED, NARROW), "floor, with the option"),
    Case("strict, with the option", matches(STRICT, NARROW), "two lead()"),
    Case("floor, 7 columns, with the option", lambda events: floor(events, *events.columns)),
    Case("relaxed, 7 columns, with the option", matches(RELAXED, None), "floor, 7 columns, with the option"),
    Case("two lead(), 7 columns", lambda events: by_lead(events, *events.columns)),
    Case("strict, 7 columns, with the option", matches(STRICT, None), "two lead(), 7 columns"),
)


def measure(settings: Settings) -> Section:
    """One row a plan."""
    events = settings.events or (20_000 if settings.smoke else EVENTS)
    keys = max(1, min(KEYS, events // 100))
    section = Section(
        "batch",
        f"batch: {events:,} events, {keys:,} string keys, 7 columns, 5 types, Parquet",
        (
            Shown("case", "plan"),
            Shown("matches", "matches"),
            Shown("cpu", "CPU s"),
            Shown("of_java", "of that, the JVM"),
            Shown("spread", "least–most"),
            Shown("elapsed", "elapsed s"),
            Shown("worker", "largest worker, MB", 0),
            Shown("ratio", "ratio"),
            Shown("beside", "to"),
            Shown("bar", "bar"),
            Shown("reached", "reached"),
            Shown("right", "same matches"),
        ),
        notes=[
            f"{CORES} cores, median of {settings.repeat} jobs after one that is not counted, all plans in turn; every "
            "row of the result is computed (noop sink). Relaxed and strict skip past the last event.",
            "Plans with 7 columns want all columns of the events of a match, the others key and times.",
            f"With the option: {', '.join(SESSION_OPTIONS)} is set. lead() does not depend on it.",
            "same matches: strict and two lead() give as many rows, with the same sum of hashes over keys and events.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        path = write_device_events(Path(place) / "events", events, keys)
        wanted = [case for case in CASES if settings.wants(case.name)]
        measured = {name: used for name, (_, used) in compare(settings.repeat, _jobs(spark, path, wanted)).items()}
        for case in wanted:
            section.rows.append(_row(case, measured, spark, path, settings))
    return section


def _jobs(spark: SparkSession, path: str, cases: list[Case]) -> dict[str, Callable[[], None]]:
    def job(case: Case) -> Callable[[], None]:
        def once() -> None:
            with _session_for(case, spark):
                run(case.job(spark.read.parquet(path)))

        return once

    return {case.name: job(case) for case in cases}


def _session_for(case: Case, spark: SparkSession) -> AbstractContextManager[None]:
    return as_installed(spark) if case.as_installed else nullcontext()


def _row(
    case: Case, measured: dict[str, Measured], spark: SparkSession, path: str, settings: Settings
) -> dict[str, Cell]:
    used = measured[case.name]
    row: dict[str, Cell] = {
        "case": case.name,
        "cpu": used.cpu,
        "of_java": used.java,
        "spread": used.spread,
        "elapsed": used.elapsed,
        "beside": case.beside,
        "bar": case.bar,
    }
    if case.beside in measured:
        row["ratio"] = used.cpu / measured[case.beside].cpu
        if case.bar is not None and not settings.smoke:
            row["reached"] = row["ratio"] <= case.bar
    if case.beside is not None:
        events = spark.read.parquet(path)
        forget_peaks()
        with _session_for(case, spark):
            found = summary(case.job(events), *COMPARED)
        row |= {"matches": found[0], "worker": largest_worker() / 1e6}
        if "lead" in case.beside:
            row["right"] = found == summary(_named(case.beside).job(events), *COMPARED)
    return row


def _named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)
