"""What is in no match, on a batch DataFrame: rows that no match took, and runs that were broken.

In: the plan of a match. Out: lazy DataFrames. All rows travel, packed, since a row that no condition wants is unmatched
as well. Broken runs are followed by the reference evaluator, which is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.conditions import bind
from cepheid.engine.assignments import Assignments
from cepheid.engine.tables.model import Tables
from cepheid.errors import InputError
from cepheid.explain.why.leftovers import broken, broken_schema, unmatched
from cepheid.options import EVERYTHING
from cepheid.rows.arrange import Arranged
from cepheid.rows.assemble import Shape
from cepheid.spark.explained import Explained, ShippedAutomaton
from cepheid.spark.frames import arrow_schema
from cepheid.spark.shipping import shipped
from cepheid.spark.workers import MatchPacked

if TYPE_CHECKING:
    from cepheid.spark.batch import BatchPlan


@dataclass(frozen=True)
class UnmatchedPacked(MatchPacked):
    """The rows of a Spark partition's buckets that no match takes."""

    columns: tuple[str, ...]

    def result(self, events: Arranged, found: tuple[Assignments, Assignments]) -> Iterator[pa.RecordBatch]:
        rows = unmatched(events, found[0].row, list(self.columns))
        yield from rows.combine_chunks().to_batches(max_chunksize=10_000)


@dataclass(frozen=True)
class BrokenPacked(MatchPacked):
    """The broken runs of a Spark partition's buckets."""

    columns: pa.Schema
    followed: ShippedAutomaton

    def whole_partitions(self, events: Arranged) -> Iterator[pa.RecordBatch]:
        rows = broken(self.followed.automaton(), events, self.columns)
        yield from rows.combine_chunks().to_batches(max_chunksize=10_000)


def unmatched_rows(plan: BatchPlan) -> DataFrame:
    """The rows that no match takes."""
    plan = _with_all_rows(plan)
    work = UnmatchedPacked(*_work(plan), tuple(plan.rows.columns))
    return plan.cells().mapInArrow(shipped(work), plan.rows.schema)


def broken_runs(plan: BatchPlan) -> DataFrame:
    """The runs that ended otherwise than by time, with the reason and the event."""
    columns = arrow_schema(plan.rows.schema)
    explained = Explained.of(bind(plan.tree, plan.schema_of_events))
    plan = _with_all_rows(plan, explained)
    work = BrokenPacked(*_work(plan), columns, explained.shipped(plan.tree))
    schema = from_arrow_schema(broken_schema(columns, plan.partition_by, plan.order_by))
    return plan.cells().mapInArrow(shipped(work), schema)


def _with_all_rows(plan: BatchPlan, explained: Explained | None = None) -> BatchPlan:
    """The same search with every row and every column at the workers, and the values that only Spark computes."""
    movement = replace(plan.movement, shuffle="packed")
    if plan.steps is not None:
        raise InputError(
            "broken and unmatched: elements have their own keys or tables, so a row may have several keys.\n"
            "  Ask with why(), or match each key by itself."
        )
    whole = type(plan)(plan.tree, plan.rows, plan.partition_by, plan.order_by, EVERYTHING, movement, plan.options)
    whole.all_rows_travel = "rows that no condition wants count as well"
    whole.explained = [] if explained is None else explained.computed()
    return whole


def _work(plan: BatchPlan) -> tuple[Tables, tuple[str, ...], tuple[str, ...], Shape, bool, int]:
    tables = plan.tables(timeouts=False).for_workers()
    return tables, plan.partition_by, plan.order_by, plan.output.shape(False), False, plan.movement.max_bucket_bytes
