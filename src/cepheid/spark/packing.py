"""How rows get to the workers in cells: a bucket for each key, and cells of one bucket in one place.

In: a DataFrame and its key. Out: Columns and DataFrames. Shared by the plans of patterns and of row patterns.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType, StructType

from cepheid.conditions.printing import quoted
from cepheid.spark.buckets import spread_ids
from cepheid.spark.shipping import shipped
from cepheid.spark.workers import BUCKET, PAYLOAD, Pack


def hashed_keys(schema: StructType, keys: tuple[str, ...]) -> list[Column]:
    """Keys as they are hashed: 0.0 and -0.0 are one key."""
    floating = (FloatType, DoubleType)
    columns = {name: F.col(quoted(name)) for name in keys}
    return [
        column + F.lit(0.0) if isinstance(schema[name].dataType, floating) else column
        for name, column in columns.items()
    ]


def bucket_of(schema: StructType, keys: tuple[str, ...], buckets: int) -> Column:
    """The bucket of a row's key."""
    return F.pmod(F.xxhash64(*hashed_keys(schema, keys)), F.lit(buckets).cast("bigint"))


def packed(prepared: DataFrame, pack: Pack, buckets: int) -> DataFrame:
    """Cells of one bucket in one place, buckets spread evenly."""
    cells = prepared.mapInArrow(shipped(pack), f"`{BUCKET}` int, `{PAYLOAD}` binary")
    if hasattr(cells, "repartitionById"):
        moved: DataFrame = cells.repartitionById(buckets, BUCKET)
        return moved
    ids = F.array(*map(F.lit, spread_ids(buckets, buckets)))
    spread = cells.select(F.element_at(ids, F.col(BUCKET) + 1).alias(BUCKET), PAYLOAD)
    return spread.repartition(buckets, BUCKET)
