"""A job killed again and again gives what the undisturbed events give; `bench/kills.py` does that for long.

Events are written as files, some of them late or with a time that cannot be used. The job is killed with SIGKILL at
random moments, its JVM with it, and by itself between a sink's write and the commit; then it runs to its end. Its
outputs are compared with the pattern run over the same events in memory.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

sys.path.insert(0, str(Path(__file__).parent))

from job import PATTERN, ROW_PATTERN, SLOW_START

JOB = Path(__file__).parent / "job.py"
NOON = datetime(2025, 1, 1, 12)
OVER = "has been ended by flush=True"
SIZE = 60
"""Events of a file."""
SHORT_LIVED = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For a JVM that lives for seconds: it should not spend them on compiling well."""


@dataclass
class Outcome:
    """How often the job was killed, and what came out."""

    kills: int
    problems: list[str]


def write_events(place: Path, seed: int, batches: int, size: int = SIZE, keys: int = 1) -> list[dict[str, Any]]:
    """Files of events, in disorder within the watermark; some have no usable time and must be rejected. `keys`: times
    eight."""
    chance = random.Random(seed)
    (place / "in").mkdir(parents=True)
    events = []
    for batch in range(batches):
        rows = []
        for number in range(size):
            time = NOON + timedelta(seconds=2 * batch + 2.5 * chance.random())
            row = {
                "key": chance.choice("pqrstuvw") + (str(chance.randrange(keys)) if keys > 1 else ""),
                "ts": time.isoformat(timespec="milliseconds"),
                "id": batch * size + number,
                "name": chance.choice("aabbbcd"),
                "price": chance.randrange(10),
            }
            if number == 0 or chance.random() < 0.025:
                row["ts"] = chance.choice([None, "9999-12-31T00:00:00", "1903-01-01T00:00:00"])
            else:
                events.append({**row, "ts": datetime.fromisoformat(row["ts"])})
            rows.append(row)
        file = place / "in" / f"{batch:04}.json"
        file.write_text("\n".join(map(json.dumps, rows)))
        os.utime(file, (1_700_000_000 + batch, 1_700_000_000 + batch))  # Spark reads the oldest file first
    return events


def run_with_kills(place: Path, kills: int, seed: int, crashes: int, rows: bool) -> int:
    """Run the job to its end, killing it on the way; `crashes` of the kills come between write and commit."""
    chance = random.Random(seed)
    for batch in chance.sample(range(2, 2 + 6 * crashes), crashes):
        (place / f"crash-{batch}").touch()
    at_random, in_all, log = 0, 0, place / "log"
    while True:
        begun = len(log.read_text(errors="replace")) if log.exists() else 0
        with log.open("ab") as output:
            job = subprocess.Popen(
                [sys.executable, str(JOB), str(place), *(["rows"] if rows else [])],
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **SHORT_LIVED},
            )
        limit = wait_for_work(place, job) + chance.uniform(0.0, 4.0) if at_random < kills else float("inf")
        while job.poll() is None and time.monotonic() < limit:
            time.sleep(0.05)
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)  # the driver and its JVM
            at_random += 1
        code, said = job.wait(), log.read_text(errors="replace")[begun:]
        if code == 0 or OVER in said:
            return in_all
        if code == -signal.SIGKILL:
            in_all += 1
        elif SLOW_START not in said:
            raise RuntimeError(f"the job failed with {code}:\n{said[-5_000:]}")


def wait_for_work(place: Path, job: subprocess.Popen[bytes]) -> float:
    """Until this start of the job has committed something, so that kills hit work and not the start of a JVM."""

    def last() -> int:
        return max((int(path.name) for path in (place / "checkpoint" / "commits").glob("[0-9]*")), default=-1)

    before, begun = last(), time.monotonic()
    while job.poll() is None and time.monotonic() - begun < 1200 and last() == before:
        time.sleep(0.05)
    return time.monotonic()


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
        found = Counter(tuple(row.values()) if rows else row["match_id"] for row in rows_of(place / name))
        if not wanted:
            problems.append(f"no {name} to compare: the test shows nothing")
        if found != wanted:
            problems.append(f"{name}: {(wanted - found).total()} lost, {(found - wanted).total()} too many")
    return problems


def rows_of(place: Path) -> list[dict[str, Any]]:
    """The rows of all micro-batches."""
    if not place.exists():
        return []
    return list(ds.dataset(place, format="parquet").to_table().to_pylist())


def outcome(
    place: Path,
    kills: int,
    seed: int,
    batches: int,
    crashes: int = 1,
    rows: bool = False,
    size: int = SIZE,
    keys: int = 1,
) -> Outcome:
    events = write_events(place, seed, batches, size, keys)
    done = run_with_kills(place, kills, seed, crashes, rows)
    return Outcome(done, compare(place, events, rows))
