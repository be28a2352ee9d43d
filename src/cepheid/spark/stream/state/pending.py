"""What every bucket of a stream's keys has: the events that wait for the watermark, and what the others ask of it.

In: rows as Spark prepared them, and how far the watermark is. Out: the rows that are due. `BucketRuns` keeps the
partial matches of a pattern beside them, `BucketRows` the open rows of a row pattern; the operator and the store know a
`Bucket`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Integers
from cepheid.spark.keys import HASHES
from cepheid.spark.stream.time import NO_WATERMARK, TIME

FEW = 1_024
"""Held rows below this number are not worth tidying."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided in one step; None where there is nothing."""

    matches: pa.Table | None
    timeouts: pa.Table | None
    broken: pa.Table | None = None
    unmatched: pa.Table | None = None


OwnKeys: TypeAlias = Callable[[pa.Array], npt.NDArray[np.bool_]]
"""Says of the hashes of keys which of them are meant."""


class Bucket(Protocol):
    """A bucket as the operator and the store know it, and whatever moves keys to other buckets.

    `only` keeps what belongs to some keys. `join` takes over what others hold, none of whose keys it has. Their
    watermarks may differ, and the later one holds from then on. So what the others have may be due, and nothing may be
    forgotten before the next `advance` has handled it; that is to be the next call.
    """

    watermark: int
    handled: int
    """How many events the last `advance` has handled."""
    stopped: tuple[bytes, int | None] | None
    """Where the engine stopped with an error: the key's hash, and the time of the event if it was at one."""

    @property
    def pending_events(self) -> int: ...
    @property
    def live_runs(self) -> int: ...
    def receive(self, events: pa.Table) -> None: ...
    def advance(self, watermark: int, is_end: bool = False) -> Decided: ...
    def catch_up(self, watermark: int) -> None: ...
    def deadline(self) -> int | None: ...
    def refuse(self, key: bytes, time: int | None, watermark: int | None) -> tuple[pa.Table, bool]: ...
    def named(self, key: bytes) -> str: ...
    def to_bytes(self) -> bytes: ...
    @property
    def awaits_history(self) -> bool: ...
    def only(self, is_own: OwnKeys, /) -> None: ...
    def join(self, others: Sequence[Self], /) -> None: ...


AnyBucket = TypeVar("AnyBucket", bound=Bucket)
Made = TypeVar("Made", bound=Bucket, covariant=True)


class BucketWork(Protocol[Made]):
    """What the operator and the store must know; travels to other processes. `shared` is what buckets refer to and
    every worker has, itself among it; empty if buckets are not left to other workers as they are (see `whole`)."""

    @property
    def shown(self) -> tuple[str, ...]: ...
    @property
    def identity(self) -> str: ...
    @property
    def is_arrival(self) -> bool: ...
    @property
    def lag_ms(self) -> int | None: ...
    @property
    def on_error(self) -> str: ...
    @property
    def start(self) -> str: ...
    @property
    def only_counts(self) -> bool: ...
    @property
    def shared(self) -> tuple[object, ...]: ...
    def new_bucket(self) -> Made: ...
    def saved_bucket(self, saved: bytes, what: str) -> Made: ...


