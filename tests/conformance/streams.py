"""Conformance cases as streams: times as timestamps, events in a shuffled order of arrival, cut into micro-batches."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.syntax.tree import PatternTree, Span, SpanUnit

if TYPE_CHECKING:
    from cases import Case

BEGIN = datetime(2025, 1, 1)
BEGIN_MS = int((BEGIN - datetime(1970, 1, 1)) / timedelta(milliseconds=1))


@dataclass(frozen=True)
class Arrival:
    """A case's events as they arrive: micro-batches of rows, each with the watermark that holds when it is read."""

    schema: pa.Schema
    partition_by: str
    order_by: tuple[str, ...]
    batches: list[tuple[list[dict[str, Any]], int]]
    """Watermarks in milliseconds of the corpus; the last batch is empty and moves the watermark."""
    is_ended: bool


def in_time(tree: PatternTree) -> PatternTree:
    """The same pattern with its windows in microseconds instead of the corpora's milliseconds."""
    return _timed(tree)  # type: ignore[no-any-return]


def _timed(part: Any) -> Any:
    if isinstance(part, Span):
        return Span(part.length * 1000, SpanUnit.MICROSECOND)
    if isinstance(part, tuple):
        return tuple(_timed(item) for item in part)
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        values = {field.name: _timed(getattr(part, field.name)) for field in dataclasses.fields(part)}
        return dataclasses.replace(part, **values)
    return part


def arrival(case: Case) -> Arrival:
    """How the events of a case come: as the case says, or shuffled within a random delay."""
    chance = random.Random(case.id)
    key, tie = case.data.get("partition_by", "part"), case.data.get("tie_order", "place")
    rows = []
    for place, event in enumerate(case.events):
        row = {**event, "ts": BEGIN + timedelta(milliseconds=event["t"]), "place": place}
        rows.append(row if "partition_by" in case.data else {**row, "part": "all"})
    names = list(dict.fromkeys(name for row in rows for name in row))
    schema = pa.schema(
        [
            pa.field(name, pa.timestamp("us") if name == "ts" else pa.array([row.get(name) for row in rows]).type)
            for name in names
        ]
    )
    if "watermarks" in case.data:
        batches, is_ended = _as_told(case, rows), case.data["watermarks"][-1:] != [] and _ends(case)
    else:
        batches, is_ended = _shuffled(case, rows, chance), case.is_ended
    return Arrival(schema, key, ("ts", tie), batches, is_ended)


def _ends(case: Case) -> bool:
    return bool(case.data["watermarks"][-1][1] == "max")


def _as_told(case: Case, rows: list[dict[str, Any]]) -> list[tuple[list[dict[str, Any]], int]]:
    batches: list[tuple[list[dict[str, Any]], int]] = []
    begin, now = 0, -BEGIN_MS
    for count, mark in case.data["watermarks"]:
        if mark == "max":
            break
        batches.append((rows[begin:count], now))
        begin, now = count, max(now, mark)
    return [*batches, (rows[begin:], now), ([], now)]


def _shuffled(case: Case, rows: list[dict[str, Any]], chance: random.Random) -> list[tuple[list[dict[str, Any]], int]]:
    """Events come up to a random delay too late for their order, and the watermark waits for them."""
    times = [row["t"] for row in rows]
    spread = max(times, default=0) - min(times, default=0)
    delay = chance.choice([1, 2, max(1, spread // 4), spread + 1])
    arriving = sorted(rows, key=lambda row: (row["t"] + chance.random() * delay * 0.999, chance.random()))
    batches: list[tuple[list[dict[str, Any]], int]] = []
    now = -BEGIN_MS
    while arriving:
        size = chance.randint(1, max(1, len(rows)))
        batches.append((arriving[:size], now))
        now = max([now, *(row["t"] - delay for row in arriving[:size])])
        arriving = arriving[size:]
    return [*batches, ([], case.data.get("advance_to", max(times, default=0)))]
