"""How a bucket is kept in Spark's state store, at a cost that follows what a micro-batch brings.

In: the values of a bucket in Spark's state store (`values`). Out: the live bucket, as it was when the last micro-batch
was committed. Called by `operator`, and by `reader` with a checkpoint that is only read.

What is kept of a bucket:

* a *base*: all of the bucket at some moment;
* a *journal*: the events that came since, one entry for each step. Handling them anew gives the bucket as it is, since
  what the engine does depends on events and time only, not on how they are split into steps;
* a *head*: how far the watermark is, which entries count, the next timer, and what the state belongs to.

A step writes the events that it brings and the head, nothing else. When the journal has grown larger than the base, or
long, a new base is written and the journal begins anew; so each byte of state is written about once for each byte of
input.

The live bucket itself stays in the worker's memory for the next step. Each step gets a name of its own, which is kept
in head and journal: a bucket in memory is used only if the same start of the query left it there, and if its last step
is the one that Spark has committed or the entries of the steps since are all there, with the worker's neighbours
(`neighbours`), who may have left all of the bucket, or in the journal. Otherwise it is read anew. So memory never
decides what a result is.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, cast

import pyarrow as pa

from cepheid.errors import StateError
from cepheid.spark.cells import LIGHT, joined, opened
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.state import neighbours
from cepheid.spark.stream.state.format import length_of, read, written
from cepheid.spark.stream.state.moved import parts_of, put_together
from cepheid.spark.stream.state.neighbours import Left, Step, is_worth_leaving
from cepheid.spark.stream.state.pending import AnyBucket, Bucket, BucketWork
from cepheid.spark.stream.state.values import BASE, HEAD, Values
from cepheid.spark.stream.state.whole import Whole
from cepheid.spark.stream.time import REASON

PIECE = LIGHT
"""Bytes of a base or an entry at one place of the state store."""
_OF_HEAD = (HEAD, 0)
SMALL_JOURNAL = 16 << 20
"""Bytes: a journal up to this size is not worth a new base, unless it has too many steps."""
SHORT_JOURNAL = 32
"""Steps of a journal up to which that holds: with more, it gives way to a base as soon as it has more bytes."""
LONG_JOURNAL = 512
"""Steps of any journal: to read a bucket anew asks the state store for each, however small they are."""
COUNTED = 64 << 20
"""Bytes of base and journal up to which live runs are counted in each step. Counting half a million takes longer than a
step that touches few of them."""
SELDOM = 16
"""Steps after which they are counted where there is more."""
REMEMBERED = 1 << 30
"""Bytes of base and journal whose buckets one worker keeps in its memory."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the state store says of a bucket, beside its base and its journal."""

    birth: str
    """Given when the bucket was first written: tells it from the same bucket of another query."""
    step: int
    name: str
    """The name of the last step."""
    watermark: int
    base_step: int
    base_bytes: int
    journal_bytes: int
    timer: int | None
    """When the bucket is to be looked at next, in milliseconds."""
    ended: bool
    runs: int
    """Live runs and pending events after this step: counts say by how much they have changed since. In a large state,
    the runs when they were counted last."""
    pending: int

    @property
    def last(self) -> Step:
        """The last step."""
        return Step(self.birth, self.step, self.name)


@dataclass(frozen=True, slots=True)
class Saved:
    """What a step has written."""

    head: Head
    state_bytes: int
    """Base and journal."""
    written_bytes: int


@dataclass(frozen=True, slots=True)
class _Remembered:
    start: str
    last: Step
    bucket: Any
    """Of the kind that the start of the query works with."""
    size: int


_MEMORY: OrderedDict[str, _Remembered] = OrderedDict()
"""Live buckets of this worker by their birth, the least recently used first."""


