"""The rows of one output of a stream, taken out of the operator's cells.

In: the operator's output, a stream or one micro-batch of it. Out: the rows of one kind. Made by `streaming`, used there
and by `streaming_sinks`. Over Spark Connect it travels to the server, where micro-batches are written: so it is plain
data, without a DataFrame or a Column.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepheid.spark.frames import arrow_schema
from cepheid.spark.output import result_columns
from cepheid.spark.shipping import shipped
from cepheid.spark.stream.operator import KIND, Unpack
from cepheid.spark.workers import PAYLOAD


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
        rows = cells.mapInArrow(shipped(Unpack(arrow_schema(self.schema))), self.schema)
        return rows.select(*result_columns(self.own, self.measures)) if self.measures else rows
