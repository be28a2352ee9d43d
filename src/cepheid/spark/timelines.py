"""A timeline of what a pattern found in a DataFrame: only what is drawn is collected.

In: DataFrames of matches and of the rows that were searched. Out: a `Timeline`. Called by the plans' `Found` and by
the demonstration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from cepheid.explain import Timeline, timeline
from cepheid.explain.timeline.panels import MOST_EVENTS, MOST_TRACKS, Failure
from cepheid.options import count
from cepheid.syntax.tree import PatternTree


def timeline_of(
    matches: DataFrame,
    rows: DataFrame,
    tree: PatternTree,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    n: int = 10,
    failures: Callable[[bool], tuple[Failure, ...]] = lambda is_empty: (),
) -> Timeline:
    """Draw matches of up to `n` partitions, with the events around them, and failed runs: `failures` gives them, told
    whether nothing matched.

    Matches come in the order in which Spark gives them, so which partitions are seen may differ from run to run.
    """
    n = count(n, "n")
    found = _of_few_partitions(matches.limit(n * MOST_TRACKS).collect(), partition_by, n)
    failed = failures(not found)
    spans = [_span(group, partition_by) for group in found.values()]
    spans += list(_spans_of(failed, order_by[0]).values())[: max(0, n - len(found))]
    if not spans:
        return timeline([], pattern=tree, partition_by=partition_by, order_by=order_by)
    near = reduce(Column.__or__, (_around(span, partition_by, order_by[0]) for span in spans))
    events = rows.where(near).limit(MOST_EVENTS * n).collect()
    return timeline(
        [row for group in found.values() for row in group],
        events=events,
        pattern=tree,
        partition_by=partition_by,
        order_by=order_by,
        n=n,
        failures=failed,
    )


def _of_few_partitions(collected: list[Row], partition_by: tuple[str, ...], n: int) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in collected:
        key = tuple(row[name] for name in partition_by)
        if key in groups or len(groups) < n:
            groups.setdefault(key, []).append(row)
    return groups


@dataclass(frozen=True, slots=True)
class _Span:
    """A partition, and the times between which something is drawn of it."""

    key: tuple[Any, ...]
    start: Any
    end: Any


def _span(group: list[Row], partition_by: tuple[str, ...]) -> _Span:
    key = tuple(group[0][name] for name in partition_by)
    return _Span(key, min(row["start_time"] for row in group), max(row["end_time"] for row in group))


def _spans_of(failed: Iterable[Failure], time: str) -> dict[tuple[Any, ...], _Span]:
    """The partitions of failed runs."""
    spans: dict[tuple[Any, ...], _Span] = {}
    for failure in failed:
        times = [event[time] for _, event in failure.taken]
        known = spans.get(failure.key, _Span(failure.key, times[0], times[-1]))
        spans[failure.key] = _Span(failure.key, min(known.start, *times), max(known.end, *times))
    return spans


def _around(span: _Span, partition_by: tuple[str, ...], time: str) -> Column:
    """The events of one partition from a little before its first match or run to a little after its last."""
    margin = (span.end - span.start) * 3 / 10
    if isinstance(span.start, date) and not margin:
        margin = timedelta(days=1)
    column = F.col(f"`{time}`")
    near = column.between(F.lit(span.start - margin), F.lit(span.end + margin))
    for name, value in zip(partition_by, span.key, strict=True):
        near = near & F.col(f"`{name}`").eqNullSafe(F.lit(value))
    return near
