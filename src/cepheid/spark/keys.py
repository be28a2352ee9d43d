"""The key of an event, as Spark computes with it: which values are equal, and what they hash to.

In: a DataFrame's schema and the names of its partition columns. Out: Columns. Shared by batches and streams.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType, StructType

from cepheid.conditions.printing import quoted

HASHES = ("__key_0", "__key_1")
"""The columns that hold a key's hash on a stream."""


def one_zero(value: Column, kind: DataType) -> Column:
    """A value of a key: 0.0 and -0.0 are one."""
    return (value + F.lit(0.0)).cast(kind) if isinstance(kind, FloatType | DoubleType) else value


def key_columns(schema: StructType, names: Sequence[str]) -> list[Column]:
    """The key as it is hashed."""
    return [one_zero(F.col(quoted(name)), schema[name].dataType) for name in names]


def hash_columns(schema: StructType, names: Sequence[str]) -> list[Column]:
    """128 bits of hash, by which a stream tells keys apart; a NULL is told from a missing part by its place."""
    nulls = [F.col(quoted(name)).isNull() for name in names]
    keys = key_columns(schema, names)
    return [F.xxhash64(F.lit(salt), *keys, *nulls).alias(name) for salt, name in zip((17, 71), HASHES, strict=True)]