class BucketStore(Generic[AnyBucket]):
    """Reads and writes the bucket that the values speak of."""

    def __init__(self, values: Values, work: BucketWork[AnyBucket]) -> None:
        self.values, self.work = values, work

    def load(self, bucket_id: int) -> tuple[Head, AnyBucket]:
        """The bucket as it was committed last, or an empty one."""
        saved = self.values.getValue(_OF_HEAD)
        if saved is None:
            return _unborn(), self.work.new_bucket()
        head = head_of(bytes(saved[0]), bucket_id, self.work.identity)
        return head, self._remembered(head, bucket_id) or self.restored(head, bucket_id)

    def taken_over(self, bucket_id: int, moved: list[bytes]) -> tuple[Head, Callable[[], AnyBucket]]:
        """The head of a bucket whose state is replaced by parts of others (see `moving`), and what makes the new one;
        `save` it anew."""
        saved = self.values.getValue(_OF_HEAD)
        head = _unborn() if saved is None else head_of(bytes(saved[0]), bucket_id)
        what = f"what was moved to bucket {bucket_id}"
        parts = parts_of(moved, what)
        return dataclasses.replace(head, birth=uuid.uuid4().hex), lambda: put_together(self.work, parts, what)

    def save(
        self,
        head: Head,
        bucket: AnyBucket,
        brought: Sequence[bytes],
        timer: int | None,
        ended: bool,
        anew: bool = False,
    ) -> Saved:
        """Write one step; `brought` are its events, as cells or as Arrow IPC. `anew`: handling the journal once more
        would not give the bucket as it is, so that a base must be written."""
        step, name = head.step + 1, uuid.uuid4().hex
        names = {"name": name, "previous": head.name}
        entry = written(names, brought)
        base_step, base_bytes = head.base_step, head.base_bytes
        journal_bytes = head.journal_bytes + len(entry)
        size = len(entry)
        steps = step - base_step
        small = SMALL_JOURNAL if steps <= SHORT_JOURNAL else 0
        is_large = journal_bytes > max(small, base_bytes) or steps > LONG_JOURNAL
        if is_large or ended or anew:
            base = bucket.to_bytes()
            self.values.clear()
            self._write(BASE, base)
            base_step, base_bytes, journal_bytes, size = step, len(base), 0, len(base)
        is_counted = ended or anew or base_bytes + journal_bytes <= COUNTED or step % SELDOM == 0
        kept = entry if journal_bytes else written(names, [])  # a new base has what the step brought
        self._write(step, kept)
        new = Head(
            head.birth,
            step,
            name,
            bucket.watermark,
            base_step,
            base_bytes,
            journal_bytes,
            timer,
            ended,
            bucket.live_runs if is_counted else head.runs,
            bucket.pending_events,
        )
        saved_head = written(dataclasses.asdict(new), [self.work.identity.encode()])
        self.values.updateValue(_OF_HEAD, (saved_head,))
        if not ended:
            self._leave(new, head.name, bucket, entry, not anew)
        _remember(self.work.start, new, bucket)
        return Saved(new, base_bytes + journal_bytes, size + len(saved_head))

    def _leave(self, head: Head, previous: str, bucket: AnyBucket, entry: bytes, can_be_replayed: bool) -> None:
        """Leave the step that has just been written for the workers beside this one: all of the bucket, or what it
        brought."""
        if neighbours.PLACE is None:
            return
        if self.work.shared and is_worth_leaving(head.base_bytes, len(entry)):
            whole = Whole(bucket, self.work.shared)
            if is_worth_leaving(whole.size, len(entry)):
                neighbours.leave_whole(head.last, previous, self.work.start, whole)
                return
        if can_be_replayed:
            neighbours.leave_entry(head.last, entry)

    def _remembered(self, head: Head, bucket_id: int) -> AnyBucket | None:
        """The live bucket of this worker, or of one beside it, with the steps that others have done since; None if
        there is none of use."""
        kept = _MEMORY.pop(head.birth, None)
        if kept is not None and kept.start != self.work.start:
            kept = None
        if kept is not None and kept.last == head.last:
            return cast(AnyBucket, kept.bucket)
        left = neighbours.since(None if kept is None else kept.last, head.last, self.work.start)
        if left is None:
            if kept is None or not self._is_in_journal(kept.last, head, bucket_id):
                return None
            left = Left(self._brought(kept.last.number + 1, head, bucket_id))
        if left.whole is not None:
            bucket: AnyBucket = left.whole.bucket(self.work.shared)
        else:
            assert kept is not None
            bucket = kept.bucket
        if left.brought:
            _replay(bucket, left.brought, head.watermark)
        return bucket

    def _is_in_journal(self, step: Step, head: Head, bucket_id: int) -> bool:
        """Whether the journal has this step, and so all after it."""
        is_there = head.base_step <= step.number < head.step
        return is_there and bool(self._entry(step.number, bucket_id)[0]["name"] == step.name)

    def restored(self, head: Head, bucket_id: int) -> AnyBucket:
        """The bucket as it was committed last, read from the store."""
        bucket = self.work.new_bucket()
        if head.base_step:
            what = f"the base of bucket {bucket_id}"
            bucket = self.work.saved_bucket(self._read(BASE, what), what)
        _replay(bucket, self._brought(head.base_step + 1, head, bucket_id), head.watermark)
        return bucket

    def _brought(self, first: int, head: Head, bucket_id: int) -> list[list[bytes]]:
        """What each step from the first one on brought, as the journal has it."""
        return [self._entry(step, bucket_id)[1] for step in range(first, head.step + 1)]

    def _entry(self, step: int, bucket_id: int) -> tuple[dict[str, Any], list[bytes]]:
        what = f"step {step} in the journal of bucket {bucket_id}"
        return read(self._read(step, what), what)

    def _write(self, step: int, value: bytes) -> None:
        """Write a value in pieces."""
        for piece, begin in enumerate(range(0, len(value), PIECE)):
            self.values.updateValue((step, piece), (value[begin : begin + PIECE],))

    def _read(self, step: int, what: str) -> bytes:
        """The value that was written in pieces."""
        value, pieces = bytearray(), 0
        while not pieces or len(value) < length_of(value, what):
            saved = self.values.getValue((step, pieces))
            if saved is None:
                raise _missing(f"a piece of {what}" if pieces else what)
            value += saved[0]
            pieces += 1
        return bytes(value)


