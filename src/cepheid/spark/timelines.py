"""A timeline of what a pattern found in a DataFrame: only what is drawn is collected.

In: DataFrames of matches and of the rows that were searched. Out: a `Timeline`. Called by the plans' `Found` and by
the demonstration.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from cepheid.explain import Timeline, timeline
from cepheid.explain.timeline.panels import MOST_EVENTS, MOST_TRACKS
from cepheid.options import count
from cepheid.syntax.tree import PatternTree


def timeline_of(
    matches: DataFrame,
    rows: DataFrame,
    tree: PatternTree,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    n: int = 10,
) -> Timeline:
    """Draw matches of up to `n` partitions, with the events around them.

    Matches come in the order in which Spark gives them, so which partitions are seen may differ from run to run.
    """
    n = count(n, "n")
    found = _of_few_partitions(matches.limit(n * MOST_TRACKS).collect(), partition_by, n)
    if not found:
        return timeline([], pattern=tree, partition_by=partition_by, order_by=order_by)
    near = reduce(Column.__or__, (_around(group, partition_by, order_by[0]) for group in found.values()))
    events = rows.where(near).limit(MOST_EVENTS * n).collect()
    return timeline(
        [row for group in found.values() for row in group],
        events=events,
        pattern=tree,
        partition_by=partition_by,
        order_by=order_by,
        n=n,
    )


def _of_few_partitions(collected: list[Row], partition_by: tuple[str, ...], n: int) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in collected:
        key = tuple(row[name] for name in partition_by)
        if key in groups or len(groups) < n:
            groups.setdefault(key, []).append(row)
    return groups


def _around(group: list[Row], partition_by: tuple[str, ...], time: str) -> Column:
    """The events of one partition from a little before its first match to a little after its last."""
    start, end = min(row["start_time"] for row in group), max(row["end_time"] for row in group)
    margin = (end - start) * 3 / 10
    if isinstance(start, date) and not margin:
        margin = timedelta(days=1)
    column = F.col(f"`{time}`")
    near = column.between(F.lit(start - margin), F.lit(end + margin))
    for name in partition_by:
        near = near & F.col(f"`{name}`").eqNullSafe(F.lit(group[0][name]))
    return near
