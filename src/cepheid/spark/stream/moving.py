"""Another number of buckets for the state of a stream that has been stopped: keys move, and the stream goes on.

In: a plan, the checkpoint that it has written, how many buckets it is to have. Out: lines of the control source (see
`control`), which the next micro-batch reads: the parts that the new buckets are made of. Called by `found` and by the
command line.

Source offsets, numbers of micro-batches and the watermark stay as they are, so nothing is read again, lost or doubled:
the lines are read once, and are replayed with their micro-batch. A key has its bucket by `hash mod buckets`. Each old
bucket is divided by the new number, and each new one is made of the parts that it gets: one if the new number is a
multiple of the old one, more otherwise. No two buckets have a key in common, so what they hold lies side by side.

What is written, in this order, so that a change which was interrupted is repeated or refused:

* `moving`: what the state will belong to. As long as it is there, no query starts;
* `control`: one file with a line `moved NAME BUCKET CELL` for each piece of a part of a new bucket;
* `identity`: with the new buckets; then `moving` is emptied.

When the buckets may be changed is said by `_refuse`, and nowhere else.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from cepheid.errors import InputError, StateError
from cepheid.spark.buckets import spread_ids
from cepheid.spark.shipping import mapped
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import MOVED, Checkpoint, Moving
from cepheid.spark.stream.query import refuse_another
from cepheid.spark.stream.state.moved import cells_of
from cepheid.spark.stream.state.pending import BucketWork, first_words
from cepheid.spark.stream.state.saved import heads, saved_buckets, saved_rows
from cepheid.spark.stream.state.store import BucketStore, owner_of


class MovablePlan(Protocol):
    """A plan as it is asked here."""

    @property
    def has_columns(self) -> tuple[bool, ...]:
        """For each key of the state, whether it has any columns: otherwise all rows are in its first bucket."""

    def reading(self, place: Checkpoint, saved: Identity) -> MovablePlan:
        """The plan that reads what the checkpoint holds."""

    def identity(self, timeouts: bool) -> Identity: ...
    def work_on_state(self, timeouts: bool) -> BucketWork[Any]: ...


@dataclass(frozen=True)
class Layout:
    """Which bucket a key belongs to, before or after a change. Each key of a state has as many buckets."""

    buckets: tuple[int, ...]
    has_columns: tuple[bool, ...]

    @property
    def of_a_key(self) -> int:
        """How many buckets each key has."""
        return len(self.buckets) // len(self.has_columns)

    def place(self, bucket: int) -> tuple[int, int]:
        """The key that a bucket belongs to, and its place among the buckets of that key."""
        return divmod(self.buckets.index(bucket), self.of_a_key)

    def parts(self, after: Layout, known: Collection[int]) -> dict[int, tuple[int, ...]]:
        """For each bucket whose state changes, the old ones that have a part of it; `known`: those that have state."""
        common, found = gcd(self.of_a_key, after.of_a_key), {}
        for bucket in after.buckets:
            key, place = after.place(bucket)
            own = self.buckets[key * self.of_a_key :][: self.of_a_key]
            first, step = (place % common, common) if self.has_columns[key] else (place, self.of_a_key)
            own = own[first::step]
            found[bucket] = tuple(number for number in own if number in known)
        emptied = {bucket: () for bucket in self.buckets if bucket in known}
        return {bucket: parts for bucket, parts in (emptied | found).items() if parts or bucket in known}


@dataclass(frozen=True)
class Divide:
    """Divides the buckets of some rows of saved state; travels to other processes."""

    work: BucketWork[Any]
    """As the state was written."""
    after: Layout
    parts: Mapping[int, tuple[int, ...]]
    """The old buckets that each new one is made of; of those that are to be empty, none."""
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for number, values in saved_buckets(rows).items():
            bucket = BucketStore(values, self.work).load(number)[1]
            if bucket.awaits_history:
                raise StateError(
                    "a history was brought to rules of this checkpoint, and no micro-batch has read it.\n"
                    f"  {_START_ONCE}; then change the buckets."
                )
            whole = bucket.to_bytes()
            for target, sources in self.parts.items():
                if number in sources:
                    yield self._lines(target, self._part(whole, target, number), number)
            if not self.parts.get(number, (number,)):  # so that nothing is there twice
                yield self._lines(number, self.work.new_bucket().to_bytes(), number)

    def _part(self, whole: bytes, target: int, number: int) -> bytes:
        part = self.work.saved_bucket(whole, f"the state of bucket {number}")
        key, place = self.after.place(target)
        if self.after.has_columns[key]:
            part.only(lambda hashes: np.mod(first_words(hashes), self.after.of_a_key) == place)
        saved: bytes = part.to_bytes()
        return saved

    def _lines(self, target: int, part: bytes, number: int) -> pa.RecordBatch:
        cells = cells_of(part, number, max(1, len(self.parts[target])))
        lines = [f"{MOVED}{self.name} {target} {base64.b64encode(cell).decode()}" for cell in cells]
        return pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], ["value"])


def migrate(plan: MovablePlan, place: Checkpoint, buckets: int) -> Identity:
    """Let the state of a stopped query have so many buckets, for each of its keys; returns what it belongs to now."""
    refuse_another(place.session, place)
    begun = place.moving()
    saved = place.identity() if begun is None else begun.before
    plan = plan.reading(place, saved)
    saved.refuse_difference(plan.identity(saved.timeouts))
    if begun is not None and begun.buckets != buckets:
        raise StateError(
            f"a change of {place.path!r} to {begun.buckets} buckets was begun and not finished.\n"
            f"  Finish it first, with the same number; then change to {buckets}."
        )
    before = Layout(saved.buckets, plan.has_columns)
    if begun is None:
        _refuse(before, place, buckets)
        if buckets == before.of_a_key:
            return saved
        ids = spread_ids(buckets * len(plan.has_columns), _partitions(place))
        begun = Moving(uuid.uuid4().hex, saved, replace(saved, buckets=ids), buckets)
        place.keep_moving(begun)
    if not place.has_moved(begun.name):
        after = Layout(begun.after.buckets, plan.has_columns)
        parts = before.parts(after, _owners(place))
        divide = Divide(plan.work_on_state(saved.timeouts), after, parts, begun.name)
        rows = saved_rows(place.session, place.path).repartition(len(saved.buckets), "bucket")
        try:
            place.move(mapped(rows, divide, "value string"))
        except Exception:  # state that cannot be read, a full disk: the query may go on as it was
            if not place.has_moved(begun.name):
                place.moved()
            raise
    place.keep_identity(begun.after)
    place.moved()
    return begun.after


_START_ONCE = 'Start the query once more as it was, with trigger="available now", and let it end'


def _refuse(before: Layout, place: Checkpoint, buckets: int) -> None:
    """Refuse what cannot be changed, or not now.

    Beside this, a history that was brought to rules must have been read (`Divide`): it lies ready for the old buckets.
    """
    place.refuse_over()
    if buckets < 1:
        raise InputError(f"buckets={buckets} is not a number of buckets.\n  Give 8, for example.")
    if not any(before.has_columns):
        raise InputError("without partition_by all rows are in one bucket.\n  There is nothing to divide.")
    planned, done = place.last_planned(), place.last_batch()
    owners = {} if done is None else _owners(place)
    if not owners:
        what = "committed" if done is None else "kept"
        raise StateError(
            f"nothing has been {what} in {place.path!r} yet.\n  Start with a new checkpoint and buckets={buckets}."
        )
    if planned != done:
        raise StateError(
            f"the last micro-batch of {place.path!r} was begun and not finished ({planned}, committed: {done}).\n"
            f"  {_START_ONCE}; then change the buckets."
        )
    if any(owner.buckets != before.buckets for owner in owners.values()):
        raise StateError(
            f"the buckets of {place.path!r} were changed before, and no micro-batch has run since.\n"
            '  Start the query once, with trigger="available now" for instance; then change them again.'
        )


def _owners(place: Checkpoint) -> dict[int, Identity]:
    """The buckets that have state, and what it belongs to."""
    rows = heads(place.session, place.path).collect()
    return {row["bucket"]: owner_of(bytes(row["value"]), row["bucket"]) for row in rows}


def _partitions(place: Checkpoint) -> int:
    """How many partitions Spark keeps the state in: as many as at the first start."""
    stores: Any = place.session.read.format("state-metadata").load(place.path)
    [(partitions,)] = stores.agg(F.max("numPartitions")).collect()
    return int(partitions)