def head_of(saved: bytes, bucket_id: int, identity: str | None = None) -> Head:
    """The head of a bucket; refused if it belongs to something else than `identity` says."""
    what = f"the state of bucket {bucket_id}"
    fields, (own,) = read(saved, what)
    if own.decode() != identity:
        belongs = Identity.from_json(own.decode(), what)
        if identity is not None:
            belongs.refuse_difference(Identity.from_json(identity, "what is given"))
    return Head(**{field.name: fields[field.name] for field in dataclasses.fields(Head)})


def owner_of(saved: bytes, bucket_id: int) -> Identity:
    """What the head of a bucket says that its state belongs to."""
    what = f"the state of bucket {bucket_id}"
    return Identity.from_json(read(saved, what)[1][0].decode(), what)


def _replay(bucket: Bucket, brought: list[list[bytes]], watermark: int) -> None:
    """Handle the events of some steps once more; what they decide has been given out."""
    for parts in brought:
        if parts:
            events = joined([opened(pa.py_buffer(part)) for part in parts])
            bucket.receive(events.drop_columns([REASON]) if REASON in events.column_names else events)
    bucket.catch_up(watermark)


def _unborn() -> Head:
    """The head of a bucket that was never written."""
    return Head(uuid.uuid4().hex, 0, "", -1, 0, 0, 0, None, False, 0, 0)


def _missing(what: str) -> StateError:
    return StateError(
        f"the checkpoint is incomplete: {what} is missing.\n"
        "  Restore the checkpoint from a complete copy, or start with a new checkpoint."
    )


def _remember(start: str, head: Head, bucket: Bucket) -> None:
    """Keep a live bucket for the next step, within what memory allows."""
    _MEMORY[head.birth] = _Remembered(start, head.last, bucket, head.base_bytes + head.journal_bytes)
    while len(_MEMORY) > 1 and sum(kept.size for kept in _MEMORY.values()) > REMEMBERED:
        _MEMORY.popitem(last=False)
