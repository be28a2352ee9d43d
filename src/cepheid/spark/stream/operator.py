"""The stateful operator of a stream: called by Spark once for each bucket that has rows or whose timer has fired.

In: cells of packed rows, and the watermark. Out: rows of (kind, payload), the payload a table as Arrow IPC, and one row
of counts for each call. Travels as a `ShippedOperator`, runs in Spark's Python workers.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.engine.runs.live import MANY
from cepheid.spark.cells import joined, opened
from cepheid.spark.code import take_code
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.settling import settle
from cepheid.spark.stream.accounts import COUNTED, COUNTED_OF
from cepheid.spark.stream.poison import Handled, handle
from cepheid.spark.stream.state.format import MAGIC, table_bytes
from cepheid.spark.stream.state.pending import Bucket, BucketWork
from cepheid.spark.stream.state.store import BucketStore, Head, Saved
from cepheid.spark.stream.state.values import Values, values_of
from cepheid.spark.stream.time import REASON, REASONS, TIME, from_spark, timer_for, watermark_after

KIND = "__kind"
MATCHES, TIMEOUTS, LATE, REJECTED, COUNTS = "matches", "timeouts", "late", "rejected", "counts"
BROKEN, UNMATCHED = "broken", "unmatched"
"""What is left over, where it is asked for."""
TALLIES = "tallies"
"""How many matches end with each event, where they are counted instead of built."""
OUTPUT = f"`{KIND}` string, `{PAYLOAD}` binary, `{COUNTED_OF}` array<bigint>"
ROWS_OF_A_CELL = 20_000


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The rows of one call by what becomes of them; None where there are none."""

    accepted: pa.Table | None = None
    late: pa.Table | None = None
    rejected: pa.Table | None = None
    kept: tuple[bytes, ...] = ()
    """The accepted rows as the journal keeps them: the cells that they came in, where all of them are accepted."""


