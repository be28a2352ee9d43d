"""PNCEP's experiment on this machine: `python -m experiments.negation` from the root of the project.

Five types of events at 20 % each, SEQ(E1, …, !(Ei), …, E5), windows of 500 to 900 events. Spark makes the stream from
a seed and runs every measurement as a task of its own. Writes results.json and results.md beside this file and the two
figures into docs/images; `--smoke` makes tiny windows and takes seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from experiments.negation.after import found_after
from experiments.negation.counting import count
from experiments.negation.measuring import COLUMNS, Measurement
from experiments.negation.query import BETWEEN, LENGTH, pattern

ROOT = Path(__file__).parents[2]
SEED = 2015
PAPER = {"throughput": {500: 13.7, 900: 20.2}, "intermediate": {500: 13.0, 900: 20.0}}
"""What the paper reports: PNCEP over SASE, throughput and intermediate results."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny windows: shows that everything works")
    parser.add_argument("--events", type=int, help="events of the stream that is timed")
    parser.add_argument("--windows", type=int, nargs="+")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent, help="where results.json/.md go")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images", help="where the figures go")
    arguments = parser.parse_args()
    windows = arguments.windows or ([30, 50] if arguments.smoke else [500, 600, 700, 800, 900])
    timed = arguments.events or (300 if arguments.smoke else 1_500)
    counted = 3_000 if arguments.smoke else 100_000
    spark = _spark()
    try:
        stream = _stream(spark, counted)
        results = {
            "seed": SEED,
            "timed_events": timed,
            "counted_events": counted,
            "paper": PAPER,
            "counts": _counts(stream, windows),
            "measurements": _measurements(stream.limit(timed), windows),
            "whole_plans": _whole_plans(stream.limit(timed), 30),
        }
    finally:
        spark.stop()
    from experiments.negation.figures import draw
    from experiments.negation.report import report

    for place in (arguments.results, arguments.images):
        place.mkdir(parents=True, exist_ok=True)
    (arguments.results / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    text, is_met = report(results)
    (arguments.results / "results.md").write_text(text, encoding="utf-8")
    draw(results, arguments.images)
    print(text)
    return 0 if is_met or arguments.smoke else 1


def _spark() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(f"local[{min(2, os.cpu_count() or 1)}]").appName("negation")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "localhost")
    spark = session.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _stream(spark: SparkSession, events: int) -> DataFrame:
    """Types 1 to 5 at 20 % each. One partition, so that the seed decides everything."""
    kind = (F.floor(F.rand(SEED) * LENGTH) + 1).cast("long").alias("type")
    return spark.range(0, events, 1, 1).select(F.col("id").alias("t"), kind).cache()


def _counts(stream: DataFrame, windows: list[int]) -> list[dict[str, Any]]:
    """Counted exactly, not built: see `counting`."""
    types = np.array([row["type"] for row in stream.orderBy("t").select("type").collect()], np.int64)
    found = []
    for negated in range(1, LENGTH + 1):
        for window in windows:
            made = count(types, window, negated)
            per_thousand = {name: value * 1000 / len(types) for name, value in made._asdict().items()}
            found.append({"negated": negated, "window": window, **per_thousand})
    return found


def _measurements(stream: DataFrame, windows: list[int]) -> list[dict[str, Any]]:
    """Each measurement is one Spark task; as many run at a time as there are cores. The stacks, in plain Python, are
    timed for the smallest window."""
    asked = [
        Measurement(method, plan, negated, window)
        for method, over in (("engine", windows), ("stacks", windows[:1]))
        for window in over
        for negated in BETWEEN
        for plan in ("pushed", "after")
    ]

    def run(measurement: Measurement) -> dict[str, Any]:
        [row] = stream.coalesce(1).mapInArrow(measurement, COLUMNS).collect()
        print(f"  {measurement}: {row['seconds']:.2f} CPU s, {row['intermediate']:,} sequences", file=sys.stderr)
        return {**asdict(measurement), **row.asDict()}

    with ThreadPoolExecutor(stream.sparkSession.sparkContext.defaultParallelism) as pool:
        return list(pool.map(run, asked))


def _whole_plans(stream: DataFrame, window: int) -> list[dict[str, Any]]:
    """Both plans with all results as rows, on a window that is small enough for that: the product's, on Spark, and the
    filter after the engine, in memory."""
    rows = pa.Table.from_pandas(stream.toPandas(), preserve_index=False)
    found = []
    for negated in BETWEEN:
        query = pattern(negated, window)
        results = {
            "pushed": query.match_batch(stream, order_by="t").matches.count(),
            "after": found_after(query.tree, rows, (), ("t",)).num_rows,
        }
        found.append({"negated": negated, "window": window, **results})
    return found


if __name__ == "__main__":
    raise SystemExit(main())
