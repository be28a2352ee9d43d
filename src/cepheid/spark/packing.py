"""How rows get to the workers in cells: a bucket for each key, and cells of one bucket in one place.

In: a DataFrame and its key. Out: Columns and DataFrames. Shared by the plans of patterns and of row patterns.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepheid.spark.buckets import spread_ids
from cepheid.spark.keys import key_columns
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, Pack
from cepheid.spark.shipping import mapped


def bucket_of(schema: StructType, keys: tuple[str, ...], buckets: int) -> Column:
    """The bucket of a row's key."""
    return F.pmod(F.xxhash64(*key_columns(schema, keys)), F.lit(buckets).cast("bigint"))


def packed(prepared: DataFrame, pack: Pack, buckets: int) -> DataFrame:
    """Cells of one bucket in one place, buckets spread evenly."""
    return moved(mapped(prepared, pack, f"`{BUCKET}` int, `{PAYLOAD}` binary"), buckets)


def moved(cells: DataFrame, buckets: int) -> DataFrame:
    """The same of cells."""
    if hasattr(cells, "repartitionById"):
        together: DataFrame = cells.repartitionById(buckets, BUCKET)
        return together
    ids = F.array(*map(F.lit, spread_ids(buckets, buckets)))
    spread = cells.select(F.element_at(ids, F.col(BUCKET) + 1).alias(BUCKET), PAYLOAD)
    return spread.repartition(buckets, BUCKET)
