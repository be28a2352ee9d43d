"""What stops a query, said in a few plain words: the name of the checkpoint, and the remedy.

In: a query that has been started, and the path of its checkpoint. Out: the same query; whoever waits for it gets an
error of Cepheid's where Spark's would be pages of two languages. `query.exception()` has Spark's own text. Called by
`query`.

Spark writes a checkpoint at several moments of a micro-batch: what it will read, the state, and that it is done. Each
file is written aside and then renamed, so a full disk leaves no half-written one, and the last micro-batch that was
committed stays what a restart goes on from.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlparse

from pyspark.sql.streaming.query import StreamingQuery

from cepheid import errors
from cepheid.errors import CepheidError, StateError

Result = TypeVar("Result")
FULL = ("No space left on device", "Disk quota exceeded", "DSQuotaExceededException")
"""What file systems say when nothing more can be written: local ones, those with quotas, Hadoop's."""
SHARED = "CONCURRENT_STREAM_LOG_UPDATE"
DAMAGED = re.compile(
    r"CANNOT_LOAD_STATE_STORE\.?\w*|STATE_STORE_\w*(?:CHECKSUM|CORRUPT|FILE)\w*|"
    r"(?:Checksum|EOF|FileNotFound|Corrupt\w*|RocksDB|ZipException)\w*(?=[^\n]*(?:/state/|changelog|snapshot|\.zip|\.sst))"
)
"""How Spark says that it cannot read a file of the state."""
_OURS = re.compile(
    r"^cepheid\.errors\.(?P<kind>\w+): (?P<message>.*?)(?=^\S*Traceback|^\s*at |^JVM stacktrace|^$|^During handling|"
    r"^The above exception|\Z)",
    re.M | re.S,
)


def ours(text: str) -> CepheidError | None:
    """The last error that Cepheid raised on a worker, taken out of the traces of two languages; None if it raised
    none."""
    found = list(_OURS.finditer(text))
    if not found:
        return None
    kind = getattr(errors, found[-1]["kind"], CepheidError)
    message = found[-1]["message"].strip()
    is_plain = isinstance(kind, type) and issubclass(kind, CepheidError) and "__init__" not in vars(kind)
    return kind(message) if is_plain else CepheidError(message)


def watched(query: StreamingQuery, checkpoint: str) -> StreamingQuery:
    """The query itself: whoever waits for it is told what has happened. Only two methods are replaced, since a query is
    one class in classic Spark and another one over Connect."""
    for name in ("awaitTermination", "processAllAvailable"):
        setattr(query, name, _telling(getattr(query, name), checkpoint))
    return query


def _telling(wait: Callable[..., Result], checkpoint: str) -> Callable[..., Result]:
    def waiting(*arguments: Any, **named: Any) -> Result:
        with failures_told(checkpoint):
            return wait(*arguments, **named)

    return waiting


@contextmanager
def failures_told(checkpoint: str) -> Iterator[None]:
    """Raise an error of ours where an error of Spark's says something that we know."""
    try:
        yield
    except CepheidError:
        raise
    except Exception as error:  # an error of the JVM, of whichever class it comes as
        known = _known(str(error), checkpoint)
        if known is None:
            raise
        raise known from None


def _known(said: str, checkpoint: str) -> CepheidError | None:
    reason = next((text for text in FULL if text in said), None)
    if reason is not None:
        return StateError(
            f"the checkpoint {checkpoint!r} could not be written: {reason}.{_free_bytes(checkpoint)}\n"
            "  Free space there, for the sinks and for spark.local.dir, then start again with the same checkpoint:\n"
            "  the query goes on after the last micro-batch that was committed, and nothing is lost."
        )
    raised = ours(said)
    if raised is not None:
        return raised
    if SHARED in said:
        return StateError(
            f"another query has written to the checkpoint {checkpoint!r}, so this one was stopped.\n"
            "  A checkpoint belongs to one query: stop the other one, or give each its own."
        )
    damage = DAMAGED.search(said)
    if damage is not None:
        return StateError(
            f"the state in the checkpoint {checkpoint!r} cannot be read: {damage[0]}. A file is damaged or missing.\n"
            "  Restore the checkpoint from a complete copy, or start with a new checkpoint and with the events\n"
            "  that still matter read again. query.exception() has all that Spark says."
        )
    return None


def _free_bytes(checkpoint: str) -> str:
    """How much is free where the checkpoint is, if that is a disk of this machine."""
    place = urlparse(checkpoint)
    try:
        free = shutil.disk_usage(place.path).free if place.scheme in ("", "file") else None
    except OSError:
        free = None
    return "" if free is None else f" Free on its disk: {free:,} bytes."
