"""A stream that runs for a quarter of an hour: `python bench/soak.py [--minutes 15] [--json FILE] [--plot FILE]`.

Events come at a steady rate, under keys that come and go, so that whatever is not forgotten piles up. Every few seconds
the memory of all processes and the size of the state are looked at. Judged is what comes behind a warm-up: memory must
not grow with time, and state must stay within what one window of events takes. Every event that Spark has read must be
in exactly one class of the accounts. Exits with 1 if something grows or an event is not accounted for.

The JVM's heap has a fixed size that is resident from the start; what lives in it is counted behind a collection.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from measuring import Memory, cpu_of_tree, memory_of_tree
from plots import COLOURS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from reporting import Column, Section, as_json, environment, show
from rich.console import Console

from cepheid import Pattern
from cepheid.spark.jobs import stop_between_batches
from cepheid.spark.stream.accounts import account

RATE = 500
"""Events a second."""
KEYS, KEY_LIFE = 100, 4
"""Keys at a time, and the seconds after which other ones take their places, for ever."""
WINDOW, DELAY, TRIGGER = 30, 5, 5
"""Seconds: the pattern's window, the watermark's delay, and from one micro-batch to the next."""
BETWEEN_SAMPLES = 5.0
GROWTH = 1.05
"""The last third of a run may have so many times the memory of the second one; the first third is the warm-up."""
NOISE = 8 * 1024**2
"""Bytes of growth that say nothing: pages that an allocator keeps."""
BOUND = 1.25
"""The same for what the state holds, which goes up and down as journals are written anew."""
PATTERN = (
    Pattern.begin("a")
    .where("name = 'a'")
    .followed_by("b")
    .where("name = 'b' AND price > LAST(a.price)")
    .one_or_more()
    .followed_by("c")
    .where("name = 'c'")
    .within(f"{WINDOW} seconds")
    .skip("past_last_event")
)


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one moment."""

    seconds: float
    java: int
    driver: int
    workers: int
    largest: int
    """Of the workers, the largest one: Spark starts and ends workers as it needs them."""
    heap: int
    """Bytes that live in the JVM's heap behind a collection."""
    state_bytes: int
    runs: int
    pending: int
    events: int
    """Those of all micro-batches so far."""
    matches: int


MEMORY = {
    "java": "JVM",
    "driver": "driver's Python",
    "workers": "Python workers together",
    "largest": "largest Python worker",
    "heap": "live in the JVM's heap",
}
STATE = {"state_bytes": "state", "runs": "live runs", "pending": "waiting events"}


class Classes:
    """Every event in exactly one class: what the accounts of all micro-batches add up to, against the rows that Spark
    says it has read."""

    def __init__(self) -> None:
        self.seen = -1
        self.read = 0
        self.missed = 0
        """Micro-batches whose progress was not seen."""
        self.wrong = 0
        """Micro-batches whose classes do not add up to the rows that Spark has read."""
        self.sums = dict.fromkeys(("irrelevant", "late", "rejected", "handled", "waiting"), 0)

    def take(self, progress: Sequence[Mapping[str, Any]]) -> None:
        for one in progress:
            if one["batchId"] <= self.seen:
                continue
            self.missed += one["batchId"] - self.seen - 1
            self.seen = one["batchId"]
            self.read += one["numInputRows"]
            counted = account(one)
            if counted is None:
                self.wrong += 1
                continue
            classes = {name: getattr(counted, name) for name in ("irrelevant", "late", "rejected", "handled")}
            classes["waiting"] = counted.pending_change
            self.wrong += sum(classes.values()) != one["numInputRows"]
            for name, number in classes.items():
                self.sums[name] += number

    def row(self) -> dict[str, Any]:
        """For the report: right if every row that was read is in one class."""
        is_right = not self.missed and not self.wrong and self.read == sum(self.sums.values()) and self.read > 0
        return {"what": f"every one of {self.read:,} events in one class", "right": is_right}

    def described(self) -> str:
        return ", ".join(f"{number:,} {name}" for name, number in self.sums.items())


