"""Trino and Flink SQL beside Cepheid: the same query over rows that each engine makes itself.

In: how many rows, and in the environment `SQL_ORACLES`, a directory with `run.sh` (Trino; `TRINO_JARS`) and
`flink/run.sh` (Flink SQL; `FLINK_JARS`), which read queries as JSON lines. Out: rows per CPU second of each. An engine
that is not given, or that refuses the query, has no figure. Called by `row_patterns`.

Starting an engine costs seconds, and until its code is compiled it is slow; Cepheid is measured warm, too. So each is
run twice, with few rows and with many, and the difference is what counts.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

FEW = 2_000_000
"""Rows of the run that is deducted: enough for an engine to have compiled what it runs."""
PER_KEY = 100
MADE = "mod({n} * mod({n}, 30011) + {n}, 65521)"
"""Numbers in disorder, by arithmetic that all engines have."""
TASKS = {
    "A B+ C, made rows": """
        PARTITION BY k ORDER BY ts MEASURES COUNT(B.v) AS n AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B+ C) DEFINE A AS A.v < 20, B AS B.v >= 20 AND B.v < 60, C AS C.v >= 60
    """,
    "V-shapes, made rows": """
        PARTITION BY k ORDER BY ts MEASURES COUNT(DOWN.v) AS n AFTER MATCH SKIP TO LAST UP
        PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v)
    """,
}


def query(clause: str, table: str) -> str:
    """What every engine runs: it counts the matches and their middle rows."""
    return f"SELECT count(*) AS found, sum(n) AS middle_rows FROM {table} MATCH_RECOGNIZE ({clause}) AS m"


def columns(number: str, keys: int, time: str) -> str:
    """The columns of a made row."""
    made = MADE.format(n=number)
    return f"mod({number}, {keys}) AS k, {time} AS ts, mod({made}, 100) AS v"


def of_trino(clause: str, rows: int) -> dict[str, Any]:
    """Trino's request."""
    outer, inner = rows // 1000, 1000
    numbers = (
        f"(SELECT a * {inner} + b AS i FROM UNNEST(sequence(0, {min(outer, 10_000) - 1})) AS x(a), "
        f"UNNEST(sequence(0, {inner - 1})) AS y(b))"
    )
    table = f"(SELECT {columns('i', rows // PER_KEY, 'i')} FROM {numbers})"
    return {"id": "q", "sql": query(clause, table)}


def of_flink(clause: str, rows: int) -> dict[str, Any]:
    """Flink's request."""
    source = (
        "CREATE TEMPORARY TABLE numbers (i BIGINT) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', "
        f"'fields.i.start' = '0', 'fields.i.end' = '{rows - 1}', 'number-of-rows' = '{rows}', "
        "'rows-per-second' = '100000000')"
    )
    view = (
        f"CREATE TEMPORARY VIEW made AS SELECT {columns('i', rows // PER_KEY, 'TO_TIMESTAMP_LTZ(i, 3)')} FROM numbers"
    )
    return {"id": "q", "setup": [source, view], "sql": query(clause, "made")}


def peers(clause: str, rows: int) -> dict[str, tuple[float, list[Any]]]:
    """Rows per CPU second of each engine that is there and takes the query, with its answer."""
    place = os.environ.get("SQL_ORACLES")
    if place is None:
        return {}
    found = {}
    for name, script, make, jars in (
        ("Trino", "run.sh", of_trino, "TRINO_JARS"),
        ("Flink", "flink/run.sh", of_flink, "FLINK_JARS"),
    ):
        if jars not in os.environ:
            continue
        fewer = min(FEW, rows // 2)
        few, _ = _cpu(Path(place) / script, make(clause, fewer))
        many, answer = _cpu(Path(place) / script, make(clause, rows))
        if answer is not None and many > few:
            found[name] = (rows - fewer) / (many - few), answer
    return found


def _cpu(script: Path, request: dict[str, Any]) -> tuple[float, list[Any] | None]:
    """The CPU seconds of one engine for one request, and its answer; None if it refuses."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["bash", str(script)],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ORACLE_SECONDS": "3600"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    answer = json.loads(lines[-1]) if lines else {"error": done.stderr[-500:]}
    if "error" in answer:
        print(f"{script}: {answer['error']}")
        return seconds, None
    return seconds, answer["rows"][0]
