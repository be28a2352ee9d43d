"""The sinks that write the outputs of a stream, one micro-batch after the other.

In: a sink as a user gives it, and the columns of its output. Out: a function of the rows of a micro-batch and its
number. Called by `query`.

A micro-batch that is replayed after a failure has the same number and gives the same rows. So each sink writes a
micro-batch in such a way that a second write changes nothing: files go to a separate directory, a table keeps the rows
that it has, rows in memory replace those of that number, and a function is given the number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cepheid.conditions.printing import quoted
from cepheid.errors import InputError
from cepheid.spark.sinks import Files, Table
from cepheid.spark.stream.checkpoint.layout import Checkpoint

NEW_ROWS = "cepheid_new_rows"
Function: TypeAlias = Callable[[DataFrame, int], None]
Sink: TypeAlias = str | Files | Table | Function


@dataclass(frozen=True, slots=True)
class Output:
    """One output of a stream: its name, its columns, and those that identify its rows, if any do."""

    kind: str
    schema: StructType
    key: tuple[str, ...] | None


def writer(session: SparkSession, output: Output, sink: Sink, checkpoint: str) -> Function:
    """The function that writes one output."""
    if isinstance(sink, Files):
        return WrittenFiles(sink, checkpoint).begun(session, output)
    if isinstance(sink, Table):
        return MergedTable.checked(session, output, sink)
    if sink == "console":
        return to_console(output.kind)
    if sink == "memory":
        return Memory(session, output.kind).begun(output)
    if callable(sink):
        return sink
    raise InputError(
        f"{output.kind}={sink!r} is not a sink.\n"
        '  Give files(path, "parquet") or table(name) of cepheid.spark.sinks, "console", "memory", or a function of a\n'
        "  DataFrame and the batch number."
    )


class Memory:
    """Rows kept in this process, as a temporary view: for a look at the rows, and for tests."""

    def __init__(self, session: SparkSession, view: str) -> None:
        self.session = session
        self.view = view
        self.batches: dict[int, pa.Table] = {}

    def begun(self, output: Output) -> Memory:
        """Create the view, which is empty before anything is found."""
        self.session.createDataFrame([], output.schema).createOrReplaceTempView(self.view)
        return self

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self.batches[batch] = rows.toArrow()
        tables = list(self.batches.values())
        self.session.createDataFrame(pa.concat_tables(tables)).createOrReplaceTempView(self.view)


@dataclass
class WrittenFiles:
    """Writes each micro-batch to a separate directory, and overwrites what an earlier attempt left there.

    The name of a directory does not have the form `name=value`: a reader would take that for a column, and a column of
    that name in the rows would be lost.
    """

    files: Files
    checkpoint: str
    query_id: str | None = None

    def begun(self, session: SparkSession, output: Output) -> WrittenFiles:
        """Write files without rows, so that an output that stays empty can be read."""
        self._write(session.createDataFrame([], output.schema), "no-rows", "ignore")
        return self

    def __call__(self, rows: DataFrame, batch: int) -> None:
        if self.query_id is None:
            self.query_id = Checkpoint(rows.sparkSession, self.checkpoint).query_id()
        self._write(rows, f"{self.query_id}-{batch:09}", "overwrite")

    def _write(self, rows: DataFrame, place: str, mode: str) -> None:
        writer = rows.write.format(self.files.format).options(**self.files.options)
        writer.mode(mode).save(f"{self.files.path.rstrip('/')}/{place}")


@dataclass
class MergedTable:
    """Adds the rows whose key the table does not have yet, so a second write changes nothing."""

    name: str
    key: tuple[str, ...]

    @classmethod
    def checked(cls, session: SparkSession, output: Output, table: Table) -> MergedTable:
        """Refuse a table that cannot be merged into: merging no rows shows whether Spark can."""
        name, key = table.name, table.key or output.key
        if key is None:
            raise InputError(
                f"{output.kind}=table({name!r}): nothing is known that tells the rows of {output.kind!r} apart, so a "
                'replayed micro-batch would write them twice.\n  Name such columns: table(..., key=["id"]).'
            )
        if not session.catalog.tableExists(name):
            raise InputError(f"table({name!r}): there is no such table.\n  Create it first, in a format with MERGE.")
        for place, columns in (("the table", session.table(name).columns), (f"{output.kind!r}", output.schema.names)):
            missing = next((column for column in key if column not in columns), None)
            if missing is not None:
                raise InputError(
                    f"table({name!r}): {place} has no column {missing!r} to tell rows apart by.\n"
                    f"  It has: {', '.join(columns)}. Name some of them: table(..., key=[...])."
                )
        merged = cls(name, key)
        try:
            session.sql(merged.statement(f"(SELECT * FROM {name} WHERE false)"))
        except PySparkException as error:
            raise InputError(
                f"table({name!r}) cannot be merged into, so a replayed micro-batch would write its rows twice.\n"
                "  Use a table of a transactional format such as Delta or Iceberg, or files(path).\n"
                f"  Spark says: {str(error).strip().splitlines()[0][:200]}"
            ) from error
        return merged

    def __call__(self, rows: DataFrame, batch: int) -> None:
        rows.dropDuplicates(list(self.key)).createOrReplaceTempView(NEW_ROWS)
        rows.sparkSession.sql(self.statement(NEW_ROWS))

    def statement(self, source: str) -> str:
        """The MERGE; parts of a key may be NULL."""
        same = " AND ".join(f"target.{quoted(name)} <=> given.{quoted(name)}" for name in self.key)
        return f"MERGE INTO {self.name} AS target USING {source} AS given ON {same} WHEN NOT MATCHED THEN INSERT *"


def to_console(kind: str) -> Function:
    """Prints the rows of each micro-batch."""

    def show(rows: DataFrame, batch: int) -> None:
        print(f"{kind}, batch {batch}")
        rows.show(truncate=False)

    return show
