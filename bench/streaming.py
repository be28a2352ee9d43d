"""Streams on Spark: micro-batches of events through a pattern, against what Spark itself costs.

CPU seconds of the JVM and of all Python workers, a micro-batch: of the stateless shuffle of the same rows through
Arrow, of the pattern, of the pattern with a million live keys, and of the same pattern with one call of Spark's
stateful API for each key. Then the latency from an event to its match.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from measuring import Settings, cpu_of_tree
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from reporting import Column, Section
from sessions import CORES, as_installed, benchmark_spark

from cepheid import Pattern
from cepheid.spark.jobs import stop_between_batches
from cepheid.spark.stream.query import PROVIDER, ROCKSDB

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
SECOND = 1_000_000
CASES = ("few keys", "many live keys", "one call a key", "latency")


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    events: int
    """Of one micro-batch."""
    keys: int
    live: int
    batches: int
    warm: int
    """Seconds before latency is looked at: the JVM compiles its code meanwhile."""
    seconds: int
    """How long latency is looked at."""


WHOLE = Size(100_000, 20_000, 1_000_000, 300, 60, 60)
TINY = Size(2_000, 400, 5_000, 9, 15, 15)
IN_A_TURN = 5
"""Micro-batches after which the next of the queries that are compared goes on."""
FIRST = range(2, 10)
"""Micro-batches at the beginning, which are reported by themselves. The two before them start processes, and may find
nothing: then the sink does not see where they end."""
FIRST_NAME = f"micro-batches {FIRST.start + 1} to {FIRST.stop}"
EVENTS_A_SECOND, SENDINGS_A_SECOND = 1_000, 50
MEDIAN, P99 = 1_200, 2_000
"""Milliseconds from an event to its match, at most."""


def write_batches(place: Path, batches: int, size: int, keys: int, live: int = 0) -> None:
    """Files of events. With `live`, the first file opens a run for each of so many keys, of which some come again."""
    place.mkdir(parents=True)
    chance = np.random.default_rng(1)
    time_of = BEGIN
    if live:
        write_file(place / "0000.parquet", np.arange(live), np.full(live, "a"), np.full(live, time_of), 0)
    for batch in range(batches):
        chosen = chance.choice(max(live, keys), keys, replace=False) if live else np.arange(keys)
        names = chance.choice(list("abcd"), size)
        times = time_of + SECOND * (batch + 1) + np.sort(chance.integers(0, SECOND, size))
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


class Turns:
    """Queries that run at the same time, but work one after the other, a few micro-batches each: a machine that is
    shared becomes faster and slower within seconds, and the JVM compiles for minutes, so only neighbours can be
    compared."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.changed = threading.Condition()

    def join(self, name: str) -> None:
        """A query takes part from now on."""
        with self.changed:
            self.names.append(name)

    def wait(self, name: str) -> None:
        """Wait until it is this query's turn."""
        with self.changed:
            self.changed.wait_for(lambda: self.names[0] == name)

    def pass_on(self, name: str, for_good: bool = False) -> None:
        """Let the next query work."""
        with self.changed:
            self.names.remove(name)
            if not for_good:
                self.names.append(name)
            self.changed.notify_all()


class Progress:
    """CPU seconds of the micro-batches of one query, from the end of one to the end of the next, as the sink sees
    them."""

    def __init__(self, turns: Turns, name: str) -> None:
        self.turns, self.name = turns, name
        self.used: dict[int, float] = {}
        self.by_turn: list[list[float]] = [[]]
        self.mark = 0.0
        self.seen: list[int] = []
        turns.join(name)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        if not self.seen:
            self.turns.wait(self.name)
        rows.write.format("noop").mode("append").save()
        if self.seen and batch == self.seen[-1] + 1:  # one without rows is not seen here
            self.used[batch] = cpu_of_tree() - self.mark
            self.by_turn[-1].append(self.used[batch])
        self.seen.append(batch)
        if len(self.seen) % IN_A_TURN == 0:
            self.by_turn.append([])
            self.turns.pass_on(self.name)
            self.turns.wait(self.name)
        self.mark = cpu_of_tree()

    def ended(self, query: StreamingQuery) -> None:
        """Wait for the end of the query."""
        try:
            query.awaitTermination()
        finally:
            self.turns.pass_on(self.name, for_good=True)


