"""A conformance case as a streaming query on Spark.

One file a micro-batch; the watermark is moved by rows of a key of their own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from conformance.streams import BEGIN, BEGIN_MS, Arrival
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from cepheid import Pattern, SkipError
from cepheid.syntax.tree import PatternTree

DELAY = timedelta(days=1)
"""Longer than any case, so that the watermark is where the rows that only move it say."""


@cache
def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "OFF",
    }
    return SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()


def found_by_spark(tree: PatternTree, come: Arrival, timeouts: bool) -> dict[str, list[dict[str, Any]]]:
    """Matches, timeouts and late rows of a case."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {"matches": {}, "timeouts": {}, "late": {}}

    def into(kind: str) -> Any:
        def keep(rows: DataFrame, batch: int) -> None:
            found[kind][batch] = [row.asDict(recursive=True) for row in rows.collect()]

        return keep

    with tempfile.TemporaryDirectory() as place:
        write_files(Path(place) / "in", come)
        stream = session().readStream.schema(spark_schema(come.schema)).option("maxFilesPerTrigger", 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # many cases have no window
            plan: Any = Pattern(tree).match(
                stream.parquet(f"{place}/in"),
                partition_by=come.partition_by,
                order_by=come.order_by,
                watermark=f"{DELAY.total_seconds():.0f} seconds",
            )
        sinks = {kind: into(kind) for kind in found if timeouts or kind != "timeouts"}
        try:
            query = plan.start(**sinks, checkpoint=f"{place}/c", trigger={"availableNow": True}, flush=come.is_ended)
            query.awaitTermination()
        except StreamingQueryException as error:
            if "SkipError" in str(error):
                raise SkipError(str(error)[:300]) from error
            raise
    mark = tick(come, 0)[come.partition_by]
    rows = {kind: [row for batch in sorted(parts) for row in parts[batch]] for kind, parts in found.items()}
    own = {kind: [row for row in listed if row[come.partition_by] != mark] for kind, listed in rows.items()}
    own["late"].sort(key=lambda row: row["place"])
    return own


def write_files(place: Path, come: Arrival) -> None:
    """Each micro-batch with a row that moves the watermark to where the next one wants it."""
    place.mkdir()
    following = [watermark for _, watermark in come.batches[1:]]
    for number, (rows, _) in enumerate(come.batches):
        if number < len(following) and following[number] > -BEGIN_MS:
            rows = [*rows, tick(come, following[number])]
        file = place / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=come.schema), file)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def tick(come: Arrival, watermark: int) -> dict[str, Any]:
    is_text = pa.types.is_string(come.schema.field(come.partition_by).type)
    row: dict[str, Any] = {come.partition_by: "tick" if is_text else -99, "place": 1_000_000}
    row["ts"] = BEGIN + timedelta(milliseconds=watermark) + DELAY
    if come.order_by[1] not in row:
        kind = come.schema.field(come.order_by[1]).type
        row[come.order_by[1]] = "tick" if pa.types.is_string(kind) else 1_000_000
    return row


def spark_schema(schema: pa.Schema) -> str:
    kinds = {
        "string": "string",
        "double": "double",
        "int64": "bigint",
        "bool": "boolean",
        "timestamp[us]": "timestamp_ntz",
    }
    return ", ".join(f"`{field.name}` {kinds.get(str(field.type), 'string')}" for field in schema)
