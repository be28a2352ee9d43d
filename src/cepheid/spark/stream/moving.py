"""More buckets for the state of a stream that has been stopped: each bucket is divided, and the stream goes on.

In: a plan, the checkpoint that it has written, how many buckets it is to have. Out: lines of the control source (see
`control`), which the next micro-batch reads: the parts of the buckets that were divided. Called by `found` and by
the command line.

Source offsets, numbers of micro-batches and the watermark stay as they are, so nothing is read again, lost or doubled:
the lines are read once, and are replayed with their micro-batch. A key has its bucket by `hash mod buckets`; so if the
new number is a multiple of the old one, each new bucket is a part of one old bucket, and nothing has to be merged.

What is written, in this order, so that a change which was interrupted is repeated or refused:

* `moving`: what the state will belong to. As long as it is there, no query starts;
* `control`: one file with a line `moved NAME BUCKET PIECE` for each piece of a new bucket;
* `identity`: with the new buckets; then `moving` is emptied.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from cepheid.errors import InputError, StateError
from cepheid.spark.buckets import spread_ids
from cepheid.spark.shipping import mapped
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import MOVED, Checkpoint
from cepheid.spark.stream.plan import StreamPlan
from cepheid.spark.stream.query import refuse_another
from cepheid.spark.stream.state.bucket import StreamWork
from cepheid.spark.stream.state.format import written
from cepheid.spark.stream.state.pending import first_words
from cepheid.spark.stream.state.saved import SavedBuckets, heads, saved_rows
from cepheid.spark.stream.state.store import BucketStore, owner_of
from cepheid.spark.stream.state.variables import Variables

PIECE = 4 << 20
"""Bytes of a bucket in one line of the control source."""


@dataclass(frozen=True)
class Divide:
    """Divides the buckets of some rows of saved state; travels to other processes."""

    work: StreamWork
    """As the state was written."""
    old: tuple[int, ...]
    new: tuple[int, ...]
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        saved = SavedBuckets()
        for batch in batches:
            saved.add(batch.to_pylist())
        for number, state in saved.buckets.items():
            whole = BucketStore(Variables(state), self.work).load(number)[1].to_bytes()
            for place, bucket in enumerate(self.new):
                if self.old[place % len(self.old)] == number:
                    yield self._lines(bucket, self._part(whole, place, number))
            if number not in self.new:  # so that nothing is there twice
                yield self._lines(number, self.work.new_bucket().to_bytes())

    def _part(self, whole: bytes, place: int, number: int) -> bytes:
        part = self.work.saved_bucket(whole, f"the state of bucket {number}")
        part.only(lambda hashes: np.mod(first_words(hashes), len(self.new)) == place)
        return part.to_bytes()

    def _lines(self, bucket: int, saved: bytes) -> pa.RecordBatch:
        begins = range(0, len(saved), PIECE)
        lines = []
        for number, begin in enumerate(begins):
            piece = written({"piece": number, "pieces": len(begins)}, [saved[begin : begin + PIECE]])
            lines.append(f"{MOVED}{self.name} {bucket} {base64.b64encode(piece).decode()}")
        return pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], ["value"])


def migrate(plan: StreamPlan, place: Checkpoint, buckets: int) -> Identity:
    """Let the state of a stopped query have so many buckets; returns what it belongs to now."""
    refuse_another(place.session, place)
    begun = place.moving()
    saved = place.identity() if begun is None else begun[1]
    plan = plan.looking_for(saved.leftovers)
    plan.with_buckets(saved.buckets)
    saved.refuse_difference(plan.identity(saved.timeouts))
    if begun is None:
        _check(saved, place, buckets)
        name, wanted = uuid.uuid4().hex, replace(saved, buckets=spread_ids(buckets, _partitions(place)))
        place.keep_moving(name, saved, wanted)
    else:
        name, _, wanted = begun
    if len(wanted.buckets) != buckets:
        raise StateError(
            f"a change of {place.path!r} to {len(wanted.buckets)} buckets was begun and not finished.\n"
            f"  Finish it first, with the same number; then change to {buckets}."
        )
    if not place.has_moved(name):
        rows = saved_rows(place.session, place.path).repartition(len(saved.buckets), "bucket")
        divide = Divide(plan.work(saved.timeouts), saved.buckets, wanted.buckets, name)
        try:
            place.move(mapped(rows, divide, "value string"))
        except Exception:  # state that cannot be read, a full disk: the query may go on as it was
            if not place.has_moved(name):
                place.moved()
            raise
    place.keep_identity(wanted)
    place.moved()
    return wanted


def _check(saved: Identity, place: Checkpoint, buckets: int) -> None:
    place.refuse_over()
    known = len(saved.buckets)
    if not saved.partition_by:
        raise InputError("without partition_by all rows are in one bucket.\n  There is nothing to divide.")
    if buckets <= known or buckets % known:
        raise InputError(
            f"buckets={buckets} is not a multiple of the {known} buckets that the state has, and buckets are divided, "
            f"never merged.\n  Give {2 * known}, {3 * known}, …; or start with a new checkpoint, and history=."
        )
    planned, done = place.last_planned(), place.last_batch()
    if done is None:
        raise StateError(
            f"nothing has been committed in {place.path!r} yet.\n  Start with a new checkpoint and buckets={buckets}."
        )
    if planned != done:
        raise StateError(
            f"the last micro-batch of {place.path!r} was begun and not finished ({planned}, committed: {done}).\n"
            '  Start the query once more as it was, with trigger="available now", and let it end; then change the '
            "buckets."
        )

    for row in heads(place.session, place.path).collect():
        if owner_of(bytes(row["value"]), row["bucket"]).buckets != saved.buckets:
            raise StateError(
                f"the buckets of {place.path!r} were changed before, and no micro-batch has run since.\n"
                '  Start the query once, with trigger="available now" for instance; then change them again.'
            )


def _partitions(place: Checkpoint) -> int:
    """How many partitions Spark keeps the state in: as many as at the first start."""
    stores: Any = place.session.read.format("state-metadata").load(place.path)
    [(partitions,)] = stores.agg(F.max("numPartitions")).collect()
    return int(partitions)
