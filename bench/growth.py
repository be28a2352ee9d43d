"""How the cost of a Spark job grows: with the events, the keys, the length of the pattern, and the window.

One thing grows at a time. The slope says how: 1 is in proportion, 0 is not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from made_events import TYPES, write_events
from measuring import Settings, compare, forget_peaks, largest_worker
from reporting import Column, Section
from sessions import CORES, benchmark_spark, run

from cepheid import Pattern

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Case:
    """A job: how many events and keys, how many elements, and how many events of a key fall into the window."""

    events: int = 2_000_000
    keys: int = 20_000
    elements: int = 3
    window: int = 10

    def pattern(self) -> Pattern:
        """Elements of changing types, each relaxed behind the one before, past the last event."""
        pattern = Pattern.begin("e0").where("type = 0")
        for number in range(1, self.elements):
            pattern = pattern.followed_by(f"e{number}").where(f"type = {number % TYPES}")
        return pattern.within(f"{self.window * self.keys} ms").skip("past_last_event")


GROWN = {
    "events": (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000),
    "keys": (1, 100, 10_000, 100_000, 1_000_000),
    "elements": (1, 3, 6, 12, 24),
    "window": (10, 30, 100),
}
SMALL = {"events": (5_000, 20_000), "keys": (1, 100), "elements": (1, 24), "window": (10, 100)}


def cases(settings: Settings) -> Iterator[tuple[str, int, Case]]:
    """What grows, how large it is, and the job."""
    standard = Case(20_000, 200) if settings.smoke else Case()
    for grown, sizes in (SMALL if settings.smoke else GROWN).items():
        if settings.wants(grown):
            for size in sizes:
                yield grown, size, replace(standard, **{grown: size})


def measure(settings: Settings) -> Section:
    """One row a job."""
    section = Section(
        "growth",
        "growth: CPU seconds of a Spark job as one thing grows",
        (
            Column("grown", "what grows"),
            Column("size", "to"),
            Column("events", "events"),
            Column("keys", "keys"),
            Column("elements", "elements"),
            Column("window", "events of a key in the window"),
            Column("matches", "matches"),
            Column("cpu", "CPU s"),
            Column("of_java", "of that, Spark's JVM"),
            Column("elapsed", "elapsed s"),
            Column("each", "CPU µs an event"),
            Column("worker", "largest worker, MB", 0),
            Column("memory", "memory, GB"),
            Column("slope", "slope so far"),
        ),
        notes=[
            f"{CORES} cores, a → b → c → … within the window, past last event; read Parquet, match, compute all rows "
            f"(noop sink); median of {settings.repeat} jobs after one that is not counted.",
            "slope: of log CPU seconds over log size, from the first row of its kind on. The start of a job, which "
            "costs the same whatever its size, keeps slopes under 1.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        for grown, size, case in cases(settings):
            directory = Path(place) / f"{case.events}-{case.keys}"
            path = str(directory) if directory.exists() else write_events(directory, case.events, case.keys)
            found = case.pattern().match(spark.read.parquet(path), partition_by="key", order_by="ts").matches
            forget_peaks()
            [(_, cost)] = compare(settings.repeat, {grown: lambda found=found: run(found)}).values()  # type: ignore[misc]
            section.rows.append(
                {
                    "grown": grown,
                    "size": size,
                    "events": case.events,
                    "keys": case.keys,
                    "elements": case.elements,
                    "window": case.window,
                    "matches": found.count(),
                    "cpu": cost.cpu,
                    "of_java": cost.java,
                    "elapsed": cost.elapsed,
                    "each": cost.cpu / case.events * 1e6,
                    "worker": largest_worker() / 1e6,
                    "memory": cost.memory / 1e9,
                }
            )
            section.rows[-1]["slope"] = slope(section, grown)
    return section


def slope(section: Section, grown: str) -> float | None:
    """The slope of the rows of one kind, in logarithms."""
    across, upwards = curve(section, grown)
    return float(np.polyfit(np.log(across), np.log(upwards), 1)[0]) if len(across) > 1 else None


def curve(section: Section, grown: str) -> tuple[list[float], list[float]]:
    """Sizes and CPU seconds of the rows of one kind."""
    rows = [row for row in section.rows if row["grown"] == grown]
    return [float(row["size"] or 0) for row in rows], [float(row["cpu"] or 0) for row in rows]


def draw(section: Section) -> Figure:
    """CPU seconds over size, a panel for each thing that grows."""
    from plots import curves

    kinds = list(dict.fromkeys(str(row["grown"]) for row in section.rows))
    return curves({kind: {"": curve(section, kind)} for kind in kinds}, "CPU seconds of the job", logarithmic=False)
