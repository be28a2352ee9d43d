"""The plan of a stream as its checkpoint keeps it, so that the state can be read without the program that wrote it.

In: a plan, or the path of a checkpoint. Out: a file below `cepheid/plan`, or a plan like the one that wrote it.
`streaming_sinks` writes it when a checkpoint is new, `StateReader.open` reads it. Which state a query may go on with is
not decided here but by `streaming_identity`.
"""

from __future__ import annotations

import json
import warnings

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from cepheid.engine.tables.tabulate import Options
from cepheid.errors import MalformedPatternError, StateError
from cepheid.spark.output import Asked
from cepheid.spark.stream.plan import ARRIVAL, StreamPlan, Timing
from cepheid.syntax.json_format import from_json, to_json


def keep_plan(plan: StreamPlan, checkpoint: str) -> None:
    """Write what a reader of the state must know. A pattern with Spark Columns has no text and is not kept."""
    try:
        pattern = to_json(plan.tree)
    except MalformedPatternError:
        return
    fields = [field for field in plan.rows.schema.fields if not (plan.timing.is_arrival and field.name in ARRIVAL)]
    text = json.dumps(
        {
            "pattern": json.loads(pattern),
            "schema": StructType(fields).jsonValue(),
            "partition_by": list(plan.partition_by),
            "order_by": [] if plan.timing.is_arrival else list(plan.order_by),
            "measures": dict(plan.asked.measures),
            "columns": plan.asked.columns,
            "rows": plan.asked.rows,
            "time": plan.timing.source,
            "max_ahead": plan.timing.max_ahead,
            "id": plan.name,
        }
    )
    kept = plan.session.createDataFrame([(text,)], "value string").coalesce(1)
    kept.write.mode("overwrite").text(_place(checkpoint))


def kept_plan(session: SparkSession, checkpoint: str) -> StreamPlan:
    """The plan that a checkpoint was written by."""
    try:
        lines = [row[0] for row in session.read.text(_place(checkpoint)).collect()]
    except AnalysisException:
        lines = []
    if not lines:
        raise StateError(
            f"the checkpoint {checkpoint!r} does not keep its pattern: a condition is a Spark Column, or an earlier "
            "version wrote it.\n  Give StateReader what match() returned for the stream."
        )
    kept = json.loads(lines[0])
    rows = session.createDataFrame([], StructType.fromJson(kept["schema"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever started the stream was told
        return StreamPlan(
            from_json(json.dumps(kept["pattern"])),
            rows,
            tuple(kept["partition_by"]),
            tuple(kept["order_by"]),
            Asked(tuple(kept["measures"].items()), _names(kept["columns"]), kept["rows"]),
            None,
            Options(),
            Timing(None, kept["max_ahead"], kept["time"]),
            kept["id"],
        )


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


def _place(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}/cepheid/plan"