class Counts:
    """What the micro-batches have counted, each one once."""

    def __init__(self) -> None:
        self.seen = -1
        self.events = self.matches = 0
        self.last: dict[str, int] = dict.fromkeys(STATE, 0)

    def take(self, progress: Sequence[Any]) -> None:
        for one in progress:
            counted = one.observedMetrics.get("cepheid")
            if one.batchId > self.seen and counted is not None:
                counts = {name: value or 0 for name, value in counted.asDict().items()}
                self.seen = one.batchId
                self.events += counts["events"]
                self.matches += counts["matches"]
                if counts["events"]:  # a micro-batch without events touches few buckets
                    self.last = {name: counts[name] for name in STATE}


def session(place: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": place,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        # What Spark itself keeps of the past is full within minutes, instead of growing for hours up to its limits.
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "200",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.sql.streaming.ui.retainedQueries": "1",
        "spark.sql.streaming.ui.retainedProgressUpdates": "10",
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.driver.memory": "640m",
        "spark.driver.extraJavaOptions": "-Xms640m -XX:+AlwaysPreTouch -XX:+UseSerialGC",
    }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def events(spark: SparkSession) -> DataFrame:
    value = F.col("value")
    made = spark.readStream.format("rate").option("rowsPerSecond", RATE).load()
    return made.select(
        (F.floor(value / (RATE * KEY_LIFE)) * KEYS + value % KEYS).alias("key"),
        F.col("timestamp").alias("ts"),
        value.alias("id"),
        F.element_at(F.array(*map(F.lit, "aabbbcd")), F.pmod(F.hash(value), F.lit(7)) + 1).alias("name"),
        F.pmod(F.hash(value, F.lit(1)), F.lit(10)).alias("price"),
    )


def throw_away(rows: DataFrame, batch: int) -> None:
    """A sink that computes every row."""
    rows.write.format("noop").mode("overwrite").save()


def soak(minutes: float) -> tuple[list[Sample], float, Classes]:
    """Samples over so many minutes, the CPU seconds that they took, and what became of the events."""
    samples: list[Sample] = []
    classes = Classes()
    with tempfile.TemporaryDirectory() as place:
        spark = session(place)
        found: Any = PATTERN.match(
            events(spark), partition_by="key", order_by=["ts", "id"], watermark=f"{DELAY} seconds", buckets=4
        )
        query = found.start(
            matches=throw_away,
            timeouts=throw_away,
            checkpoint=f"{place}/checkpoint",
            trigger={"processingTime": f"{TRIGGER} seconds"},
        )
        begun, counts = time.monotonic(), Counts()
        used = cpu_of_tree()
        try:
            while (seconds := time.monotonic() - begun) < 60 * minutes:
                query.awaitTermination(BETWEEN_SAMPLES)
                counts.take(query.recentProgress)
                classes.take([json.loads(progress.json) for progress in query.recentProgress])
                if counts.events:
                    memory = memory_of_tree()
                    samples.append(_sample(seconds, memory, _live_heap(spark), counts))
            used = cpu_of_tree() - used
        finally:
            stop_between_batches(query, patience=30)
            classes.take([json.loads(progress.json) for progress in query.recentProgress])
            spark.stop()
    return samples, used, classes


def _sample(seconds: float, memory: Memory, heap: int, counts: Counts) -> Sample:
    return Sample(
        seconds,
        memory.java,
        memory.this,
        memory.others,
        memory.largest,
        heap,
        **counts.last,
        events=counts.events,
        matches=counts.matches,
    )


def _live_heap(spark: SparkSession) -> int:
    """Bytes of the JVM's heap behind a collection."""
    jvm: Any = spark.sparkContext._jvm
    jvm.java.lang.System.gc()
    return int(jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())


