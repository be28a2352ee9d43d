"""What a stream's checkpoint holds: the partial matches that wait, and the events that wait for the watermark.

In: the path of a checkpoint, and what `match` returned for the stream where the checkpoint does not say it itself. Out:
DataFrames. For users' programs and the command line; the query need not run. Everything is brought to the driver: this
is for looking, not for large state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from cepheid.engine.kernel import layout as l
from cepheid.spark.frames import arrow_schema
from cepheid.spark.stream.bucket import BucketRuns
from cepheid.spark.stream.flush import Checkpoint
from cepheid.spark.stream.plan import FoundInStream
from cepheid.spark.stream.saved_plan import kept_plan
from cepheid.spark.stream.store import BucketStore


class StateReader:
    """The state of a stream as it was committed last.

    `StateReader.open(spark, checkpoint)` takes the pattern from the checkpoint; `StateReader(found, checkpoint)` takes
    what `match` returned for the stream, and is needed where a condition is a Spark Column.
    """

    def __init__(self, found: FoundInStream, checkpoint: str) -> None:
        self._plan = found.plan
        self._session = self._plan.session
        self._checkpoint = checkpoint
        saved = Checkpoint(self._session, checkpoint).identity()
        self._plan.with_buckets(tuple(saved["buckets"]))
        self._timeouts = bool(saved["timeouts"])

    @classmethod
    def open(cls, session: SparkSession, checkpoint: str) -> StateReader:
        """The state of a checkpoint that knows its pattern."""
        return cls(FoundInStream(kept_plan(session, checkpoint)), checkpoint)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that the stream is partitioned by."""
        return self._plan.partition_by

    def pending(self) -> DataFrame:
        """The events that the watermark has not passed yet."""
        names = list(self._plan.output.travelling)
        tables = [bucket.pending.select(names) for bucket in self._buckets() if bucket.pending is not None]
        schema = StructType([self._plain(name) for name in names])
        return self._frame(tables, schema)

    def runs(self) -> DataFrame:
        """The partial matches that wait: their key, when they began, their last event, what they have taken so far, and
        for what they wait."""
        plan = self._plan
        time = plan.rows.schema[plan.order_by[0]].dataType
        taken = StructType([StructField("variable", StringType()), StructField("time", time)])
        fields = [self._plain(name) for name in plan.partition_by]
        fields += [StructField("start_time", time), StructField("last_time", time)]
        fields += [StructField("taken", ArrayType(taken)), StructField("waits_for", ArrayType(StringType()))]
        schema = StructType(fields)
        rows = [row for bucket in self._buckets() for row in self._runs_of(bucket)]
        return self._frame([pa.Table.from_pylist(rows, schema=arrow_schema(schema))], schema)

    def _frame(self, tables: list[pa.Table], schema: StructType) -> DataFrame:
        if not any(table.num_rows for table in tables):
            return self._session.createDataFrame([], schema)
        return self._session.createDataFrame(pa.concat_tables(tables).cast(arrow_schema(schema)), schema)

    def _plain(self, name: str) -> StructField:
        return StructField(name, self._plan.rows.schema[name].dataType)

    def _runs_of(self, bucket: BucketRuns) -> Iterator[dict[str, Any]]:
        plan, pool = self._plan, bucket.matcher.pool
        automaton = plan.automaton
        rows = [] if bucket.rows is None else bucket.rows.select([*plan.partition_by, plan.order_by[0]]).to_pylist()
        time = plan.order_by[0]
        for run in bucket.matcher.waiting():
            if pool.runs[run, l.R_OPEN] == 0:
                continue
            taken, node = [], int(pool.runs[run, l.R_NODE])
            while node != l.NONE:
                row = rows[pool.nodes[node, l.N_EVENT]]
                variable = automaton.variables[pool.nodes[node, l.N_STATE] & l.VARIABLE]
                taken.append({"variable": variable, "time": row[time]})
                node = int(pool.nodes[node, l.N_PREVIOUS])
            taken.reverse()
            position = int(pool.runs[run, l.R_POSITION])
            waits = ["the end of the nots at the end"]
            if position < len(automaton.positions):
                ways = automaton.positions[position].continuations
                is_open = int(pool.runs[run, l.R_OPEN])
                waits = [automaton.variables[w.take.variable] for i, w in enumerate(ways) if is_open >> i & 1]
            key = {name: row[name] for name in plan.partition_by}
            yield {
                **key,
                "start_time": taken[0]["time"],
                "last_time": taken[-1]["time"],
                "taken": taken,
                "waits_for": list(dict.fromkeys(waits)),
            }

    def _buckets(self) -> Iterator[BucketRuns]:
        """All buckets, restored."""
        saved = _Saved()
        for row in self._read("head"):
            saved.of(row["key"][0]).head = (bytes(row["value"][0]),)
        for name in ("base", "journal"):
            for row in self._read(name):
                saved.of(row["key"][0]).maps[name][(row["user_map_key"][0],)] = (bytes(row["user_map_value"][0]),)
        work = self._plan.work(self._timeouts)
        for number, state in saved.buckets.items():
            yield BucketStore(state, work).load(number)[1]

    def _read(self, name: str) -> list[Any]:
        reader = self._session.read.format("statestore").option("stateVarName", name)
        return reader.load(self._checkpoint).collect()


class _Saved:
    """The state variables of all buckets."""

    def __init__(self) -> None:
        self.buckets: dict[int, _SavedBucket] = {}

    def of(self, number: int) -> _SavedBucket:
        return self.buckets.setdefault(number, _SavedBucket())


class _SavedBucket:
    """The state variables of one bucket, in the form in which the operator asks for them; read only."""

    def __init__(self) -> None:
        self.head: tuple[bytes] | None = None
        self.maps: dict[str, dict[tuple[int], tuple[bytes]]] = {"base": {}, "journal": {}}

    def getValueState(self, name: str, schema: str) -> _SavedValue:
        return _SavedValue(self.head)

    def getMapState(self, name: str, key_schema: str, schema: str) -> _SavedMap:
        return _SavedMap(self.maps[name])


class _SavedValue:
    def __init__(self, value: tuple[bytes] | None) -> None:
        self.value = value

    def get(self) -> tuple[bytes] | None:
        return self.value

    def update(self, value: tuple[bytes]) -> None:
        raise AssertionError("a checkpoint is only read here")


class _SavedMap:
    def __init__(self, values: dict[tuple[int], tuple[bytes]]) -> None:
        self.values = values

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:
        return self.values.get(key)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        raise AssertionError("a checkpoint is only read here")

    def removeKey(self, key: tuple[int]) -> None:
        raise AssertionError("a checkpoint is only read here")


__all__ = ["StateReader"]
