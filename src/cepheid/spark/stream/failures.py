"""A running query that runs out of disk: said in plain words, with the name of the checkpoint and the remedy.

In: a query that has been started, and the path of its checkpoint. Out: the same query, which raises a `StateError`
where Spark would only say that a device is full. Called by `streaming` and `streaming_sinks`.

Spark writes a checkpoint at several moments of a micro-batch: what it will read, the state, and that it is done. Each
file is written aside and then renamed, so a full disk leaves no half-written one, and the last micro-batch that was
committed stays what a restart goes on from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlparse

from pyspark.sql.streaming.query import StreamingQuery

from cepheid.errors import StateError

Result = TypeVar("Result")
FULL = ("No space left on device", "Disk quota exceeded", "DSQuotaExceededException")
"""What file systems say when nothing more can be written: local ones, those with quotas, Hadoop's."""


def watched(query: StreamingQuery, checkpoint: str) -> StreamingQuery:
    """The query itself: whoever waits for it is told what a full disk means. Only two methods are replaced, since a
    query is one class in classic Spark and another one over Connect."""
    for name in ("awaitTermination", "processAllAvailable"):
        setattr(query, name, _telling(getattr(query, name), checkpoint))
    return query


def _telling(wait: Callable[..., Result], checkpoint: str) -> Callable[..., Result]:
    def waiting(*arguments: Any, **named: Any) -> Result:
        with full_disk_told(checkpoint):
            return wait(*arguments, **named)

    return waiting


@contextmanager
def full_disk_told(checkpoint: str) -> Iterator[None]:
    """Raise a `StateError` where an error of Spark's says that a disk is full."""
    try:
        yield
    except Exception as error:  # an error of the JVM, of whichever class it comes as
        said = str(error)
        reason = next((text for text in FULL if text in said), None)
        if reason is None:
            raise
        raise StateError(
            f"the checkpoint {checkpoint!r} could not be written: {reason}.{_free_bytes(checkpoint)}\n"
            "  Free space there, for the sinks and for spark.local.dir, then start again with the same checkpoint:\n"
            "  the query goes on behind the last micro-batch that was committed, and nothing is lost."
        ) from error


def _free_bytes(checkpoint: str) -> str:
    """How much is free where the checkpoint is, if that is a disk of this machine."""
    place = urlparse(checkpoint)
    try:
        free = shutil.disk_usage(place.path).free if place.scheme in ("", "file") else None
    except OSError:
        free = None
    return "" if free is None else f" Free on its disk: {free:,} bytes."
