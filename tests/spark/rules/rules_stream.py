"""A set of rules on the stateful operator without a JVM, by Spark's own tester; the set may change from start to start.

What Spark computes on the way (times, hashes of keys, buckets) is computed here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.tws_tester import TwsTester
from spark.stream.operator_stream import cells_by_bucket
from spark.stream.taking_turns import Workers

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.conditions import Schema, bind
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.expression import TRUE
from cepheid.conditions.expression import Column as NamedColumn
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.row_patterns import tabulate as tabulate_rows
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rowpattern.binding import bind as bind_rows
from cepheid.rowpattern.model import RowPattern
from cepheid.rows.row_rules import in_set
from cepheid.rows.rule_matches import RuleShape
from cepheid.rows.views import ALWAYS, View, masks_of, words_of
from cepheid.spark.keys import HASHES
from cepheid.spark.pack_workers import BUCKET, PAYLOAD
from cepheid.spark.row_workers import MATCH_NUMBER
from cepheid.spark.rules.bound import RuleWork
from cepheid.spark.rules.bucket import GroupOfRules, RulesWork
from cepheid.spark.rules.conditions import BITS_OF_A_MASK, Bits
from cepheid.spark.rules.instances import Instance
from cepheid.spark.rules.later import BROUGHT, GENERATION, MARK
from cepheid.spark.rules.packing import PackStream, hash_name
from cepheid.spark.rules.registry import Registry
from cepheid.spark.rules.row_rules import RowRuleWork, column_of
from cepheid.spark.rules.row_runs import RowInstance, RowRuleOnStream
from cepheid.spark.rules.workers import Group, group_name
from cepheid.spark.stream.operator import KIND, StreamOperator
from cepheid.spark.stream.state import store as streaming_store
from cepheid.spark.stream.time import REASON, TIME
from cepheid.syntax.tree import PatternTree

BUCKETS = 2


class RulesStream:
    """A stream whose micro-batches, watermarks and rules are given one by one; times in microseconds in `ts`."""

    def __init__(self, schema: pa.Schema, key: str, order_by: Sequence[str], timeouts: bool = False) -> None:
        self.schema, self.key, self.order_by, self.timeouts = schema, key, tuple(order_by), timeouts
        self.registry = Registry.empty([(key,)])
        self.tester: Any = None
        self.watermark_ms = 0
        self.workers = Workers(2)
        self.found: dict[str, list[dict[str, Any]]] = {"matches": [], "timeouts": [], "late": [], "rejected": []}

    def start(self, rules: Mapping[str, PatternTree | RowPattern], with_history: bool = False) -> None:
        """Start, or start again with the same state, with these rules; new ones begin with the history that `bring`
        brings, if there is one."""
        bound, row_tables = {}, {}
        for name, tree in rules.items():
            if isinstance(tree, RowPattern):
                clause = bind_rows(in_set(tree, self.order_by), Schema.from_arrow(self.schema))
                row_tables[name] = tabulate_rows(clause)
                continue
            automaton = build(tree, bind(tree, Schema.from_arrow(self.schema)))
            bound[name] = tabulate(automaton, Options(timeouts=self.timeouts))
        values = {value for tables in bound.values() for value in tables.columns}
        self.computed = {column_of(value): value for value in values if not isinstance(value, NamedColumn)}
        own = {name: [one.own_event for one in tables.automaton.predicates] for name, tables in bound.items()}
        own |= {name: list(tables.own) for name, tables in row_tables.items()}
        parts = {str(part): part for name in own for part in own[name] if part != TRUE}
        prints = {name: tables.fingerprint for name, tables in bound.items()}
        prints |= {name: str(tables.bound.pattern) for name, tables in row_tables.items()}
        self.registry, self.changes = self.registry.with_rules(prints, list(parts))
        if with_history:
            self.registry = self.registry.with_history("a history")
        numbers = {parts[text]: number for text, number in self.registry.conditions.items()}
        self.numbers = numbers
        running = {one.rule: one for one in self.registry.running}
        names, instances, seen = tuple(self.schema.names), [], set()
        keys = ((self.key, self.schema.field(self.key).type),)
        for name, tables in bound.items():
            bits = tuple(ALWAYS if part == TRUE else numbers[part] for part in own[name])
            seen |= set(bits)
            view = View(tables.for_workers(), bits, why_all_rows_travel(tables.automaton) is not None)
            shape = RuleShape(name, tables.automaton.variables, names, None, (), keys, True)
            work = RuleWork(view, tuple(map(column_of, tables.columns)), shape)
            one = running[name]
            instances.append(Instance(work, one.instance, one.since, one.waits))
        row_instances = []
        for name, row in row_tables.items():
            bits = tuple(ALWAYS if part == TRUE else numbers[part] for part in own[name])
            seen |= set(bits)
            shape = RuleShape(name, row.variables, names, None, (), keys, True)
            rule = RowRuleWork(row.bound, row, (), {}, bits, shape, (MATCH_NUMBER,))
            on_stream = RowRuleOnStream(
                row.bound,
                row,
                (),
                (),
                {},
                pa.schema([]),
                names,
                "",
                rule=rule,
                partition_by=(self.key,),
                order_by=self.order_by,
                kept=(*names, *HASHES, TIME),
            )
            started = running[name]
            row_instances.append((on_stream, started.instance, started.since, started.waits))
        every = bool(row_tables) or any(one.rule.view.sees_all_rows for one in instances)
        group = Group((self.key,), 0, masks_of(sorted(seen)), every, (*names, *self.computed))
        self.pack = PackStream(Bits.of(numbers), (group,), self.order_by, cell_bytes=500)
        entry = pa.struct(
            [("variable", pa.string()), ("sequence", pa.int32()), ("event", pa.struct(list(self.schema)))]
        )
        time = self.schema.field(self.order_by[0]).type
        shown = [("rule", pa.string()), *keys, ("match_id", pa.string()), ("start_time", time), ("end_time", time)]
        shown += [("at", time), ("events", pa.list_(entry)), ("severity", pa.string()), ("tags", pa.list_(pa.string()))]
        shown += [(MATCH_NUMBER, pa.int64())]
        rows = tuple(RowInstance(replace(one, schema=pa.schema(shown)), *rest) for one, *rest in row_instances)
        rules_of_key = GroupOfRules((self.key,), tuple(group.wanted), names, tuple(instances), rows)
        work = RulesWork((rules_of_key,), self.order_by, pa.schema(shown), self.timeouts, names, "{}")
        if self.tester is None:
            self.tester = TwsTester(StreamOperator(work), timeMode="EventTime", eventTimeExtractor=lambda cell: 1 << 62)
        else:
            self.tester.processor = StreamOperator(work)
            self.tester.processor.init(self.tester.handle)

    def batch(self, rows: pa.Table, watermark: int, forget: bool = False) -> None:
        """One micro-batch, with the watermark in milliseconds that holds at its beginning."""
        if watermark > self.watermark_ms:
            self.watermark_ms = watermark
            self.workers.take_turns()
            self._take(self.tester.setWatermark(watermark))
        if not rows.num_rows:
            return
        self._pack(self._prepared(rows), forget)

    def bring(self, history: pa.Table, rows: pa.Table, forget: bool = False) -> None:
        """A micro-batch with the history of the rules that began last, and some rows of the stream."""
        prepared = self._prepared(history)
        generation = np.full(history.num_rows, -self.registry.generation, np.int32)
        prepared = _changed(prepared, REASON, pa.array(np.full(history.num_rows, BROUGHT, np.int8)))
        prepared = _changed(prepared, GENERATION, pa.array(generation))
        marks = {
            REASON: pa.array([MARK] * BUCKETS, pa.int8()),
            GENERATION: pa.array([-self.registry.generation] * BUCKETS, pa.int32()),
            group_name(0): pa.array(range(BUCKETS), pa.int32()),
        }
        parts = [prepared, pa.table(marks), self._prepared(rows)]
        self._pack(pa.concat_tables(parts, promote_options="default"), forget)

    def _pack(self, prepared: pa.Table, forget: bool) -> None:
        for bucket, cells in cells_by_bucket(self.pack, prepared).items():
            self._feed(bucket, cells, forget)

    def end(self) -> None:
        """End the input in all buckets."""
        for bucket in range(BUCKETS):
            self._feed(bucket, [None], False)

    def _feed(self, bucket: int, cells: Sequence[bytes | None], forget: bool) -> None:
        self.workers.take_turns()
        if forget:
            streaming_store._MEMORY.clear()
        self._take(self.tester.testInPandas(bucket, pd.DataFrame({BUCKET: bucket, PAYLOAD: cells})))

    def _take(self, output: Any) -> None:
        for kind, cell in zip(output[KIND], output[PAYLOAD], strict=True) if len(output) else ():
            if kind in self.found:
                self.found[kind] += pa.ipc.open_stream(cell).read_all().to_pylist()

    def _prepared(self, rows: pa.Table) -> pa.Table:
        count = rows.num_rows
        keys = [repr(value) for value in rows[self.key].to_pylist()]
        words = np.array([np.frombuffer(hashlib.md5(key.encode()).digest(), np.int64) for key in keys], np.int64)
        words = words.reshape(count, 2)
        added: dict[str, Any] = {
            REASON: pa.array(np.zeros(count, np.int8)),
            TIME: rows["ts"].cast(pa.int64()),
            GENERATION: pa.array(np.full(count, self.registry.generation, np.int32)),
            hash_name(0, 0): pa.array(words[:, 0]),
            hash_name(0, 1): pa.array(words[:, 1]),
            group_name(0): pa.array((words[:, 0] % BUCKETS).astype(np.int32)),
        }
        bits, parts = self.pack.bits, {number: part for part, number in self.numbers.items()}
        for page, name in enumerate(bits.masks):
            own = bits.by_spark[page * BITS_OF_A_MASK : (page + 1) * BITS_OF_A_MASK]
            holds = [evaluate_or_fall_back(parts[number], rows).fill_null(False).to_numpy(False) for number in own]
            added[name] = pa.array(words_of(holds, count)[0].view(np.int64))
        added |= {name: evaluate_or_fall_back(value, rows) for name, value in self.computed.items()}
        for name, column in added.items():
            rows = rows.append_column(name, column)
        return rows


def _changed(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)
