"""One bucket of a stream's keys under a row pattern: pending events, and the rows that can still matter.

In: rows as Spark prepared them, and how far the watermark is. Out: rows of the result. Called by `operator` through
`pending.Bucket`; knows nothing of Spark's state store, but can be written to bytes and read back.

Rows are handled in the order of the clause once the watermark has passed them. The scan of a key stops at the first
row whose match hangs on rows to come (see `engine.kernel.row_patterns`); the rows from there on are kept, and as many
before as PREV reads. A step scans the keys that have new rows, and those whose WITHIN is over: all together, but for
those with many kept rows (`open_rows`), whose searches go on.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.open_scan import can_go_on
from cepheid.engine.row_patterns import Progress
from cepheid.engine.row_values import Mask
from cepheid.engine.tables.row_patterns import rows_read_before
from cepheid.errors import CepheidError
from cepheid.rowpattern.expression import NUMBER, mentions, reads_of
from cepheid.rowpattern.model import PartitionStart, walk
from cepheid.rows.row_order import OrderedRows, in_order
from cepheid.spark.row_workers import RowWork
from cepheid.spark.stream.state.format import read, table_bytes, table_from, written
from cepheid.spark.stream.state.open_rows import OpenRows
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
from cepheid.spark.stream.time import TIME

NUMBER_OF, BEFORE, COVERED, CUT, OPEN, DEADLINE, SIZE = range(7)
"""What is known of a key: the number of its next match; how many of its kept rows come before the next one to start at,
and how many lie in matches; whether earlier rows are gone; whether a start is open; when WITHIN decides it."""
NEVER = np.iinfo(np.int64).max
LONG = 4096
"""From so many rows after the start of an open match on the rows of a key are kept apart."""


@dataclass(frozen=True)
class RowStreamWork(RowWork):
    """What a worker must know of a row pattern on a stream; travels to other processes."""

    shown: tuple[str, ...]
    """The columns that late and rejected rows show."""
    identity: str
    """What must not change as long as the state lives, as JSON text (see `checkpoint.identity`)."""
    is_arrival: bool = False
    on_error: str = "stop"
    """What becomes of rows that the engine cannot handle (see `poison`)."""
    lag_ms: int | None = None
    """How far Spark's watermark is behind the latest event, where that is known (see `time.EventTime.lag_ms`)."""
    start: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Names this start of the query (see `state.store`)."""

    @property
    def within(self) -> int:
        """The time that a match may take, in microseconds; -1 for any."""
        assert self.tables is not None
        return int(self.tables.params[r.P_WITHIN])

    @property
    def forgets(self) -> bool:
        """Whether a key none of whose rows is kept is like a new one."""
        reads_number = any(
            mentions(expression, NUMBER) or any(read.argument and mentions(read.argument, NUMBER) for read in reads)
            for expression in (*self.bound.defines.values(), *(measure.expression for measure in self.bound.measures))
            for reads in (reads_of(expression),)
        )
        has_start = any(isinstance(node, PartitionStart) for node in walk(self.bound.pattern.pattern))
        return not reads_number and not has_start

    @property
    def only_counts(self) -> bool:
        """Rows of the result come out, never counts of matches."""
        return False

    @property
    def shared(self) -> tuple[object, ...]:
        return self, self.tables, self.bound

    def arranged(self, table: pa.Table, codes: Integers, count: int) -> OrderedRows:
        """Rows by the number of their key, then in the order of the clause."""
        return in_order(table, codes, count, self.bound.order_by, by_all_columns=True)

    def new_bucket(self) -> BucketRows:
        """A bucket without keys."""
        return BucketRows(self)

    def saved_bucket(self, saved: bytes, what: str) -> BucketRows:
        """The bucket that was written, for the same row pattern."""
        return BucketRows.from_bytes(self, saved, what)


class BucketRows(PendingEvents):
    """The live state of one bucket."""

    def __init__(self, work: RowStreamWork) -> None:
        super().__init__()
        self.work = work
        self.keys: pa.Array = pa.array([], pa.binary(16))
        """The key of each slot, as its hash."""
        self.slots: Integers = np.zeros((0, SIZE), np.int64)
        self.rows: pa.Table | None = None
        """The kept rows; those of a slot are in their order."""
        self.row_slots: Integers = np.zeros(0, np.int64)
        self.open: dict[int, OpenRows] = {}
        """The slots whose rows are kept apart."""
        self._can_go_on = work.tables is not None and can_go_on(work.tables)
        self._back = rows_read_before(work.bound)
        self._tidy = 0

    @property
    def live_runs(self) -> int:
        """How many keys have a row whose match is still open."""
        return int(self.slots[:, OPEN].sum())

    def advance(self, watermark: int, is_end: bool = False) -> Decided:
        """Handle what the watermark has passed; at the end of the input, everything."""
        due = self.take_due(self.is_due(None if is_end else max(self.watermark, watermark)))
        return Decided(self.step(due, watermark, is_end), None)

    def step(self, due: pa.Table | None, watermark: int, is_end: bool = False) -> pa.Table | None:
        """Handle rows that are due, and let time move on to the watermark."""
        self.watermark = max(self.watermark, watermark)
        self.handled = 0
        slots_of_due = np.zeros(0, np.int64) if due is None else self._slots_of(key_hashes(due))
        touched = np.full(len(self.keys), is_end) | (self.slots[:, DEADLINE] <= self.watermark)
        touched[slots_of_due] = True
        if not touched.any():
            return None
        self.handled = len(slots_of_due)
        found = []
        for slot in [slot for slot in self.open if touched[slot]]:
            new = None if due is None else due.filter(pa.array(slots_of_due == slot))
            found += self._go_on(slot, new, is_end)
            touched[slot] = False
        if due is not None and self.handled:
            is_other = touched[slots_of_due]
            due, slots_of_due = due.filter(pa.array(is_other)), slots_of_due[is_other]
        if touched.any():
            found += self._scan(touched, due, slots_of_due, is_end)
        if is_end:
            self._empty()
        self._forget()
        return pa.concat_tables(found) if found else None

    def _scan(self, touched: Mask, due: pa.Table | None, slots_of_due: Integers, is_end: bool) -> list[pa.Table]:
        """Scan some keys together."""
        rows = self._gathered(touched, due, slots_of_due)
        chosen = np.flatnonzero(touched)
        progress = self._progress(chosen, rows.bounds, is_end)
        try:
            found = self.work.found(rows, progress)
        except CepheidError:
            self._note_stop(rows, progress)
            raise
        self._keep(chosen, rows, progress)
        return [found] if found.num_rows else []

    def _go_on(self, slot: int, due: pa.Table | None, is_end: bool) -> list[pa.Table]:
        """Scan on in the rows of one key, which are kept apart."""
        own, new = self.open.pop(slot), None
        if due is not None and due.num_rows:
            ordered = self.work.arranged(due, np.zeros(due.num_rows, np.int64), 1)
            new = ordered.table.select(own.names)
        try:
            found = own.go_on(new, None if is_end else self.watermark)
        except CepheidError:
            self._note_stop(own.all(), own.scan.progress)
            raise
        scan, chosen = own.scan, np.array([slot])
        if scan.count - scan.start < LONG or 2 * scan.start > scan.count:  # so rows are moved about once each
            self._keep(chosen, own.all(), scan.progress)
        else:
            self.open[slot] = own
            self._note(chosen, np.zeros(1, np.int64), np.array([scan.count]), scan.progress.places, False)
            if self.work.within != r.NO_WITHIN:
                self._note_deadline(chosen, np.array([scan.start_time]))
        return [found] if found is not None and found.num_rows else []

    def catch_up(self, watermark: int) -> None:
        """The same, where what is decided has been told already."""
        self.advance(watermark)

    def deadline(self) -> int | None:
        """The next moment of the watermark at which something may be decided."""
        first = int(self.slots[:, DEADLINE].min(initial=NEVER))
        moments = (self.first_pending(), None if first == NEVER else first)
        return min((moment for moment in moments if moment is not None), default=None)

    # ── rows in, rows kept ───────────────────────────────────────────────────────────────────────────────────────────

    def _slots_of(self, hashes: pa.Array) -> Integers:
        """The slots of some keys, which may be new."""
        slots, self.keys = slots_of(self.keys, hashes)
        new = np.zeros((len(self.keys) - len(self.slots), SIZE), np.int64)
        new[:, NUMBER_OF], new[:, DEADLINE] = 1, NEVER
        self.slots = np.concatenate((self.slots, new))
        return slots

    def _gathered(self, touched: Mask, due: pa.Table | None, slots_of_due: Integers) -> OrderedRows:
        """The kept rows of the touched slots, taken out of the others, and the due ones, in order."""
        number = np.cumsum(touched) - 1
        count = int(touched.sum())
        tables, codes = [], []
        if self.rows is not None:
            is_taken = touched[self.row_slots]
            tables.append(self.rows.filter(pa.array(is_taken)))
            codes.append(number[self.row_slots[is_taken]])
            self.rows, self.row_slots = self.rows.filter(pa.array(~is_taken)), self.row_slots[~is_taken]
        if due is not None:
            new = self.work.arranged(due, number[slots_of_due], count)
            tables.append(new.table.select(tables[0].column_names) if tables else new.table)
            codes.append(np.repeat(np.arange(count), np.diff(new.bounds)))
        table, together = pa.concat_tables(tables), np.concatenate(codes)
        order = np.argsort(together, kind="stable")  # the kept rows of a slot come before its new ones
        bounds = np.concatenate(([0], np.cumsum(np.bincount(together, minlength=count)))).astype(np.int64)
        return OrderedRows(table.take(pa.array(order)).combine_chunks(), bounds)

    def _progress(self, chosen: Integers, bounds: Integers, is_end: bool) -> Progress:
        known, places = self.slots[chosen], np.zeros((len(chosen), r.S_SIZE), np.int64)
        places[:, r.S_START] = bounds[:-1] + known[:, BEFORE]
        places[:, r.S_NUMBER] = known[:, NUMBER_OF]
        places[:, r.S_COVERED] = bounds[:-1] + known[:, COVERED]
        places[:, r.S_CUT] = known[:, CUT]
        return Progress(places, None if is_end else self.watermark)

    def _keep(self, chosen: Integers, rows: OrderedRows, progress: Progress) -> None:
        """Keep the rows that can still matter, and what is known of their keys."""
        begins, ends = rows.bounds[:-1], rows.bounds[1:]
        starts = progress.places[:, r.S_START]
        first = np.maximum(begins, starts - self._back)
        self._note(chosen, first, ends, progress.places, first > begins)
        if self.work.within != r.NO_WITHIN:
            is_open = np.flatnonzero(starts < ends)
            self._note_deadline(chosen[is_open], rows.table[TIME].to_numpy()[starts[is_open]])
        lengths = ends - first
        if self._can_go_on:
            for number in np.flatnonzero(ends - starts >= LONG).tolist():
                kept = rows.table.slice(int(first[number]), int(lengths[number]))
                place = progress.places[number] - int(first[number]) * np.array([1, 0, 1, 0])
                place[[r.S_COVERED, r.S_CUT]] = self.slots[chosen[number], [COVERED, CUT]]
                self.open[int(chosen[number])] = OpenRows(self.work, kept, place)
                lengths[number] = 0
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        kept = rows.table.take(pa.array(np.repeat(first, lengths) + offsets))
        self.rows = kept if self.rows is None else pa.concat_tables([self.rows, kept]).combine_chunks()
        self.row_slots = np.concatenate((self.row_slots, np.repeat(chosen, lengths)))

    def _note(self, chosen: Integers, first: Integers, ends: Integers, places: Integers, is_cut: Mask | bool) -> None:
        """What is known of some keys, whose rows are kept from their first ones on."""
        known = self.slots[chosen]
        known[:, NUMBER_OF] = places[:, r.S_NUMBER]
        known[:, BEFORE] = places[:, r.S_START] - first
        known[:, COVERED] = np.maximum(places[:, r.S_COVERED] - first, 0)
        known[:, CUT] |= is_cut
        known[:, OPEN] = places[:, r.S_START] < ends
        known[:, DEADLINE] = NEVER
        self.slots[chosen] = known

    def _note_deadline(self, chosen: Integers, starts: Integers) -> None:
        """When WITHIN decides the open matches of some keys, which begin at these times."""
        over = starts + self.work.within - 1
        self.slots[chosen, DEADLINE] = np.where(over > self.watermark, over, NEVER)

    def _all_rows(self) -> tuple[pa.Table | None, Integers]:
        """The kept rows of all slots, and the slot of each."""
        if not self.open:
            return self.rows, self.row_slots
        apart = [(slot, own.all().table) for slot, own in self.open.items()]
        tables = [*([] if self.rows is None else [self.rows]), *(table for _, table in apart)]
        slots = [self.row_slots, *(np.full(table.num_rows, slot) for slot, table in apart)]
        return pa.concat_tables(tables).combine_chunks(), np.concatenate(slots)

    def _put_together(self) -> None:
        """Keep no rows apart; searches that are open begin anew."""
        (self.rows, self.row_slots), self.open = self._all_rows(), {}

    def _empty(self) -> None:
        """The input is over: nothing can matter any more."""
        ended = BucketRows(self.work)
        self.keys, self.slots, self.rows, self.row_slots = ended.keys, ended.slots, ended.rows, ended.row_slots
        self.open = {}

    def _forget(self) -> None:
        """Tidy up when there is enough to tidy."""
        if len(self.keys) > 2 * self._tidy + FEW:
            self.tidy()

    def tidy(self) -> None:
        """Forget the keys that would be the same if they began anew."""
        if self.work.forgets:
            needed = np.bincount(self.row_slots, minlength=len(self.keys)) > 0
            needed[list(self.open)] = True
            if not needed.all():
                number = np.cumsum(needed) - 1
                self.row_slots = number[self.row_slots]
                self.open = {int(number[slot]): own for slot, own in self.open.items()}
                self.keys, self.slots = self.keys.filter(pa.array(needed)), self.slots[needed]
        self._tidy = len(self.keys)

    # ── rows that the engine cannot handle ───────────────────────────────────────────────────────────────────────────

    def _note_stop(self, rows: OrderedRows, progress: Progress) -> None:
        if progress.stopped is not None:
            row = rows.table.slice(progress.stopped, 1)
            self.stopped = key_hashes(row)[0].as_py(), int(row[TIME][0].as_py())

    def refuse(self, key: bytes, time: int | None, watermark: int | None) -> tuple[pa.Table, bool]:
        """Take the rows of a key that are due out of those that wait, those of one time or all; with all of them its
        kept rows go, too. Returns what was taken out; where that is nothing, the kept rows, and True."""
        self._put_together()
        shown = list(self.work.shown)
        refused = self.refuse_due(key, time, watermark, self.work.shown)
        if time is None:
            is_held = refused is None or not refused.num_rows
            if self.rows is not None:
                is_own = self._is_of(key)
                if is_held:
                    refused = self.rows.filter(pa.array(is_own)).select(shown)
                self.rows, self.row_slots = self.rows.filter(pa.array(~is_own)), self.row_slots[~is_own]
                for place, value in ((BEFORE, 0), (COVERED, 0), (CUT, 1), (OPEN, 0), (DEADLINE, NEVER)):
                    self.slots[slot_of(self.keys, key), place] = value
            assert refused is not None
            return refused, is_held
        assert refused is not None
        return refused, False

    def named(self, key: bytes) -> str:
        """The key that a hash stands for."""
        self._put_together()
        held = None if self.rows is None else self.rows.filter(pa.array(self._is_of(key)))
        return self.name_of(key, held, self.work.bound.partition_by)

    def _is_of(self, key: bytes) -> Mask:
        """Which of the kept rows are of a key."""
        return np.isin(self.row_slots, slot_of(self.keys, key))

    # ── keys that go to other buckets ────────────────────────────────────────────────────────────────────────────────

    def only(self, is_own: OwnKeys) -> None:
        """Keep only what belongs to some keys."""
        self._put_together()
        stays = is_own(self.keys)
        if self.rows is not None:
            is_kept = stays[self.row_slots]
            self.rows, self.row_slots = self.rows.filter(pa.array(is_kept)), self.row_slots[is_kept]
        self.row_slots = (np.cumsum(stays) - 1)[self.row_slots]
        self.keys, self.slots = self.keys.filter(pa.array(stays)), self.slots[stays]
        self.only_pending(is_own)
        self.tidy()

    def join(self, others: Sequence[BucketRows]) -> None:
        """Take over what others hold, none of whose keys is here (see `pending.Bucket`)."""
        parts = [self, *others]
        before = np.cumsum([0, *(len(one.keys) for one in parts)])
        kept = [one._all_rows() for one in parts]
        self.open = {}
        self.rows = one_after_another([rows for rows, _ in kept])
        self.row_slots = np.concatenate([slots + first for first, (_, slots) in zip(before, kept, strict=False)])
        self.slots = np.concatenate([one.slots for one in parts])
        self.keys = pa.concat_arrays([one.keys for one in parts])
        self.join_pending(others)
        self._tidy = len(self.keys)

    # ── written and read back ────────────────────────────────────────────────────────────────────────────────────────

    def to_bytes(self) -> bytes:
        """All of the bucket, tidied."""
        self.tidy()
        rows, row_slots = self._all_rows()
        tables = [b"" if table is None else table_bytes(table) for table in (rows, self.pending)]
        arrays = [self.slots.tobytes(), row_slots.astype(np.int64).tobytes()]
        return written({"watermark": self.watermark}, [hashes_bytes(self.keys), *arrays, *tables])

    @classmethod
    def from_bytes(cls, work: RowStreamWork, saved: bytes, what: str) -> BucketRows:
        """The bucket that `to_bytes` wrote, for the same row pattern."""
        head, (keys, slots, row_slots, rows, pending) = read(saved, what)
        bucket = cls(work)
        bucket.watermark = head["watermark"]
        bucket.keys = hashes_from(keys)
        bucket.slots = np.frombuffer(slots, np.int64).reshape(-1, SIZE).copy()
        bucket.row_slots = np.frombuffer(row_slots, np.int64).copy()
        bucket.rows = table_from(rows) if rows else None
        bucket.pending = table_from(pending) if pending else None
        bucket._tidy = len(bucket.keys)
        return bucket