def begun(session: SparkSession, place: Path, plan: Callable[[DataFrame], DataFrame], sink: Progress) -> StreamingQuery:
    """A query of Spark's own. It has Python workers of its own: those of a pattern keep the memory that they free, and
    a query after it would profit from that."""
    session.sparkContext.environment["CEPHEID_BENCHMARK"] = "without patterns"
    planned = plan(files_in(session, place))
    del session.sparkContext.environment["CEPHEID_BENCHMARK"]
    stream = planned.writeStream.foreachBatch(sink).option("checkpointLocation", str(place / "checkpoint"))
    return stream.trigger(availableNow=True).start()


def begun_pattern(session: SparkSession, place: Path, sink: Progress) -> StreamingQuery:
    stream = files_in(session, place)
    found: Any = PATTERN.match(stream, partition_by="key", order_by="ts", watermark="1 second", columns=["price"])
    query: StreamingQuery = found.start(
        matches=sink, checkpoint=str(place / "checkpoint"), trigger={"availableNow": True}
    )
    return query


def files_in(session: SparkSession, place: Path) -> DataFrame:
    return session.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(place / "in"))


def counts_of(query: StreamingQuery) -> list[dict[str, Any]]:
    """What the micro-batches of a pattern counted."""
    return [p.observedMetrics["cepheid"].asDict() | {"batch": p.batchId} for p in query.recentProgress]


