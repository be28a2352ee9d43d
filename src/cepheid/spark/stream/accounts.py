"""What a micro-batch counts: every event of a stream is in exactly one class.

In: the rows that a stream brings, and what the operator did with a bucket. Out: Columns that Spark adds up, and
`Account`s of micro-batches from a query's progress.

Of the rows that come, some are *irrelevant* (no condition could want them, and they are dropped before the shuffle),
some *late*, some *rejected*; the others wait (*pending*) and are *handled* when the watermark has passed them. For each
micro-batch, and so for all of them together:

    rows = irrelevant + late + rejected + handled + the change of pending

A micro-batch calls the operator for the buckets that it touches. So `runs`, `pending` and `state_bytes` are those of
the buckets touched; what all buckets hold is the sum of `runs_change` and `pending_change` over all micro-batches. Runs
of a large bucket are counted in some micro-batches only (`state.store`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.spark.stream.time import REASON

OBSERVED, READ, HISTORY = "cepheid", "cepheid.read", "cepheid.history"
"""The names of the counts in a query's progress: what the operator counts, the rows that come, and those of a
history."""
COUNTED = (
    "events",
    "late",
    "rejected",
    "handled",
    "matches",
    "timeouts",
    "runs",
    "runs_change",
    "pending",
    "pending_change",
    "state_bytes",
    "written_bytes",
    "broken",
    "unmatched",
)
COUNTED_OF = "__counted"
"""The operator's one column with all of them: every further column is converted and cached by itself."""
_IF_ASKED = ("timeouts", "broken", "unmatched")


def read_rows() -> list[Column]:
    """What is counted of the rows that come; of a line of the control source no reason is known."""
    return [F.count(REASON).alias("rows")]


def counted(asked: Collection[str]) -> list[Column]:
    """What is counted after the operator, which gives one row of counts for each call. Of what is only found if it is
    asked for, the kinds that are: Spark generates code for each sum, in every task anew."""
    names = [(place, name) for place, name in enumerate(COUNTED) if name not in _IF_ASKED or name in asked]
    return [F.coalesce(F.sum(F.get(COUNTED_OF, F.lit(place))), F.lit(0)).alias(name) for place, name in names]


@dataclass(frozen=True, slots=True)
class Account:
    """One micro-batch in figures."""

    batch: int
    rows: int
    irrelevant: int
    late: int
    rejected: int
    handled: int
    matches: int
    timeouts: int
    runs_change: int
    pending_change: int
    state_bytes: int
    written_bytes: int
    broken: int = 0
    """These two where they are looked for."""
    unmatched: int = 0


def account(progress: Mapping[str, Any]) -> Account | None:
    """The account of a micro-batch, from its progress as JSON; None if it has none."""
    observed = progress.get("observedMetrics", {})
    if OBSERVED not in observed:
        return None
    counts = _by_name(observed[OBSERVED])
    rows = sum(_by_name(observed.get(name, {})).get("rows", 0) for name in (READ, HISTORY))
    own = {name: counts.get(name, 0) for name in COUNTED if name not in ("events", "runs", "pending")}
    return Account(batch=progress["batchId"], rows=rows, irrelevant=rows - counts["events"], **own)


def accounts(query: StreamingQuery) -> list[Account]:
    """The accounts of a query's latest micro-batches, in order."""
    found = [account(json.loads(progress.json)) for progress in query.recentProgress]
    return [one for one in found if one is not None]


def _by_name(observed: Mapping[str, Any]) -> dict[str, int]:
    """Counts by name. Spark Connect tells values and names apart."""
    if "values" in observed:
        names = [field["name"] for field in observed["schema"]["fields"]]
        observed = dict(zip(names, observed["values"], strict=True))
    return {name: int(value or 0) for name, value in observed.items()}
