"""Cepheid on Spark beside FlinkCEP: seven queries on the same generated events, CPU seconds of whole jobs.

Cepheid reads Parquet, matches and computes every row of the result. FlinkCEP makes its events in memory, keeps its
state on the heap, and counts its matches. Both have two cores. FlinkCEP is measured twice: as a program of its own
whose events may be late, and in a JVM that has run the query before, with events in order.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import flink
import numpy as np
from made_events import write_events
from measuring import Measured, Settings, compare
from reporting import Cell, Column, Section
from sessions import CORES, benchmark_spark, run

from cepheid import Pattern

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyspark.sql import SparkSession

SOURCES = Path(__file__).parent / "java"
EVENTS = 10_000_000
PEER_EVENTS = 1_000_000
"""FlinkCEP takes the first so many of the events: what it needs an event does not depend on how many there are."""
PER_KEY = 100
WINDOW = 10
"""Events of a key that fall into a window, on average."""
WARM_UP = 200_000
BAR = 15.0


def queries(window: int) -> dict[str, Pattern]:
    """The queries; bench/java/Queries.java has the same ones for FlinkCEP."""
    start = Pattern.begin("a").where("type = 0")
    seq = start.followed_by("b").where("type = 1").followed_by("c").where("type = 2")
    kleene = start.followed_by("b").where("type = 1").one_or_more().followed_by("c").where("type = 2")
    absent = start.not_followed_by("c").where("type = 2").followed_by_any("d").where("type = 3")
    every = start.followed_by_any("b").where("type = 1").followed_by_any("c").where("type = 2")
    affordable = (
        start.followed_by("b")
        .where("type = 1 AND SUM(b.price) + price <= 120")
        .one_or_more()
        .followed_by("c")
        .where("type = 2")
    )
    length = f"{window} ms"
    return {
        "strict": start.next("b").where("type = 1").next("c").where("type = 2").skip("past_last_event"),
        "seq": seq.within(length).skip("past_last_event"),
        "seq no skip": seq.within(length),
        "kleene": kleene.within(length),
        "negation": absent.within(length),
        "any": every.within(length),
        "iterative": affordable.within(length).skip("past_last_event"),
    }


@dataclass(frozen=True, slots=True)
class Found:
    """How many matches, and the sums of their first and of their last times in milliseconds: whether two answers are
    the same can be seen from that."""

    matches: int
    starts: int
    ends: int


def measure(settings: Settings) -> Section:
    """One row a query."""
    events = settings.events or (20_000 if settings.smoke else EVENTS)
    few = min(events, PEER_EVENTS)
    keys = max(1, few // PER_KEY)
    window = WINDOW * keys
    section = Section(
        "peers",
        f"peers: {events:,} events on Spark, the first {few:,} of them on FlinkCEP {flink.VERSION}, {keys:,} keys",
        (
            Column("query", "query"),
            Column("matches", f"matches in {few:,}"),
            Column("cpu", "Cepheid, CPU s"),
            Column("of_java", "of that, Spark's JVM"),
            Column("elapsed", "elapsed s"),
            Column("memory", "memory, GB"),
            Column("rate", "events per CPU s", 0),
            Column("their_cpu", "FlinkCEP, CPU s"),
            Column("their_elapsed", "elapsed s"),
            Column("their_memory", "memory, GB"),
            Column("their_rate", "events per CPU s", 0),
            Column("ratio", "× FlinkCEP", 1),
            Column("warm_cpu", "FlinkCEP, warm and in order, CPU s"),
            Column("warm_ratio", "× that", 1),
            Column("bar", "bar", 0),
            Column("reached", "reached"),
            Column("right", "same matches"),
        ),
        notes=[
            f"{CORES} cores. Cepheid: read Parquet in any order, match, compute all rows (noop sink), in a running "
            f"Spark; median of {settings.repeat} jobs after one that is not counted. FlinkCEP: make events in memory, "
            "match, count; heap state, parallelism 2, object reuse; a process of its own, all of its CPU seconds, "
            "events late by up to a fiftieth of the stream.",
            f"Warm and in order: FlinkCEP in a JVM that has run the query before, the job's CPU seconds, median of "
            f"{settings.repeat}, and told that no event is late: it then waits for none.",
            f"Windows hold about {WINDOW} events of a key; strict has none. seq, strict and iterative skip past the "
            "last event, the others skip nothing.",
            "same matches: their number and the sums of their first and last times, on FlinkCEP's events.",
        ],
    )
    if settings.flink is None and not settings.smoke:
        section.notes.append("FlinkCEP is left out: name the directory of its jars with --flink.")
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        large = write_events(Path(place) / "large", events, keys)
        small = write_events(Path(place) / "small", few, keys) if few < events else large
        for name, pattern in queries(window).items():
            if settings.wants(name):
                row = _ours(spark, pattern, large, small, settings)
                if settings.flink is not None:
                    row |= _beside_flink(row, name, few, keys, window, settings)
                section.rows.append({"query": name, "bar": BAR, **row})
    return section


def _ours(spark: SparkSession, pattern: Pattern, large: str, small: str, settings: Settings) -> dict[str, Cell]:
    def job() -> None:
        run(pattern.match(spark.read.parquet(large), partition_by="key", order_by="ts").matches)

    [(_, measured)] = compare(settings.repeat, {"ours": job}).values()
    found = _found(spark, pattern, small)
    return {
        "matches": found.matches,
        "starts": found.starts,
        "ends": found.ends,
        **_costs(measured),
        "rate": spark.read.parquet(large).count() / measured.cpu,
    }


def _costs(measured: Measured) -> dict[str, Cell]:
    return {
        "cpu": measured.cpu,
        "of_java": measured.java,
        "elapsed": measured.elapsed,
        "memory": measured.memory / 1e9,
        "spread": measured.spread,
    }


def _found(spark: SparkSession, pattern: Pattern, path: str) -> Found:
    matches = pattern.match(spark.read.parquet(path), partition_by="key", order_by="ts").matches
    [row] = matches.selectExpr(
        "count(*)", "coalesce(sum(unix_millis(start_time)), 0)", "coalesce(sum(unix_millis(end_time)), 0)"
    ).collect()
    return Found(*row)


def _beside_flink(
    row: dict[str, Cell], query: str, events: int, keys: int, window: int, settings: Settings
) -> dict[str, Cell]:
    """FlinkCEP's costs, and the comparison with ours."""
    said, cpu = flink_alone(settings, query, events, keys, window)
    runs = flink_runs(settings, query, events, keys, window)
    warm = float(np.median([said["cpu"] for said in runs]))
    last = runs[-1]
    ratio, warm_ratio = (float(row["rate"] or 0) / (events / seconds) for seconds in (cpu, warm))
    return {
        "their_cpu": cpu,
        "their_elapsed": said["elapsed"],
        "their_memory": said["memory"] / 1e9,
        "their_rate": events / cpu,
        "ratio": ratio,
        "warm_cpu": warm,
        "warm_ratio": warm_ratio,
        "reached": None if settings.smoke else ratio >= BAR,
        "right": (row["matches"], row["starts"], row["ends"]) == (last["matches"], last["starts"], last["ends"]),
    }


