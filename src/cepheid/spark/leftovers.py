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

from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.conditions.expression import SparkColumn, SparkExpression, walk
from cepheid.engine.assignments import Assignments
from cepheid.engine.tables.model import Tables
from cepheid.errors import InputError
from cepheid.explain.why.leftovers import broken, broken_schema, unmatched
from cepheid.options import EVERYTHING
from cepheid.rows.arrange import Arranged
from cepheid.rows.assemble import Shape
from cepheid.spark.frames import arrow_schema
from cepheid.spark.shipping import shipped
from cepheid.spark.workers import MatchPacked
from cepheid.syntax.tree import PatternTree

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
    tree: PatternTree
    time_zone: str

    def whole_partitions(self, events: Arranged) -> Iterator[pa.RecordBatch]:
        # The tables that travel have lost their conditions: they are bound again.
        automaton = build(self.tree, bind(self.tree, Schema.from_arrow(self.columns, self.time_zone)))
        rows = broken(automaton, events, self.columns)
        yield from rows.combine_chunks().to_batches(max_chunksize=10_000)


def unmatched_rows(plan: BatchPlan) -> DataFrame:
    """The rows that no match takes."""
    plan = _with_all_rows(plan)
    work = UnmatchedPacked(*_work(plan), tuple(plan.rows.columns))
    return plan.cells().mapInArrow(shipped(work), plan.rows.schema)


def broken_runs(plan: BatchPlan) -> DataFrame:
    """The runs that ended otherwise than by time, with the reason and the event."""
    for predicate in plan.automaton.predicates:
        for node in walk(predicate.expression):
            if isinstance(node, SparkColumn | SparkExpression):
                raise InputError(
                    f"broken: {predicate.place} has a condition that only Spark computes: {predicate}.\n"
                    "  Compute it as a column first."
                )
    plan = _with_all_rows(plan)
    columns = arrow_schema(plan.rows.schema)
    zone = plan.session.conf.get("spark.sql.session.timeZone") or "UTC"
    work = BrokenPacked(*_work(plan), columns, plan.tree, zone)
    schema = from_arrow_schema(broken_schema(columns, plan.partition_by, plan.order_by))
    return plan.cells().mapInArrow(shipped(work), schema)


def _with_all_rows(plan: BatchPlan) -> BatchPlan:
    """The same search with every row and every column at the workers."""
    movement = replace(plan.movement, shuffle="packed")
    if plan.steps is not None:
        raise InputError(
            "broken and unmatched: elements have their own keys or tables, so a row may have several keys.\n"
            "  Ask with why(), or match each key by itself."
        )
    whole = type(plan)(plan.tree, plan.rows, plan.partition_by, plan.order_by, EVERYTHING, movement, plan.options)
    whole.all_rows_travel = "rows that no condition wants count as well"
    return whole


def _work(plan: BatchPlan) -> tuple[Tables, tuple[str, ...], tuple[str, ...], Shape, bool, int]:
    tables = plan.tables(timeouts=False).for_workers()
    return tables, plan.partition_by, plan.order_by, plan.output.shape(False), False, plan.movement.max_bucket_bytes
