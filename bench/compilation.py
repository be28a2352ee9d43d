"""What the kernel's compilation costs a process: with an empty cache, and with a full one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from measuring import Settings
from reporting import Column, Section

PROGRAM = """
import json, time
begun = time.process_time(), time.perf_counter()
import numpy as np, pyarrow as pa
from cepheid import Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.rows.arrange import arrange
from cepheid.engine.columns import columns
from cepheid.engine.matcher import Matcher, match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
imported = time.process_time(), time.perf_counter()
tree = Pattern.begin("a").followed_by("b").tree
table = pa.table({"t": [1, 2]})
tables = tabulate(build(tree, bind(tree, Schema.from_arrow(table.schema))), Options())
events = arrange(table, (), ("t",))
found, _ = match_partitions(tables, columns(events, tables), events.bounds)
matched = time.process_time(), time.perf_counter()
matcher = Matcher(tables)
fed, _ = matcher.feed(matcher.columns_of(events), events.bounds, np.zeros(1, np.int64))
matcher.keep()
matcher.end()
ended = time.process_time(), time.perf_counter()
steps = {"import": (begun, imported), "first": (imported, matched), "stream": (matched, ended)}
print(json.dumps({name: [b - a for a, b in zip(*step)] for name, step in steps.items()}
    | {"matches": [len(found.at), len(fed.at)]}))
"""


def measure(settings: Settings) -> Section:
    """A row for an empty cache, and one for the cache that it left. A short run looks at the cache there is."""
    section = Section(
        "compile",
        "compile: what a new process pays for the kernel (CPU s / elapsed s)",
        (
            Column("cache", "cache"),
            Column("import", "import, CPU"),
            Column("first", "first match, CPU"),
            Column("stream", "first stream, CPU"),
            Column("elapsed", "all, elapsed"),
            Column("right", "right"),
        ),
        notes=["The kernel is compiled once for all patterns and kept on disk (CEPHEID_CACHE names the place)."],
    )
    if settings.smoke:
        section.rows.append(_process("as it is", dict(os.environ)))
        return section
    with tempfile.TemporaryDirectory() as place:
        for cache in ("empty", "full"):
            section.rows.append(_process(cache, {**os.environ, "CEPHEID_CACHE": place}))
    return section


def _process(cache: str, variables: dict[str, str]) -> dict[str, str | int | float | bool | None]:
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"the process that loads the kernel failed:\n{run.stderr}")
    steps = json.loads(run.stdout)
    return {
        "cache": cache,
        **{name: steps[name][0] for name in ("import", "first", "stream")},
        "elapsed": sum(steps[name][1] for name in ("import", "first", "stream")),
        "right": steps["matches"] == [1, 1],
    }
