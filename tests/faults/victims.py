"""Kills of what a driver survives: Python workers and executors. Called by `bench/kills.py`.

The job is that of `job.py`; while it runs, one victim after the other is killed, at random moments. Spark starts the
tasks again; the driver goes on, so that its accounts are complete and must add up to the input.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from faults.kills import (
    OVER,
    SLOW_START,
    Outcome,
    Work,
    descendants,
    in_session,
    kill,
    last_commit,
    text_of,
    wait_for_work,
)

WORKER, EXECUTOR = "-m faults.ready_daemon", "CoarseGrainedExecutorBackend"
"""What the command of a victim holds: a daemon and its workers, or the JVM of an executor."""
CLUSTER = "local-cluster[2,1,512]"


AGAIN = 0.5
"""How often a micro-batch that had to begin anew is hit once more."""


def workers(place: Path, seed: int, work: Work) -> Outcome:
    """Kill Python workers, now and then the daemon that starts them."""
    return beside(place, seed, work, worker_or_daemon, {})


def worker_or_daemon(job: int) -> list[int]:
    """The workers of a job, each of them several times: a daemon that begins anew imports everything, for seconds in
    which nothing else can be hit."""
    daemon = descendants(job, WORKER)[:1]
    return [*daemon, *(worker for worker in in_session(job, WORKER) if worker not in daemon for _ in range(4))]


def executors(place: Path, seed: int, work: Work) -> Outcome:
    """Kill one of two executors with its Python workers; Spark starts others."""
    return beside(place, seed, work, lambda job: in_session(job, EXECUTOR), {"CEPHEID_TEST_MASTER": CLUSTER})


def beside(
    place: Path, seed: int, work: Work, victims: Callable[[int], list[int]], environment: dict[str, str]
) -> Outcome:
    """Run a job in an environment, and kill about one of its victims a micro-batch, at random moments of it."""
    chance, kills, starts = random.Random(seed), 0, 0
    events = work.begin(place, seed)
    while True:
        begun = text_of(place / "log")
        job, starts = work.start(place, **environment), starts + 1
        wait_for_work(place, job)
        length = 1.0  # of a micro-batch
        while job.poll() is None:
            before, start = last_commit(place), time.monotonic()
            time.sleep(chance.uniform(0.0, length))
            found = victims(job.pid)
            kills += bool(found) and kill(chance.choice(found))
            if chance.random() > AGAIN:
                wait_for_work(place, job)
                length = min(3.0, (time.monotonic() - start) / max(1, last_commit(place) - before))
        said = text_of(place / "log")[len(begun) :]
        if job.returncode == 0 or OVER in said:
            return Outcome(kills, work.problems(place, events, driver_lives=starts == 1))
        if SLOW_START not in said:
            raise RuntimeError(f"the job failed with {job.returncode}:\n{said[-5_000:]}")
