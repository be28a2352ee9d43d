"""What a stream's checkpoint says of itself: whose state it is, and how far the stream has come.

In: a session and the path of a checkpoint. Out: facts as (what, how) pairs. Everything is read by Spark, so any file
system will do. Called by the command line.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cepheid.errors import StateError


def checkpoint_facts(session: SparkSession, path: str) -> tuple[tuple[str, str], ...]:
    """The pattern, key, order, columns and buckets of a checkpoint, and its last micro-batch."""
    place = path.rstrip("/")
    saved = _lines(session, f"{place}/cepheid/identity")
    if not saved:
        raise StateError(
            f"{path!r} is no checkpoint of a pattern: it has no file below cepheid/identity.\n"
            "  Give the directory that was given to start(checkpoint=…), or under [stream] in the job."
        )
    identity: dict[str, Any] = json.loads(saved[0])
    columns = ", ".join(f"{name} {kind}" for name, kind in identity["columns"].items())
    ended = "ended by a flush" if _lines(session, f"{place}/cepheid/over") else "open"
    return (
        ("pattern", identity["text"]),
        ("partition_by", ", ".join(identity["partition_by"]) or "nothing"),
        ("order_by", ", ".join(identity["order_by"])),
        ("columns", columns),
        ("measures", ", ".join(f"{name} = {text}" for name, text in identity["measures"].items()) or "none"),
        ("timeouts", "looked for" if identity["timeouts"] else "not looked for"),
        ("buckets", f"{len(identity['buckets'])}"),
        ("last micro-batch", _last_batch(session, place)),
        ("input", ended),
    )


def _last_batch(session: SparkSession, place: str) -> str:
    try:
        named = session.read.text(f"{place}/commits").select(F.input_file_name()).distinct().collect()
    except AnalysisException:
        return "none yet"
    numbers = [int(name) for (whole,) in named if (name := str(whole).rsplit("/", 1)[-1]).isdigit()]
    return str(max(numbers)) if numbers else "none yet"


def _lines(session: SparkSession, path: str) -> list[str]:
    try:
        return [row[0] for row in session.read.text(path).collect()]
    except AnalysisException:
        return []
