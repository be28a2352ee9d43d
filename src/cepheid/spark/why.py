"""Why a pattern does not match in a DataFrame: conditions counted over everything by one job, runs followed for a few
keys.

In: a pattern, a DataFrame, its key and order, and the key asked for, if any. Out: an `Inquiry`.

The job reads the rows once: an observation counts each condition and each AND-part of it, and a grouping by key says
which elements have events under each. Of all keys those are followed in which the most elements have events, one for
each of some classes of keys. Their rows are collected, and the rest is as in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, Row
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType

from cepheid.conditions import bind
from cepheid.conditions.expression import TRUE, Expression
from cepheid.conditions.predicate import reads_variables
from cepheid.conditions.printing import quoted
from cepheid.engine.tables.model import Options
from cepheid.errors import InputError
from cepheid.explain.why.asking import Inquiry, Question, Whole, ask
from cepheid.explain.why.counting import Asked, conditions_of
from cepheid.explain.why.model import ElementCount, PartCount, Role
from cepheid.explain.why.nearness import part_text, parts_of
from cepheid.explain.why.of_match import WhyMatch, no_such_match, why_match
from cepheid.explain.why.suspicions import MOST_VALUES
from cepheid.rows.columns import column_named
from cepheid.rows.steps import Events
from cepheid.spark.analysis import schema_of
from cepheid.spark.explained import Explained
from cepheid.spark.frames import arrow_schema, order_columns, partition_columns, refuse_names_by_case
from cepheid.spark.masks import to_column
from cepheid.spark.plan import Plan
from cepheid.spark.steps import StepTables
from cepheid.syntax.tree import PatternTree, Skip, SkipKind

KEYS = 4
"""Keys that are followed if none is asked for."""


def inquire(
    tree: PatternTree,
    rows: DataFrame,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    key: Mapping[str, Any] | None,
    options: Options,
    most_rows: int,
    nulls: str = "error",
    steps: StepTables | None = None,
) -> Inquiry:
    """Count over all rows, or those of a key, and follow the runs of a few keys."""
    refuse_names_by_case(rows.schema)
    arrow = arrow_schema(rows.schema)
    keys = partition_columns(rows.schema, partition_by)
    order = order_columns(rows.schema, arrow, order_by)
    dropped = None
    if nulls == "drop":
        has_time = reduce(Column.__and__, (F.col(quoted(name)).isNotNull() for name in order))
        given, rows, dropped = rows, rows.where(has_time), ~has_time
    schema = schema_of(rows) if steps is None else steps.schema(rows, ())
    bound = bind(tree, schema)
    asked, explained = list(conditions_of(tree, bound)), Explained.of(bound)
    if key is not None:
        rows = rows.where(_of_key(rows, keys, key))
    counted = rows if dropped is None else given if key is None else given.where(_of_key(given, keys, key))
    counts, total, rejected, number, chosen = _counted(counted, keys if key is None else (), asked, dropped)
    if key is not None and not total:
        raise InputError(f"key={dict(key)!r}: no row has it.\n  Look at the values of {', '.join(keys)}.")
    some = rows if not chosen else rows.where(reduce(Column.__or__, (_equal(keys, one) for one in chosen)))
    in_order = [F.col(quoted(name)) for name in (*keys, *order)]
    table = some.orderBy(*in_order).limit(most_rows).select("*", *explained.computed()).toArrow()

    @cache
    def values(name: str) -> Sequence[tuple[Any, int]]:
        value = to_column(explained.columns[name]) if name in explained.columns else F.col(quoted(name))
        frequent = rows.groupBy(value.alias("value")).count().orderBy(F.desc("count")).limit(MOST_VALUES)
        return [(row["value"], row["count"]) for row in frequent.collect()]

    whole = Whole(total, rejected, number, counts, values)
    shown = tuple(rows.columns) if steps is None else steps.shown
    question = Question(tree, Events(table, schema, keys, shown), order, "error", None, most_rows)
    return ask(question, options, whole, key=key, conditions=explained.conditions)


def why_of_match(plan: Plan, matches: DataFrame, match_id: str) -> WhyMatch:
    """Which element took which event in one match, and why others were passed over. The rows of its key from its first
    event to its last are collected."""
    if plan.steps is not None:
        raise InputError(
            "why(match_id): elements have their own keys or tables, so a match has several keys.\n"
            "  Ask about rows in memory: pattern.match_events(...).why(match_id)."
        )
    match = matches.where(F.col("match_id") == F.lit(match_id)).first()
    if match is None:
        raise no_such_match(match_id)
    explained = Explained.of(bind(plan.tree, plan.schema_of_events))
    time = F.col(quoted(plan.order_by[0]))
    span = time.between(F.lit(match["start_time"]), F.lit(match["end_time"]))
    keys = [match[name] for name in plan.partition_by]
    rows = plan.rows.where(_equal(plan.partition_by, keys) & span if keys else span)
    # Events of one moment in the order in which the workers sort them.
    atoms = [f.name for f in rows.schema.fields if isinstance(f.dataType, AtomicType) and f.name not in plan.order_by]
    ties = [F.col(quoted(name)).asc_nulls_last() for name in atoms]
    in_order = rows.orderBy(*(F.col(quoted(name)) for name in plan.order_by), *ties)
    table = in_order.select("*", *explained.computed()).toArrow()
    # Only this match is asked about: what skips or forbids it was before its first event.
    tree = replace(plan.tree, skip=Skip(SkipKind.NO_SKIP), not_before=(), once_per=None)
    events = Events(table, plan.schema_of_events, plan.partition_by, tuple(plan.rows.columns))
    return why_match(Question(tree, events, plan.order_by), match_id, plan.options, explained.conditions)


def _counted(
    rows: DataFrame, keys: tuple[str, ...], asked: Sequence[Asked], dropped: Column | None
) -> tuple[list[ElementCount], int, int, int, list[Row]]:
    """The counts of all conditions, of rows, rejected rows and keys, and the keys to follow: by one job. `dropped`:
    which rows are rejected, if any are."""
    refused = Observation("rejected")
    if dropped is not None:
        rows = rows.observe(refused, F.count_if(dropped).alias("rows")).where(~dropped)
    sums: list[Column] = [F.count(F.lit(1)).alias("rows")]
    for number, one in enumerate(asked):
        sums.append(_how_often(one.predicate.own_event).alias(f"own_{number}"))
        for place, part in enumerate(parts_of(one.predicate)):
            if not reads_variables(part):
                sums.append(_how_often(part).alias(f"part_{number}_{place}"))
                sums.append(F.count_if(to_column(part).isNull()).alias(f"unknown_{number}_{place}"))
    elements = [one for one in asked if one.role is Role.ELEMENT][:63]
    fits = F.lit(0).cast("bigint")
    for bit, one in enumerate(elements):
        fits = fits.bitwiseOR(F.when(to_column(one.predicate.own_event), F.lit(1 << bit)).otherwise(F.lit(0)))
    observation = Observation("why")
    names = [F.col(quoted(name)).alias(f"key_{place}") for place, name in enumerate(keys)]
    seen = rows.observe(observation, *sums).select(*names, fits.alias("fits"))
    grouped = seen.groupBy(*(f"key_{place}" for place in range(len(keys)))).agg(
        F.bit_count(F.bit_or("fits")).alias("fitting"), F.count(F.lit(1)).alias("size")
    )
    key = F.struct(*(F.col(f"key_{place}") for place in range(len(keys)))) if keys else F.struct(F.lit(0).alias("none"))
    ranked = F.struct(F.col("fitting"), (-F.col("size")).alias("smallness"), key.alias("key"))
    share = F.pmod(F.hash(key), F.lit(KEYS))
    best = [F.max(F.when(share == number, ranked)).alias(f"best_{number}") for number in range(KEYS)]
    [found] = grouped.agg(F.count(F.lit(1)).alias("keys"), *best).collect()
    counted = observation.get
    chosen = [found[f"best_{number}"]["key"] for number in range(KEYS) if found[f"best_{number}"]] if keys else []
    counts = [_element(number, one, counted) for number, one in enumerate(asked)]
    rejected = 0 if dropped is None else int(refused.get["rows"])
    return counts, int(counted["rows"]), rejected, int(found["keys"]) if keys else 1, chosen


def _element(number: int, one: Asked, counted: Mapping[str, Any]) -> ElementCount:
    parts = tuple(
        PartCount(part_text(part), None)
        if reads_variables(part)
        else PartCount(
            part_text(part), int(counted[f"part_{number}_{place}"]), int(counted[f"unknown_{number}_{place}"])
        )
        for place, part in enumerate(parts_of(one.predicate))
    )
    text = " AND ".join(part.text for part in parts) or "any event"
    fits = int(counted[f"own_{number}"])
    return ElementCount(one.name, one.role, text, fits, parts, is_required=one.is_required)


def _how_often(condition: Expression) -> Column:
    return F.count(F.lit(1)) if condition == TRUE else F.count_if(to_column(condition))


def _of_key(rows: DataFrame, keys: tuple[str, ...], given: Mapping[str, Any]) -> Column:
    wanted = F.lit(True)
    for name, value in given.items():
        found = column_named(rows.columns, name, "key")
        if found not in keys:
            raise InputError(f"key names {found!r}, which is not a partition column.\n  There are: {', '.join(keys)}.")
        wanted = wanted & F.col(quoted(found)).eqNullSafe(F.lit(value))
    return wanted


def _equal(keys: tuple[str, ...], row: Sequence[Any]) -> Column:
    same = (F.col(quoted(name)).eqNullSafe(F.lit(row[place])) for place, name in enumerate(keys))
    return reduce(Column.__and__, same)
