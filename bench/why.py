"""`why` on Spark beside the match that it asks about, and the studio's answer to a try.

All in one run, in turn: CPU seconds of the JVM and of all Python processes, and elapsed time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import pyarrow.parquet as pq
from batch import KEYS, NARROW, RELAXED
from device_events import write_device_events
from measuring import Settings, compare
from reporting import Cell, Section
from reporting import Column as Shown
from sessions import CORES, benchmark_spark, run

from cepheid import Pattern
from cepheid.studio.sample import Sample
from cepheid.studio.trying import Request, attempt

EVENTS = 10_000_000
BAR, STUDIO_BAR = 2.0, 0.3
NEVER = Pattern.parse(str(RELAXED).replace("'c'", "'C'"))
"""The same with a mistake: `why` looks for what is wrong as well."""
STUDIO_ROWS = 10_000


def measure(settings: Settings) -> Section:
    """One row a question."""
    events = settings.events or (20_000 if settings.smoke else EVENTS)
    keys = max(1, min(KEYS, events // 100))
    section = Section(
        "why",
        f"why: {events:,} events, {keys:,} string keys, Parquet; the studio: {STUDIO_ROWS:,} rows",
        (
            Shown("case", "question"),
            Shown("cpu", "CPU s"),
            Shown("elapsed", "elapsed s"),
            Shown("ratio", "CPU to the match"),
            Shown("bar", "bar"),
            Shown("reached", "reached"),
        ),
        notes=[
            f"{CORES} cores, median of {settings.repeat} after one that is not counted, in turn. Of the studio the "
            "slowest try: its bar is of elapsed seconds, which need a quiet machine."
        ],
    )
    by = {"partition_by": "key", "order_by": "ts"}
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        path = write_device_events(Path(place) / "events", events, keys)
        one = pq.read_table(path).slice(0, 1)["key"][0].as_py()

        def rows() -> object:
            return spark.read.parquet(path)

        jobs: dict[str, Callable[[], object]] = {
            "match": lambda: run(RELAXED.match(rows(), **by, columns=NARROW).matches),
            "why": lambda: RELAXED.why(rows(), **by),
            "why, nothing matches": lambda: NEVER.why(rows(), **by),
            "why of one key": lambda: RELAXED.why(rows(), **by, key={"key": one}),
        }
        measured = {name: used for name, (_, used) in compare(settings.repeat, jobs).items()}
        for name, used in measured.items():
            row: dict[str, Cell] = {"case": name, "cpu": used.cpu, "elapsed": used.elapsed}
            if name != "match":
                row |= {"ratio": used.cpu / measured["match"].cpu, "bar": BAR}
                if not settings.smoke:
                    row["reached"] = used.cpu <= BAR * measured["match"].cpu
            section.rows.append(row)
        sample = Sample("events.parquet", pq.read_table(path).slice(0, STUDIO_ROWS))
    section.rows.append(_studio(sample, settings))
    return section


def _studio(sample: Sample, settings: Settings) -> dict[str, Cell]:
    """The slowest of several tries, each with another text, after the first."""
    seconds, cpu = [], []
    for number in range(settings.repeat + 1):
        request = Request(
            f"a[name = 'a'] ~> b[name = 'b'] ~> c[name = 'C'] within {10 + number} hours", ["key"], ["ts"]
        )
        begun, used = perf_counter(), process_time()
        answer = attempt(sample, request)
        seconds.append(perf_counter() - begun)
        cpu.append(process_time() - used)
        assert "error" not in answer, answer
    slowest = max(seconds[1:])
    row: dict[str, Cell] = {"case": "a try in the studio", "cpu": max(cpu[1:]), "elapsed": slowest, "bar": STUDIO_BAR}
    if not settings.smoke:
        row["reached"] = slowest <= STUDIO_BAR
    return row
