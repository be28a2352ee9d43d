"""The plan of a stream as its checkpoint keeps it, so that the state can be read without the program that wrote it.

In: a plan, or the text that a checkpoint keeps. Out: that text, or a plan like the one that wrote it. Which state a
query may go on with is not decided here but by `identity`. What a set of rules keeps is read by `spark.rules.kept`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepheid.engine.tables.model import Options
from cepheid.errors import MalformedPatternError, StateError
from cepheid.match_recognize.json_format import from_json as clause_from_json
from cepheid.match_recognize.json_format import to_json as clause_to_json
from cepheid.options import Asked, Limits
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.plan import StreamPlan
from cepheid.spark.stream.row_plan import RowStreamPlan
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


def written_row_plan(plan: RowStreamPlan) -> str:
    """The same for a row pattern; `clause` is for people."""
    pattern = plan.bound.pattern
    return json.dumps(
        {
            "clause": str(pattern),
            "row_pattern": json.loads(clause_to_json(pattern)),
            "schema": plan.rows.schema.jsonValue(),
            "time": plan.timing.source,
        }
    )


def kept_plan(checkpoint: Checkpoint) -> StreamPlan:
    """The plan of a pattern that a checkpoint was written by."""
    plan = any_kept_plan(checkpoint)
    if isinstance(plan, RowStreamPlan):
        raise StateError(
            f"the checkpoint {checkpoint.path!r} belongs to a MATCH_RECOGNIZE clause: it keeps the rows of open "
            "matches, and has no runs to list."
        )
    return plan


def any_kept_plan(checkpoint: Checkpoint) -> StreamPlan | RowStreamPlan:
    """The plan of a pattern or a row pattern that a checkpoint was written by."""
    kept = kept_text(checkpoint)
    if "rules" in kept:
        raise StateError(f"the checkpoint {checkpoint.path!r} belongs to a set of rules, whose runs are not listed.")
    with damage_told(checkpoint), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever started the stream was told
        rows = empty_rows(checkpoint, kept)
        timing = Timing(source=kept["time"])
        if "row_pattern" in kept:
            pattern = clause_from_json(json.dumps(kept["row_pattern"]))
            return RowStreamPlan(pattern, rows, None, Limits(), timing)
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
            timing,
            kept["id"],
        )


def kept_text(checkpoint: Checkpoint) -> dict[str, Any]:
    """What a checkpoint keeps of its plan, refused if that does not suffice to read the state."""
    checkpoint.identity()  # refused if another version wrote it
    text = checkpoint.kept_plan()
    with damage_told(checkpoint):
        kept: dict[str, Any] = {} if text is None else json.loads(text)
        if text is not None and "schema" not in kept:
            raise KeyError("schema")
    if text is None:
        raise StateError(
            f"the checkpoint {checkpoint.path!r} does not keep its pattern: a condition is a Spark Column, or "
            "its elements have keys of their own.\n"
            "  Use what match() returned for the stream: StateReader(found, …), found.migrate(…)."
        )
    return kept


def empty_rows(checkpoint: Checkpoint, kept: dict[str, Any]) -> DataFrame:
    """No rows, with the columns of the stream."""
    return checkpoint.session.createDataFrame([], StructType.fromJson(kept["schema"]))


@contextmanager
def damage_told(checkpoint: Checkpoint) -> Iterator[None]:
    """Say that what a checkpoint keeps cannot be read."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise StateError(
            f"the plan that the checkpoint {checkpoint.path!r} keeps is damaged.\n"
            "  Restore it from a complete copy, or use what match() returned for the stream: StateReader(found, …)."
        ) from error
