"""A stream of one hot key, every combination: what its state takes as the window grows.

Three types of events in every combination, then one that never occurs: partial matches grow with the third power of the
events in the window, the state with the events. What the streaming operator keeps of a bucket is measured as it is
written to the state store, without Spark around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from measuring import Settings, cpu
from reporting import Column, Section

from cepheid import Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.columns import columns
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange
from cepheid.rows.assemble import Shape
from cepheid.spark.keys import HASHES
from cepheid.spark.pack_workers import mask_name
from cepheid.spark.stream.state.bucket import BucketRuns, StreamWork
from cepheid.spark.stream.time import TIME

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOWS = (1, 2, 4, 8, 16, 32, 64)
"""Seconds, which have EVENTS events each."""
EVENTS = 1_000
BATCH = 10_000
BEGIN = 1_735_689_600_000_000
SCHEMA = pa.schema([("key", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("name", pa.string())])


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
            Column("rate", "events per CPU s", 0),
        ),
    )
    windows, batches, size = (WINDOWS[:2], 3, 2_000) if settings.smoke else (WINDOWS, 14, BATCH)
    section.notes.append(
        f"{batches} micro-batches of {size:,} events, {EVENTS:,} in a second of event time, one key. Partial matches "
        "wait for an event that never occurs. State: what the bucket of the key writes to the state store, with the "
        "rows of its events. CPU seconds of the bucket, without Spark's own."
    )
    section.rows += [_row(window, batches, size) for window in windows]
    return section


def _row(window: int, batches: int, size: int) -> dict[str, float | int]:
    tree = pattern(window).tree
    tables = tabulate(build(tree, bind(tree, Schema.from_arrow(SCHEMA))), Options())
    shape = Shape(tables.automaton.variables, tables.automaton.looping, (), with_moment=True)
    shown = ("key", "ts")
    bucket = BucketRuns(StreamWork(tables.for_workers(), ("key",), ("ts",), shape, False, shown, shown, "{}"))
    chance = np.random.default_rng(7)
    used = 0.0
    for batch in range(batches):
        times = BEGIN + (batch * size + np.arange(size)) * (1_000_000 // EVENTS)
        events = pa.table([np.zeros(size, np.int64), times, chance.choice(list("abc"), size)], names=SCHEMA.names)
        arranged = arrange(events.cast(SCHEMA), ("key",), ("ts",))
        bits = np.ascontiguousarray(columns(arranged, tables).bits[:, 0]).view(np.int64)
        added = {TIME: times, mask_name(0): bits, **{name: np.ones(size, np.int64) for name in HASHES}}
        rows = arranged.table.select(list(shown))
        for name, column in added.items():
            rows = rows.append_column(name, pa.array(column))
        bucket.receive(rows)
        used += cpu(lambda moment=int(times[-1]): bucket.advance(moment))[1]
    state, runs, held = len(bucket.to_bytes()), bucket.live_runs, min(window * EVENTS, batches * size)
    return {
        "window": window,
        "held": held,
        "runs": runs,
        "bytes": state,
        "each": state / held,
        "rate": batches * size / used,
    }


def draw(section: Section) -> Figure:
    """Bytes and partial matches over the events in the window."""
    from plots import curves

    series: dict[str, tuple[list[float], list[float]]] = {}
    for name, key in (("state in bytes", "bytes"), ("partial matches", "runs")):
        held = [float(row["held"] or 0) for row in section.rows]
        series[name] = (held, [float(row[key] or 0) for row in section.rows])
    return curves({"events in the window": series}, "bytes, and partial matches")
