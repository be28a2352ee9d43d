"""Sinks for the outputs of a stream: what a user gives to `start(...)`.

In: where rows are to go. Out: a description that `streaming_sinks` acts on. For users' programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Files:
    """Files in a directory; each micro-batch has its own subdirectory `query=<id>/batch=<n>`."""

    path: str
    format: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that supports MERGE; a row whose `key` exists is not written again."""

    name: str
    key: str = "match_id"


def files(path: str, format: str = "parquet", **options: str) -> Files:
    """Write files; each micro-batch has its own directory, so that a replay overwrites it."""
    return Files(path, format, options)


def table(name: str, key: str = "match_id") -> Table:
    """Write to a table that supports MERGE, such as Delta or Iceberg; others are refused when the query starts."""
    return Table(name, key)