class PendingEvents:
    """The events of a bucket that wait for the watermark."""

    def __init__(self) -> None:
        self.pending: pa.Table | None = None
        self.watermark = NO_WATERMARK
        self.handled = 0
        self.stopped: tuple[bytes, int | None] | None = None

    @property
    def pending_events(self) -> int:
        return 0 if self.pending is None else int(self.pending.num_rows)

    def receive(self, events: pa.Table) -> None:
        """Let further events wait for the watermark."""
        if self.pending is not None:  # another start of the query may name the columns in another order
            events = pa.concat_tables([self.pending, events.select(self.pending.column_names)])
        self.pending = events

    def is_due(self, watermark: int | None) -> pa.Array | pa.ChunkedArray | None:
        """Which of the pending events are to be handled; no watermark: all of them."""
        if self.pending is None:
            return None
        return pa.repeat(True, len(self.pending)) if watermark is None else pc.less_equal(self.pending[TIME], watermark)

    def take_due(self, is_due: pa.Array | pa.ChunkedArray | None) -> pa.Table | None:
        """Take the events that are due out of those that wait; None if there are none."""
        if is_due is None or not pc.any(is_due).as_py():
            return None
        assert self.pending is not None
        due = self.pending.filter(is_due).combine_chunks()
        self.pending = self.pending.filter(pc.invert(is_due)).combine_chunks()
        return due

    def first_pending(self) -> int | None:
        """The time of the first event that waits."""
        if not self.pending_events:
            return None
        assert self.pending is not None
        time: int = pc.min(self.pending[TIME]).as_py()
        return time

    @property
    def awaits_history(self) -> bool:
        """Whether a history has been brought that no micro-batch has read."""
        return False

    def join_pending(self, others: Sequence[PendingEvents]) -> None:
        """Let the events of others wait, too; time is where it is in the latest of them."""
        self.pending = one_after_another([self.pending, *(one.pending for one in others)])
        self.watermark = max(self.watermark, *(one.watermark for one in others))

    def only_pending(self, is_own: OwnKeys) -> None:
        """Let only the events of some keys wait."""
        if self.pending is not None:
            self.pending = self.pending.filter(pa.array(is_own(key_hashes(self.pending)))).combine_chunks()

    def refuse_due(
        self, key: bytes, time: int | None, watermark: int | None, shown: tuple[str, ...]
    ) -> pa.Table | None:
        """Take the events of a key that are due out of those that wait, those of one time or all."""
        is_due = self.is_due(None if watermark is None else max(self.watermark, watermark))
        if self.pending is None or is_due is None:
            return None
        is_meant = pc.and_(is_due, _is_of(key, key_hashes(self.pending)))
        if time is not None:
            is_meant = pc.and_(is_meant, pc.equal(self.pending[TIME], time))
        refused = self.pending.filter(is_meant).select(list(shown))
        self.pending = self.pending.filter(pc.invert(is_meant)).combine_chunks()
        return refused

    def name_of(self, key: bytes, held: pa.Table | None, partition_by: tuple[str, ...]) -> str:
        """How an error calls a key: by the key columns of one of the rows that are held of it, or of one that waits."""
        waiting = self.pending
        if waiting is not None:
            waiting = waiting.filter(_is_of(key, key_hashes(waiting)))
        for rows in (held, waiting):
            if rows is not None and rows.num_rows and partition_by:
                [row] = rows.select(list(partition_by)).slice(0, 1).to_pylist()
                return ", ".join(f"{name} = {value!r}" for name, value in row.items())
        return "all events"


def one_after_another(tables: Sequence[pa.Table | None]) -> pa.Table | None:
    """The rows of all tables, None if there are none. A column that one does not have is NULL there: another start of
    the query may name columns in another order, another set of rules may have brought other columns."""
    there = [table for table in tables if table is not None]
    return pa.concat_tables(there, promote_options="default") if there else None


def key_hashes(rows: pa.Table) -> pa.Array:
    """The 128-bit hash of each row's key: keys are taken for equal if these are."""
    words = np.stack([rows[name].to_numpy() for name in HASHES], axis=1)
    return pa.Array.from_buffers(pa.binary(16), rows.num_rows, [None, pa.py_buffer(np.ascontiguousarray(words))])


def first_words(hashes: pa.Array) -> Integers:
    """The first half of each hash, which says the bucket of a key."""
    words: Integers = np.frombuffer(hashes_bytes(hashes), np.int64).reshape(-1, 2)[:, 0]
    return words


def hashes_bytes(hashes: pa.Array) -> bytes:
    """Hashes of keys as bytes."""
    if not len(hashes):
        return b""
    buffer = hashes.buffers()[1]
    return bytes(buffer[16 * hashes.offset : 16 * (hashes.offset + len(hashes))])


def hashes_from(saved: bytes) -> pa.Array:
    """The hashes that `hashes_bytes` wrote."""
    return pa.Array.from_buffers(pa.binary(16), len(saved) // 16, [None, pa.py_buffer(saved)])


def slots_of(keys: pa.Array, hashes: pa.Array) -> tuple[Integers, pa.Array]:
    """The slots of some keys, where each slot has one of `keys`; and the keys of all slots, those that are new last.

    All keys are looked up among those that come, not the other way round: there may be many more of them, and what is
    looked up in is hashed anew for each call. With half a million keys that takes a sixth of the time."""
    came = hashes.dictionary_encode()
    places = pc.index_in(keys, value_set=came.dictionary)
    slots = np.full(len(came.dictionary), -1, np.int64)
    slots[places.drop_null().to_numpy()] = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False))
    is_new = slots < 0
    if is_new.any():
        slots[is_new] = len(keys) + np.arange(np.count_nonzero(is_new))
        keys = pa.concat_arrays([keys, came.dictionary.filter(pa.array(is_new))])
    return slots[came.indices.to_numpy()], keys


def slot_of(keys: pa.Array, key: bytes) -> Integers:
    """The slot of a key, if it has one."""
    found: Integers = pc.indices_nonzero(_is_of(key, keys)).to_numpy()
    return found.astype(np.int64)


def _is_of(key: bytes, hashes: pa.Array) -> pa.Array:
    return pc.equal(hashes, pa.scalar(key, pa.binary(16)))
