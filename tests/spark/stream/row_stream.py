"""A row pattern on a stream without a JVM: the bucket alone, whose steps and watermarks are given one by one.

What Spark computes on the way (bits, hashes of keys) is computed here by the portable evaluator. Times are
microseconds, in the first column of ORDER BY.
"""

from __future__ import annotations

import dataclasses
import hashlib
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.tws_tester import TwsTester
from spark.stream.taking_turns import Workers

from cepheid.conditions import Schema
from cepheid.conditions.arrow.values import arrow_type
from cepheid.engine.row_values import RowValues
from cepheid.engine.tables.row_patterns import tabulate
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import BoundRowPattern, bind
from cepheid.rowpattern.expression import Folded, Function, Value, reads_of
from cepheid.rows.row_patterns import _result, measured
from cepheid.spark.keys import HASHES
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, Pack
from cepheid.spark.row_workers import MASK, MATCH_NUMBER, MatchSortedRows, RowWork, read_name
from cepheid.spark.stream.operator import KIND, MATCHES, StreamOperator
from cepheid.spark.stream.state.row_bucket import BucketRows, RowStreamWork
from cepheid.spark.stream.time import REASON, TIME

Row = dict[str, Any]


class _Reads:
    """What the operator gives, in the form in which measures are computed from it."""

    def __init__(self, found: pa.Table, reads: tuple[Any, ...]) -> None:
        self.found, self.reads = found, reads

    def of(self, read: Any) -> pa.Array:
        return self.found[read_name(self.reads.index(read))].combine_chunks()

    def number(self) -> pa.Array:
        return self.found[MATCH_NUMBER].combine_chunks()


class RowStream:
    """A stream of the rows of one schema."""

    def __init__(self, clause: str, schema: pa.Schema, forgetful: bool = False, max_steps: int = 20_000) -> None:
        self.bound = bind(read(clause), Schema.from_arrow(schema))
        self.tables = tabulate(self.bound, max_steps)
        expressions = [measure.expression for measure in self.bound.measures]
        self.reads = tuple(dict.fromkeys(one for expression in expressions for one in reads_of(expression)))
        self.work = RowStreamWork(
            self.bound,
            self.tables,
            self.bound.input_columns,
            self.reads,
            {},
            _worker_schema(self.bound, schema, self.reads),
            tuple(schema.names),
            "{}",
        )
        self.bucket = self.work.new_bucket()
        self.forgetful = forgetful
        """Whether the bucket is written and read back after each step."""

    def step(self, rows: pa.Table | None, watermark: int, is_end: bool = False) -> list[Row]:
        """Rows that come, and the watermark that holds from now on; returns what is decided."""
        found = self.step_table(rows, watermark, is_end)
        return [] if found is None else list(found.to_pylist())

    def step_table(self, rows: pa.Table | None, watermark: int, is_end: bool = False) -> pa.Table | None:
        """The same as a table."""
        if rows is not None and rows.num_rows:
            self.bucket.receive(self._prepared(rows))
        found = self.bucket.advance(watermark, is_end).matches
        if self.forgetful:
            self.bucket = BucketRows.from_bytes(self.work, self.bucket.to_bytes(), "the bucket")
        return None if found is None else self._shown(found)

    def end(self) -> list[Row]:
        return self.step(None, 0, is_end=True)

    def of_sorted(self, rows: pa.Table, cuts: list[int]) -> list[Row]:
        """What comes out of sorted rows that come in parts, all of one Spark partition."""
        prepared = self._prepared(rows)
        parts = [prepared.slice(begin, end - begin) for begin, end in pairwise([0, *cuts, rows.num_rows])]
        fields = {field.name: getattr(self.work, field.name) for field in dataclasses.fields(RowWork)}
        match = MatchSortedRows(**fields)
        found = match.in_parts([part for part in parts if part.num_rows])
        found = [self._shown(pa.Table.from_batches([batch])) for batch in found]
        return [row for table in found for row in table.to_pylist()]

    def nothing(self) -> pa.Table:
        """A result without rows."""
        return self._shown(self.work.schema.empty_table())

    def _shown(self, found: pa.Table) -> pa.Table:
        is_matched = np.array(found[MATCH_NUMBER].is_valid(), bool)
        reads: Any = _Reads(found.filter(pa.array(is_matched)), self.reads)
        values = measured(self.bound, reads, int(is_matched.sum()))
        places = pa.array(np.cumsum(is_matched) - 1, mask=~is_matched)
        inputs = [found[name].combine_chunks() for name in self.bound.input_columns]
        return _result(self.bound, inputs, [each.take(places) for each in values])

    def _prepared(self, rows: pa.Table) -> pa.Table:
        values = RowValues(rows, np.array([0, rows.num_rows]))
        bits = np.zeros(rows.num_rows, np.int64)
        for number, condition in enumerate(self.tables.own):
            bits |= values.holds(condition).astype(np.int64) << number
        keys = [tuple(row[name] for name in self.bound.partition_by) for row in rows.to_pylist()]
        words = np.array([np.frombuffer(hashlib.md5(repr(key).encode()).digest(), np.int64) for key in keys])
        added = {TIME: rows[self.bound.order_names[0]].cast(pa.int64()), MASK: pa.array(bits)}
        added |= {name: pa.array(np.ascontiguousarray(words[:, n])) for n, name in enumerate(HASHES)}
        for name, column in added.items():
            rows = rows.append_column(name, column)
        return rows


