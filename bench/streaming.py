"""Streams on Spark: `python bench/streaming.py [--smoke] [--json FILE]`.

Micro-batches of events through a pattern, against what Spark itself costs, in CPU seconds of the JVM and all Python
workers: the stateless shuffle of the same rows through Arrow, and the same pattern with one call of Spark's stateful
API for each key. Then with a million live keys. Then the latency from an event to its match.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid import Pattern

PATTERN = (
    Pattern.begin("a")
    .where("name = 'a'")
    .followed_by("b")
    .where("name = 'b'")
    .followed_by("c")
    .where("name = 'c'")
    .within("1 hour")
    .skip("past_last_event")
)
BEGIN = 1_735_689_600_000_000
DDL = "key long, ts timestamp, name string, price double"
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """What this process and all that it started have used so far, those that have ended included."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += children.get(process, [])
    return total


def write_batches(place: Path, batches: int, size: int, keys: int, live: int = 0) -> None:
    """Files of events. With `live`, the first file opens a run for each of so many keys, of which some come again."""
    place.mkdir()
    chance = np.random.default_rng(1)
    time_of = BEGIN
    if live:
        write_file(place / "0000.parquet", np.arange(live), np.full(live, "a"), np.full(live, time_of), 0)
    for batch in range(batches):
        chosen = chance.choice(max(live, keys), keys, replace=False) if live else np.arange(keys)
        names = chance.choice(list("abcd"), size)
        times = time_of + 1_000_000 * (batch + 1) + np.sort(chance.integers(0, 1_000_000, size))
        write_file(place / f"{batch + 1:04}.parquet", chance.choice(chosen, size), names, times, batch + 1)


def write_file(file: Path, keys: Any, names: Any, times: Any, number: int) -> None:
    table = pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "name": pa.array(names, pa.string()),
            "price": pa.array(np.arange(len(keys), dtype=np.float64)),
        }
    )
    pq.write_table(table, file)
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


class PerKey(StatefulProcessor):
    """The same pattern as a user would write it: the next awaited name in the state of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("awaited", "place int")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        saved = self.state.get()
        place = 0 if saved is None else saved[0]
        found = 0
        for frame in rows:
            for name in frame.sort_values("ts")["name"]:
                if name == "abc"[place]:
                    place += 1
                    if place == 3:
                        place, found = 0, found + 1
        self.state.update((place,))
        yield pd.DataFrame({"key": [key[0]], "n": [found]})

    def close(self) -> None:
        pass


def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def stateless(stream: DataFrame) -> DataFrame:
    """The floor: the same rows through one shuffle and Arrow."""
    return stream.repartition(2, "key").mapInArrow(identity, DDL)


def per_key(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").transformWithStateInPandas(PerKey(), "key long, n long", "append", "None")


class Progress:
    """CPU seconds between the ends of micro-batches, as the sink sees them."""

    def __init__(self) -> None:
        self.marks = [cpu_seconds()]

    def __call__(self, rows: DataFrame, batch: int) -> None:
        rows.write.format("noop").mode("append").save()
        self.marks.append(cpu_seconds())


def run(session: SparkSession, place: Path, plan: Callable[[DataFrame], DataFrame]) -> list[float]:
    """CPU seconds of each data micro-batch of a query of Spark's own."""
    stream = session.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(place / "in"))
    progress = Progress()
    query = (
        plan(stream)
        .writeStream.foreachBatch(progress)
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [float(after - before) for before, after in pairwise(progress.marks)]


def run_pattern(session: SparkSession, place: Path) -> tuple[list[float], list[dict[str, Any]]]:
    """CPU seconds of each micro-batch of the pattern, and what it counted."""
    stream = session.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(place / "in"))
    found: Any = PATTERN.match(stream, partition_by="key", order_by="ts", watermark="1 second", columns=["price"])
    progress = Progress()
    query = found.start(matches=progress, checkpoint=str(place / "checkpoint"), trigger={"availableNow": True})
    query.awaitTermination()
    counts = [
        p.observedMetrics["cepheid"].asDict() | {"ms": p.durationMs.get("triggerExecution")}
        for p in query.recentProgress
    ]
    return [after - before for before, after in pairwise(progress.marks)], counts


