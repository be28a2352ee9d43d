"""SQL row patterns: MATCH_RECOGNIZE on Spark, and searches that explode in other engines.

Rows per CPU second of whole jobs, and CPU seconds of the matcher alone where the pattern is hard.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from made_events import made_events, write_events
from measuring import Settings, compare
from reporting import Column, Section
from sessions import CORES, benchmark_spark, run
from sql_peers import FEW, TASKS, columns, peers, query

from cepheid import RowPattern, sql

ROWS = 10_000_000
PER_KEY = 100
BAR = 1_000_000
"""Rows per CPU second."""
FASTER = {"Flink": 15}
"""How many times the rows per CPU second of another engine; ahead of the others."""
WARM_UPS = 5
"""Runs beside other engines that are not counted: so long the JVM still spends seconds on compiling."""
SEARCH_BAR = 1.0
"""CPU seconds of a hard search."""
ON_SPARK = {
    "A B+ C": """
        PARTITION BY key ORDER BY ts MEASURES A.ts AS first, LAST(C.ts) AS last, COUNT(B.*) AS n
        PATTERN (A B+ C) DEFINE A AS type = 0, B AS type = 1, C AS type = 2
    """,
    "V-shapes": """
        PARTITION BY key ORDER BY ts
        MEASURES STRT.ts AS first, LAST(DOWN.price) AS bottom, LAST(UP.price) AS top
        AFTER MATCH SKIP TO LAST UP PATTERN (STRT DOWN+ UP+)
        DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
    """,
}
SEARCHES = {
    "A+ B+ C over 5,000 equal rows": ("A+ B+ C", 5_000),
    "A? … A? B, 24 times A": (" ".join(["A?"] * 24) + " C", 5_000),
}


def measure(settings: Settings) -> Section:
    """One row a task."""
    section = Section(
        "sql",
        "sql: MATCH_RECOGNIZE on Spark, and hard searches in memory",
        (
            Column("task", "task"),
            Column("rows", "rows"),
            Column("matches", "matches"),
            Column("cpu", "CPU s"),
            Column("spread", "least–most"),
            Column("rate", "rows / CPU s"),
            Column("beyond", f"after {FEW // 1_000_000} M rows"),
            Column("trino", "Trino's"),
            Column("flink", "Flink's"),
            Column("reached", "bar reached"),
            Column("right", "right"),
        ),
        notes=[
            f"On Spark: {CORES} cores, {PER_KEY} rows a key, Parquet in, noop sink out; bar: {BAR:,} rows per CPU "
            f"second. Searches: no match exists; bar: {SEARCH_BAR:.0f} CPU second.",
            "right: as many matches as in memory; for searches, none; beside others, their answer.",
            "Made rows: each engine makes them itself, in the same order and by the same arithmetic. After "
            f"{FEW // 1_000_000} M rows: what a run of {FEW:,} rows costs is deducted from the rows and from the CPU "
            "seconds, so that neither starting nor planning nor compiling counts, for each engine. Trino and Flink SQL "
            f"are one process each; of Cepheid, {WARM_UPS} runs before do not count. Flink has no PREV.",
        ],
    )
    if any(map(settings.wants, TASKS)):
        count = settings.events or (20_000 if settings.smoke else ROWS)
        with benchmark_spark() as spark:
            for name, clause in TASKS.items():
                if settings.wants(name):
                    section.rows.append(_beside_peers(name, clause, spark, count, settings))
    for name, (pattern, count) in SEARCHES.items():
        if settings.wants(name):
            section.rows.append(_search(name, pattern, count, settings))
    if any(map(settings.wants, ON_SPARK)):
        count = settings.events or (20_000 if settings.smoke else ROWS)
        with TemporaryDirectory() as place, benchmark_spark() as spark:
            path = write_events(Path(place) / "events", count, max(1, count // PER_KEY))
            for name, clause in ON_SPARK.items():
                if settings.wants(name):
                    section.rows.append(_on_spark(name, clause, spark, path, count, settings))
    return section


def _on_spark(name: str, clause: str, spark: Any, path: str, count: int, settings: Settings) -> dict[str, Any]:
    pattern = RowPattern.parse(clause)
    measured = compare(settings.repeat, {name: lambda: run(pattern.match(spark.read.parquet(path)).matches)})
    cost = measured[name][1]
    found = pattern.match(spark.read.parquet(path)).matches.count()
    in_memory = pattern.match_events(made_events(0, count, max(1, count // PER_KEY))).matches_table.num_rows
    return {
        "task": name,
        "rows": count,
        "matches": found,
        "cpu": cost.cpu,
        "spread": cost.spread,
        "rate": count / cost.cpu,
        "reached": None if settings.smoke else count / cost.cpu >= BAR,
        "right": found == in_memory,
    }


def _beside_peers(name: str, clause: str, spark: Any, count: int, settings: Settings) -> dict[str, Any]:
    """The query that the other engines run, over rows that Spark makes."""
    text, fewer = query(clause, "made"), min(FEW, count // 2)

    def run_over(rows: int) -> tuple[Any, ...]:
        made = spark.range(rows).selectExpr(*_split(columns("id", rows // PER_KEY, "timestamp_millis(id)")))
        return tuple(sql(text, spark, made=made).collect()[0])

    actions = {"few": lambda: run_over(fewer), "many": lambda: run_over(count)}
    measured = compare(settings.repeat, actions, 1 if settings.smoke else WARM_UPS)
    found, cost = measured["many"]
    few = measured["few"][1].cpu
    beyond = (count - fewer) / (cost.cpu - few) if cost.cpu > few else None
    others = {} if settings.smoke else peers(clause, count)
    rate = count / cost.cpu
    ahead = beyond is not None and all(beyond >= FASTER.get(other, 1) * theirs for other, (theirs, _) in others.items())
    return {
        "task": name,
        "rows": count,
        "matches": found[0],
        "cpu": cost.cpu,
        "spread": cost.spread,
        "rate": rate,
        "beyond": beyond,
        "reached": None if settings.smoke else rate >= BAR and ahead,
        "right": all(tuple(answer) == found for _, answer in others.values()),
        "trino": others.get("Trino", (None,))[0],
        "flink": others.get("Flink", (None,))[0],
    }


def _split(listed: str) -> list[str]:
    """The columns of a select list whose functions have commas."""
    found, depth = [""], 0
    for sign in listed:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return found


def _search(name: str, text: str, count: int, settings: Settings) -> dict[str, Any]:
    rows = pa.table({"t": range(count), "v": [1] * count})
    pattern = RowPattern.parse(f"ORDER BY t MEASURES COUNT(*) AS n PATTERN ({text}) DEFINE C AS v > 1")
    measured = compare(settings.repeat, {name: lambda: pattern.match_events(rows).matches_table.num_rows})
    found, cost = measured[name]
    return {
        "task": name,
        "rows": count,
        "matches": found,
        "cpu": cost.cpu,
        "spread": cost.spread,
        "rate": count / cost.cpu if cost.cpu else None,
        "reached": None if settings.smoke else cost.cpu <= SEARCH_BAR,
        "right": found == 0,
    }
