"""Kills that can be resumed: `python bench/kills.py --count 100 --resume kills.jsonl`.

Runs one job after the other under kills until there were so many, and notes each job in a file, so that a run which was
stopped goes on. What is killed takes turns:

* `driver`: the driver and its JVM, at random moments and between a sink's write and the commit;
* `rows`: the same for a row pattern;
* `worker`: a Python worker in the middle of its work, while Spark goes on;
* `executor`: one of two executors of their own (local-cluster), with its Python workers, while Spark goes on;
* `deep`: the driver, with runs and waiting events that are held for the whole job.

After every job its outputs are compared with the same events in memory: nothing lost, nothing doubled.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faults.kills import Outcome, outcome
from faults.victims import deep, executors, workers

KINDS = {
    "driver": lambda place, seed: outcome(place, kills=7, seed=seed, batches=16, crashes=2),
    "worker": lambda place, seed: workers(place, seed),
    "executor": lambda place, seed: executors(place, seed),
    "rows": lambda place, seed: outcome(place, kills=4, seed=seed, batches=12, crashes=2, rows=True),
    "deep": lambda place, seed: deep(place, seed),
}


def noted(file: Path | None) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file is not None and file.exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="kills in all, those noted before included")
    parser.add_argument("--resume", type=Path, help="where each job is noted, and read from at the start")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only these; may be repeated")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further job after so long")
    given = parser.parse_args()
    jobs, begun = noted(given.resume), time.monotonic()
    kinds = given.kind or list(KINDS)
    while sum(int(str(job["kills"])) for job in jobs) < given.count and time.monotonic() - begun < 60 * given.minutes:
        seed, kind = len(jobs) + 1, kinds[len(jobs) % len(kinds)]
        with tempfile.TemporaryDirectory() as place:
            found: Outcome = KINDS[kind](Path(place) / "job", seed)
        jobs.append({"seed": seed, "kind": kind, "kills": found.kills, "problems": found.problems})
        print(json.dumps(jobs[-1]), flush=True)
        if given.resume is not None:
            with given.resume.open("a") as file:
                file.write(json.dumps(jobs[-1]) + "\n")
    kills, bad = Counter[str](), [job for job in jobs if job["problems"]]
    for job in jobs:
        kills[str(job["kind"])] += int(str(job["kills"]))
    print(
        f"{kills.total()} kills in {len(jobs)} jobs ({', '.join(f'{n} {kind}' for kind, n in kills.items())}): ", end=""
    )
    print(f"{len(bad)} jobs differ" if bad else "nothing lost or doubled")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
