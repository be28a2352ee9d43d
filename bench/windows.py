"""The stock ladder: sequences of 3 to 24 trades in windows of half a second to 40 s, every combination counted.

One partition, followed by any, no skip: the number of partial matches explodes with the window. Half of the queries
end with an event that never occurs, so that they keep partial matches but write nothing. The data has no licence: bring
your own.

Each query runs in a process of its own, for 120 s at most. Cepheid counts the matches of each; where they are no more
than LISTED, it also lists them as arrays, and writes them all out as a table. Where FlinkCEP does not end, larger
windows of the same sequence are left out.

CORE is not part of this repository (GPL-3). `--core PROGRAM` names a program around it, which is called as
`PROGRAM recognise|enumerate FILE WINDOW SECONDS TRADE...`, where a line of FILE is `type,id,name,volume,price,time`,
and prints `{"cpu": ..., "matches": ...}` in the end, with a field `stopped` where it took more than SECONDS.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import flink
import numpy as np
import pyarrow as pa
from measuring import Settings, peak_memory
from reporting import Column, Section
from stocks import EVENT

from cepheid import Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.columns import columns
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCES = Path(__file__).parent / "java"
TRADES = (
    "SELL INTC", "BUY RIMM", "BUY QQQ", "SELL IPIX", "BUY AMAT", "SELL CSCO", "BUY YHOO", "SELL DELL",
    "BUY ORCL", "SELL MSFT", "BUY IPIX", "SELL RIMM", "BUY CSCO", "SELL QQQ", "BUY INTC", "SELL AMAT",
    "BUY DELL", "SELL YHOO", "BUY MSFT", "SELL ORCL", "BUY QQQ", "SELL INTC", "BUY RIMM", "SELL CSCO",
)  # fmt: skip
"""A sequence of n trades is the first n of these."""
NEVER = "BUY NONE"
LENGTHS = (3, 6, 9, 12, 24)
WINDOWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 40_000)
SECONDS = 120
CORE_SECONDS = 5
LISTED = 6_000_000
"""Matches that are also written out: a table of more would need most of the memory."""
PER_EVENT = 200e-9
"""CPU seconds that an event of a match may cost beyond the query without matches."""


def trades(length: int, never: bool) -> list[str]:
    """The trades of a query."""
    return [*TRADES[: length - never], *([NEVER] if never else [])]


def query(sequence: list[str], window: int) -> Pattern:
    """A sequence of trades."""
    pattern: Pattern | None = None
    for number, trade in enumerate(sequence):
        kind, name = trade.split()
        part = Pattern.begin(f"e{number}") if pattern is None else pattern.followed_by_any(f"e{number}")
        pattern = part.where(f"type = '{kind}' AND name = '{name}'")
    assert pattern is not None
    return pattern.within(window)


def measure(settings: Settings) -> Section:
    """One row a sequence and window."""
    section = Section(
        "windows", "windows: sequences of stock trades, followed by any, no skip, one partition", _columns(settings)
    )
    if settings.stocks is None:
        section.notes.append("Left out: name the file stocks.stream.xz with --stocks.")
        return section
    section.notes.append(
        f"CPU seconds. Each query alone, {SECONDS} s at most, one core; kernel compiled, FlinkCEP's JVM started for "
        "it. Cepheid, the least of three: count_events (counted), the engine's arrays after sorting the rows and "
        "evaluating the conditions (listed) and match_events on an Arrow table (written out), both up to "
        f"{LISTED:,} matches. "
        "CORE: one thread, events in memory, no queues; matches are counted one by one (listed) or not at all "
        f"(recognised), {CORE_SECONDS} s at most. FlinkCEP: a job of parallelism 1, "
        "events in memory, CPU seconds of the job. Bar: what the same sequence costs where its last event never occurs "
        "and the window is smallest; twice that without matches, else "
        f"{PER_EVENT * 1e9:.0f} ns more for each event of a match. At least as fast as CORE: counted against "
        "recognised, listed against listed."
    )
    with TemporaryDirectory() as place:
        file = Path(place) / "stocks.csv"
        events = _plain(settings.stocks, file)
        for length in (3, 6) if settings.smoke else LENGTHS:
            floor: float | None = None
            for never in (True, False):
                if settings.wants(str(length)):
                    floor = _ladder(section, settings, file, events, length, never, floor)
    return section


def _columns(settings: Settings) -> tuple[Column, ...]:
    """Those of the engines that are asked."""
    ours = (
        Column("length", "length"),
        Column("never", "last event never occurs"),
        Column("window", "window, s", 1),
        Column("matches", "matches"),
        Column("counted", "counted", 3),
        Column("listed", "listed", 3),
        Column("cpu", "written out", 3),
        Column("bar", "bar", 3),
        Column("memory", "memory, GB"),
        Column("stopped", "stopped by"),
    )
    core = (
        Column("core_recognised", "CORE, recognised", 3),
        Column("core_listed", "CORE, listed", 3),
        Column("core_stopped", "stopped by"),
        Column("beaten", "at least as fast as CORE"),
    )
    flink = (
        Column("rate", "events per CPU s", 0),
        Column("their_cpu", "FlinkCEP, CPU s"),
        Column("their_rate", "events per CPU s", 0),
        Column("their_stopped", "stopped by"),
        Column("ratio", "× FlinkCEP", 1),
        Column("right", "same matches"),
    )
    return (*ours, *(core if settings.core else ()), *(flink if settings.flink else ()))


def _ladder(
    section: Section, settings: Settings, file: Path, events: int, length: int, never: bool, floor: float | None
) -> float | None:
    """All windows of one sequence, as long as an engine ends. Returns what the smallest window costs."""
    stopped: dict[str, str] = {} if settings.flink else {"theirs": "not asked"}
    for window in WINDOWS[:2] if settings.smoke else WINDOWS:
        sequence = trades(length, never)
        row: dict[str, Any] = {"length": length, "never": "yes" if never else "no", "window": window / 1000}
        found: dict[str, int] = {}
        ours = [sys.executable, __file__, str(file), str(window), *sequence]
        engines = {"ours": ours}
        if settings.flink:
            jars = flink.jars(place=settings.flink)
            engines["theirs"] = flink.command(SOURCES, jars, "StockLadder", file, window, *sequence)
        if settings.core:
            _core(row, settings.core, file, window, sequence, never)
        for engine, command in engines.items():
            if engine in stopped:
                continue
            said = _asked(command)
            prefix = "" if engine == "ours" else "their_"
            if "stopped" in said:
                stopped[engine] = row[f"{prefix}stopped"] = said["stopped"]
            else:
                found[engine] = said["matches"]
                if "cpu" in said:
                    row |= {f"{prefix}cpu": said["cpu"], f"{prefix}rate": events / said["cpu"]}
                if "listed" in said:
                    row["listed"] = said["listed"]
            if engine == "ours" and "counted" in said:
                floor = said["cpu"] if floor is None else floor
                matches = said["matches"]
                bar = floor + PER_EVENT * matches * length if matches else 2 * floor
                row |= {"memory": said["memory"] / 1e9, "counted": said["counted"], "bar": bar}
        if len(found) == 2 and "cpu" in row:
            row |= {"ratio": row["their_cpu"] / row["cpu"], "right": found["ours"] == found["theirs"]}
        row["matches"] = found.get("ours", found.get("theirs"))
        if "core_recognised" in row and "counted" in row:
            pairs = [(row["counted"], row["core_recognised"])]
            if "core_listed" in row and "listed" in row:
                pairs.append((row["listed"], row["core_listed"]))
            row["beaten"] = all(ours <= core for ours, core in pairs)
        section.rows.append(row)
        settings.keep(section)
        if len(stopped) == 2:
            break
    return floor


def _core(row: dict[str, Any], program: Path, file: Path, window: int, sequence: list[str], never: bool) -> None:
    """What CORE needs, the less of two where it is quick."""
    for mode, key in (("recognise", "core_recognised"), ("enumerate", "core_listed")):
        if never and mode == "enumerate":
            continue
        command = [str(program), mode, str(file.with_suffix(".core")), str(window), str(CORE_SECONDS), *sequence]
        said = [_asked(command)]
        while "stopped" not in said[-1] and said[-1]["cpu"] < 1 and len(said) < 2:
            said.append(_asked(command))
        if "stopped" in said[-1]:
            row["core_stopped"] = f"{CORE_SECONDS} s"
        else:
            row[key] = min(one["cpu"] for one in said)


def _asked(command: list[str]) -> dict[str, Any]:
    """What a process says of itself, or what stopped it."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"stopped": f"{SECONDS} s"}
    if done.returncode:
        if "OutOfMemoryError" in done.stderr:
            return {"stopped": "memory"}
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def _plain(stocks: Path, file: Path) -> int:
    """Write the events as lines `type,name,time`; returns how many there are."""
    found = EVENT.findall(lzma.decompress(stocks.read_bytes()).decode())
    if not found:
        raise SystemExit(f"{stocks} holds no event of the form SELL(id=…,name=…,…,stock_time=…)")
    file.write_text("".join(f"{kind},{name},{time}\n" for kind, name, time in found), encoding="utf-8")
    lines = (f"{kind},{number},{name},1,1.0,{time}\n" for number, (kind, name, time) in enumerate(found))
    file.with_suffix(".core").write_text("".join(lines), encoding="utf-8")
    return len(found)