def latency(session: SparkSession, place: Path, seconds: int) -> list[float]:
    """Milliseconds from the moment an event is made to the moment its match is written, at 1-second micro-batches."""
    rate = session.readStream.format("rate").option("rowsPerSecond", 1_000).load()
    stream = rate.select(
        (F.col("value") % 100).alias("key"),
        F.col("timestamp").alias("ts"),
        F.element_at(F.array(*map(F.lit, "abc")), (F.floor(F.col("value") / 100) % 3 + 1).cast("int")).alias("name"),
        F.lit(0.0).alias("price"),
    )
    found: Any = PATTERN.match(stream, partition_by="key", order_by="ts", watermark="0 seconds", columns=["price"])
    waited: list[float] = []

    def note(rows: DataFrame, batch: int) -> None:
        times = [row[0].timestamp() for row in rows.select("end_time").collect()]
        waited.extend(1000 * (time.time() - moment) for moment in times)

    query = found.start(matches=note, checkpoint=str(place / "latency"), trigger={"processingTime": "1 second"})
    query.awaitTermination(seconds)
    query.stop()
    return waited[len(waited) // 3 :]  # behind the first, slow micro-batches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny numbers, to see that it works")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    size, keys, live, batches = (
        (2_000, 400, 5_000, 4) if options.smoke else (100_000, 20_000, 1_000_000, options.batches)
    )
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
        "RocksDBStateStoreProvider",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    root = Path(tempfile.mkdtemp())
    results: dict[str, Any] = {"events": size, "keys": keys, "live": live}
    try:
        for name, many in (("few", 0), ("many", live)):
            (root / name).mkdir()
            write_batches(root / name / "in", batches, size, keys, many)
        for warm in ("warm", "floor"):  # the JVM compiles on the way
            (root / warm).mkdir()
            shutil.copytree(root / "few" / "in", root / warm / "in")
            results["floor"] = median(run(session, root / warm, stateless)[batches // 2 :])
        print(f"stateless shuffle through Arrow: {results['floor']:.2f} CPU s a micro-batch", flush=True)
        for name in ("few", "many"):
            used, counts = run_pattern(session, root / name)
            results[name] = median(used[1:][batches // 2 :])  # the first ones are slow; the last one has no data
            written = median([count["written_bytes"] for count in counts if count["events"]][batches // 2 :])
            state = max(count["state_bytes"] or 0 for count in counts)
            results[f"{name}_written"], results[f"{name}_state"] = written, state
            results[f"{name}_all"] = used
            matches = sum(count["matches"] or 0 for count in counts)
            print(
                f"pattern, {keys if name == 'few' else live:,} keys: {results[name]:.2f} CPU s a micro-batch, "
                f"{written / 1e6:.1f} MB written, {state / 1e6:.1f} MB of state, {matches} matches",
                flush=True,
            )
        print(f"ratio to the shuffle: {results['few'] / results['floor']:.2f} (bar: 3)")
        print(f"ratio of many live keys to few: {results['many'] / results['few']:.2f} (bar: 3)", flush=True)
        waited = latency(session, root, 20 if options.smoke else 60)
        if len(waited) > 2:
            results["latency_median"], results["latency_p99"] = median(waited), quantiles(waited, n=100)[98]
            print(
                f"latency: median {results['latency_median']:.0f} ms, p99 {results['latency_p99']:.0f} ms", flush=True
            )
        (root / "per-key").mkdir()
        shutil.copytree(root / "few" / "in", root / "per-key" / "in")
        for file in sorted((root / "per-key" / "in").iterdir())[3:]:
            file.unlink()
        results["per_key"] = median(run(session, root / "per-key", per_key)[1:])
        print(
            f"one call a key: {results['per_key']:.2f} CPU s, ratio {results['per_key'] / results['few']:.1f} (bar: 15)"
        )
    finally:
        session.stop()
        shutil.rmtree(root, ignore_errors=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