class StreamOperator(StatefulProcessor):
    """Matches one bucket at a time; all that lasts is in the store."""

    def __init__(self, work: BucketWork[Any]) -> None:
        self.work = work

    def __reduce__(self) -> tuple[Any, ...]:
        """Compressed: Spark starts a stateful query only with work of less than a megabyte, and a thousand rules, which
        are much alike, have more."""
        return _travelled, (zlib.compress(pickle.dumps(self.work), 1),)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.begin(handle, values_of(handle))

    def begin(self, handle: StatefulProcessorHandle, values: Values) -> None:
        """Go to work with a state variable that is declared (see `shipped_operator`)."""
        take_code()
        settle(type(self).__name__)
        self.handle = handle
        self.store = BucketStore(values, self.work)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        cells = [cell for frame in rows for cell in frame.iloc[:, -1]]  # pandas renames columns
        return self._step(int(key[0]), cells, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        fired = expiredTimerInfo.getExpiryTimeInMs()
        return self._step(int(key[0]), [], timerValues.getCurrentWatermarkInMs(), fired)

    def close(self) -> None:
        pass

    def _step(
        self, bucket_id: int, cells: list[Any], watermark_ms: int, fired: int | None = None
    ) -> Iterator[pd.DataFrame]:
        given = [bytes(cell) for cell in cells if cell is not None]
        is_end = len(given) < len(cells)  # a cell without rows: the control source says that the input is over
        moved = [cell for cell in given if cell.startswith(MAGIC)]
        packed = [cell for cell in given if not cell.startswith(MAGIC)]
        watermark = from_spark(watermark_ms)
        if moved:
            head, restored = self.store.taken_over(bucket_id, moved)
            bucket = restored()
        else:
            head, bucket = self.store.load(bucket_id)
            restored = partial(self.store.restored, head, bucket_id)
        if self.work.is_arrival:  # what is there has been handled; only a clock that was set back is behind it
            rows = self._sorted(packed, bucket.watermark - 1, head.ended)
            if rows.accepted is not None:
                watermark = max(watermark, pc.max(rows.accepted[TIME]).as_py())
        else:
            rows = self._sorted(packed, watermark, head.ended)
            if rows.accepted is not None and self.work.lag_ms is not None:
                # In the next micro-batch the watermark will be here or further on, and what comes then and is not
                # behind it is late: so what it will pass can be handled now, in the same order.
                watermark = max(watermark, watermark_after(pc.max(rows.accepted[TIME]).as_py(), self.work.lag_ms))

        def with_new(bucket: Bucket) -> Bucket:
            if rows.accepted is not None:
                bucket.receive(rows.accepted)
            return bucket

        done = handle(
            with_new(bucket),
            watermark,
            is_end,
            self.work.on_error,
            lambda: with_new(restored()),
        )
        timer = self._timer(head, done.bucket, watermark_ms, fired)
        anew = done.refused is not None or bool(moved)
        saved = self.store.save(head, done.bucket, rows.kept, timer, head.ended or is_end, anew)
        yield self._output(rows, done, head, saved)

    def _sorted(self, cells: list[bytes], watermark: int, ended: bool) -> _Sorted:
        if not cells:
            return _Sorted()
        rows = joined([opened(pa.py_buffer(cell)) for cell in cells])
        reasons = rows[REASON].to_numpy()
        is_rejected = reasons > 0  # below 0: events of a history, which are never late
        time = pc.fill_null(rows[TIME], 0).to_numpy()
        is_late = (reasons == 0) & ((time <= watermark) | ended)
        shown = list(self.work.shown)
        late = rejected = None
        if is_late.any():
            late = rows.filter(pa.array(is_late)).select(shown)
        if is_rejected.any():
            rejected = rows.filter(pa.array(is_rejected)).select(shown)
            texts = [REASONS[int(reason)] for reason in reasons[is_rejected]]
            rejected = rejected.append_column("reason", pa.array(texts, pa.string()))
        if late is None and rejected is None:
            return _Sorted(rows.drop_columns([REASON]).combine_chunks(), kept=tuple(cells))
        is_accepted = ~is_late & ~is_rejected
        if not is_accepted.any():
            return _Sorted(None, late, rejected)
        accepted = rows.filter(pa.array(is_accepted)).drop_columns([REASON]).combine_chunks()
        return _Sorted(accepted, late, rejected, (table_bytes(accepted),))

    def _timer(self, head: Head, bucket: Bucket, watermark_ms: int, fired: int | None) -> int | None:
        """See to it that Spark calls again at the next deadline, data or not; it deletes a timer that fires itself."""
        timer = timer_for(bucket.deadline(), watermark_ms)
        if timer != head.timer:
            if head.timer not in (None, fired):
                self.handle.deleteTimer(head.timer)
            if timer is not None:
                self.handle.registerTimer(timer)
        return timer

    def _output(self, rows: _Sorted, done: Handled, head: Head, saved: Saved) -> pd.DataFrame:
        decided = done.decided.matches
        outputs = (
            (TALLIES if self.work.only_counts else MATCHES, decided),
            (TIMEOUTS, done.decided.timeouts),
            (BROKEN, done.decided.broken),
            (UNMATCHED, done.decided.unmatched),
            (LATE, rows.late),
            (REJECTED, rows.rejected),
            (REJECTED, done.refused),
        )
        counts = {
            "events": sum(_size(table) for table in (rows.accepted, rows.late, rows.rejected)),
            "late": _size(rows.late),
            "rejected": _size(rows.rejected) + _size(done.refused),
            "handled": done.bucket.handled - done.taken_back,
            "matches": _matches(decided) if self.work.only_counts else _size(decided),
            "timeouts": _size(done.decided.timeouts),
            "runs": saved.head.runs,
            "runs_change": saved.head.runs - head.runs,
            "pending": saved.head.pending,
            "pending_change": saved.head.pending - head.pending,
            "state_bytes": saved.state_bytes,
            "written_bytes": saved.written_bytes,
            "broken": _size(done.decided.broken),
            "unmatched": _size(done.decided.unmatched),
        }
        kinds, cells = [COUNTS], [b""]
        for kind, table in outputs:
            for begin in range(0, _size(table), ROWS_OF_A_CELL):
                assert table is not None
                kinds.append(kind)
                cells.append(table_bytes(table.slice(begin, ROWS_OF_A_CELL)))
        told = [[counts[name] for name in COUNTED], *[None] * (len(cells) - 1)]
        return pd.DataFrame({KIND: kinds, PAYLOAD: cells, COUNTED_OF: told}, copy=False)


def _travelled(packed: bytes) -> StreamOperator:
    return StreamOperator(_unpacked(packed))


@lru_cache(maxsize=8)
def _unpacked(packed: bytes) -> BucketWork[Any]:
    """What was compressed; a worker reads it once, not with each micro-batch."""
    work: BucketWork[Any] = pickle.loads(zlib.decompress(packed))
    return work


def _matches(counts: pa.Table | None) -> int:
    """How many matches were counted; what is told of a step fits a long."""
    return 0 if counts is None else min(sum(counts["matches"].to_pylist()), MANY)


def _size(table: pa.Table | None) -> int:
    return 0 if table is None else int(table.num_rows)
