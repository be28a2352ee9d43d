"""The values of buckets as a checkpoint holds them: read only, in the form in which `store` asks for them.

In: a session and the path of a checkpoint. Out: rows of (bucket, step, piece, value), and buckets made of them. Called
by whatever looks at state or moves it; needs no query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.spark.pack_workers import BUCKET
from cepheid.spark.stream.state.values import HEAD, NAME, PIECE, STEP


def saved_rows(session: SparkSession, checkpoint: str) -> DataFrame:
    """All state of all buckets, as it was committed last."""
    values = session.read.format("statestore").option("stateVarName", NAME).load(checkpoint)
    return values.select(
        F.col(f"key.{BUCKET}").alias("bucket"),
        F.col(f"user_map_key.{STEP}").alias(STEP),
        F.col(f"user_map_key.{PIECE}").alias(PIECE),
        F.col("user_map_value.value").alias("value"),
    )


def heads(session: SparkSession, checkpoint: str) -> DataFrame:
    """The heads alone, which are small."""
    return saved_rows(session, checkpoint).where(F.col(STEP) == HEAD)


class SavedValues:
    """The values of one bucket."""

    def __init__(self) -> None:
        self.values: dict[tuple[int, int], bytes] = {}

    def getValue(self, place: tuple[int, int]) -> tuple[bytes] | None:
        found = self.values.get(place)
        return None if found is None else (found,)

    def updateValue(self, place: tuple[int, int], value: tuple[bytes]) -> None:
        raise AssertionError("a checkpoint is only read here")

    def clear(self) -> None:
        raise AssertionError("a checkpoint is only read here")


def saved_buckets(rows: Iterable[Mapping[str, Any]]) -> dict[int, SavedValues]:
    """The buckets that some rows of saved state make, in any order."""
    buckets: dict[int, SavedValues] = {}
    for row in rows:
        values = buckets.setdefault(row["bucket"], SavedValues()).values
        values[row[STEP], row[PIECE]] = bytes(row["value"])
    return buckets