class Events(threading.Thread):
    """A program that makes events and sends them at once, as lines on a socket. Spark's own `rate` source will not do:
    it gives out whole seconds, so that each event waits up to a second more before any query can see it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.server = socket.create_server(("localhost", 0))
        self.port = self.server.getsockname()[1]

    def run(self) -> None:
        with suppress(OSError):  # the query has ended
            connection, _ = self.server.accept()
            number, next_time = 0, time.time()
            while True:
                sent = range(number, number + EVENTS_A_SECOND // SENDINGS_A_SECOND)
                lines = [f"{one},{time.time_ns() // 1000}\n" for one in sent]
                number = sent.stop
                connection.sendall("".join(lines).encode())
                next_time += 1 / SENDINGS_A_SECOND
                time.sleep(max(0.0, next_time - time.time()))


def latency(session: SparkSession, place: Path, size: Size) -> list[float]:
    """Milliseconds from the moment an event is made to the moment its match is written, at 1-second micro-batches."""
    events = Events()
    events.start()
    lines = session.readStream.format("socket").option("host", "localhost").option("port", events.port).load()
    number, micros = (F.split("value", ",")[part].cast("bigint") for part in (0, 1))
    stream = lines.select(
        (number % 100).alias("key"),
        F.timestamp_micros(micros).alias("ts"),
        F.element_at(F.array(*map(F.lit, "abc")), (F.floor(number / 100) % 3 + 1).cast("int")).alias("name"),
        F.lit(0.0).alias("price"),
    )
    found: Any = PATTERN.match(stream, partition_by="key", order_by="ts", watermark="0 seconds", columns=["price"])
    waited: list[float] = []
    counts_from = time.time() + size.warm

    def note(rows: DataFrame, batch: int) -> None:
        times = [row[0].timestamp() for row in rows.select("end_time").collect()]
        now = time.time()
        if now >= counts_from:
            waited.extend(1000 * (now - moment) for moment in times)

    query = found.start(matches=note, checkpoint=str(place / "latency"), trigger={"processingTime": "1 second"})
    query.awaitTermination(size.warm + size.seconds)
    stop_between_batches(query, patience=30)
    events.server.close()
    return waited


def expected(place: Path) -> int:
    """How many matches the pattern has among the events that the watermark has passed, without Spark."""
    events = pa.concat_tables([pq.read_table(file) for file in sorted((place / "in").iterdir())])
    times = events["ts"].cast(pa.int64())
    passed = (pc.max(times).as_py() - SECOND) // 1000 * 1000  # Spark's watermark has whole milliseconds
    handled = events.filter(pc.less_equal(times, passed))
    return len(PATTERN.match_events(handled, partition_by="key", order_by="ts").matches)


def measure(settings: Settings) -> Section:
    """A row for the floor, and one for each case."""
    size = TINY if settings.smoke else WHOLE
    section = Section(
        "streaming",
        f"streaming: micro-batches of {size.events:,} events, {size.keys:,} keys, {CORES} cores",
        (
            Column("what", "what"),
            Column("cpu", "CPU s a micro-batch"),
            Column("ratio", "ratio"),
            Column("to", "to"),
            Column("bar", "bar"),
            Column("reached", "reached"),
            Column("to_installed", "to Spark as installed"),
            Column("written", "MB of state written", 1),
            Column("state", "MB of state", 1),
            Column("matches", "matches"),
            Column("right", "as in memory"),
            Column("median", "latency, median ms", 0),
            Column("p99", "p99 ms", 0),
        ),
        notes=[
            "a → b → c within 1 hour, past last event; the watermark 1 second behind. What is compared runs in one JVM "
            f"and takes turns, {IN_A_TURN} micro-batches at a time, so it is of the same age and finds the machine "
            f"equally fast. CPU seconds: the median of the last third of {size.batches} micro-batches, because the JVM "
            "compiles its code on the way, and what lasts is what a long stream costs. Ratio: each turn against the "
            f"other's before and after it, the median of the last half. {FIRST_NAME}: their mean. "
            f"many live keys: {size.live:,} open runs, of which a micro-batch touches {size.keys:,}.",
            "latency: from the moment at which an event is made to the moment at which its match has reached the sink, "
            f"at micro-batches of 1 second, {EVENTS_A_SECOND:,} events a second through a socket, watermark 0, over "
            f"{size.seconds} s after the first {size.warm} s.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not find the benchmarks' modules
        spark.conf.set(PROVIDER, ROCKSDB)
        spark.conf.set("spark.sql.shuffle.partitions", str(CORES))
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100000")
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(4 * size.batches))
        _measure_batches(spark, Path(place), size, settings, section)
        if settings.wants("latency"):
            waited = latency(spark, Path(place), size)
            middle = median(waited) if waited else None
            last = quantiles(waited, n=100)[98] if len(waited) > 1 else None
            is_reached = middle is not None and last is not None and middle <= MEDIAN and last <= P99
            section.rows.append(
                {
                    "what": "latency",
                    "bar": f"≤ {MEDIAN:,}, {P99:,} ms",
                    "reached": None if settings.smoke else is_reached,
                    "matches": len(waited),
                    "right": len(waited) > 1,
                    "median": middle,
                    "p99": last,
                }
            )
    return section


def _measure_batches(spark: SparkSession, root: Path, size: Size, settings: Settings, section: Section) -> None:
    """The floor and the pattern are what the other cases are compared with, so they are measured for each of them."""
    if not any(settings.wants(case) for case in CASES[:3]):
        return

    def pattern(place: Path, sink: Progress) -> StreamingQuery:
        return begun_pattern(spark, place, sink)

    low, few = in_turns(
        Turned("shuffle", _made(root / "shuffle", size), lambda place, sink: begun(spark, place, stateless, sink)),
        Turned("few", _made(root / "few", size), pattern),
    )
    place, sink = _made(root / "floor", size), Progress(Turns(), "floor")
    with as_installed(spark):
        sink.ended(begun(spark, place, stateless, sink))
    floor = steady(sink.used)
    section.rows.append({"what": "stateless shuffle through Arrow, Spark as installed", "cpu": floor})
    section.rows.append({"what": "the same with the options that start() sets", "cpu": steady(low.sink.used)})
    row = _pattern_row(few, f"pattern, {size.keys:,} keys") | {"to_installed": steady(few.sink.used) / floor}
    ratio = compared(few.sink, low.sink)
    section.rows.append(row | _judged(ratio, "that shuffle", "≤ 2.5", ratio <= 2.5, settings))
    for one, what in ((low, "that shuffle"), (few, "pattern")):
        section.rows.append({"what": f"{what}, {FIRST_NAME}", "cpu": early(one.sink.used)})
    if settings.wants("many live keys"):
        again, many = in_turns(
            Turned("again", _made(root / "again", size), lambda place, sink: begun_pattern(spark, place, sink)),
            Turned(
                "many", _made(root / "many", size, size.live), lambda place, sink: begun_pattern(spark, place, sink)
            ),
        )
        ratio = compared(many.sink, again.sink)
        row = _pattern_row(many, f"pattern, {size.live:,} live keys")
        section.rows.append(row | _judged(ratio, "pattern with few", "≤ 1.5", ratio <= 1.5, settings))
    if settings.wants("one call a key"):
        write_batches(root / "per-key" / "in", 3, size.events, size.keys)
        sink = Progress(Turns(), "per-key")
        sink.ended(begun(spark, root / "per-key", per_key, sink))
        ratio = median(sink.used.values()) / steady(few.sink.used)
        row = {"what": "the same, one call a key", "cpu": median(sink.used.values())}
        section.rows.append(row | _judged(ratio, "pattern", "≥ 15", ratio >= 15, settings))


def _made(place: Path, size: Size, live: int = 0) -> Path:
    write_batches(place / "in", size.batches, size.events, size.keys, live)
    return place


@dataclass(frozen=True, slots=True)
class Turned:
    """A query that takes turns with others."""

    name: str
    place: Path
    begin: Callable[[Path, Progress], StreamingQuery]


@dataclass(frozen=True, slots=True)
class Ended:
    """The same when it has ended."""

    place: Path
    sink: Progress
    query: StreamingQuery


def in_turns(*queries: Turned) -> list[Ended]:
    """Let queries take turns until all of them have ended."""
    turns = Turns()
    sinks = [Progress(turns, one.name) for one in queries]
    running = [Ended(one.place, sink, one.begin(one.place, sink)) for one, sink in zip(queries, sinks, strict=True)]
    with ThreadPoolExecutor() as waiting:
        list(waiting.map(lambda one: one.sink.ended(one.query), running))
    return running


def compared(one: Progress, other: Progress) -> float:
    """How many times the CPU seconds of the other query, which begins, one takes: each of its turns against the other's
    before and after it, the median of the last half."""
    around = zip(one.by_turn, other.by_turn, other.by_turn[1:], strict=False)
    ratios = [
        2 * mean(mine) / (mean(before) + mean(after)) for mine, before, after in around if mine and before and after
    ]
    return median(ratios[-max(1, len(ratios) // 2) :])


def steady(used: dict[int, float]) -> float:
    """What a micro-batch costs in the long run: the JVM has compiled most of what is compiled at all."""
    return median(list(used.values())[-max(1, len(used) // 3) :])


def early(used: dict[int, float]) -> float:
    """What one costs soon after the start."""
    return mean(used[batch] for batch in FIRST if batch in used)


def _pattern_row(ended: Ended, what: str) -> dict[str, Any]:
    """The row of a pattern."""
    counts = counts_of(ended.query)
    matches = sum(count["matches"] or 0 for count in counts)
    written = [count["written_bytes"] for count in counts if count["events"]]
    return {
        "what": what,
        "cpu": steady(ended.sink.used),
        "written": median(written[len(written) // 2 :]) / 1e6,
        "state": max(count["state_bytes"] or 0 for count in counts) / 1e6,
        "matches": matches,
        "right": matches == expected(ended.place),
    }


def _judged(ratio: float, to: str, bar: str, is_reached: bool, settings: Settings) -> dict[str, Any]:
    return {"ratio": ratio, "to": to, "bar": bar, "reached": None if settings.smoke else is_reached}
