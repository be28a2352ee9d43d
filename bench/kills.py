"""Kills that can be resumed: `python bench/kills.py --count 1000 --resume kills.jsonl [--json kills.json]`.

Runs jobs under kills until there were so many, and notes each job in a file, so that a run which was stopped goes on.
What is killed, and under which job, takes turns (`KINDS`). After every job its outputs are compared with the same
events in memory, and its accounts are added up: nothing lost, nothing doubled. What a job with a problem has left is
kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "kafka"))

import spark_processes
from faults import rule_kills
from faults.drivers import ASKED
from faults.kills import Broker, Outcome, Work, outcome
from faults.victims import executors, workers
from reporting import Column, Section, as_json, environment, show
from rich.console import Console

DEEP = {"size": 1_500, "keys": 100}
"""Many more events a micro-batch, so that thousands of runs and waiting events are written and read back."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Who is killed, under which job."""

    victims: str
    job: str
    run: Callable[[Path, int, Broker | None], Outcome]
    needs_broker: bool = False


def _drivers(job: str, kills: int, crashes: int, **work: Any) -> Kind:
    def run(place: Path, seed: int, broker: Broker | None) -> Outcome:
        return outcome(place, Work(**work, broker=broker), kills, seed, crashes)

    return Kind("driver or its JVM", job, run, "Kafka" in job)


def _beside(victims: str, kill: Callable[..., Outcome], job: str, **work: Any) -> Kind:
    def run(place: Path, seed: int, broker: Broker | None) -> Outcome:
        return kill(place, seed, Work(**work, broker=broker))

    return Kind(victims, job, run, "Kafka" in job)


def _rules(victims: str, **how: Any) -> Kind:
    def run(place: Path, seed: int, broker: Broker | None) -> Outcome:
        place.mkdir()
        found = rule_kills.outcome(place, seed, **how)
        return Outcome(found.kills, found.problems)

    return Kind(victims, "rules that change, files", run)


KINDS = {
    "driver": _drivers("pattern, files", 10, 3, batches=18),
    "worker": _beside("Python worker", workers, "pattern, files", batches=50),
    "driver-rules": _rules("driver or its JVM", batches=24, kills=7, crashes=3, changes=5),
    "worker-rows": _beside("Python worker", workers, "row pattern, files", batches=50, rows=True),
    "executor": _beside("executor", executors, "pattern, files", batches=10),
    "driver-kafka": _drivers("pattern, Kafka", 8, 2, batches=16),
    "worker-deep": _beside("Python worker", workers, "pattern, files, deep state", batches=40, **DEEP),
    "driver-rows": _drivers("row pattern, files", 8, 2, batches=16, rows=True),
    "worker-rules": _rules("Python worker", batches=50, kills=60, crashes=0, changes=9, of_workers=True),
    "driver-deep": _drivers("pattern, files, deep state", 8, 2, batches=16, **DEEP),
    "worker-kafka": _beside("Python worker", workers, "pattern, Kafka", batches=50),
    "executor-deep": _beside("executor", executors, "pattern, files, deep state", batches=8, **DEEP),
}
"""In the order in which they take turns: a run that is cut short has had some of each."""


@contextmanager
def _broker(kinds: list[str]) -> Iterator[Broker | None]:
    """A Kafka, if one is needed."""
    if not any(KINDS[kind].needs_broker for kind in kinds):
        yield None
        return
    import payments
    from kafka.brokers import running_broker

    connector = payments.connector()["spark.jars"]
    with tempfile.TemporaryDirectory() as place, running_broker(Path(place)) as servers:
        yield Broker(servers, connector)


def noted(file: Path | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file is not None and file.exists() else []


def report(jobs: list[dict[str, Any]]) -> Section:
    """A row for each kind that ran."""
    section = Section(
        "kills",
        "kills: what died, how often, and what was wrong afterwards",
        (
            Column("victims", "killed"),
            Column("job", "job"),
            Column("kills", "kills"),
            Column("jobs", "jobs"),
            Column("seconds", "s a kill", 1),
            Column("problems", "jobs with a problem"),
            Column("right", "nothing lost or doubled"),
        ),
    )
    done = [(kind, [job for job in jobs if job["kind"] == name]) for name, kind in KINDS.items()]
    for kind, those in done:
        if those:
            section.rows.append({"victims": kind.victims, "job": kind.job, **_figures(those)})
    section.rows.append({"victims": "all", "job": "", **_figures(jobs)})
    return section


def _figures(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    kills, bad = sum(job["kills"] for job in jobs), sum(bool(job["problems"]) for job in jobs)
    seconds = sum(job["seconds"] for job in jobs) / max(1, kills)
    return {"kills": kills, "jobs": len(jobs), "seconds": seconds, "problems": bad, "right": not bad}


def one_job(kind: str, seed: int, broker: Broker | None) -> dict[str, Any]:
    """Run a job under kills, in a process of its own; what came out, as it is noted."""
    os.environ[ASKED] = "1"
    start, place = time.monotonic(), Path(tempfile.mkdtemp(prefix=f"kills-{kind}-{seed}-"))
    try:
        found = KINDS[kind].run(place / "job", seed, broker if KINDS[kind].needs_broker else None)
    except Exception as error:  # the others go on; this one is a problem
        found = Outcome(0, [f"the job stopped with {type(error).__name__}: {error}"])
    seconds = round(time.monotonic() - start, 1)
    job = {"seed": seed, "kind": kind, "kills": found.kills, "seconds": seconds, "problems": found.problems}
    if found.problems:
        return job | {"kept": str(place)}
    shutil.rmtree(place)
    return job


def all_jobs(given: argparse.Namespace, jobs: list[dict[str, Any]], broker: Broker | None) -> Iterator[dict[str, Any]]:
    """Run jobs, some of them side by side, until there were enough kills; each as soon as it has ended. Seeds that are
    noted are not run again, and a seed says what is killed."""
    kinds, begun = given.kind or list(KINDS), time.monotonic()
    done = {job["seed"] for job in jobs}
    seeds = (seed for seed in count(1) if seed not in done)
    kills, running = sum(job["kills"] for job in jobs), set[Future[dict[str, Any]]]()
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as processes:
        while True:
            while len(running) < given.jobs and kills < given.count and time.monotonic() - begun < 60 * given.minutes:
                seed = next(seeds)
                running.add(processes.submit(one_job, kinds[(seed - 1) % len(kinds)], seed, broker))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for job in ended:
                kills += job.result()["kills"]
                yield job.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="kills in all, those noted before included")
    parser.add_argument("--jobs", type=int, default=1, help="so many jobs side by side")
    parser.add_argument("--resume", type=Path, help="where each job is noted, and read from at the start")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only these; may be repeated")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further job after so long")
    parser.add_argument("--json", type=Path, help="write the table as JSON")
    given = parser.parse_args()
    jobs, facts = noted(given.resume), environment()
    subprocess.run([sys.executable, spark_processes.__file__], check=True)
    with _broker(given.kind or list(KINDS)) as broker:
        for job in all_jobs(given, list(jobs), broker):
            jobs.append(job | {"commit": facts["commit"]})
            print(json.dumps(jobs[-1]), flush=True)
            if given.resume is not None:
                with given.resume.open("a") as file:
                    file.write(json.dumps(jobs[-1]) + "\n")
    section = report(jobs)
    show(section, Console(width=None if Console().is_terminal else 160))
    if given.json:
        given.json.write_text(json.dumps(as_json(facts, [section]), indent=1), encoding="utf-8")
    return 0 if section.is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
