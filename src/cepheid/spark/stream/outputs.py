"""The rows of one output of a stream, taken out of the operator's cells.

In: the operator's output, a stream or one micro-batch of it. Out: the rows of one kind. Made by `plan`, used there and
by `query`. Over Spark Connect it travels to the server, where micro-batches are written: so it is plain data, without a
DataFrame or a Column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepheid.spark.frames import arrow_schema
from cepheid.spark.output import result_columns
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.shipping import shipped
from cepheid.spark.stream.operator import KIND


@dataclass(frozen=True)
class OutputRows:
    """Takes the rows of one kind out of what the operator gives."""

    kind: str
    schema: StructType
    """The columns as the operator gives them."""
    own: tuple[str, ...] = ()
    measures: tuple[tuple[str, str], ...] = ()
    """Name and SQL text of each, if there are any; then `own` are the columns beside them."""

    def __call__(self, operated: DataFrame) -> DataFrame:
        cells = operated.where(F.col(KIND) == self.kind).select(PAYLOAD)
        return self._shown(cells.mapInArrow(shipped(Unpack(arrow_schema(self.schema))), self.schema))

    def here(self, session: SparkSession, cells: pa.ChunkedArray) -> DataFrame:
        """The same rows of cells that are in this process: no worker has to be called for them."""
        schema = arrow_schema(self.schema)
        rows = Unpack(schema)([pa.RecordBatch.from_arrays([cells.combine_chunks()], [PAYLOAD])])
        return self._shown(session.createDataFrame(pa.Table.from_batches(rows), self.schema))

    def _shown(self, rows: DataFrame) -> DataFrame:
        return rows.select(*result_columns(self.own, self.measures)) if self.measures else rows


@dataclass(frozen=True)
class ComputedRows:
    """The same, for rows whose columns are computed from what the operator gives."""

    kind: str
    schema: StructType
    columns: tuple[tuple[str, str], ...]
    """Name and SQL text of each."""

    def __call__(self, operated: DataFrame) -> DataFrame:
        return self._shown(OutputRows(self.kind, self.schema)(operated))

    def here(self, session: SparkSession, cells: pa.ChunkedArray) -> DataFrame:
        return self._shown(OutputRows(self.kind, self.schema).here(session, cells))

    def _shown(self, rows: DataFrame) -> DataFrame:
        return rows.select(*[F.expr(text).alias(name) for name, text in self.columns])


@dataclass(frozen=True)
class Unpack:
    """Cells of one kind back to rows. Runs in Spark's Python workers."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(PAYLOAD):
                table = pa.ipc.open_stream(cell.as_buffer()).read_all()
                if "at" not in table.column_names and "at" in self.schema.names:
                    moment = self.schema.field("at").type
                    table = table.append_column("at", pa.nulls(table.num_rows, moment))
                yield from table.select(self.schema.names).to_batches()
