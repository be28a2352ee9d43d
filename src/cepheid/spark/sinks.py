"""Sinks for the outputs of a stream: what a user gives to `start(...)`.

In: where rows are to go. Out: a description that `stream.sinks` acts on. For users' programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from cepheid.errors import InputError


@dataclass(frozen=True, slots=True)
class Files:
    """Files in a directory; each micro-batch has its own subdirectory `<query's id>-<number>`."""

    path: str
    format: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)

    def read(self, session: SparkSession) -> DataFrame:
        """All rows that are there."""
        return session.read.format(self.format).options(**self.options).load(f"{self.path.rstrip('/')}/*")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that supports MERGE; a row whose `key` exists is not written again."""

    name: str
    key: tuple[str, ...] | None = None
    """None: what tells matches, or the events of matches, apart."""


def files(path: str, format: str = "parquet", **options: str) -> Files:
    """Write files; each micro-batch has its own directory, so that a replay overwrites it.

    Read them with `files(path).read(spark)`, or `spark.read.parquet(f"{path}/*")`.
    """
    return Files(path, format, options)


def table(name: str, key: str | Iterable[str] | None = None) -> Table:
    """Write to a table that supports MERGE, such as Delta or Iceberg; others are refused when the query starts.

    `key`: the columns that tell rows apart. Matches need none: it is `match_id`, and `sequence` with `rows="all"`.
    """
    if key is None:
        return Table(name)
    names = (key,) if isinstance(key, str) else tuple(key)
    if not names:
        raise InputError(
            f"table({name!r}, key=[]) has no column to tell rows apart by.\n  Name some, or leave key= out."
        )
    return Table(name, names)
