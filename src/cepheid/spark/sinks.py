"""Sinks for the outputs of a stream: what a user gives to `start(...)`.

In: where rows are to go. Out: a description that `streaming_sinks` acts on. For users' programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Files:
    """Files in a directory, those of each micro-batch in `query=<id>/batch=<n>` below it."""

    path: str
    format: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be merged into: a row whose `key` is there already is not written again."""

    name: str
    key: str = "match_id"


def files(path: str, format: str = "parquet", **options: str) -> Files:
    """Files of some format, in a directory of their own for each micro-batch, so that a replay writes them again."""
    return Files(path, format, options)


def table(name: str, key: str = "match_id") -> Table:
    """A table of a format with MERGE, such as Delta or Iceberg; others are refused when the query starts."""
    return Table(name, key)
