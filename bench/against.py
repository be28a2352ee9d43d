"""Is the kernel slower than that of another checkout? `python bench/against.py CHECKOUT`.

In: the root of another checkout of this repository, whose `bench/throughput.py` has `queries` and `stream`. Out: a row
for each query of `throughput` that both have: CPU nanoseconds an event, and their ratio. The exit status is 1 if one of
them finds another number of matches.

Two runs of a benchmark some minutes apart differ by more than a change of the kernel does. So a process is started for
each checkout, with its own sources, and both match the same events in turns, query by query, in the same seconds; who
begins changes from turn to turn. Where a process happens to lie in memory is worth some percent as well, so both are
started several times. What disturbs a process only ever adds to its time, so the minima are compared; the median of the
ratios of a turn's two times says how far they can be trusted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

HERE = Path(__file__).parents[1]
ALLOWED = 1.05
"""How much slower a query may be."""


def serve(count: int) -> None:
    """The process of one checkout: says which queries there are, then matches by those that are asked for."""
    import throughput
    from engine_runs import tables_of

    events = throughput.stream(count)
    bounds = events.bounds
    queries = throughput.queries()
    prepared: dict[str, Any] = {}
    print(json.dumps(list(queries)), flush=True)
    for line in sys.stdin:
        name = line.strip()
        if name not in prepared:
            tables = tables_of(queries[name], events.table.schema)
            prepared[name] = tables, throughput.columns(events, tables)
            throughput.match_partitions(*prepared[name], bounds)  # loads or compiles the kernel
        begun = process_time()
        found, _ = throughput.match_partitions(*prepared[name], bounds)
        print(json.dumps([process_time() - begun, len(found.at)]), flush=True)


class Checkout:
    """One of the two, in a process of its own."""

    def __init__(self, root: Path, count: int) -> None:
        paths = [str(root / "src"), str(root / "bench")]
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, "--serve", str(count)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.queries: list[str] = self._answer(f"{root} has no bench/throughput.py that could be asked")

    def match(self, query: str) -> tuple[float, int]:
        """CPU seconds and the number of matches."""
        assert self._process.stdin is not None
        self._process.stdin.write(query + "\n")
        self._process.stdin.flush()
        seconds, matches = self._answer(f"the process stopped at {query!r}")
        return seconds, matches

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self, otherwise: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{otherwise}; its own words are above")
        return json.loads(line)


@dataclass
class Duel:
    """The times of one query in both checkouts, turn by turn, and the matches that they found."""

    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    matches: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def turn(self, query: str, checkouts: tuple[Checkout, Checkout], number: int) -> None:
        for one in (0, 1) if number % 2 else (1, 0):
            seconds, matches = checkouts[one].match(query)
            self.seconds[one].append(seconds)
            self.matches[one].add(matches)

    def row(self, query: str, count: int) -> dict[str, Any]:
        other, here = (min(seconds) / count * 1e9 for seconds in self.seconds)
        pairs = [new / old for old, new in zip(*self.seconds, strict=True)]
        return {
            "query": query,
            "matches": max(self.matches[1]),
            "other": other,
            "here": here,
            "ratio": here / other,
            "pairs": median(pairs),
            "reached": here / other <= ALLOWED,
            "right": self.matches[0] == self.matches[1] and len(self.matches[1]) == 1,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, nargs="?", help="the root of the other checkout")
    parser.add_argument("--events", type=int, default=1_000_000, help="how many events (1,000,000)")
    parser.add_argument("--starts", type=int, default=3, help="how often both processes are started (3)")
    parser.add_argument("--turns", type=int, default=7, help="how often each matches each query, then (7)")
    parser.add_argument("--case", action="append", default=[], help="only this query; may be repeated")
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    if given.checkout is None or not (given.checkout / "bench" / "throughput.py").exists():
        parser.error("give the root of another checkout, in which there is bench/throughput.py")
    if given.turns < 1 or given.starts < 1 or given.events < 100:
        parser.error("--turns and --starts must be 1 or more, --events 100 or more")
    duels: dict[str, Duel] = {}
    for _ in range(given.starts):
        fight(given.checkout.resolve(), given.events, given.turns, given.case, duels)
    how_often = f"{given.starts} × {given.turns} turns"
    return report([duel.row(query, given.events) for query, duel in duels.items()], how_often, given.events, given.json)


def fight(other: Path, count: int, turns: int, cases: list[str], duels: dict[str, Duel]) -> None:
    """Start both, let them take turns, and end them."""
    checkouts = Checkout(other, count), Checkout(HERE, count)
    for query in checkouts[1].queries:
        if query in checkouts[0].queries and (not cases or query in cases):
            duels.setdefault(query, Duel())
    for number in range(turns):
        for query, duel in duels.items():
            duel.turn(query, checkouts, number)
    for checkout in checkouts:
        checkout.end()


def report(rows: list[dict[str, Any]], how_often: str, count: int, written: Path | None) -> int:
    from reporting import Column, Section, as_json, environment, headline, show
    from rich.console import Console

    section = Section(
        "against",
        f"against another checkout: {count:,} events, {how_often}",
        (
            Column("query", "query"),
            Column("matches", "matches"),
            Column("other", "other, ns an event", 1),
            Column("here", "here, ns an event", 1),
            Column("ratio", "ratio of the minima"),
            Column("pairs", "median ratio of a turn"),
            Column("reached", f"at most {ALLOWED}"),
            Column("right", "as many matches"),
        ),
        rows,
        ["CPU time of the kernel, from columns to arrays of matches: the least of all turns."],
    )
    facts = environment()
    console = Console(width=None if Console().is_terminal else 200)
    console.print(headline(facts), highlight=False)
    show(section, console)
    if written:
        written.write_text(json.dumps(as_json(facts, [section]), indent=1, ensure_ascii=False), encoding="utf-8")
    return 0 if section.is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
