"""Run conformance cases on an engine: `python tests/conformance/run.py --engine reference FILE…`.

Prints a table by feature, the first differences, and as its last line `N passed, M failed`; exits with 1 if any failed.
Without files, all corpora beside this script are run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cases import Case, read
from engines import ENGINES, Engine, Unsupported

SHOWN = 5
"""Differences printed in full."""


@dataclass
class Tally:
    """What a run came to."""

    passed: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passes(self) -> int:
        return self.passed["all"]

    @property
    def failures(self) -> int:
        return self.failed["all"]


def judge(case: Case, engine: Engine) -> str | None:
    """What is wrong with an engine's answer, or None if it is right."""
    must_be_refused, must_fail = "reject" in case.data, "fails" in case.data
    try:
        answer = engine(case)
    except Unsupported:
        raise
    except Exception as error:
        from cepheid import MalformedPatternError, SkipError

        if must_be_refused and isinstance(error, MalformedPatternError):
            return None
        if must_fail and isinstance(error, SkipError):
            return None
        return f"{type(error).__name__}: {error}"
    if must_be_refused or must_fail:
        return f"accepted, but: {case.data.get('reject') or case.data.get('fails')}"
    found = frozenset(answer.matches)
    if len(found) < len(answer.matches):
        return f"a match came out twice: {answer.matches}"
    if case.matches is not None and found != case.matches:
        return f"matches: missing {sorted(case.matches - found)}, too many {sorted(found - case.matches)}"
    timeouts = frozenset(answer.timeouts)
    if case.timeouts is not None and (timeouts != case.timeouts or len(timeouts) < len(answer.timeouts)):
        return f"timeouts: missing {sorted(case.timeouts - timeouts)}, too many {sorted(timeouts - case.timeouts)}"
    if "late" in case.data and answer.late != case.data["late"]:
        return f"late: {answer.late} instead of {case.data['late']}"
    if "match_times" in case.data and sorted(answer.match_times) != sorted(case.data["match_times"]):
        return f"times of matches: {answer.match_times} instead of {case.data['match_times']}"
    return None


def run(cases: Iterable[Case], engine: Engine) -> Tally:
    tally = Tally()
    begun = time.process_time()
    for case in cases:
        try:
            problem = judge(case, engine)
        except Unsupported:
            tally.skipped += 1
            continue
        counter = tally.passed if problem is None else tally.failed
        counter.update(["all", *case.features])
        if problem is not None:
            tally.problems.append(f"{case.id}: {problem}")
    tally.seconds = time.process_time() - begun
    return tally


def report(name: str, tally: Tally) -> None:
    total = tally.passes + tally.failures
    print(f"{name}: {total} cases, {tally.skipped} not for this engine, {tally.seconds:.1f} CPU s", end="")
    print(f" ({1000 * tally.seconds / total:.2f} ms a case)" if total else "")
    for feature in sorted((tally.passed | tally.failed).keys() - {"all"}):
        print(f"  {feature:<24}{tally.passed[feature]:>7} passed{tally.failed[feature]:>6} failed")
    for problem in tally.problems[:SHOWN]:
        print(f"  - {problem}")


FEW = {"stream": 30}
"""Engines that start a query for each case, and how many cases they run unless asked for more."""


def covering(cases: list[Case], count: int) -> list[Case]:
    """So many cases, chosen by a fixed seed so that as many features as possible occur, and those by arrival first."""
    chance = random.Random(count)
    chance.shuffle(cases)
    by_arrival = [case for case in cases if "watermarks" in case.data][: count // 6]
    chosen, seen = by_arrival, {feature for case in by_arrival for feature in case.features}
    while len(chosen) < min(count, len(cases)):
        taken = {case.id for case in chosen}
        best = max((case for case in cases if case.id not in taken), key=lambda case: len({*case.features} - seen))
        if not {*best.features} - seen:
            seen = set()
        chosen.append(best)
        seen |= {*best.features}
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=sorted(ENGINES), default="reference")
    parser.add_argument("--sample", type=int, help="only so many cases of each file, chosen by a fixed seed")
    parser.add_argument("--all", action="store_true", help="all cases, on an engine that otherwise runs a few of them")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    here = Path(__file__).parent
    passed = failed = 0
    if arguments.engine in FEW and not arguments.all:
        paths = arguments.files or sorted([*here.glob("*.jsonl"), *here.glob("*.jsonl.gz")])
        cases = covering([case for path in paths for case in read(path)], arguments.sample or FEW[arguments.engine])
        tally = run(cases, ENGINES[arguments.engine])
        report(f"{len(cases)} cases of {len(paths)} files", tally)
        print(f"{tally.passes} passed, {tally.failures} failed")
        return 1 if tally.failures or not tally.passes else 0
    for path in arguments.files or sorted([*here.glob("*.jsonl"), *here.glob("*.jsonl.gz")]):
        cases = list(read(path))
        if arguments.sample is not None and arguments.sample < len(cases):
            cases = random.Random(path.name).sample(cases, arguments.sample)
        tally = run(cases, ENGINES[arguments.engine])
        report(path.name, tally)
        passed, failed = passed + tally.passes, failed + tally.failures
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
