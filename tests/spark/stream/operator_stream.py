"""The stateful operator run without a JVM, by Spark's own tester: for many small streams in little time.

What Spark computes on the way (masks, values, hashes of keys, buckets) is computed here by the portable evaluator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.tws_tester import TwsTester
from spark.stream.taking_turns import Workers

from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.engine.columns import _bits
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.assemble import Shape
from cepheid.spark.explained import Explained
from cepheid.spark.keys import HASHES
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, Pack, mask_name, value_name
from cepheid.spark.stream.accounts import COUNTED, COUNTED_OF
from cepheid.spark.stream.operator import KIND, StreamOperator
from cepheid.spark.stream.state.bucket import StreamWork
from cepheid.spark.stream.state.leftovers import LeftoverWork
from cepheid.spark.stream.state.values import NAME, PIECE, STEP
from cepheid.spark.stream.time import REASON, TIME
from cepheid.syntax.tree import PatternTree

Rows = list[dict[str, Any]]


def cells_by_bucket(
    pack: Callable[[list[pa.RecordBatch]], Iterable[pa.RecordBatch]], rows: pa.Table
) -> dict[int, list[bytes]]:
    """The cells of some rows, those of a bucket together: Spark calls the operator once for all of them."""
    found: dict[int, list[bytes]] = {}
    for batch in pack(rows.combine_chunks().to_batches()):
        for bucket, cell in zip(batch.column(BUCKET).to_pylist(), batch.column(PAYLOAD).to_pylist(), strict=True):
            found.setdefault(bucket, []).append(cell)
    return found


def counts_in(output: pd.DataFrame) -> Rows:
    """What the operator counted, by name."""
    counted = output[output[KIND] == "counts"]
    return [dict(zip(COUNTED, counts, strict=True)) for counts in counted[COUNTED_OF]]


def kept_in(tester: TwsTester) -> dict[int, Any]:
    """The values of all buckets, as Spark's tester holds them."""
    held: dict[int, Any] = tester.handle.map_states[NAME].state
    return held


def rows_kept(tester: TwsTester) -> Rows:
    """The same as a checkpoint has it."""
    return [
        {"bucket": bucket, STEP: step, PIECE: piece, "value": value}
        for bucket, values in kept_in(tester).items()
        for (step, piece), (value,) in values.items()
    ]


class OperatorStream:
    """A stream whose micro-batches and watermarks are given one by one; times in microseconds in the column `ts`."""

    def __init__(
        self,
        tree: PatternTree,
        schema: pa.Schema,
        partition_by: Sequence[str],
        order_by: Sequence[str],
        timeouts: bool,
        buckets: int = 2,
        workers: int = 1,
        identity: str = "{}",
        is_arrival: bool = False,
        on_error: str = "stop",
        every_row: bool = False,
        leftovers: bool = False,
        lag_ms: int | None = None,
        **limits: int,
    ) -> None:
        conditions = bind(tree, Schema.from_arrow(schema))
        tables = tabulate(build(tree, conditions), Options(timeouts=timeouts, **limits))
        self.tables, self.schema, self.partition_by, self.buckets = tables, schema, tuple(partition_by), buckets
        names = tuple(schema.names)
        shape = Shape(tables.automaton.variables, tables.automaton.looping, names, True, every_row)
        work = StreamWork(
            tables.for_workers(),
            self.partition_by,
            tuple(order_by),
            shape,
            timeouts,
            names,
            names,
            identity,
            is_arrival,
            on_error,
            LeftoverWork(
                tables.automaton.window,
                Explained.of(conditions).shipped(tree),
                schema,
                names,
                self.partition_by,
                tuple(order_by),
            )
            if leftovers
            else None,
            lag_ms,
        )
        self.work = work
        # The extractor lets every cell through: the plan leaves the watermarked column behind, so Spark drops nothing.
        self.tester = TwsTester(StreamOperator(work), timeMode="EventTime", eventTimeExtractor=lambda cell: 1 << 62)
        self.workers = Workers(workers)
        self.watermark_ms = 0
        self.found: dict[str, Rows] = {"matches": [], "timeouts": [], "late": [], "rejected": []}
        self.found |= {"broken": [], "unmatched": []}
        self.counts: Rows = []

    def batch(self, rows: pa.Table, watermark: int) -> None:
        """One micro-batch, with the watermark in milliseconds that holds at its beginning."""
        if watermark > self.watermark_ms:
            self.watermark_ms = watermark
            self.workers.take_turns()
            self._take(self.tester.setWatermark(watermark))
        for bucket, cells in cells_by_bucket(Pack(cell_bytes=100), self._prepared(rows)).items():
            self.feed(bucket, cells)

    def go_on_from(self, stream: OperatorStream) -> OperatorStream:
        """Start with the state that another stream has left in the store."""
        self.watermark_ms, self.tester = stream.watermark_ms, stream.tester
        self.tester.processor = StreamOperator(self.work)
        self.tester.processor.init(self.tester.handle)
        return self

    def end(self) -> None:
        """End the input in all buckets."""
        for bucket in range(self.buckets):
            self.feed(bucket, [None])

    def feed(self, bucket: int, cells: Sequence[bytes | None]) -> None:
        """Give some cells to a bucket."""
        self.workers.take_turns()
        frame = pd.DataFrame({BUCKET: [bucket] * len(cells), PAYLOAD: cells})
        self._take(self.tester.testInPandas(bucket, frame))

    def _take(self, output: Any) -> None:
        if not len(output):
            return
        for kind, cell in zip(output[KIND], output[PAYLOAD], strict=True):
            if kind in self.found:
                self.found[kind] += pa.ipc.open_stream(cell).read_all().to_pylist()
        self.counts += counts_in(output)

    def _prepared(self, rows: pa.Table) -> pa.Table:
        count = rows.num_rows
        bits = _bits(rows, self.tables, count)
        keys = [tuple(row[name] for name in self.partition_by) for row in rows.to_pylist()]
        words = np.array([np.frombuffer(hashlib.md5(repr(key).encode()).digest(), np.int64) for key in keys], np.int64)
        words = words.reshape(count, 2)
        added: dict[str, Any] = {
            REASON: pa.array(np.zeros(count, np.int8)),
            TIME: rows["ts"].cast(pa.int64()),
        }
        for page in range(bits.shape[1]):
            added[mask_name(page)] = pa.array(np.ascontiguousarray(bits[:, page]).view(np.int64))
        for index, expression in enumerate(self.tables.columns):
            added[value_name(index)] = evaluate_or_fall_back(expression, rows)
        added |= {name: pa.array(words[:, number]) for number, name in enumerate(HASHES)}
        added[BUCKET] = pa.array((words[:, 0] % self.buckets).astype(np.int32))
        for name, column in added.items():
            rows = rows.append_column(name, column)
        return rows
