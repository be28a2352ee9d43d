"""Where the outputs of a stream go, and the one query that serves them all.

In: a plan, a sink for each output, a checkpoint. Out: a running query. Called by `FoundInStream.start`.

A micro-batch that is replayed after a failure has the same number and gives the same rows, so each sink writes a
micro-batch in a way that a second time changes nothing: files go to a directory of their own, rows in memory replace
those of that number, and a function is told the number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from cepheid.conditions.printing import quoted
from cepheid.errors import InputError
from cepheid.spark.session import missing_options
from cepheid.spark.sinks import Files, Table
from cepheid.spark.stream.failures import watched
from cepheid.spark.stream.flush import Checkpoint
from cepheid.spark.stream.operator import KIND
from cepheid.spark.stream.outputs import OutputRows

if TYPE_CHECKING:
    from cepheid.spark.stream.plan import StreamPlan

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CELLS_OF_A_TASK = 16
"""Cells whose rows one task writes: with few matches most tasks, and files, would be next to empty."""
NEW_ROWS = "cepheid_new_rows"
Function: TypeAlias = Callable[[DataFrame, int], None]


Sink: TypeAlias = str | Files | Table | Function


class Memory:
    """Rows kept in this process, as a temporary view: for looking at and for tests."""

    def __init__(self, session: SparkSession, view: str) -> None:
        self.session = session
        self.view = view
        self.batches: dict[int, pa.Table] = {}

    def begin(self, schema: StructType) -> None:
        """The view as it is before anything was found."""
        self.session.createDataFrame([], schema).createOrReplaceTempView(self.view)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self.batches[batch] = rows.toArrow()
        tables = list(self.batches.values())
        self.session.createDataFrame(pa.concat_tables(tables)).createOrReplaceTempView(self.view)


@dataclass
class WrittenFiles:
    """Writes each micro-batch to a directory of its own, over whatever an earlier try left there."""

    files: Files
    checkpoint: str
    query_id: str | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        if self.query_id is None:
            self.query_id = Checkpoint(rows.sparkSession, self.checkpoint).query_id()
        place = f"{self.files.path.rstrip('/')}/query={self.query_id}/batch={batch}"
        rows.write.format(self.files.format).options(**self.files.options).mode("overwrite").save(place)


@dataclass
class MergedTable:
    """Adds the rows whose key the table does not have yet; a second time changes nothing."""

    table: Table

    def __call__(self, rows: DataFrame, batch: int) -> None:
        rows.dropDuplicates([self.table.key]).createOrReplaceTempView(NEW_ROWS)
        rows.sparkSession.sql(self._merge(NEW_ROWS))

    def _merge(self, source: str) -> str:
        key = quoted(self.table.key)
        return (
            f"MERGE INTO {self.table.name} AS target USING {source} AS given ON target.{key} = given.{key} "
            "WHEN NOT MATCHED THEN INSERT *"
        )

    def check(self, session: SparkSession) -> MergedTable:
        """Refuse a table that cannot be merged into: merging no rows shows whether Spark can."""
        name, key = self.table.name, self.table.key
        if not session.catalog.tableExists(name):
            raise InputError(f"table({name!r}): there is no such table.\n  Create it first, in a format with MERGE.")
        if key not in session.table(name).columns:
            raise InputError(f"table({name!r}, key={key!r}): the table has no column {key!r} to tell rows apart by.")
        try:
            session.sql(self._merge(f"(SELECT * FROM {name} WHERE false)"))
        except PySparkException as error:
            raise InputError(
                f"table({name!r}) cannot be merged into, so a replayed micro-batch would write its rows twice.\n"
                "  Use a table of a transactional format such as Delta or Iceberg, or files(path).\n"
                f"  Spark says: {str(error).strip().splitlines()[0][:200]}"
            ) from error
        return self


def to_console(kind: str) -> Function:
    """Prints the rows of each micro-batch."""

    def show(rows: DataFrame, batch: int) -> None:
        print(f"{kind}, batch {batch}")
        rows.show(truncate=False)

    return show


@dataclass
class Router:
    """Splits a micro-batch by kind; the operator runs once, however many sinks there are. Over Spark Connect it travels
    to the server with all that it holds."""

    rows_of: dict[str, OutputRows]
    writers: dict[str, Function]

    def __call__(self, cells: DataFrame, batch: int) -> None:
        cells = cells.persist()
        try:
            counts = Counter(row[0] for row in cells.select(KIND).collect())  # cells are few; to count in Spark is dear
            for kind, write in self.writers.items():
                if counts[kind]:
                    few = cells.coalesce(-(-counts[kind] // CELLS_OF_A_TASK))
                    write(self.rows_of[kind](few), batch)
        finally:
            cells.unpersist()


def start(
    plan: StreamPlan, sinks: dict[str, Sink], checkpoint: str, trigger: dict[str, Any], name: str | None, flush: bool
) -> StreamingQuery:
    """Start the query. With `flush`, let it work through all there is, end the input and return when it is done."""
    if flush and trigger not in ({}, {"availableNow": True}):
        raise InputError(
            f"flush=True ends the input, so the trigger {trigger!r} has nothing to wait for.\n"
            '  Leave the trigger out, or give {"availableNow": True}.'
        )
    if not sinks:
        raise InputError('no sink is given.\n  Name at least one output, such as start(matches="console", ...).')
    writers = {kind: _writer(plan, kind, sink, checkpoint) for kind, sink in sinks.items()}
    router = Router({kind: plan.rows_of(kind) for kind in sinks}, writers)
    place = Checkpoint(plan.session, checkpoint)
    timeouts = "timeouts" in sinks
    saved = place.prepare(plan.identity(timeouts), flush)
    if saved is None:
        from cepheid.spark.stream.saved_plan import keep_plan  # it builds plans, and so imports `streaming`

        keep_plan(plan, checkpoint)
    if saved is not None and plan.buckets_given in (None, len(saved)):  # which ids they have is ours to choose
        plan.with_buckets(saved)
    place.check(plan.identity(timeouts))

    def begin(how: dict[str, Any]) -> StreamingQuery:
        with _settings(plan.session, plan.partitions):
            operated = plan.operated(timeouts, place.control)
            writer = operated.writeStream.foreachBatch(router).option("checkpointLocation", checkpoint)
            if name is not None:
                writer = writer.queryName(name)
            return watched((writer.trigger(**how) if how else writer).start(), checkpoint)

    if not flush:
        return begin(trigger)
    begin({"availableNow": True}).awaitTermination()
    place.end()
    query = begin({"availableNow": True})
    query.awaitTermination()
    place.ended()
    return query


def _writer(plan: StreamPlan, kind: str, sink: Sink, checkpoint: str) -> Function:
    """What writes one output."""
    if isinstance(sink, Files):
        return WrittenFiles(sink, checkpoint)
    if isinstance(sink, Table):
        return MergedTable(sink).check(plan.session)
    if sink == "console":
        return to_console(kind)
    if sink == "memory":
        memory = Memory(plan.session, kind)
        memory.begin(plan.schema(kind))
        return memory
    if callable(sink):
        return sink
    raise InputError(
        f"{kind}={sink!r} is no sink.\n"
        '  Give files(path, "parquet") or table(name) of cepheid.spark.sinks, "console", "memory", or a function of a\n'
        "  DataFrame and the batch number."
    )


@contextmanager
def _settings(session: SparkSession, partitions: int) -> Iterator[None]:
    """What the query needs of its session: a query takes the settings as they are when it starts."""
    wanted = {
        PROVIDER: ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.shuffle.partitions": str(partitions),
        **missing_options(session),
    }
    before = {key: session.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, given in before.items():
            if given is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, given)
