"""The state variables of buckets as a checkpoint holds them: read only, in the form in which `store` asks for them.

In: a session and the path of a checkpoint. Out: rows of (bucket, variable, number, value), and buckets made of them.
Called by whatever looks at state or moves it; needs no query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepheid.spark.pack_workers import BUCKET

HEAD, MAPS = "head", {"base": "piece", "journal": "step"}
"""The variables, and what numbers the values of those that have several."""


def saved_rows(session: SparkSession, checkpoint: str) -> DataFrame:
    """All state of all buckets, as it was committed last."""
    rows = heads(session, checkpoint)
    for name, number in MAPS.items():
        values = _variable(session, checkpoint, name)
        rows = rows.unionByName(_rows(values, name, F.col(f"user_map_key.{number}"), F.col("user_map_value.value")))
    return rows


def heads(session: SparkSession, checkpoint: str) -> DataFrame:
    """The heads alone, which are small."""
    return _rows(_variable(session, checkpoint, HEAD), HEAD, F.lit(0), F.col("value.value"))


def _rows(values: DataFrame, name: str, number: Any, value: Any) -> DataFrame:
    return values.select(
        F.col(f"key.{BUCKET}").alias("bucket"),
        F.lit(name).alias("variable"),
        number.cast("bigint").alias("number"),
        value.alias("value"),
    )


def _variable(session: SparkSession, checkpoint: str, name: str) -> DataFrame:
    return session.read.format("statestore").option("stateVarName", name).load(checkpoint)


class SavedBuckets:
    """The state variables of some buckets."""

    def __init__(self) -> None:
        self.buckets: dict[int, SavedBucket] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> SavedBuckets:
        """Rows of saved state, in any order."""
        for row in rows:
            values = self.buckets.setdefault(row["bucket"], SavedBucket()).values
            values[row["variable"]][row["number"]] = bytes(row["value"])
        return self


class SavedBucket:
    """The state variables of one bucket."""

    def __init__(self) -> None:
        self.values: dict[str, dict[int, bytes]] = {name: {} for name in (HEAD, *MAPS)}

    def getValueState(self, name: str, schema: StructType) -> SavedVariable:
        return SavedVariable(self.values[name])

    def getMapState(self, name: str, key_schema: StructType, schema: StructType) -> SavedVariable:
        return SavedVariable(self.values[name])


class SavedVariable:
    """A state variable with one value, or with one for each number."""

    def __init__(self, values: dict[int, bytes]) -> None:
        self.values = values

    def get(self) -> tuple[bytes] | None:
        return self.getValue((0,))

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:
        found = self.values.get(key[0])
        return None if found is None else (found,)

    def update(self, value: tuple[bytes]) -> None:
        raise AssertionError("a checkpoint is only read here")

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        raise AssertionError("a checkpoint is only read here")

    def removeKey(self, key: tuple[int]) -> None:
        raise AssertionError("a checkpoint is only read here")

    def clear(self) -> None:
        raise AssertionError("a checkpoint is only read here")
