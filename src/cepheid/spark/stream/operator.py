"""The stateful operator of a stream: called by Spark once for each bucket that has rows or whose timer has fired.

In: cells of packed rows, and the watermark. Out: rows of (kind, payload), the payload a table as Arrow IPC, and one row
of counts for each call. Made by `streaming`, runs in Spark's Python workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.spark.cells import rows_of
from cepheid.spark.stream.bucket import REASON, TIME, BucketRuns, Decided, StreamWork
from cepheid.spark.stream.format import table_bytes
from cepheid.spark.stream.store import BucketStore, Head
from cepheid.spark.workers import PAYLOAD

KIND = "__kind"
MATCHES, TIMEOUTS, LATE, REJECTED, COUNTS = "matches", "timeouts", "late", "rejected", "counts"
COUNTED = ("events", "late", "rejected", "matches", "timeouts", "runs", "pending", "state_bytes", "written_bytes")
OUTPUT = f"`{KIND}` string, `{PAYLOAD}` binary, " + ", ".join(f"`{name}` long" for name in COUNTED)
REASONS = {
    1: "no time",
    2: "a time before 1970",
    3: "a time further ahead than max_ahead",
    4: "no value in an order column",
}
ROWS_OF_A_CELL = 20_000


@dataclass(frozen=True)
class _Sorted:
    """The rows of one call by what becomes of them."""

    accepted: pa.Table | None
    late: pa.Table | None
    rejected: pa.Table | None

    @property
    def counts(self) -> tuple[int, int, int]:
        sizes = [0 if table is None else table.num_rows for table in (self.accepted, self.late, self.rejected)]
        return sum(sizes), sizes[1], sizes[2]


class StreamOperator(StatefulProcessor):
    """Matches one bucket at a time; all that lasts is in the store."""

    def __init__(self, work: StreamWork) -> None:
        self.work = work

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.store = BucketStore(handle, self.work)

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
        packed = [cell for cell in cells if cell is not None]
        is_end = len(packed) < len(cells)  # a cell without rows: the control source says that the input is over
        watermark = 1000 * watermark_ms if watermark_ms > 0 else -1  # 0: Spark has seen no time yet
        head, bucket = self.store.load(bucket_id)
        if self.work.is_arrival:  # what is there has been handled; only a clock that was set back is behind it
            rows = self._sorted(packed, bucket.watermark - 1, head.ended)
            if rows.accepted is not None:
                watermark = max(watermark, pc.max(rows.accepted[TIME]).as_py())
        else:
            rows = self._sorted(packed, watermark, head.ended)
        if rows.accepted is not None:
            bucket.receive(rows.accepted)
        decided = bucket.advance(watermark)
        at_end = bucket.end() if is_end else Decided(None, None)
        timer = self._timer(head, bucket, watermark_ms, fired)
        size = self.store.save(head, bucket, rows.accepted, timer, head.ended or is_end)
        yield from self._output(rows, (decided, at_end), bucket, size)

    def _sorted(self, cells: list[Any], watermark: int, ended: bool) -> _Sorted:
        if not cells:
            return _Sorted(None, None, None)
        rows = pa.concat_tables([rows_of(pa.py_buffer(cell)) for cell in cells])
        reasons = rows[REASON].to_numpy()
        is_rejected = reasons != 0
        time = pc.fill_null(rows[TIME], 0).to_numpy()
        is_late = ~is_rejected & ((time <= watermark) | ended)
        shown = list(self.work.shown)
        late = rejected = None
        if is_late.any():
            late = rows.filter(pa.array(is_late)).select(shown)
        if is_rejected.any():
            rejected = rows.filter(pa.array(is_rejected)).select(shown)
            texts = [REASONS[int(reason)] for reason in reasons[is_rejected]]
            rejected = rejected.append_column("reason", pa.array(texts, pa.string()))
        is_accepted = ~is_late & ~is_rejected
        accepted = rows if is_accepted.all() else rows.filter(pa.array(is_accepted))
        accepted = accepted.drop_columns([REASON]).combine_chunks() if is_accepted.any() else None
        return _Sorted(accepted, late, rejected)

    def _timer(self, head: Head, bucket: BucketRuns, watermark_ms: int, fired: int | None) -> int | None:
        """See to it that Spark calls again at the next deadline, data or not; it deletes a timer that fires itself."""
        deadline = bucket.deadline()
        timer = None if deadline is None else max(-(-deadline // 1000), watermark_ms + 1, 1)
        if timer != head.timer:
            if head.timer not in (None, fired):
                self.handle.deleteTimer(head.timer)
            if timer is not None:
                self.handle.registerTimer(timer)
        return timer

    def _output(
        self, rows: _Sorted, decided: tuple[Decided, Decided], bucket: BucketRuns, written_bytes: int
    ) -> Iterator[pd.DataFrame]:
        matches = [part.matches for part in decided if part.matches is not None]
        timeouts = [part.timeouts for part in decided if part.timeouts is not None]
        events, late, rejected = rows.counts
        counts = {
            "events": events,
            "late": late,
            "rejected": rejected,
            "matches": sum(table.num_rows for table in matches),
            "timeouts": sum(table.num_rows for table in timeouts),
            "runs": bucket.matcher.live_runs,
            "pending": bucket.pending_events,
            "state_bytes": self.store.state_bytes,
            "written_bytes": written_bytes,
        }
        kinds, cells = [COUNTS], [b""]
        outputs = [(MATCHES, table) for table in matches] + [(TIMEOUTS, table) for table in timeouts]
        outputs += [
            (kind, table) for kind, table in ((LATE, rows.late), (REJECTED, rows.rejected)) if table is not None
        ]
        for kind, table in outputs:
            for begin in range(0, table.num_rows, ROWS_OF_A_CELL):
                kinds.append(kind)
                cells.append(table_bytes(table.slice(begin, ROWS_OF_A_CELL)))
        none = np.zeros(len(cells) - 1, np.int64)  # what is added up of cells; NULLs would cost pandas far more
        yield pd.DataFrame(
            {KIND: kinds, PAYLOAD: cells} | {name: np.append(counts[name], none) for name in COUNTED}, copy=False
        )


@dataclass(frozen=True)
class Unpack:
    """Cells of one kind back to rows. Runs in Spark's Python workers."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(PAYLOAD):
                table = pa.ipc.open_stream(cell.as_buffer()).read_all()
                if "at" not in table.column_names:
                    moment = self.schema.field("at").type
                    table = table.append_column("at", pa.nulls(table.num_rows, moment))
                yield from table.select(self.schema.names).to_batches()
