"""What a job under kills has left behind, against the same events in memory, and whether its accounts add up.

In: the place of a job of `job.py` that has ended, and the events that it was given. Out: what is wrong, in words.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

sys.path.insert(0, str(Path(__file__).parent))

from job import PATTERN, ROW_PATTERN

from cepheid.spark.stream.accounts import Account, account


def compare(place: Path, events: list[dict[str, Any]], rows: bool) -> list[str]:
    """What is wrong with the outputs."""
    problems = []
    late = rows_of(place / "late")
    late_ids = {row["id"] for row in late}
    if len(late_ids) < len(late):
        problems.append("a late row came out twice")
    in_time = [event for event in events if event["id"] not in late_ids]
    expected = {}
    if rows:
        expected["matches"] = Counter(tuple(row.values()) for row in ROW_PATTERN.match_events(in_time).matches)
    else:
        whole = PATTERN.match_events(in_time, partition_by="key", order_by=["ts", "id"])
        for name, given in (("matches", whole.matches), ("timeouts", whole.timeouts)):
            expected[name] = Counter(row["match_id"] for row in given)
    for name, wanted in expected.items():
        found = _found(place, name, rows)
        if not wanted:
            problems.append(f"no {name} to compare: the test shows nothing")
        if found != wanted:
            problems.append(f"{name}: {(wanted - found).total()} lost, {(found - wanted).total()} too many")
    return problems


def _found(place: Path, name: str, rows: bool) -> Counter[Any]:
    topic = place / f"{name}.json"
    if topic.exists():  # a topic is written at least once: a name counts once
        return Counter(set(json.loads(topic.read_text())))
    return Counter(tuple(row.values()) if rows else row["match_id"] for row in rows_of(place / name))


def rows_of(place: Path) -> list[dict[str, Any]]:
    """The rows of all micro-batches."""
    if not place.exists():
        return []
    return list(ds.dataset(place, format="parquet").to_table().to_pylist())


def rejected(place: Path) -> list[str]:
    """What is wrong with the rows whose time cannot be used: each must have come out once."""
    given = Counter[int]()
    for file in (place / "in").iterdir():
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        given.update(row["id"] for row in lines if not str(row["ts"]).startswith("2025"))
    found = Counter(row["id"] for row in rows_of(place / "rejected"))
    if found == given:
        return []
    return [f"rejected: {(given - found).total()} lost, {(found - given).total()} too many"]


def accounts(place: Path, driver_lives: bool) -> list[str]:
    """What is wrong with the accounts. Those of a driver that lives are all there and add up to the input; those of one
    that is killed may lack a micro-batch that was committed in its last moment."""
    file = place / "progress.jsonl"
    if not file.exists():
        return ["no micro-batch was told"]
    said = [json.loads(line) for line in file.read_text().splitlines()]
    told = [one for one in map(account, said) if one is not None]
    problems = [f"micro-batch {batch} was told {n} times" for batch, n in _count(told).items() if n > 1]
    for one in told:
        if one.rows != one.irrelevant + one.late + one.rejected + one.handled + one.pending_change:
            problems.append(f"the classes of micro-batch {one.batch} do not add up: {one}")
        for kind in ("matches", "timeouts", "late"):
            counted = getattr(one, kind)
            if (place / kind).exists() and counted != (written := _written(place / kind, one.batch)):
                problems.append(f"micro-batch {one.batch} counts {counted} {kind}, {written} were written")
    rows = sum(one.rows for one in told)
    given = sum(len(file.read_text().splitlines()) for file in (place / "in").iterdir())
    if driver_lives and rows != given:
        problems.append(f"the accounts have {rows} rows, the input {given}")
    elif rows > given:
        problems.append(f"the accounts have {rows} rows, the input only {given}")
    if driver_lives and (waiting := sum(one.pending_change for one in told)):
        problems.append(f"{waiting} events wait at the end")
    return problems


def _count(told: list[Account]) -> Counter[int]:
    return Counter(one.batch for one in told)


def _written(place: Path, batch: int) -> int:
    """Rows of one micro-batch (see `sinks.files`)."""
    return sum(len(rows_of(part)) for part in place.glob(f"*-{batch:09}"))
