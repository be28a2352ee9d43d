"""The demonstration: a made-up shop with radio tags, in which some things are stolen, and the pattern that finds them.

In: how many tags, a seed. Out: readings as an Arrow table, and the tags that were stolen in truth. Called by the
command line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.engine.compiled_code import compile_beside
from cepheid.engine.warming import warm_up
from cepheid.pattern import Pattern

if TYPE_CHECKING:
    from cepheid.spark.embedded import SparkSession

READERS = ("SHELF", "COUNTER", "EXIT")
SHOPLIFTING = (
    Pattern.begin("shelf")
    .where("reader = 'SHELF'")
    .not_followed_by("counter")
    .where("reader = 'COUNTER'")
    .followed_by("exit")
    .where("reader = 'EXIT'")
    .within("12 hours")
    .skip("past_last_event")
)

MANY = 10_000
"""Readings that are worth compiling the engine for before the clock starts."""
DRAWN = 8
"""So many stolen tags are drawn on the timeline."""

_OPENING = np.datetime64("2025-03-01T09:00:00", "us")
_HOUR = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Shop:
    """Readings of all tags, in no order, and the tags that left without being paid for within twelve hours."""

    readings: pa.Table
    stolen: frozenset[str]


def open_shop(tags: int, seed: int = 7) -> Shop:
    """A day in the shop. Of a hundred tags about eighty are bought, two stolen, the rest stay, or leave far too
    late."""
    chance = np.random.default_rng(seed)
    story = chance.choice(["bought", "stolen", "stays", "late"], size=tags, p=[0.8, 0.02, 0.15, 0.03])
    shelf_readings = chance.integers(1, 6, tags)
    tag = np.repeat(np.arange(tags), shelf_readings)
    begin = chance.integers(0, 8 * _HOUR, tags)
    moment = begin[tag] + chance.integers(0, _HOUR, len(tag))
    reader = np.zeros(len(tag), np.int8)
    seen_last = np.full(tags, -1, np.int64)
    np.maximum.at(seen_last, tag, moment)
    bought, leaves = np.flatnonzero(story == "bought"), np.flatnonzero(story != "stays")
    at_counter = seen_last[bought] + chance.integers(1, _HOUR, len(bought))
    waits = np.where(story[leaves] == "late", 13 * _HOUR, 2 * _HOUR)
    at_exit = seen_last[leaves] + waits + chance.integers(0, _HOUR, len(leaves))
    tag = np.concatenate((tag, bought, leaves))
    moment = np.concatenate((moment, at_counter, at_exit))
    reader = np.concatenate((reader, np.full(len(bought), 1, np.int8), np.full(len(leaves), 2, np.int8)))
    shuffled = chance.permutation(len(tag))
    names = pa.array([f"tag-{number:07d}" for number in range(tags)])
    readings = pa.table(
        {
            "tag": names.take(pa.array(tag[shuffled])),
            "ts": pa.array(_OPENING + moment[shuffled].astype("timedelta64[us]"), pa.timestamp("us")),
            "reader": pa.DictionaryArray.from_arrays(pa.array(reader[shuffled]), pa.array(READERS)).dictionary_decode(),
        }
    )
    return Shop(readings, frozenset(f"tag-{number:07d}" for number in np.flatnonzero(story == "stolen")))


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: tag, time on the shelf, time at the exit; how long it took; where it was written and drawn."""

    rows: list[tuple[str, datetime, datetime]]
    seconds: float
    drawn_at: Path
    written_to: str | None = None


def match_in_memory(shop: Shop, output: str) -> Report:
    """The stolen tags, found in this process alone."""
    if len(shop.readings) > MANY:
        warm_up()
    begun = time.perf_counter()
    found = SHOPLIFTING.match_events(shop.readings, partition_by="tag", order_by="ts")
    rows = [(match["tag"], match["shelf"]["ts"], match["exit"]["ts"]) for match in found.matches]
    seconds = time.perf_counter() - begun
    return Report(rows, seconds, found.timeline(DRAWN).save(_page(output)))


def match_on_spark(
    shop: Shop, output: str, watch: Callable[[SparkSession], AbstractContextManager[object]] = nullcontext
) -> Report:
    """The stolen tags, found by a Spark that is started for it; the matches are written as Parquet. `watch` is around
    that job, to show how far it is."""
    from cepheid.spark.embedded import embedded_spark
    from cepheid.spark.timelines import timeline_of

    compile_beside()
    with TemporaryDirectory() as directory, embedded_spark("cepheid demo") as spark:
        source = f"{directory}/readings.parquet"
        pq.write_table(shop.readings, source)
        warm_up()  # waits for what is compiled beside
        begun = time.perf_counter()
        readings = spark.read.parquet(source)
        found = SHOPLIFTING.match(readings, partition_by="tag", order_by="ts")
        with watch(spark):
            found.matches.write.mode("overwrite").parquet(output)
        matches = spark.read.parquet(output)
        written = matches.selectExpr("tag", "shelf.ts AS shelf", "exit.ts AS exit").collect()
        rows = [(row["tag"], row["shelf"], row["exit"]) for row in written]
        seconds = time.perf_counter() - begun
        drawn = timeline_of(matches, readings, SHOPLIFTING.tree, ("tag",), ("ts",), DRAWN).save(_page(output))
        return Report(rows, seconds, drawn, output)


def _page(output: str) -> Path:
    return Path(output).with_name(f"{Path(output).name}-timeline.html").resolve()