def judged(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """A row for each thing that might grow: how much it had in the second and in the last third, and whether that is
    flat."""
    thirds = [samples[len(samples) * part // 3 : len(samples) * (part + 1) // 3] for part in range(3)]
    rows: list[dict[str, Any]] = []
    for name, title in (MEMORY | STATE).items():
        values = [[float(getattr(sample, name)) for sample in third] for third in thirds]
        before, after = median(values[1]), median(values[2])
        is_flat = after <= BOUND * before
        if name in MEMORY:
            is_flat = after <= GROWTH * before or after - before <= NOISE
        minutes = [sample.seconds / 60 for sample in (*thirds[1], *thirds[2])]
        unit = 1e6 if name in MEMORY or name == "state_bytes" else 1.0
        rows.append(
            {
                "what": title + (", MB" if unit > 1 else ""),
                "warm_up": median(values[0]) / unit,
                "middle": before / unit,
                "end": after / unit,
                "most": max(values[1] + values[2]) / unit,
                "slope": slope(minutes, values[1] + values[2]) / unit,
                "right": is_flat,
            }
        )
    return rows


def slope(across: Sequence[float], upwards: Sequence[float]) -> float:
    """The line of least squares: how much more there is for each step across."""
    middle, height = sum(across) / len(across), sum(upwards) / len(upwards)
    spread = sum((x - middle) ** 2 for x in across)
    return sum((x - middle) * (y - height) for x, y in zip(across, upwards, strict=True)) / spread if spread else 0.0


def report(samples: Sequence[Sample], used: float, classes: Classes) -> Section:
    last = samples[-1]
    return Section(
        "soak",
        f"soak: {last.seconds / 60:.0f} minutes, {last.events:,} events, {last.matches:,} matches",
        (
            Column("what", "what"),
            Column("warm_up", "first third", 1),
            Column("middle", "second third", 1),
            Column("end", "last third", 1),
            Column("most", "most after the first third", 1),
            Column("slope", "growth per minute", 3),
            Column("right", "flat"),
        ),
        [*judged(samples), classes.row()],
        [
            f"What became of the events: {classes.described()}.",
            f"{RATE} events a second, {KEYS} keys at a time, other ones every {KEY_LIFE} s; a → b+ → c within "
            f"{WINDOW} s; micro-batches of {TRIGGER} s; {used / last.seconds:.2f} cores.",
            "Medians of each third. flat: the last one is at most the second one "
            f"× {GROWTH} or {NOISE >> 20} MB more (memory), × {BOUND} (state). The growth is that of both thirds. A "
            "machine that others use as well lets events wait now and then.",
        ],
    )


def draw(samples: Sequence[Sample]) -> Figure:
    """Memory above, state below."""
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    minutes = [sample.seconds / 60 for sample in samples]
    for axes, names in ((above, MEMORY), (below, {"state_bytes": "state"})):
        for number, (name, title) in enumerate(names.items()):
            axes.plot(minutes, [getattr(s, name) / 1e6 for s in samples], label=title, color=COLOURS[number])
        axes.set_ylim(bottom=0)
        axes.set_ylabel("MB")
        axes.legend(fontsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    below.set_xlabel("minutes")
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--json", type=Path, help="write samples and verdicts as JSON")
    parser.add_argument("--plot", type=Path, help="draw memory and state over time")
    given = parser.parse_args()
    facts = environment()
    samples, used, classes = soak(given.minutes)
    if len(samples) < 6:
        print("too short: there are fewer than six samples to judge")
        return 1
    section = report(samples, used, classes)
    show(section, Console(width=None if Console().is_terminal else 160))
    if given.json:
        said = as_json(facts, [section]) | {"samples": [asdict(sample) for sample in samples]}
        given.json.write_text(json.dumps(said, indent=1), encoding="utf-8")
    if given.plot:
        draw(samples).savefig(given.plot)
    return 0 if section.is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
