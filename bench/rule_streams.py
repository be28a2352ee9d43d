"""Sets of rules on streams: what a micro-batch of events costs with many rules, beside one with one rule.

The rules and events are those of `rules`. A query works through files, one a micro-batch; the first micro-batches, in
which the JVM and the workers get warm, are not counted, nor are those without events.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from measuring import Settings
from reporting import Cell, Column, Section
from rules import made_rules, write_events
from sessions import CORES, benchmark_spark
from streaming import Progress, Turns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVENTS, KEYS, BATCHES, WARM_UP = 100_000, 10_000, 8, 2
COUNTS = (1, 10, 100, 1_000)
BAR = 4.0


def measure(settings: Settings) -> Section:
    """One row for each size of a set."""
    events = settings.events or (2_000 if settings.smoke else EVENTS)
    batches = 4 if settings.smoke else BATCHES
    counts = (1, 10) if settings.smoke else COUNTS
    section = Section(
        "rules-stream",
        f"rules on a stream: micro-batches of {events:,} events, {min(KEYS, events):,} keys",
        (
            Column("case", "rules"),
            Column("cpu", "CPU s a micro-batch", 2),
            Column("spread", "least–most"),
            Column("matches", "matches"),
            Column("ratio", "to one rule", 2),
            Column("reached", "reached"),
        ),
        notes=[
            f"{CORES} cores, median of the micro-batches {WARM_UP + 1} to {batches} of one query for each row; noop "
            "sink. One rule: a set of one rule.",
            f"bar at 100 rules: at most {BAR:g} × one rule.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        path = Path(place) / "events"
        write_events(path, events * batches, min(KEYS, events), part=events)
        for number, file in enumerate(sorted(path.glob("*.parquet"))):
            os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads the oldest file first
        schema = spark.read.parquet(str(path)).schema
        for count in (count for count in counts if settings.wants(str(count))):
            stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))
            used, matches = _used(made_rules(count), stream, str(Path(place) / f"checkpoint-{count}"), batches)
            row: dict[str, Cell] = {
                "case": count,
                "cpu": median(used),
                "spread": f"{min(used):.2f}–{max(used):.2f}",
                "matches": matches,
                "ratio": median(used) / (section.rows[0]["cpu"] if section.rows else median(used)),  # type: ignore[operator]
            }
            if count == 100 and not settings.smoke and settings.wants("1"):
                row["reached"] = row["ratio"] <= BAR  # type: ignore[operator]
            section.rows.append(row)
            settings.keep(section)
    return section


def _used(rules: Any, stream: Any, checkpoint: str, batches: int) -> tuple[list[float], int]:
    """CPU seconds of each micro-batch that counts, and how many matches there were in all."""
    progress = Progress(Turns(), "rules")
    found = rules.match_stream(stream, order_by="ts", watermark="1 second", columns="ts")
    query = found.start(matches=progress, checkpoint=checkpoint, trigger="available now")
    progress.ended(query)
    matches = sum(one.observedMetrics["cepheid"]["matches"] for one in query.recentProgress)
    return [seconds for batch, seconds in progress.used.items() if WARM_UP <= batch < batches], matches


def draw(section: Section) -> Figure:
    """CPU seconds of a micro-batch by the number of rules."""
    from plots import curves

    counts = [float(str(row["case"])) for row in section.rows]
    return curves({"rules": {"as a set": (counts, [float(str(row["cpu"])) for row in section.rows])}}, "CPU seconds")