def flink_alone(settings: Settings, query: str, events: int, keys: int, window: int) -> tuple[dict[str, Any], float]:
    """What FlinkCEP said of a job of its own, and the CPU seconds of its process; events may be late."""
    command = _command(settings, query, events, keys, window, CORES, 0, 1, max(1_000, events // 50))
    before = os.times()
    [said] = _asked(query, command)
    after = os.times()
    return said, after.children_user + after.children_system - before.children_user - before.children_system


def flink_runs(settings: Settings, query: str, events: int, keys: int, window: int) -> list[dict[str, Any]]:
    """What FlinkCEP needed for a query in a JVM that has run it before, once for each repetition; events in order."""
    warm_up = min(WARM_UP, events)
    return _asked(query, _command(settings, query, events, keys, window, CORES, warm_up, settings.repeat, 0))


def _command(settings: Settings, query: str, *numbers: int) -> list[str]:
    return flink.command(SOURCES, flink.jars(place=settings.flink), "CepThroughput", query, *numbers)


def _asked(query: str, command: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise flink.NoFlink(f"FlinkCEP failed on {query!r}:\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def draw(section: Section) -> Figure:
    """Events per CPU second, ours and FlinkCEP's."""
    from plots import bars

    names = [str(row["query"]) for row in section.rows]
    return bars(
        names,
        {
            "Cepheid on Spark": [row.get("rate") for row in section.rows],
            f"FlinkCEP {flink.VERSION}": [row.get("their_rate") for row in section.rows],
        },
        "events per CPU second",
    )
