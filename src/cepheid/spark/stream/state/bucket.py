"""One bucket of a stream's keys while it is being worked on: pending events, live runs, and the rows that they hold.

In: rows as Spark prepared them, and how far the watermark is. Out: matches and timeouts as tables. Called by
`operator`; knows nothing of Spark's state store, but can be written to bytes and read back.

An event waits until the watermark has passed it. All events of one time are then there, so they are handled in order,
and the same events give the same results however they came (rule 12).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from cepheid.engine.assignments import Assignments, Integers
from cepheid.engine.counts import Counts, counted
from cepheid.engine.matcher import Matcher, no_assignments
from cepheid.engine.runs.joining import join
from cepheid.engine.runs.live import count_live, events_held, live
from cepheid.engine.runs.snapshot import restore, snapshot
from cepheid.errors import CepheidError
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.assemble import assemble
from cepheid.rows.counts import counts_table, summed_of
from cepheid.spark.keys import HASHES
from cepheid.spark.stream.state.format import read, table_bytes, table_from, written
from cepheid.spark.stream.state.leftovers import NUMBER, Leftovers, LeftoverWork, numbered_after
from cepheid.spark.stream.state.pending import (
    FEW,
    Decided,
    OwnKeys,
    PendingEvents,
    hashes_bytes,
    hashes_from,
    key_hashes,
    one_after_another,
    slot_of,
    slots_of,
)
from cepheid.spark.workers import Work
from cepheid.syntax.tree import SpanUnit

_Fed: TypeAlias = tuple[Assignments | Counts, Assignments]
"""Matches, or how many there are, and timeouts."""
ORDINAL = "__ordinal"


@dataclass(frozen=True)
class StreamWork(Work):
    """What a worker must know of a pattern on a stream; travels to other processes."""

    held: tuple[str, ...]
    """The columns that matches need of the events that they took."""
    shown: tuple[str, ...]
    """The columns that late and rejected rows show."""
    identity: str
    """What must not change as long as the state lives, as JSON text (see `checkpoint.identity`)."""
    is_arrival: bool = False
    """Whether events are handled as they come, at the time of their micro-batch."""
    on_error: str = "stop"
    """What becomes of events that the engine cannot handle (see `poison`)."""
    leftovers: LeftoverWork | None = None
    """What must be known of broken runs and unmatched rows, where they are asked for."""
    lag_ms: int | None = None
    """How far Spark's watermark is behind the latest event, where that is known (see `time.EventTime.lag_ms`)."""
    start: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Names this start of the query. What a worker has in its memory is used by the start that left it there and by no
    other: names, measures, limits or the form of rows may have changed."""

    @property
    def only_counts(self) -> bool:
        """Whether matches are counted instead of built."""
        return self.shape.counts

    @property
    def shared(self) -> tuple[object, ...]:
        """Nothing where leftovers are asked for: the reference evaluator follows broken runs, and its objects stay with
        their worker."""
        return () if self.leftovers is not None else (self, self.tables)

    def new_bucket(self) -> BucketRuns:
        """A bucket without keys."""
        return BucketRuns(self)

    def saved_bucket(self, saved: bytes, what: str) -> BucketRuns:
        """The bucket that was written, for the same pattern."""
        return BucketRuns.from_bytes(self, saved, what)


class BucketRuns(PendingEvents):
    """The live state of one bucket."""

    def __init__(self, work: StreamWork) -> None:
        super().__init__()
        self.work = work
        self.matcher = Matcher(work.tables)
        self.keys: pa.Array = pa.array([], pa.binary(16))
        """The key of each slot, as its hash."""
        self.rows: pa.Table | None = None
        """The rows of the events that the matcher holds, in its order."""
        self.leftovers = None if work.leftovers is None else Leftovers(work.leftovers)
        self._tidy = 0

    @property
    def live_runs(self) -> int:
        """How many partial matches may still come to something."""
        return count_live(self.matcher, self.watermark)

    def advance(self, watermark: int, is_end: bool = False) -> Decided:
        """Handle what the watermark has passed, and let time move on to it; at the end of the input, everything."""
        self.handled = 0
        decided = [self._with_leftovers(self._shown(*self._move(watermark)))]
        if is_end:
            decided.append(self._end())
        self._forget()
        kinds = ("matches", "timeouts", "broken", "unmatched")
        tables = [[table for part in decided if (table := getattr(part, kind)) is not None] for kind in kinds]
        return Decided(*(pa.concat_tables(found) if found else None for found in tables))

    def catch_up(self, watermark: int) -> None:
        """The same, where what is decided has been told already."""
        self._move(watermark)
        self._with_leftovers(Decided(None, None))
        self._forget()

    def _move(self, watermark: int) -> tuple[_Fed | None, tuple[Assignments, Assignments]]:
        self.watermark = max(self.watermark, watermark)
        fed = self._handle(self.is_due(self.watermark))
        moved = self.matcher.advance(self.watermark, self._where_time_stops)
        self._took(fed, moved)
        return fed, moved

    def _end(self) -> Decided:
        """Handle everything that waits: the input is over (rule 10)."""
        fed = self._handle(self.is_due(None))
        moved = self.matcher.end(self._where_time_stops)
        self._took(fed, moved)
        decided = self._with_leftovers(self._shown(fed, moved), is_end=True)
        ended = BucketRuns(self.work)
        self.matcher, self.keys, self.rows, self.pending = ended.matcher, ended.keys, ended.rows, ended.pending
        self.leftovers = ended.leftovers
        return decided

    def _took(self, fed: _Fed | None, moved: tuple[Assignments, Assignments]) -> None:
        """Matches took these rows, so that they are not unmatched."""
        if self.leftovers is not None and self.rows is not None:
            for found in (moved[0],) if fed is None else (fed[0], moved[0]):
                assert isinstance(found, Assignments)
                self.leftovers.take(self.rows[NUMBER].take(pa.array(np.unique(found.row), pa.int64())))

    def _with_leftovers(self, decided: Decided, is_end: bool = False) -> Decided:
        """With the broken runs and unmatched rows that are decided by now."""
        if self.leftovers is None:
            return decided
        try:
            left = self.leftovers.end() if is_end else self.leftovers.advance(self.watermark)
        except CepheidError:
            self.stopped = self.leftovers.at
            raise
        return replace(decided, broken=left.broken, unmatched=left.unmatched)

    def refuse(self, key: bytes, time: int | None, watermark: int | None) -> tuple[pa.Table, bool]:
        """Take the events of a key that are due out of those that wait, those of one time or all; with all of them its
        partial matches go, too. Returns what was taken out; where that is nothing, what the partial matches held, and
        True."""
        refused = self.refuse_due(key, time, watermark, self.work.shown)
        if time is None:
            slots = slot_of(self.keys, key)
            is_held = refused is None or not refused.num_rows
            if is_held:
                held = self._held_by(slots)
                refused = held.select(list(self.work.shown))
            if self.leftovers is not None:
                self.leftovers.drop(key)
                if is_held:  # rejected rows are not unmatched as well
                    self.leftovers.take(held[NUMBER])
            self.matcher.drop(slots)
            return refused, is_held
        assert refused is not None
        return refused, False

    def _held_by(self, slots: Integers) -> pa.Table:
        runs, their_slots = live(self.matcher, self.watermark)
        held = events_held(self.matcher, runs[np.isin(their_slots, slots)])
        assert self.rows is not None
        return self.rows.take(pa.array(held, pa.int64()))

    def deadline(self) -> int | None:
        """The next moment of the watermark at which something may be decided."""
        left = None if self.leftovers is None else self.leftovers.deadline()
        moments = (self.matcher.deadline(), self.first_pending(), left)
        return min((moment for moment in moments if moment is not None), default=None)

    def _handle(self, is_due: pa.Array | pa.ChunkedArray | None) -> _Fed | None:
        """Feed the events that are due to the engine."""
        due = self.take_due(is_due)
        if due is None:
            return None
        events = arrange(due, self.work.partition_by, self.work.order_by, by_all_columns=True)
        bounds = events.bounds
        hashes = key_hashes(events.taken(HASHES, bounds[:-1]))
        slots, self.keys = slots_of(self.keys, hashes)
        columns = self.matcher.computed_columns(events.time, self.work.bits(events), self.work.values(events))
        rows = events.taken(self.work.held, np.arange(due.num_rows))
        rows = rows.append_column(ORDINAL, pa.array(events.ordinals))
        if self.leftovers is not None:
            numbers = self.leftovers.numbers(due.num_rows)
            rows = rows.append_column(NUMBER, numbers)
        self.rows = rows if self.rows is None else pa.concat_tables([self.rows, rows.select(self.rows.column_names)])
        before = len(self.matcher.held.time)

        def where(part: int, row: int) -> str:
            place = max(0, row - before)
            self.stopped = hashes[part].as_py(), int(events.time[place])
            return events.where(part, place)

        self.handled += due.num_rows
        if self.leftovers is not None:
            try:
                self.leftovers.handle(events, numbers, hashes)
            except CepheidError:
                self.stopped = self.leftovers.at
                raise
        if self.work.shape.counts:
            summed = summed_of(self._arranged(self.rows), self.work.shape.summaries)
            return self.matcher.count(columns, bounds, slots, summed, where), no_assignments()
        return self.matcher.feed(columns, bounds, slots, where)

    def _where_time_stops(self, slot: int, event: int) -> str:
        """What an error says of the place where the engine stops while time moves on. It is in the midst of the key's
        runs then: `named` says whose they are, of the bucket as it was before."""
        self.stopped = self.keys[slot].as_py(), None
        return "as time moves on"

    def named(self, key: bytes) -> str:
        """The key that a hash stands for."""
        held = None if self.rows is None else self._held_by(slot_of(self.keys, key))
        return self.name_of(key, held, self.work.partition_by)

    def _shown(self, fed: _Fed | None, moved: tuple[Assignments, Assignments]) -> Decided:
        timeouts = self._assembled(_together(fed and fed[1], moved[1])) if self.work.timeouts else None
        if not self.work.shape.counts:
            found = None if fed is None else fed[0]
            assert not isinstance(found, Counts)
            return Decided(self._assembled(_together(found, moved[0])), timeouts)
        tables = [self._counted(part) for part in ((moved[0],) if fed is None else (fed[0], moved[0]))]
        counts = [table for table in tables if table is not None]
        return Decided(pa.concat_tables(counts) if counts else None, timeouts)

    def _counted(self, found: Assignments | Counts) -> pa.Table | None:
        """Matches as counts."""
        if not len(found.at):
            return None
        assert self.rows is not None
        rows, summaries = self._arranged(self.rows), self.work.shape.summaries
        counts = found
        if isinstance(counts, Assignments):
            counts = counted(counts, summed_of(rows, summaries), by_moment=True)
        return counts_table(rows, counts, summaries, with_moment=True)

    def _assembled(self, found: Assignments) -> pa.Table | None:
        """Matches or timeouts as a table; only the rows that they took are looked at."""
        if not len(found.at):
            return None
        assert self.rows is not None
        is_needed = np.zeros(self.rows.num_rows, bool)
        is_needed[found.row] = True
        rows = self.rows.take(pa.array(np.flatnonzero(is_needed))).combine_chunks()
        found = replace(found, row=(np.cumsum(is_needed) - 1)[found.row])
        return assemble(self._arranged(rows), found, replace(self.work.shape, counts=False))

    def _arranged(self, rows: pa.Table) -> Arranged:
        """Held rows in the form that tables are made of."""
        nothing = np.zeros(rows.num_rows, np.int64)
        ordinals = rows[ORDINAL].to_numpy(zero_copy_only=False)
        work = self.work
        return Arranged(
            rows, work.partition_by, work.order_by, nothing, nothing, SpanUnit.MICROSECOND, ordinals=ordinals
        )

    def _forget(self) -> None:
        """Tidy up when there is enough to tidy: rows that nothing holds, keys that need not be remembered."""
        if len(self.matcher.held.time) + len(self.keys) > 2 * self._tidy + FEW:
            self.tidy()

    def tidy(self) -> None:
        """Forget the rows that nothing holds and the keys that would be the same if they began anew."""
        stays, kept = self.matcher.tidy(self.watermark)
        self.keys = self.keys.filter(pa.array(stays))
        if self.rows is not None:
            self.rows = self.rows.take(pa.array(kept)).combine_chunks()
        self._tidy = len(kept) + len(self.keys)

    def only(self, is_own: OwnKeys) -> None:
        """Keep only what belongs to some keys."""
        stays = is_own(self.keys)
        self.matcher.only(stays)
        self.keys = self.keys.filter(pa.array(stays))
        self.only_pending(is_own)
        if self.leftovers is not None:
            self.leftovers.only(is_own)
        self.tidy()

    def join(self, others: Sequence[BucketRuns]) -> None:
        """Take over what others hold, none of whose keys is here (see `pending.Bucket`)."""
        rows = [self.rows]
        for other in others:
            held = other.rows
            if self.leftovers is not None and other.leftovers is not None:
                before = self.leftovers.join(other.leftovers)
                held = None if held is None else numbered_after(held, before)
            rows.append(held)
        self.rows = one_after_another(rows)
        parts = [self, *others]
        self.matcher = join(Matcher(self.work.tables), [one.matcher for one in parts])
        self.keys = pa.concat_arrays([one.keys for one in parts])
        self.join_pending(others)
        self._tidy = len(self.matcher.held.time) + len(self.keys)

    def to_bytes(self) -> bytes:
        """All of the bucket, tidied."""
        self.tidy()
        head = {"watermark": self.watermark, "keys": len(self.keys)}
        tables = [b"" if table is None else table_bytes(table) for table in (self.rows, self.pending)]
        left = [] if self.leftovers is None else [self.leftovers.to_bytes()]
        return written(head, [snapshot(self.matcher), hashes_bytes(self.keys), *tables, *left])

    @classmethod
    def from_bytes(cls, work: StreamWork, saved: bytes, what: str) -> BucketRuns:
        """The bucket that `to_bytes` wrote, for the same pattern."""
        head, (runs, keys, rows, pending, *left) = read(saved, what)
        bucket = cls(work)
        bucket.matcher = restore(Matcher(work.tables), runs)
        bucket.keys = hashes_from(keys)
        bucket.rows = table_from(rows) if rows else None
        bucket.pending = table_from(pending) if pending else None
        bucket.watermark = head["watermark"]
        if work.leftovers is not None:
            bucket.leftovers = Leftovers.from_bytes(work.leftovers, left[0], what)
        bucket._tidy = len(bucket.matcher.held.time) + len(bucket.keys)
        return bucket


def _together(one: Assignments | None, other: Assignments) -> Assignments:
    if one is None:
        return other
    return Assignments(
        np.concatenate((one.match, other.match + len(one.at))),
        np.concatenate((one.variable, other.variable)),
        np.concatenate((one.row, other.row)),
        np.concatenate((one.at, other.at)),
    )
