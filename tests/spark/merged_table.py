"""Matches of a stream into a table of Iceberg: `python merged_table.py <jar> <directory> one|all`, with a row for each
match or for each event of a match; prints one line of JSON.

The stream is run, its last micro-batch is replayed as after a crash between the sink's write and Spark's note of it,
and the input is ended.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cepheid import Pattern
from cepheid.spark import table
from cepheid.spark.stream.query import PROVIDER, ROCKSDB

JAR, PLACE, ROWS = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
NOON = datetime(2025, 1, 1, 12)
OPTIONS = {
    "spark.jars": JAR,
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": str(PLACE / "lake"),
    "spark.sql.catalog.lake.cache-enabled": "false",  # micro-batches are written by a session of their own
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    PROVIDER: ROCKSDB,
}
A_B = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("20 seconds")


def put(name: str, *rows: tuple[str, int, str]) -> None:
    (PLACE / "in").mkdir(exist_ok=True)
    lines = [{"key": key, "ts": (NOON + timedelta(seconds=s)).isoformat(), "name": name} for key, s, name in rows]
    (PLACE / "in" / f"{name}.json").write_text("\n".join(json.dumps(line) for line in lines))


def run(flush: bool = False) -> list[int]:
    """The numbers of the micro-batches."""
    query = found.start(
        matches=table("lake.db.found"),
        checkpoint=str(PLACE / "checkpoint"),
        trigger={"availableNow": True},
        flush=flush,
    )
    query.awaitTermination()
    return [progress.batchId for progress in query.recentProgress]


def held() -> list[Any]:
    event = ("b.name",) if ROWS == "one" else ("variable", "sequence", "name")
    rows = session.table("lake.db.found").selectExpr("key", "string(at)", *event).collect()
    return sorted([*row] for row in rows)


session = SparkSession.builder.master("local[1]").config(map=OPTIONS).getOrCreate()
put("1", ("x", 1, "a"), ("x", 2, "b"), ("y", 3, "a"), ("y", 4, "b"), ("z", 30, "a"))
stream = session.readStream.schema("key string, ts timestamp, name string").json(str(PLACE / "in"))
found = A_B.match(stream, partition_by="key", order_by="ts", watermark="5 seconds", rows=ROWS)
session.createDataFrame([], found.matches.schema).writeTo("lake.db.found").using("iceberg").create()
batches = run()
first = held()
last = PLACE / "checkpoint" / "commits" / str(batches[-1])
for noted in (last, last.with_name(f".{last.name}.crc")):
    noted.unlink()
replayed = run()
again = held()
put("2", ("z", 31, "b"))
run(flush=True)
print(json.dumps({"batches": batches, "first": first, "replayed": replayed, "again": again, "end": held()}))
session.stop()
