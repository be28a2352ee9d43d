"""What a first start costs: in memory and on a fresh executor of Spark, with nothing compiled yet and with everything.

Each row is a process of its own, or a Spark with executors of their own, whose directory of compiled code is empty, or
holds what the row before has left there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import Settings
from reporting import Column, Section

import cepheid

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
from cepheid.engine.{room} import warm_up
imported = time.perf_counter()
warm_up({given})
print(json.dumps({{"cpu": time.process_time() - begun[0], "elapsed": time.perf_counter() - begun[1],
    "import": imported - begun[1], "right": True}}))
"""
PARTS = {
    "compiling what single runs need": ("matcher", ""),
    "compiling what cohorts need": ("matcher", "compact=True"),
    "compiling row patterns": ("row_patterns", ""),
}
ON_EXECUTORS = """
import json, os, sys, time
from pyspark.sql import SparkSession
import cepheid.spark.code as code
from cepheid import Pattern
place, sends = sys.argv[1:]
options = {"spark.ui.enabled": "false", "spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2",
    "spark.executorEnv.CEPHEID_CACHE": place, "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"]}
spark = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=options).getOrCreate()
if sends == "no":
    code._send = lambda context: None
rows = spark.range(200_000).selectExpr("id % 1000 AS key", "id", "timestamp_millis(id) AS ts")
rows.repartition(2).mapInArrow(lambda batches: batches, rows.schema).count()  # JVMs and Python workers are there
pattern = Pattern.begin("a").where("id % 3 = 0").followed_by("b").where("id % 3 = 1").skip("past_last_event")
seconds, counts = [], set()
for _ in range(3):
    begun = time.perf_counter()
    counts.add(pattern.match(rows, partition_by="key", order_by="ts").matches.count())
    seconds.append(time.perf_counter() - begun)
print(json.dumps({"elapsed": seconds[0], "more": seconds[0] - min(seconds[1:]), "right": len(counts) == 1}))
spark.stop()
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
            "In memory: 100 events; until something is compiled, Python runs the kernel's source. Executors: "
            "local-cluster[2,1,1024], 200,000 events, JVMs and Python workers started before; the first job against "
            "the better of two more.",
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
        for name, (room, given) in PARTS.items():
            section.rows.append({"what": name} | _process(COMPILED.format(room=room, given=given), here))
        section.rows.append({"what": "first match in memory, compiled"} | _process(FIRST, here))
        for what, sends in (("sent by the driver", "yes"), ("not sent", "no")):
            executors = Path(root) / sends
            executors.mkdir()
            row = _process(ON_EXECUTORS, here, str(executors), sends)
            bar = {"bar": "≤ 5", "reached": row["more"] <= 5} if sends == "yes" else {}
            section.rows.append({"what": f"first job on new executors, code {what}"} | bar | row)
    return section


def _process(program: str, variables: dict[str, str], *arguments: str) -> dict[str, float]:
    sources = str(Path(cepheid.__file__).parents[1])
    variables = {**variables, "PYTHONPATH": sources, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"a process that was to start failed:\n{run.stderr[-4000:]}")
    answer: dict[str, float] = json.loads(run.stdout.strip().splitlines()[-1])
    return answer
