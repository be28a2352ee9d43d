"""The plan of a stream as its checkpoint keeps it, so that the state can be read without the program that wrote it.

In: a plan, or the text that a checkpoint keeps. Out: that text, or a plan like the one that wrote it. Which state a
query may go on with is not decided here but by `identity`. Of a row pattern only its clause is kept, for people.
"""

from __future__ import annotations

import json
import warnings

from pyspark.sql.types import StructType

from cepheid.engine.tables.model import Options
from cepheid.errors import MalformedPatternError, StateError
from cepheid.options import Asked
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.plan import StreamPlan
from cepheid.spark.stream.time import ARRIVAL, Timing
from cepheid.syntax.json_format import from_json, to_json


def written_plan(plan: StreamPlan) -> str | None:
    """What a reader of the state must know; None for a pattern with Spark Columns, which has no text, and for keys by
    step, whose tables are not written down."""
    if plan.steps is not None:
        return None
    try:
        pattern = to_json(plan.tree)
    except MalformedPatternError:
        return None
    is_arrival = plan.timing.is_arrival
    fields = [field for field in plan.rows.schema.fields if not (is_arrival and field.name in ARRIVAL)]
    return json.dumps(
        {
            "pattern": json.loads(pattern),
            "schema": StructType(fields).jsonValue(),
            "partition_by": list(plan.partition_by),
            "order_by": [] if is_arrival else list(plan.order_by),
            "measures": dict(plan.asked.measures),
            "columns": plan.asked.columns,
            "rows": plan.asked.rows,
            "time": plan.timing.source,
            "id": plan.name,
        }
    )


def kept_plan(checkpoint: Checkpoint) -> StreamPlan:
    """The plan that a checkpoint was written by."""
    text = checkpoint.kept_plan()
    if text is None:
        raise StateError(
            f"the checkpoint {checkpoint.path!r} does not keep its pattern: a condition is a Spark Column, its "
            "elements have keys of their own, it belongs to a set of rules, or an earlier version wrote it.\n"
            "  Use what match() returned for the stream: StateReader(found, …), found.migrate(…)."
        )
    try:
        kept = json.loads(text)
        if "clause" in kept:
            raise StateError(
                f"the checkpoint {checkpoint.path!r} belongs to a MATCH_RECOGNIZE clause: it keeps the rows of open "
                "matches; it has no runs to list, and its buckets cannot be divided."
            )
        rows = checkpoint.session.createDataFrame([], StructType.fromJson(kept["schema"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever started the stream was told
            return StreamPlan(
                from_json(json.dumps(kept["pattern"])),
                rows,
                tuple(kept["partition_by"]),
                tuple(kept["order_by"]),
                Asked(
                    tuple(kept["measures"].items()),
                    None if kept["columns"] is None else tuple(kept["columns"]),
                    kept["rows"],
                ),
                None,
                Options(),
                Timing(source=kept["time"]),
                kept["id"],
            )
    except (ValueError, TypeError, KeyError) as error:
        raise StateError(
            f"the plan that the checkpoint {checkpoint.path!r} keeps is damaged.\n"
            "  Restore it from a complete copy, or use what match() returned for the stream: StateReader(found, …)."
        ) from error
