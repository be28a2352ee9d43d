"""History, then live: events of a batch DataFrame that a stream knows before its first event.

In: a plan, the directory of a new checkpoint, and the history. Out: lines of the control source (see `control`), which
the first micro-batch reads together with the first events of the stream; after that a seam in time. Called by `query`.

The events of the history are computed, packed into cells by bucket and written beside the checkpoint, all before the
query starts. The first micro-batch reads them, once, as it reads any source: a micro-batch that failed reads the same
files again. They wait for the watermark with the events of the stream, so that all are handled by their time.

The *seam* is a moment. The history counts before it, the stream from it on: an event that both have counts once. If
none is given it is right after the last event of the history. It is kept with the checkpoint and holds for good.

What is written, in this order, so that a start which was interrupted is repeated or goes on:

* `control`: a line `history BUCKET CELL` for each cell, `rows N`, and the time of the last event, which moves time;
* `history`: the seam, and whose state it is (see `identity`). It is there only if all the lines are.

A rule that is added to a running set has a history, too (see `rules.later`). It is brought by lines `later ID
BUCKET CELL` and `later ID N`, which count only if the checkpoint has noted the id: so a bringing that was interrupted
leaves lines that nobody reads.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepheid.errors import InputError, StateError
from cepheid.spark.pack_workers import BUCKET, PAYLOAD
from cepheid.spark.stream.accounts import HISTORY
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.time import REASON, WATERMARKED, EventTime

_CELL, _ROWS, _LATER = "history ", "rows ", "later "


class PlanWithHistory(Protocol):
    """What is asked of a plan."""

    @property
    def rows(self) -> DataFrame: ...
    @property
    def time(self) -> EventTime: ...
    def cells(self, rows: DataFrame, timeouts: bool) -> DataFrame: ...


@dataclass(frozen=True, slots=True)
class Given:
    """The history as a user gives it."""

    rows: Any
    seam: object = None


def history_given(rows: object, seam: object) -> Given | None:
    """The arguments of a start."""
    if rows is None and seam is not None:
        raise InputError(
            f"seam={seam!r} says where a history ends, and there is none.\n  Give history=, or leave seam= out."
        )
    return None if rows is None else Given(rows, seam)


def bring(plan: PlanWithHistory, place: Checkpoint, given: Given | None, timeouts: bool, identity: str) -> int | None:
    """See to it that the history is there before the query starts; returns the seam, None if there is no history."""
    kept = place.history()
    if kept is not None:
        known = json.loads(kept)
        if known["identity"] != identity and place.last_batch() is None:
            raise StateError(
                "the history of this checkpoint was prepared for another pattern or other arguments, and no "
                "micro-batch has read it.\n  Start with a new checkpoint."
            )
        return int(known["seam"])
    if given is None:
        return None
    if place.has_begun():
        raise StateError(
            "this checkpoint was begun without a history, which must come before everything else.\n"
            "  Leave history= out to continue, or start with a new checkpoint."
        )
    history = checked(plan, given.rows)
    seam = None if given.seam is None else seam_of(plan, given.seam)
    guarded = plan.time.guarded(history)
    moment = F.unix_micros(WATERMARKED)
    if seam is not None:
        guarded = guarded.where(F.col(WATERMARKED).isNull() | (moment < seam))
    [(last, count)] = guarded.agg(F.max(moment), F.count(REASON)).collect()
    if last is not None:
        seam = last + 1 if seam is None else seam
        place.bring(_lines(plan.cells(guarded, timeouts), last, count))
    if seam is None:
        raise InputError("the history has no event with a usable time.\n  Leave history= out, or check its rows.")
    place.keep_history(json.dumps({"seam": seam, "identity": identity}))
    return seam


def bring_later(place: Checkpoint, cells: DataFrame, count: int) -> str:
    """Let the control source bring further cells, of so many rows, once the id that comes back is noted."""
    name = uuid.uuid4().hex
    place.bring(_told(cells, f"{_LATER}{name} ", [f"{_LATER}{name} {count}"]), mode="append")
    return name


def _lines(cells: DataFrame, last: int, count: int) -> DataFrame:
    return _told(cells, _CELL, [f"{_ROWS}{count}", str(last)])


def _told(cells: DataFrame, before: str, further: list[str]) -> DataFrame:
    """A line for each cell, and further ones."""
    text = F.translate(F.base64(PAYLOAD), "\r\n", "")  # an old setting of Spark's breaks long texts into lines
    lines = cells.select(F.concat(F.lit(before), F.col(BUCKET).cast("string"), F.lit(" "), text).alias("value"))
    rest = cells.sparkSession.createDataFrame([(line,) for line in further], "value string")
    return lines.union(rest.coalesce(1))


def cells(lines: DataFrame, later: Sequence[str] = ()) -> DataFrame:
    """The cells of the history among the lines of the control source, and its rows counted; `later`: the ids of what
    was brought later."""
    parts = F.split("value", " ")
    is_noted = (parts[0] == _LATER.strip()) & parts[1].isin(*later) if later else F.lit(False)
    count = (
        F.when(parts[0] == _ROWS.strip(), parts[1])
        .when(is_noted & (F.size(parts) == 3), parts[2])
        .otherwise(F.lit(None).cast("string"))
    )
    bucket = F.when(parts[0] == _CELL.strip(), parts[1]).when(is_noted & (F.size(parts) == 4), parts[2])
    told = lines.where(count.isNotNull() | bucket.isNotNull())
    told = told.observe(HISTORY, F.coalesce(F.sum(count.try_cast("bigint")), F.lit(0)).alias("rows"))
    return told.where(bucket.isNotNull()).select(
        bucket.cast("int").alias(BUCKET), F.unbase64(F.element_at(parts, -1)).alias(PAYLOAD)
    )


def since(seam: int) -> Column:
    """Whether an event of the stream counts: it is not before the seam, or has no time at all and is rejected."""
    return F.col(WATERMARKED).isNull() | (F.unix_micros(WATERMARKED) >= seam)


def seam_of(plan: PlanWithHistory, given: object) -> int:
    """A moment that a user gives, as one of the events' time, in microseconds."""
    field = plan.time.field
    text = given if isinstance(given, str) else getattr(given, "isoformat", lambda: None)()
    if isinstance(text, str):
        one = plan.rows.sparkSession.range(1).select(F.lit(text).try_cast(field.dataType).alias(field.name))
        try:
            [(micros,)] = one.select(plan.time.micros()).collect()
        except PySparkException:
            micros = None
        if micros is not None:
            return int(micros)
    raise InputError(
        f"seam={given!r} is not a moment of {field.name!r}, which is of type {field.dataType.simpleString()}.\n"
        '  Give a datetime, or text such as "2025-03-01 00:00:00".'
    )


def checked(plan: PlanWithHistory, given: object) -> DataFrame:
    """The history with the columns of the stream."""
    if callable(given):
        given = given()
    if not isinstance(given, DataFrame) and not hasattr(given, "isStreaming"):
        raise InputError(f"history is of type {type(given).__name__}.\n  Give a batch DataFrame, spark.read….")
    assert isinstance(given, DataFrame)
    if given.isStreaming:
        raise InputError("history is a stream.\n  Give a batch DataFrame, spark.read…; the stream is what match() got.")
    wanted = {field.name: field.dataType for field in plan.rows.schema.fields}
    known = {field.name: field.dataType for field in given.schema.fields}
    for name, kind in wanted.items():
        if name not in known:
            raise InputError(f"history has no column {name!r}, which the stream has.\n  Add it, NULL if need be.")
        if known[name] != kind:
            raise InputError(
                f"history: {name!r} is {known[name].simpleString()}, but {kind.simpleString()} in the stream.\n"
                "  Cast it: both are events of one stream."
            )
    return given.select(*(F.col(f"`{name.replace('`', '``')}`") for name in wanted))
