"""How many Python functions are called in Spark's workers: not one a row, nor one a key.

The work of both steps of the plan, packing and matching, runs under cProfile inside the real workers; they leave their
counts as files. If something in the hot path were done row by row, or key by key, the counts would grow with the
number of rows or of keys.
"""

from __future__ import annotations

import pstats
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from batch import RELAXED, matches
from device_events import write_device_events
from measuring import Settings
from pyspark import cloudpickle
from reporting import Column, Section
from sessions import benchmark_spark, run

from cepheid.spark import batch as plan
from cepheid.spark.pack_workers import Pack

SIZES = ((500_000, 1_000), (500_000, 100_000), (5_000_000, 1_000), (5_000_000, 100_000))
SMALLER = 20
"""In a smoke run, so many times fewer events and keys."""
FIXED, FOR_1000 = 3_000, 1
"""Calls that may be there at most: so many whatever the data, and so many for 1,000 rows, since each Arrow batch costs
some."""
SHOWN = 6

Work = Callable[[Iterable[Any]], Iterator[Any]]


def measure(settings: Settings) -> Section:
    """One row for each number of events and of keys."""
    section = Section(
        "profile",
        "profile: Python function calls in the workers, relaxed a → b → c, all 7 columns",
        (
            Column("events", "events"),
            Column("keys", "string keys"),
            Column("pack", "calls, packing"),
            Column("match", "calls, matching"),
            Column("each", "calls for 1,000 rows"),
            Column("python", "CPU s of Python, profiled"),
            Column("largest", "where it goes (own time)"),
            Column("right", f"calls ≤ {FIXED:,} + {FOR_1000} for 1,000 rows"),
        ),
        notes=["cProfile inside Spark's workers, all tasks added up; functions of C that Python calls count too."],
    )
    smaller = SMALLER if settings.smoke else 1
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        for number, (events, keys) in enumerate(SIZES):
            events, keys = events // smaller, keys // smaller
            path = write_device_events(Path(place) / str(number), events, keys)
            job = matches(RELAXED, None)
            run(job(spark.read.parquet(path)))  # imports are not counted
            with _profiled(Path(place) / f"profile {number}") as profiles:
                run(job(spark.read.parquet(path)))
            section.rows.append({"events": events, "keys": keys, **_counted(profiles, events)})
    return section


@contextmanager
def _profiled(directory: Path) -> Iterator[Path]:
    """Meanwhile, the work that the plan sends to workers counts its calls and writes them down."""
    directory.mkdir()
    original = plan.shipped
    plan.shipped = lambda work: with_profile(original(work), _step(work), str(directory))
    try:
        yield directory
    finally:
        plan.shipped = original


def _step(work: Any) -> str:
    return "pack" if isinstance(work, Pack) else "match"


def with_profile(work: Work, step: str, directory: str) -> Work:
    """The work under a profiler, which is off while Spark reads and writes."""

    def run_profiled(batches: Iterable[Any]) -> Iterator[Any]:
        import cProfile
        import uuid

        profiler = cProfile.Profile()

        def received() -> Iterator[Any]:
            profiler.disable()
            for batch in batches:
                profiler.enable()
                yield batch
                profiler.disable()
            profiler.enable()

        results = iter(work(received()))
        while True:
            profiler.enable()
            try:
                result = next(results, None)
            finally:
                profiler.disable()
            if result is None:
                break
            yield result
        profiler.dump_stats(f"{directory}/{step}-{uuid.uuid4().hex}")

    return run_profiled


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this file


def _counted(directory: Path, events: int) -> dict[str, Any]:
    calls, seconds, own = {"pack": 0, "match": 0}, 0.0, dict[str, float]()
    for path in directory.iterdir():
        stats = pstats.Stats(str(path))
        calls[path.name.split("-")[0]] += stats.total_calls  # type: ignore[attr-defined]
        seconds += stats.total_tt  # type: ignore[attr-defined]
        for (file, _, name), (_, _, own_seconds, _, _) in stats.stats.items():  # type: ignore[attr-defined]
            label = f"{Path(file).stem}.{name}" if file != "~" else name
            own[label] = own.get(label, 0.0) + own_seconds
    total = sum(calls.values())
    largest = sorted(own, key=lambda label: -own[label])[:SHOWN]
    return {
        **calls,
        "each": total / events * 1_000,
        "python": seconds,
        "largest": ", ".join(f"{label} {own[label]:.2f}" for label in largest),
        "right": total <= FIXED + FOR_1000 * events / 1_000 and min(calls.values()) > 0,
    }
