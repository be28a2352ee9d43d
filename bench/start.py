"""What a first start costs: in memory and on new executors of Spark, with nothing compiled yet and with everything.

Each row in memory is a process of its own, whose directory of compiled code is empty, or holds what the row before has
left there. What is said of executors is measured by `new_executors`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import Settings
from reporting import Column, Section

import cepheid
from cepheid.spark.preparing import spark_home

FIRST = """
import json, time
begun = time.process_time(), time.perf_counter()
from cepheid import Pattern
pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b' AND price > a.price").within(60)
rows = [{"key": n % 3, "t": n, "name": "abc"[n % 3], "price": n} for n in range(100)]
imported = time.process_time(), time.perf_counter()
found = pattern.match_events(rows, partition_by="key", order_by="t").matches
print(json.dumps({"cpu": time.process_time() - begun[0], "elapsed": time.perf_counter() - begun[1],
    "import": imported[1] - begun[1], "right": len(found) == 0 or found[0]["b"]["price"] > found[0]["a"]["price"]}))
"""
COMPILED = """
import json, time
begun = time.process_time(), time.perf_counter()
from cepheid.engine.warming import warm_up
imported = time.perf_counter()
warm_up({part!r})
print(json.dumps({{"cpu": time.process_time() - begun[0], "elapsed": time.perf_counter() - begun[1],
    "import": imported - begun[1], "right": True}}))
"""
PARTS = {
    "compiling what single runs need": "main",
    "compiling what cohorts need": "compact",
    "compiling row patterns": "rows",
}
EXECUTORS = Path(__file__).parent / "new_executors.py"
ON_EXECUTORS = {
    "control": "first job on {}, without Cepheid",
    "sent": "first job on {}, code sent by the driver",
    "kept": "first job on {}, code kept from before",
}
ONE, TWO = "a new executor", "two new executors at once"
PREPARED = """
import os, sys
from pathlib import Path
from cepheid.spark.preparing import archive_classes, compile_modules
compile_modules(Path(os.environ["SPARK_HOME"]))
archive_classes(Path(sys.argv[1]))
print("{}")
"""


def measure(settings: Settings) -> Section:
    """A row for each kind of start. A short run looks at a first match with the code that there is."""
    section = Section(
        "start",
        "start: from a new process to its first match",
        (
            Column("what", "what"),
            Column("import", "import, elapsed s"),
            Column("cpu", "CPU s"),
            Column("elapsed", "elapsed s"),
            Column("more", "more than a warm one, s"),
            Column("bar", "bar"),
            Column("reached", "reached"),
            Column("right", "right"),
        ),
        notes=[
            "In memory: 100 events; until something is compiled, Python runs the kernel's source. Executors have one "
            "core each, on a machine that has two for them and the driver; 200,000 events. The driver is warm, the "
            "executors are JVMs that have run nothing yet: so the job without Cepheid shows what Spark itself needs, "
            "its Python workers included. Prepared: by `cepheid prepare --spark`.",
        ],
    )
    if settings.smoke:
        section.rows.append({"what": "first match in memory"} | _process(FIRST, dict(os.environ)))
        return section
    with tempfile.TemporaryDirectory() as root:
        place = Path(root) / "here"
        here = {**os.environ, "CEPHEID_CACHE": str(place)}
        cold = _process(FIRST, here)
        section.rows.append(
            {"what": "first match in memory, nothing compiled", "bar": "≤ 10", "reached": cold["elapsed"] <= 10} | cold
        )
        for name, part in PARTS.items():
            section.rows.append({"what": name} | _process(COMPILED.format(part=part), here))
        section.rows.append({"what": "first match in memory, compiled"} | _process(FIRST, here))
        there = [str(Path(root) / "there"), str(min(settings.repeat, 3))]
        for number, what in ((1, ONE), (2, TWO)):
            section.rows += _on_executors(number, there, here, what)
            settings.keep(section)
        prepared = {**here, "SPARK_HOME": str(_linked_spark(Path(root)))}
        classes = str(Path(root) / "classes.jsa")
        _run(["-c", PREPARED, classes], prepared)
        section.rows += _on_executors(1, [*there, classes], prepared, f"{ONE}, Spark prepared")
    return section


def _on_executors(number: int, given: list[str], variables: dict[str, str], where: str) -> list[dict[str, Any]]:
    """The rows of a run."""
    said, rows = _run([str(EXECUTORS), str(number), *given], variables), []
    for name, what in ON_EXECUTORS.items():
        row = said["jobs"][name]
        bar = {"bar": "≤ 5", "reached": row["more"] <= 5} if name == "sent" and number == 1 else {}
        rows.append({"what": what.format(where), "right": said["right"]} | bar | row)
    return rows


def _linked_spark(root: Path) -> Path:
    """The installed Spark once more, as links: what is prepared replaces a link, and the installed file stays."""
    home = root / "spark"
    shutil.copytree(spark_home(), home, copy_function=os.symlink)
    return home


def _process(program: str, variables: dict[str, str]) -> dict[str, Any]:
    return _run(["-c", program], variables)


def _run(arguments: list[str], variables: dict[str, str]) -> dict[str, Any]:
    sources = str(Path(cepheid.__file__).parents[1])
    variables = {**variables, "PYTHONPATH": sources, "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run([sys.executable, *arguments], env=variables, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"a process that was to start failed:\n{run.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return answer
