"""What an event costs while many runs wait in one partition for an event with an equal id, and what a run weighs.

One stream: 1,000 starts a second, a window of 6 hours. When as many runs wait as a row says, events are fed that look
for an id: 1 in 100 finds a waiting run, and a new start takes its place; the others find none.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from engine_runs import KernelClock, tables_of
from measuring import Settings, cpu
from reporting import Column, Section

from cepheid import Pattern
from cepheid.engine.kernel import layout as l
from cepheid.engine.matcher import Matcher
from cepheid.engine.runs.pool import Pool
from cepheid.engine.tables.model import Options
from cepheid.rows.arrange import Arranged
from cepheid.syntax.tree import SpanUnit

SIZES = (10, 1_000, 100_000, 1_000_000, 10_000_000)
SMALL_SIZES = (10, 500)
BETWEEN_STARTS = 1_000
"""Microseconds: 1,000 starts a second."""
PART = 1_000_000
"""Starts in one call while the runs come together."""
PROBE = 200_000
FEWEST = 20
SECONDS = 4.0
"""What one probe may take; the number of its events follows from that."""
LIMIT = 60.0
"""What the probes of one row may take, where even the shortest ones are long."""
HITS = 100
FLAT = 2.0
"""The cost with the most runs may be so many times the cost with the fewest."""
BYTES = 64
SCRATCH = ("created", "spare", "candidates", "due", "window_ended", "matches", "timeouts", "stack")
"""Arrays of the pool that hold nothing between two events."""
USED = {"nodes": l.Q_USED_NODES, "timers": l.Q_USED_TIMERS}


def pattern() -> Pattern:
    return (
        Pattern.begin("a")
        .where("name = 'a'")
        .followed_by("b")
        .where("name = 'b' AND id = LAST(a.id)")
        .within("6 hours")
    )


@dataclass
class Stream:
    """The stream so far: which ids are waited for, and the matcher that waits."""

    matcher: Matcher
    random: np.random.Generator
    ids: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    next_id: int = 0
    now: int = 0

    def start(self, count: int) -> float:
        """So many further starts; returns the CPU seconds in the kernel."""
        ids = np.arange(self.next_id, self.next_id + count)
        self.next_id += count
        self.ids = np.concatenate((self.ids, ids))
        _, inside, _ = self._feed(np.zeros(count, np.int8), ids, BETWEEN_STARTS)
        return inside

    def probe(self, count: int) -> tuple[bool, float, float]:
        """Let so many events look for ids. Returns whether the matches are right, the CPU seconds in the kernel, and
        those of the whole call."""
        hits = max(1, count // HITS)
        is_start = np.zeros(count + hits, np.int8)
        ids = -1 - self.random.integers(0, 1 << 40, count + hits)  # nobody waits for a negative id
        places = np.linspace(0, count + hits - 2, hits).astype(np.int64)
        for place in places.tolist():
            chosen = int(self.random.integers(len(self.ids)))
            ids[place], ids[place + 1] = self.ids[chosen], self.next_id
            is_start[place + 1] = 1
            self.ids[chosen] = self.next_id
            self.next_id += 1
        found, inside, whole = self._feed(1 - is_start, ids, 1)
        return found == hits, inside, whole

    def _feed(self, kinds: npt.NDArray[np.int8], ids: npt.NDArray[np.int64], step: int) -> tuple[int, float, float]:
        count = len(ids)
        time = self.now + step * np.arange(1, count + 1)
        self.now = int(time[-1])
        names = pa.DictionaryArray.from_arrays(pa.array(kinds), pa.array(["a", "b"])).dictionary_decode()
        events = Arranged(
            pa.table({"name": names, "id": ids}), (), (), np.zeros(count, np.int64), time, SpanUnit.MICROSECOND
        )
        columns = self.matcher.columns_of(events)
        with KernelClock() as clock:
            (matches, _), whole = cpu(lambda: self.matcher.feed(columns, np.array([0, count]), np.zeros(1, np.int64)))
        return len(matches.at), clock.seconds, whole


def in_use(pool: Pool) -> int:
    """Bytes of the pool that hold something between two events; of records, those of runs and nodes that there are."""
    total = 0
    for name, array in pool._asdict().items():
        if name in SCRATCH:
            continue
        is_by_run = name not in USED and len(array) == len(pool.runs)
        counter = l.Q_USED_RUNS if is_by_run else USED.get(name)
        total += array.nbytes if counter is None else array[: pool.counters[counter]].nbytes
    return total


def measure(settings: Settings) -> Section:
    """One row for each number of waiting runs."""
    section = Section(
        "waiting",
        "waiting: one partition, `a → b where id = a.id`, 6 hours, 1,000 starts a second",
        (
            Column("runs", "waiting runs"),
            Column("start", "a start, CPU ns", 0),
            Column("look", "an event that looks, CPU ns", 0),
            Column("ratio", "× the first"),
            Column("events", "events a probe"),
            Column("feed", "feed() of a probe, CPU s", 4),
            Column("keep", "keep() after it, CPU s", 4),
            Column("bytes", "bytes a run, in use", 1),
            Column("allocated", "allocated", 1),
            Column("held", "its held events", 1),
            Column("bar", "bar"),
            Column("reached", "reached"),
            Column("right", "right"),
        ),
        notes=[
            f"Median of {settings.repeat} probes, CPU time inside the kernel. feed() also joins the held events "
            "with the new ones, keep() drops those that no run holds. A start is timed where 100,000 or more were fed.",
            "bytes in use: records of runs, registers, nodes, and all other arrays of the pool that hold something "
            "between events, with their spare room. allocated: all arrays of the pool. held events: columns of the "
            "starts.",
        ],
    )
    schema = pa.schema([("name", pa.string()), ("id", pa.int64())])
    tables = tables_of(pattern(), schema, Options(max_runs=100_000_000))
    Stream(Matcher(tables), np.random.default_rng(0)).start(1)  # loads the kernel
    stream = Stream(Matcher(tables), np.random.default_rng(1))
    sizes = SMALL_SIZES if settings.smoke else SIZES
    cost = 0.0
    for size in sizes:
        if cost and FEWEST * settings.repeat * cost * size / len(stream.ids) > LIMIT:
            section.notes.append(
                f"{size:,} waiting runs and more are left out: at the last row's growth, {FEWEST} events would take "
                f"{FEWEST * cost * size / len(stream.ids):,.0f} s."
            )
            break
        section.rows.append(_measured(stream, size, settings))
        cost = float(section.rows[-1]["look"] or 0) / 1e9
    first, last = section.rows[0], section.rows[-1]
    for row in section.rows:
        row["ratio"] = float(row["look"] or 0) / float(first["look"] or 1)
    last["bar"] = f"≤ {FLAT} ×, ≤ {BYTES} bytes"
    if not settings.smoke:
        is_complete = len(section.rows) == len(sizes)
        last["reached"] = is_complete and float(last["ratio"] or 0) <= FLAT and float(last["bytes"] or 0) <= BYTES
    return section


def _measured(stream: Stream, size: int, settings: Settings) -> dict[str, str | int | float | bool | None]:
    of_start: float | None = None
    while len(stream.ids) < size:
        count = min(PART, size - len(stream.ids))
        seconds = stream.start(count)
        of_start = 1e9 * seconds / count if count >= 100_000 else None
    stream.matcher.keep()
    right, pilot, _ = stream.probe(FEWEST)
    longest = 1_000 if settings.smoke else PROBE
    count = int(min(longest, max(FEWEST, SECONDS * FEWEST / max(pilot, 1e-9))))
    stream.matcher.keep()
    probes = []
    for _ in range(settings.repeat):
        answer, inside, whole = stream.probe(count)
        probes.append((answer, inside, whole, cpu(stream.matcher.keep)[1]))
    fed = count + max(1, count // HITS)
    gc.collect()
    pool, runs = stream.matcher.pool, len(stream.ids)
    return {
        "runs": runs,
        "start": of_start,
        "look": 1e9 * median(inside for _, inside, _, _ in probes) / fed,
        "events": fed,
        "feed": median(whole for _, _, whole, _ in probes),
        "keep": median(kept for _, _, _, kept in probes),
        "bytes": in_use(pool) / runs,
        "allocated": sum(array.nbytes for array in pool) / runs,
        "held": sum(array.nbytes for array in stream.matcher.held) / runs,
        "right": right and all(answer for answer, _, _, _ in probes) and int(pool.slots[0, l.K_LIVE]) >= runs,
    }
