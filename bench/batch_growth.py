"""How the cost of Spark batch grows with the number of events and with the number of keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from batch import NARROW, RELAXED, STRICT, matches
from device_events import write_device_events
from measuring import Settings, compare, forget_peaks, largest_worker
from pyspark.sql import SparkSession
from reporting import Column, Section
from sessions import CORES, benchmark_spark, run

SIZES = ((1_000_000, 100_000), (5_000_000, 100_000), (10_000_000, 100_000), (20_000_000, 100_000))
KEYS = ((10_000_000, 100), (10_000_000, 10_000), (10_000_000, 1_000_000))
LINEAR = 1.5
"""Of the CPU seconds an event with 10 M events and 100 k keys, what an event may cost elsewhere in the table."""
USUAL = (10_000_000, 100_000)
PLANS = {"relaxed": matches(RELAXED, NARROW), "strict": matches(STRICT, NARROW)}


def measure(settings: Settings) -> Section:
    """One row for each number of events and of keys."""
    factor = 1_000 if settings.smoke else 1
    section = Section(
        "sizes",
        "sizes: a → b → c relaxed and strict, from few to many events and keys",
        (
            Column("events", "events"),
            Column("keys", "string keys"),
            *(Column(plan, f"{plan}, CPU s") for plan in PLANS),
            *(Column(f"{plan} matches", f"{plan}, matches") for plan in PLANS),
            *(Column(f"{plan} each", f"{plan}, CPU µs an event") for plan in PLANS),
            Column("worker", "largest worker, MB", 0),
            Column("reached", f"an event ≤ {LINEAR} × usual"),
        ),
        notes=[
            f"{CORES} cores, median of {settings.repeat} jobs; Cepheid chooses the number of buckets. "
            f"usual: {USUAL[0]:,} events, {USUAL[1]:,} keys.",
            "A job costs a part of a second whatever its size, which shows in the smallest rows.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        for number, (events, keys) in enumerate((*SIZES, *KEYS)):
            events, keys = events // factor, max(1, keys // factor)
            path = write_device_events(Path(place) / str(number), events, keys)
            section.rows.append(_row(spark, path, events, keys, settings))
    usual = next(row for row in section.rows if (row["events"], row["keys"]) == tuple(n // factor for n in USUAL))
    for row in section.rows:
        ratios = [float(row[f"{plan} each"] or 0) / float(usual[f"{plan} each"] or 1) for plan in PLANS]
        row["reached"] = None if settings.smoke else max(ratios) <= LINEAR
    return section


def _row(spark: SparkSession, path: str, events: int, keys: int, settings: Settings) -> dict[str, object]:
    def job(plan: str) -> Callable[[], None]:
        return lambda: run(PLANS[plan](spark.read.parquet(path)))

    forget_peaks()
    measured = {name: used for name, (_, used) in compare(settings.repeat, {plan: job(plan) for plan in PLANS}).items()}
    row: dict[str, object] = {"events": events, "keys": keys, "worker": largest_worker() / 1e6}
    for plan, used in measured.items():
        row[plan] = used.cpu
        row[f"{plan} each"] = used.cpu / events * 1e6
        row[f"{plan} matches"] = PLANS[plan](spark.read.parquet(path)).count()
    return row