class RowOperatorStream(RowStream):
    """The same through the stateful operator and its store, by Spark's own tester; times in whole milliseconds."""

    def __init__(self, clause: str, schema: pa.Schema, workers: int = 1) -> None:
        super().__init__(clause, schema)
        self.workers = Workers(workers)
        self.tester = TwsTester(
            StreamOperator(self.work), timeMode="EventTime", eventTimeExtractor=lambda cell: 1 << 62
        )
        self.watermark_ms = 0

    def step_table(self, rows: pa.Table | None, watermark: int, is_end: bool = False) -> pa.Table | None:
        cells: list[bytes | None] = [None] if is_end else []
        if rows is not None and rows.num_rows:
            prepared = self._prepared(rows)
            prepared = prepared.append_column(REASON, pa.array(np.zeros(rows.num_rows, np.int8)))
            prepared = prepared.append_column(BUCKET, pa.array(np.zeros(rows.num_rows, np.int32)))
            for batch in Pack()(prepared.combine_chunks().to_batches()):
                cells += batch.column(PAYLOAD).to_pylist()
        found = []
        for cell in cells:
            self.workers.take_turns()
            found += self._matches(self.tester.testInPandas(0, pd.DataFrame({BUCKET: [0], PAYLOAD: [cell]})))
        if watermark // 1000 > self.watermark_ms:
            self.watermark_ms = watermark // 1000
            self.workers.take_turns()
            found += self._matches(self.tester.setWatermark(self.watermark_ms))
        return pa.concat_tables(map(self._shown, found)) if found else None

    def _matches(self, output: Any) -> list[pa.Table]:
        if not len(output):
            return []
        kinds = zip(output[KIND], output[PAYLOAD], strict=True)
        return [pa.ipc.open_stream(cell).read_all() for kind, cell in kinds if kind == MATCHES]


def _worker_schema(bound: BoundRowPattern, schema: pa.Schema, reads: tuple[Value | Folded, ...]) -> pa.Schema:
    """The types that Spark would give to what the workers send."""
    fields = [schema.field(name) for name in bound.input_columns]
    for number, one in enumerate(reads):
        if isinstance(one, Folded) and one.function is Function.ARRAY_AGG:
            assert one.argument is not None
            kind = pa.list_(arrow_type(one.argument.type))
        else:
            kind = arrow_type(one.type)
        fields.append(pa.field(read_name(number), kind))
    return pa.schema([*fields, pa.field(MATCH_NUMBER, pa.int64())])
