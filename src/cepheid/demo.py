"""The demonstration: a made-up shop with radio tags, in which some things are stolen, and the pattern that finds them.

In: how many tags, a seed. Out: readings as an Arrow table, and the tags that were stolen in truth. Called by the
command line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.pattern import Pattern

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
    time = begin[tag] + chance.integers(0, _HOUR, len(tag))
    reader = np.zeros(len(tag), np.int8)
    seen_last = np.full(tags, -1, np.int64)
    np.maximum.at(seen_last, tag, time)
    bought, leaves = np.flatnonzero(story == "bought"), np.flatnonzero(story != "stays")
    at_counter = seen_last[bought] + chance.integers(1, _HOUR, len(bought))
    waits = np.where(story[leaves] == "late", 13 * _HOUR, 2 * _HOUR)
    at_exit = seen_last[leaves] + waits + chance.integers(0, _HOUR, len(leaves))
    tag = np.concatenate((tag, bought, leaves))
    time = np.concatenate((time, at_counter, at_exit))
    reader = np.concatenate((reader, np.full(len(bought), 1, np.int8), np.full(len(leaves), 2, np.int8)))
    shuffled = chance.permutation(len(tag))
    names = pa.array([f"tag-{number:07d}" for number in range(tags)])
    readings = pa.table(
        {
            "tag": names.take(pa.array(tag[shuffled])),
            "ts": pa.array(_OPENING + time[shuffled].astype("timedelta64[us]"), pa.timestamp("us")),
            "reader": pa.DictionaryArray.from_arrays(pa.array(reader[shuffled]), pa.array(READERS)).dictionary_decode(),
        }
    )
    return Shop(readings, frozenset(f"tag-{number:07d}" for number in np.flatnonzero(story == "stolen")))