def _ours(file: str, window: str, *sequence: str) -> None:
    """Runs in a process of its own: print what the query needed."""
    import time

    lines = [line.split(",") for line in Path(file).read_text(encoding="utf-8").splitlines()]
    kinds, names, times = zip(*lines, strict=True)
    table = pa.table({"type": kinds, "name": names, "time": np.array(times, np.int64), "line": np.arange(len(lines))})
    warm = Pattern.begin("warm").followed_by_any("up")
    warm.match_events(table.slice(0, 2), order_by=("time", "line"))
    warm.count_events(table.slice(0, 2), order_by=("time", "line"))
    pattern = query(list(sequence), int(window))
    counted = []
    while len(counted) < 3:
        begun = time.process_time()
        counts = pattern.count_events(table, order_by=("time", "line"))
        counted.append(time.process_time() - begun)
    said: dict[str, Any] = {"matches": sum(counts["matches"].to_pylist()), "counted": min(counted)}
    listed: list[float] = []
    written: list[float] = []
    while said["matches"] <= LISTED and len(written) < 3 and sum(written) < 5:
        begun = time.process_time()
        if _listed(pattern, table) != said["matches"]:
            raise SystemExit("counted and listed matches differ")
        listed.append(time.process_time() - begun)
        begun = time.process_time()
        found = pattern.match_events(table, order_by=("time", "line"), max_matches_per_event=LISTED)
        written.append(time.process_time() - begun)
        if found.matches_table.num_rows != said["matches"]:
            raise SystemExit("counted and written matches differ")
        del found
        said |= {"cpu": min(written), "listed": min(listed)}
    print(json.dumps({"memory": peak_memory(), **said}))


def _listed(pattern: Pattern, table: pa.Table) -> int:
    """How many matches there are, listed as arrays of rows and variables."""
    events = arrange(table, (), ("time", "line"))
    automaton = build(pattern.tree, bind(pattern.tree, Schema.from_arrow(table.schema)))
    tables = tabulate(automaton, Options(max_matches_per_event=LISTED))
    found, _ = match_partitions(tables, columns(events, tables), events.bounds)
    return len(found.at)


def draw(section: Section) -> Figure:
    """CPU seconds over the window, a panel for each kind of query."""
    from plots import curves

    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for row in section.rows:
        last = "never occurs" if row["never"] == "yes" else "occurs"
        panel = panels.setdefault(f"window, s (last event {last})", {})
        for name, key in (("counted", "counted"), ("CORE recognised", "core_recognised"), ("FlinkCEP", "their_cpu")):
            if row.get(key) is not None:
                across, upwards = panel.setdefault(f"{name}, {row['length']}", ([], []))
                across.append(float(row["window"] or 0))
                upwards.append(float(row[key] or 0))
    return curves(panels, "CPU seconds")


if __name__ == "__main__":
    _ours(*sys.argv[1:])
