"""Run conformance cases on an engine: `python tests/conformance/run.py --engine reference FILE…`.

Cases of MATCH_RECOGNIZE, which lie in `sql/`, run on the engines whose names begin with `sql-`. Prints a table by
feature, the first differences, and as its last line `N passed, M failed`; exits with 1 if any failed.
Without files, all corpora beside this script are run. Engines on Spark, where a pattern costs a part of a second, run a
sample in which every feature of the language occurs, and take each case as a finite input (`ending.py`); `--all` runs
everything there too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from cases import Case, assignment, lines, read
from ending import ended
from engines import ENGINES, Answer, Engine, Unsupported
from features import covering_sample
from sql_cases import SqlCase, judge_table
from sql_engines import SQL_ENGINES, SqlEngine, batch
from sql_streams import stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN = 5
"""Differences printed in full."""
ON_SPARK = ("batch", "sets-batch")
SETS = ("sets", "sets-operator")
"""Cases as sets of 50 rules, which need no Spark."""
SAMPLE_ON_SPARK = 200
"""Cases that an engine on Spark runs if nothing else is asked for."""
SQL_ON_SPARK = {"sql-batch": 300, "sql-stream": 100}
"""Engines of SQL on Spark, and how many cases they run."""
TOLD = 50
"""Cases of SQL after which it is said how many there were."""
SAMPLE_OF_STREAMS = 30
"""The same for streams, where each case is a query of its own."""
PLACE = Path(__file__).parent


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
    if "match_times" in case.data:
        return judge_times(case, answer)
    return None


def judge_times(case: Case, answer: Answer) -> str | None:
    """What is wrong with the moments of the matches and, where the engine tells it, with their order."""
    wanted = list(zip(map(assignment, case.data["matches"]), case.data["match_times"], strict=True))
    found = list(zip(answer.matches, answer.match_times, strict=True))
    if sorted(found) != sorted(wanted):
        return f"times of matches: {found} instead of {wanted}"
    if answer.is_ordered and found != wanted:
        return f"order of matches: {found} instead of {wanted}"
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


def run_sql(cases: Iterable[SqlCase], engine: SqlEngine) -> Tally:
    """Run cases of MATCH_RECOGNIZE. What is wrong is told at once: on streams a run takes minutes."""
    tally = Tally()
    begun = time.process_time()
    for number, case in enumerate(cases, 1):
        try:
            problem = judge_table(case, engine(case))
        except Exception as error:
            problem = judge_table(case, error)
        counter = tally.passed if problem is None else tally.failed
        counter.update(["all", *case.features])
        if problem is not None:
            tally.problems.append(f"{case.id}: {problem}")
            print(f"{case.id}: {problem}", file=sys.stderr, flush=True)
        if number % TOLD == 0:
            print(f"{number} cases, {tally.failures} failed", file=sys.stderr, flush=True)
    tally.seconds = time.process_time() - begun
    return tally


def read_sql(path: Path) -> list[SqlCase]:
    return [SqlCase(data) for data in lines(path)]


def main_sql(name: str, paths: list[Path], sample: int | None) -> int:
    corpora = {path: read_sql(path) for path in paths or sorted((Path(__file__).parent / "sql").glob("*.jsonl.gz"))}
    is_on_spark = name in SQL_ON_SPARK
    if is_on_spark:  # what is refused before any row is read needs no Spark
        corpora = {path: [case for case in cases if not case.is_refused] for path, cases in corpora.items()}
    count = sample or SQL_ON_SPARK.get(name)
    every = 1 if count is None else max(1, sum(map(len, corpora.values())) // count)
    passed = failed = 0
    with local_spark() if is_on_spark else nullcontext() as spark:
        engine = SQL_ENGINES[name] if spark is None else (batch if name == "sql-batch" else stream)(spark)
        for path, cases in corpora.items():
            tally = run_sql(cases[::every], engine)
            report(path.name, tally, "CPU s")
            passed, failed = passed + tally.passes, failed + tally.failures
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def report(name: str, tally: Tally, unit: str) -> None:
    total = tally.passes + tally.failures
    print(f"{name}: {total} cases, {tally.skipped} not for this engine, {tally.seconds:.1f} {unit}", end="")
    print(f" ({1000 * tally.seconds / total:.2f} ms a case)" if total else "")
    for feature in sorted((tally.passed | tally.failed).keys() - {"all"}):
        print(f"  {feature:<24}{tally.passed[feature]:>7} passed{tally.failed[feature]:>6} failed")
    for problem in tally.problems[:SHOWN]:
        print(f"  - {problem}")


def run_on_spark(cases: Iterable[Case], spark: SparkSession) -> Tally:
    """Run cases, as finite inputs, through `pattern.match`."""
    from spark_batch import answered

    finite = [ended(case) for case in cases]
    return run(finite, answered(spark, finite))


def run_sets(name: str, cases: Iterable[Case], spark: SparkSession | None) -> Tally:
    """Run cases, as finite inputs, fifty at a time as the rules of a set."""
    from rule_sets import answered, finite, in_memory, on_batch, on_operator

    chosen = finite(cases)
    find = in_memory if name == "sets" else on_operator if spark is None else on_batch(spark)
    return run(chosen, answered(chosen, find))


@contextmanager
def local_spark() -> Iterator[SparkSession]:
    """A Spark on two cores, whose workers use this very Python."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")  # many small queries, none of them twice
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(PLACE)]))
    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.daemon.module": "warm_daemon",
    }
    session = SparkSession.builder.master("local[2]").appName("conformance").config(map=quiet).getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # jobs that are meant to fail
    try:
        yield session
    finally:
        session.stop()


def chosen(corpora: dict[str, list[Case]], count: int) -> dict[str, list[Case]]:
    """A sample of all corpora together, by corpus."""
    sample = {id(case) for case in covering_sample([case for cases in corpora.values() for case in cases], count)}
    return {name: [case for case in cases if id(case) in sample] for name, cases in corpora.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--engine", choices=sorted([*ENGINES, *SETS, *ON_SPARK, *SQL_ENGINES, *SQL_ON_SPARK]), default="reference"
    )
    parser.add_argument(
        "--sample", type=int, help="only so many cases, chosen by a fixed seed so that every feature occurs"
    )
    parser.add_argument("--all", action="store_true", help="every case, on Spark as well")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    if arguments.engine.startswith("sql-"):
        return main_sql(arguments.engine, arguments.files, arguments.sample)
    here, is_on_spark = Path(__file__).parent, arguments.engine in ON_SPARK
    uses_spark = is_on_spark or arguments.engine == "stream"
    paths = arguments.files or sorted([*here.glob("*.jsonl"), *here.glob("*.jsonl.gz")])
    corpora = {path.name: list(read(path)) for path in paths}
    few = SAMPLE_ON_SPARK if is_on_spark else SAMPLE_OF_STREAMS if arguments.engine == "stream" else None
    count = arguments.sample or few
    if count is not None and not arguments.all:
        corpora = chosen(corpora, count)
    passed = failed = 0
    with local_spark() if is_on_spark else nullcontext() as spark:
        for name, cases in corpora.items():
            begun = time.perf_counter()
            if arguments.engine.startswith("sets"):
                tally = run_sets(arguments.engine, cases, spark)
            else:
                tally = run(cases, ENGINES[arguments.engine]) if spark is None else run_on_spark(cases, spark)
            if uses_spark:  # it works in other processes
                tally.seconds = time.perf_counter() - begun
            report(name, tally, "s" if uses_spark else "CPU s")
            passed, failed = passed + tally.passes, failed + tally.failures
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
