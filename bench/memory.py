"""Memory over a long stream under `past_last_event` without a window, fed in parts through a `Matcher`.

Each case runs in a process of its own, so that its peak is its own.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from engine_runs import CHECKED, tables_of
from measuring import Settings, cpu, peak_memory
from reporting import Column, Section

from cepheid import CepheidError, Pattern
from cepheid.engine.kernel import layout as l
from cepheid.engine.matcher import Matcher
from cepheid.engine.tables.model import Options, Tables
from cepheid.reference.online import OnlineEvaluator
from cepheid.rows.arrange import Arranged
from cepheid.syntax.tree import SpanUnit

EVENTS = 100_000_000
PARTS = 100
MARKS = (10, 50, 100)
MAXIMUM_RUNS = 50_000
"""A case whose runs become more than this is stopped: it is not flat, and would only become slow."""
FLAT = 1.1
"""The peak at the end may be so many times the peak at the first mark."""
CASES = ("plain", "plain, often", "registers", "loop")
JUDGED = ("plain", "plain, often")
RARE = 10
"""So many events complete a match over the whole stream, where they are rare."""


def pattern(case: str) -> Pattern:
    condition = "name = 'b' AND price > LAST(a.price)" if case == "registers" else "name = 'b'"
    second = Pattern.begin("a").where("name = 'a'").followed_by("b").where(condition)
    if case == "loop":
        second = second.one_or_more()
    return second.followed_by("c").where("name = 'c'").skip("past_last_event")


def part(case: str, number: int, size: int, rare: int) -> Arranged:
    """A part of the stream. Where the last type of event is rare, every `rare`-th event is one."""
    random = np.random.default_rng(number)
    begin = number * size
    time = np.arange(begin, begin + size)
    if case in ("plain", "registers"):
        codes: npt.NDArray[np.int8] = random.choice(np.array([0, 1, 3, 4], np.int8), size)
        codes[time % rare == rare // 2] = 2
    else:
        codes = random.integers(0, 5, size).astype(np.int8)
    names = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list("abcde"))).dictionary_decode()
    table = pa.table({"name": names, "price": random.integers(0, 10, size)})
    return Arranged(table, (), (), np.zeros(size, np.int64), time, SpanUnit.ORDER)


def run(case: str, size: int) -> list[dict[str, Any]]:
    """One case over the whole stream: a row at each mark, or where it had to stop."""
    rare = size * PARTS // RARE
    tables = tables_of(pattern(case), part(case, 0, 1, rare).table.schema, Options(max_runs=MAXIMUM_RUNS))
    matcher = Matcher(tables)
    bounds, slots = np.array([0, size]), np.zeros(1, np.int64)
    rows: list[dict[str, Any]] = []
    is_checked = size * PARTS <= CHECKED
    moments: list[int] = []
    count = 0
    seconds = 0.0
    for number in range(PARTS):
        columns = matcher.columns_of(part(case, number, size, rare))
        try:
            (found, _), spent = cpu(lambda columns=columns: matcher.feed(columns, bounds, slots))  # type: ignore[misc]
        except CepheidError as error:
            rows.append(_row(case, number, size, matcher, count, seconds) | {"stopped": str(error).splitlines()[0]})
            return rows
        seconds += spent + cpu(matcher.keep)[1]
        count += len(found.at)
        if is_checked:  # else they would be what grows
            moments += found.at.tolist()
        if 100 * (number + 1) // PARTS in MARKS and 100 * (number + 1) % PARTS == 0:
            rows.append(_row(case, number + 1, size, matcher, count, seconds))
    if is_checked:
        rows[-1]["right"] = moments == _expected(case, tables, size, rare)
    return rows


def _row(case: str, parts: int, size: int, matcher: Matcher, matches: int, seconds: float) -> dict[str, Any]:
    pool = matcher.pool
    return {
        "case": case,
        "percent": 100 * parts // PARTS,
        "events": parts * size,
        "matches": matches,
        "peak": peak_memory() / 1e6,
        "pool": sum(array.nbytes for array in pool) / 1e6,
        "runs": int(pool.slots[0, l.K_LIVE]) if len(pool.slots) else 0,
        "held": len(matcher.held.time),
        "seconds": seconds,
    }


def _expected(case: str, tables: Tables, size: int, rare: int) -> list[int]:
    """The moments of the matches that the reference finds."""
    evaluator = OnlineEvaluator(tables.automaton)
    for number in range(PARTS):
        events = part(case, number, size, rare)
        for row, time in zip(events.table.to_pylist(), events.time.tolist(), strict=True):
            evaluator.handle(row, time)
    return [int(match.at) for match in evaluator.matches]


def measure(settings: Settings) -> Section:
    """Three rows a case: at 10 %, 50 % and 100 % of the stream."""
    count = settings.events * 10 if settings.events else 20 * PARTS if settings.smoke else EVENTS
    size = max(1, count // PARTS)
    section = Section(
        "memory",
        f"memory: {size * PARTS:,} events in {PARTS} parts, one partition, past last event, no window",
        (
            Column("case", "case"),
            Column("percent", "% of the stream"),
            Column("matches", "matches"),
            Column("peak", "peak, MB", 1),
            Column("pool", "pool, MB", 2),
            Column("runs", "waiting runs"),
            Column("held", "held events"),
            Column("seconds", "CPU s", 1),
            Column("flat", "flat"),
            Column("bar", "bar"),
            Column("reached", "reached"),
            Column("right", "as reference"),
            Column("stopped", "stopped"),
        ),
        notes=[
            f"plain: a → b → c where only {RARE} events of the stream are a c, so that runs would pile up; plain, "
            "often: c is 1 in 5. registers: as plain, b's price above a's, ten prices. loop: a → b+ → c, c is 1 in 5 "
            "(what a loop has taken must be held until the match is complete).",
            f"flat: peak at the end ≤ {FLAT} × that at the first mark, and the pool no larger. A case with more than "
            f"{MAXIMUM_RUNS:,} waiting runs is stopped. CPU s: feed() and keep().",
        ],
    )
    run("plain", 1)  # the kernel is compiled here if it must be: that takes more memory than any case
    for case in CASES:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as process:
            rows = process.submit(run, case, size).result()
        first, last = rows[0], rows[-1]
        is_complete = "stopped" not in last
        last["flat"] = is_complete and last["peak"] <= FLAT * first["peak"] and last["pool"] <= first["pool"]
        if case in JUDGED:
            last["bar"] = "flat"
            last["reached"] = None if settings.smoke else last["flat"]
        section.rows += rows
    return section
