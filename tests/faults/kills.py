"""A job killed again and again gives what the undisturbed events give; `bench/kills.py` does that for long.

Events are written as files, some of them late or with a time that cannot be used, or sent to Kafka. The job is killed
with SIGKILL at random moments, and by itself between a sink's write and the commit; then it runs to its end. Its
outputs are compared with the pattern run over the same events in memory, and its accounts are added up.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import job
import spark_processes
from comparing import accounts, compare, rejected
from drivers import Driver, start
from job import SLOW_START

NOON = datetime(2025, 1, 1, 12)
OVER = "has been ended by flush=True"
SIZE = 60
"""Events of a file."""


@dataclass
class Outcome:
    """How often the job was killed, and what came out."""

    kills: int
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Broker:
    """A Kafka that runs, and the settings that give Spark its connector."""

    servers: str
    connector: str


@dataclass(frozen=True, slots=True)
class Work:
    """What a job has to do."""

    batches: int
    rows: bool = False
    size: int = SIZE
    """Events of a micro-batch."""
    keys: int = 1
    """Times eight."""
    broker: Broker | None = None
    """Events come from Kafka instead of files."""

    def begin(self, place: Path, seed: int) -> list[dict[str, Any]]:
        """Write the events, or send them."""
        events = write_events(place, seed, self.batches, self.size, self.keys)
        if self.broker is not None:
            name = uuid.uuid4().hex[:12]
            topics = {"events": f"events-{name}", "timeouts": f"timeouts-{name}", "size": self.size}
            broker = {"servers": self.broker.servers, "connector": self.broker.connector}
            (place / "kafka.json").write_text(json.dumps({**topics, **broker}))
            self._undisturbed(place, "send")
        return events

    def problems(self, place: Path, events: list[dict[str, Any]], driver_lives: bool) -> list[str]:
        """What is wrong, once the job has ended."""
        if self.broker is not None:
            self._undisturbed(place, "read")
        return compare(place, events, self.rows) + rejected(place) + accounts(place, driver_lives)

    def start(self, place: Path, **environment: str) -> Driver:
        """The job, as a group of processes."""
        return start(job, place, ["rows" if self.rows else ""], {**surroundings(place), **environment})

    def _undisturbed(self, place: Path, step: str) -> None:
        command = [sys.executable, str(job.__file__), str(place), step]
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings(place), check=False)
        if done.returncode:
            raise RuntimeError(f"{step} failed with {done.returncode}:\n{done.stderr[-5_000:]}")


def surroundings(place: Path) -> dict[str, str]:
    """The environment of a job: for a JVM that lives for seconds, and cannot tidy up what it lays down beside it."""
    for_a_while = place / "tmp"
    for_a_while.mkdir(exist_ok=True)
    options = f"{spark_processes.SHORT_LIVED} -Djava.io.tmpdir={for_a_while}"
    java = {"JDK_JAVA_OPTIONS": options, "SPARK_SUBMIT_OPTS": spark_processes.java_options()}
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, **java, **spark_processes.PYTHON, "PYTHONPATH": paths, "SPARK_LOCAL_DIRS": str(for_a_while)}


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


def run_with_kills(place: Path, work: Work, kills: int, seed: int, crashes: int) -> int:
    """Run the job to its end, killing it on the way; `crashes` of the kills come between write and commit."""
    chance = random.Random(seed)
    for batch in chance.sample(range(2, 2 + 3 * crashes), crashes):
        (place / f"crash-{batch}").touch()
    at_random, in_all = 0, 0
    recovery = 10.0  # seconds from the start of the query to the first commit
    while True:
        begun = text_of(place / "log")
        driver = work.start(place)
        victim = chance.choice(("both", "both", "both", "JVM"))
        limit = float("inf")
        if at_random < kills:
            # Kills should hit work and not the start of a JVM; half of them hit the recovery from the kill before.
            begin = wait_for_start(place, driver)
            if chance.random() < 0.5:
                limit = begin + chance.uniform(0.0, recovery)
            else:
                working = wait_for_work(place, driver)
                limit, recovery = working + chance.uniform(0.0, 2.5), working - begin
        while driver.poll() is None and time.monotonic() < limit:
            time.sleep(0.02)
        is_killed = driver.poll() is None
        if is_killed:
            for process in [driver.pid] if victim == "both" else jvm_of(driver.pid):
                kill(process, group=victim == "both")
            at_random += 1
        code = ended(driver, patience=60 if is_killed else None)
        said = text_of(place / "log")[len(begun) :]
        if code == -signal.SIGKILL or (is_killed and code != 0):
            in_all += 1
        elif code == 0 or OVER in said:
            return in_all
        elif SLOW_START not in said:
            raise RuntimeError(f"the job failed with {code}:\n{said[-5_000:]}")


def ended(driver: Driver, patience: float | None) -> int:
    """Wait until the driver is gone, and end what is left of its group; one without its JVM may not notice."""
    with suppress(subprocess.TimeoutExpired):
        driver.wait(patience)
    kill(driver.pid, group=True)
    return driver.wait()


def text_of(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


def kill(process: int, group: bool = False) -> bool:
    """Returns whether there was something to kill."""
    try:
        (os.killpg if group else os.kill)(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def jvm_of(job: int) -> list[int]:
    return descendants(job, "org.apache.spark.deploy.SparkSubmit")[:1]


def descendants(root: int, holds: str) -> list[int]:
    """The processes below one whose command holds a text, parents first."""
    known = _processes()
    below, ahead = [], [root]
    while ahead:
        parent = ahead.pop(0)
        children = sorted(pid for pid, one in known.items() if one.parent == parent)
        below += [pid for pid in children if holds in known[pid].command]
        ahead += children
    return below


def in_session(leader: int, holds: str) -> list[int]:
    """The processes of a driver whose command holds a text. Workers whose daemon has been killed are no descendants of
    the driver any more, but Spark uses them as before."""
    return sorted(pid for pid, one in _processes().items() if one.session == leader and holds in one.command)


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    session: int
    command: str


def _processes() -> dict[int, _Process]:
    known = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            known[int(entry.name)] = _Process(int(fields[1]), int(fields[3]), command)
    return known


def wait_for_start(place: Path, driver: Driver) -> float:
    """Until this start of the job begins its query."""
    before = _moment(place / "starting")
    while driver.poll() is None and _moment(place / "starting") == before:
        time.sleep(0.05)
    return time.monotonic()


def _moment(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def wait_for_work(place: Path, driver: Driver) -> float:
    """Until this start of the job has committed something."""
    before, begun = last_commit(place), time.monotonic()
    while driver.poll() is None and time.monotonic() - begun < 1200 and last_commit(place) == before:
        time.sleep(0.05)
    return time.monotonic()


def last_commit(place: Path) -> int:
    return max((int(path.name) for path in (place / "checkpoint" / "commits").glob("[0-9]*")), default=-1)


def outcome(place: Path, work: Work, kills: int, seed: int, crashes: int = 1) -> Outcome:
    """Kills of the driver and its JVM."""
    events = work.begin(place, seed)
    done = run_with_kills(place, work, kills, seed, crashes)
    return Outcome(done, work.problems(place, events, driver_lives=False))
