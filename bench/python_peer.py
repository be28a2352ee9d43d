"""Cepheid beside BoboCEP, an engine in pure Python: two queries on the same events in memory, one process each.

BoboCEP is installed into an environment of its own under build/ the first time: it needs other versions than we do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.compute as pc
from made_events import made_events
from measuring import Settings, median_cpu
from reporting import Cell, Column, Section

from cepheid import Pattern

VERSION = "1.2.2"
ENVIRONMENT = Path(__file__).parent.parent / "build" / f"bobocep-{VERSION}"
EVENTS, PER_KEY, WINDOW = 20_000, 100, 10


def queries(window: int) -> dict[str, Pattern]:
    """The queries that both can say: a run for each start, no skip."""
    start = Pattern.begin("a").where("type = 0")
    seq = start.followed_by("b").where("type = 1").followed_by("c").where("type = 2")
    return {
        "strict": start.next("b").where("type = 1").next("c").where("type = 2"),
        "seq no skip": seq.within(f"{window} ms"),
    }


def measure(settings: Settings) -> Section:
    """One row a query."""
    events = settings.events or (2_000 if settings.smoke else EVENTS)
    keys = max(1, events // PER_KEY)
    section = Section(
        "python",
        f"python: {events:,} events in memory, {keys:,} keys, beside BoboCEP {VERSION}",
        (
            Column("query", "query"),
            Column("matches", "matches"),
            Column("cpu", "Cepheid, CPU s", 3),
            Column("rate", "events per CPU s", 0),
            Column("their_cpu", "BoboCEP, CPU s"),
            Column("their_rate", "events per CPU s", 0),
            Column("ratio", "× BoboCEP", 0),
            Column("right", "same matches"),
        ),
        notes=[
            f"One process each; Cepheid: match_events on an Arrow table, median of {settings.repeat}, kernel compiled. "
            "BoboCEP: an engine for each key, a halting condition for the window, once.",
            "same matches: their number and the sums of their first and last times.",
        ],
    )
    table = made_events(0, events, keys)
    rows = table.set_column(3, "ts", pc.cast(table["ts"], "int64")).to_pylist()
    window = WINDOW * keys
    with TemporaryDirectory() as place:
        file = Path(place) / "events.json"
        file.write_text(json.dumps(rows), encoding="utf-8")
        for name, pattern in queries(window).items():
            if settings.wants(name):
                section.rows.append({"query": name, **_row(pattern, table, name, file, window, settings)})
    return section


def _row(pattern: Pattern, table: Any, query: str, file: Path, window: int, settings: Settings) -> dict[str, Cell]:
    def ours() -> Any:
        return pattern.match_events(table, partition_by="key", order_by="ts").matches_table

    ours()
    matches, cpu = median_cpu(settings.repeat, ours)
    said = _asked(query, file, window)
    times = [pc.sum(pc.cast(matches[name], "int64")).as_py() or 0 for name in ("start_time", "end_time")]
    return {
        "matches": matches.num_rows,
        "cpu": cpu,
        "rate": table.num_rows / cpu,
        "their_cpu": said["cpu"],
        "their_rate": table.num_rows / said["cpu"],
        "ratio": said["cpu"] / cpu,
        "right": [matches.num_rows, *times] == [said["matches"], said["starts"], said["ends"]],
    }


def _asked(query: str, file: Path, window: int) -> dict[str, Any]:
    script = Path(__file__).parent / "bobocep_answers.py"
    done = subprocess.run(
        [str(_python()), str(script), query, str(file), str(window)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"BoboCEP failed on {query!r}:\n{done.stderr[-2000:]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _python() -> Path:
    """The Python of BoboCEP's environment, which is made if it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", f"bobocep=={VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{sys.executable} cannot install bobocep {VERSION}:\n{done.stderr[-2000:]}")
    return python
