"""Kills of what a driver survives: Python workers and executors; and kills of a driver with deep state.

Called by `bench/kills.py`. The job is that of `job.py`; what differs is who dies, and how much the state holds.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from faults.kills import JOB, OVER, Outcome, compare, outcome, wait_for_work, write_events
from faults.kills import SHORT_LIVED as SHORT

WORKER, EXECUTOR = "pyspark.daemon", "CoarseGrainedExecutorBackend"
"""What the command of a victim holds; the children of a daemon are the workers."""
CLUSTER = "local-cluster[2,1,512]"


def workers(place: Path, seed: int, kills: int = 6) -> Outcome:
    """Kill Python workers at random moments; Spark starts their tasks again."""
    return _beside(place, seed, kills, lambda job: _descendants(job, WORKER)[1:], {})


def executors(place: Path, seed: int, kills: int = 3) -> Outcome:
    """Kill executors at random moments; Spark starts others."""
    return _beside(place, seed, kills, lambda job: _descendants(job, EXECUTOR), {"CEPHEID_TEST_MASTER": CLUSTER})


def deep(place: Path, seed: int) -> Outcome:
    """Many more events a file, so that thousands of runs and waiting events are written and read back."""
    return outcome(place, kills=4, seed=seed, batches=14, crashes=2, size=1_500, keys=100)


def _beside(
    place: Path, seed: int, kills: int, victims: Callable[[int], list[int]], environment: dict[str, str]
) -> Outcome:
    chance, done = random.Random(seed), 0
    events = write_events(place, seed, batches=18)
    log = place / "log"
    while True:
        with log.open("ab") as output:
            begun = output.tell()
            job = subprocess.Popen(
                [sys.executable, str(JOB), str(place)],
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **SHORT, **environment},
            )
        wait_for_work(place, job)
        while job.poll() is None:
            time.sleep(chance.uniform(0.3, 1.5))
            found = victims(job.pid) if done < kills else []
            if found:
                try:
                    os.kill(chance.choice(found), signal.SIGKILL)
                    done += 1
                except ProcessLookupError:
                    pass  # it has just ended
        if job.returncode == 0 or OVER in log.read_text(errors="replace")[begun:]:
            return Outcome(done, compare(place, events, rows=False))
        # a task that failed too often ends the query, which an operator starts again


def _descendants(root: int, holds: str) -> list[int]:
    """The processes below one whose command holds a text, parents first."""
    commands: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            commands[int(entry.name)] = parent, command
    below, ahead = [], [root]
    while ahead:
        parent = ahead.pop(0)
        children = sorted(pid for pid, (above, _) in commands.items() if above == parent)
        below += [pid for pid in children if holds in commands[pid][1]]
        ahead += children
    return below
