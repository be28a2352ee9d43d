"""A stream of one hot key, every combination: what its state takes as the window grows.

Three trades in any order of combination, then an event that never occurs: partial matches grow with the third power of
the events in the window, the state with the events.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from measuring import Settings, cpu_of_tree
from pyspark.sql import SparkSession
from reporting import Column, Section
from sessions import benchmark_spark
from streaming import BEGIN, DDL, write_file

from cepheid import Pattern
from cepheid.spark import StateReader

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOWS = (2, 4, 8, 16, 32, 64)
"""Seconds, which have EVENTS events each."""
EVENTS = 1_000
BATCHES, SIZE = 14, 10_000


def pattern(seconds: int) -> Pattern:
    """Every combination of three, which wait for a fourth."""
    result = Pattern.begin("a").where("name = 'a'")
    for name in "bcz":
        result = result.followed_by_any(name).where(f"name = '{name}'")
    return result.within(f"{seconds} seconds")


def measure(settings: Settings) -> Section:
    """One row a window."""
    section = Section(
        "hot",
        "a stream of one hot key, followed by any, no skip",
        (
            Column("window", "window, s"),
            Column("held", "events in the window"),
            Column("runs", "partial matches"),
            Column("bytes", "state, bytes"),
            Column("each", "bytes for an event", 0),
            Column("cpu", "CPU s for a micro-batch", 2),
        ),
    )
    windows, batches, size = (WINDOWS[:2], 3, 3_000) if settings.smoke else (WINDOWS, BATCHES, SIZE)
    section.notes.append(
        f"{batches} micro-batches of {size:,} events, {EVENTS:,} a second of event time, one key. The state is what "
        "the checkpoint holds at the end: the partial matches and their events, and the events that came since "
        "these were last written, at least up to 1 MiB. CPU seconds of Spark and its workers, with the start of the "
        "query."
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        _write(Path(place) / "in", batches, size)
        for window in windows:
            section.rows.append(_row(spark, Path(place), window, batches))
            settings.keep(section)
    return section


def _write(place: Path, batches: int, size: int) -> None:
    place.mkdir()
    chance = np.random.default_rng(7)
    for batch in range(batches):
        times = BEGIN + (batch * size + np.arange(size)) * (1_000_000 // EVENTS)
        write_file(place / f"{batch:04}.parquet", np.zeros(size), chance.choice(list("abc"), size), times, batch)


def _row(spark: SparkSession, place: Path, window: int, batches: int) -> dict[str, float | int]:
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(place / "in"))
    found = pattern(window).match_stream(stream, partition_by="key", order_by="ts", watermark="0 seconds", columns=[])
    checkpoint = str(place / f"checkpoint-{window}")
    begun = cpu_of_tree()
    query = found.start(matches="memory", checkpoint=checkpoint, trigger="available now", name=f"hot_{window}")
    query.awaitTermination()
    used = cpu_of_tree() - begun
    totals = StateReader(found, checkpoint).totals()
    held = window * EVENTS
    return {
        "window": window,
        "held": held,
        "runs": totals.runs,
        "bytes": totals.state_bytes,
        "each": totals.state_bytes / held,
        "cpu": used / batches,
    }


def draw(section: Section) -> Figure:
    """Bytes and partial matches over the events in the window."""
    from plots import curves

    series: dict[str, tuple[list[float], list[float]]] = {}
    for name, key in (("state in bytes", "bytes"), ("partial matches", "runs")):
        series[name] = (
            [float(row["held"] or 0) for row in section.rows],
            [float(row[key] or 0) for row in section.rows],
        )
    return curves({"events in the window": series}, "bytes, and partial matches")
