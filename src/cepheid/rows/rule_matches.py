"""The matches of a rule as rows that all rules of a set have in common.

In: the arranged events, what each match took, and what the rows are to hold. Out: an Arrow table: `rule`, the columns
of all keys (NULL where the rule has another key), `match_id`, `start_time`, `end_time`, `at` where the moment of
decision is wanted, `events`, `severity`, `tags`, and a column for each summary. Called in memory and by Spark's
workers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Assignments
from cepheid.rows.arrange import Arranged
from cepheid.rows.assemble import moments_of
from cepheid.rows.identity import match_ids
from cepheid.rows.summaries import Summary, summarize

RULE, EVENTS, MEASURES, SEVERITY, TAGS = "rule", "events", "measures", "severity", "tags"
OWN = (RULE, "match_id", "start_time", "end_time", "at", EVENTS, MEASURES, SEVERITY, TAGS)
"""The columns of the result that are not those of keys."""


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What the rows of a rule's matches hold."""

    rule: str
    variables: tuple[str, ...]
    columns: tuple[str, ...]
    """Of each event that was taken."""
    severity: str | None
    tags: tuple[str, ...]
    keys: tuple[tuple[str, pa.DataType], ...]
    """The columns of all keys in the set, with their types."""
    with_moment: bool = False
    summaries: tuple[Summary, ...] = ()


def assemble_rule(events: Arranged, found: Assignments, shape: RuleShape) -> pa.Table:
    """The table of a rule's matches, in their order."""
    count = len(found.at)
    starts = np.searchsorted(found.match, np.arange(count + 1)).astype(np.int64)
    first, last = found.row[starts[:-1]], found.row[starts[1:] - 1]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {RULE: pa.array([shape.rule] * count, pa.string())}
    own_keys = events.taken(events.partition_by, first)
    for name, kind in shape.keys:
        columns[name] = own_keys[name] if name in events.partition_by else pa.nulls(count, kind)
    columns["match_id"] = match_ids(events, found.variable, found.row, starts)
    if events.order_by:
        time = events.order_by[0]
        columns["start_time"] = events.taken((time,), first)[time]
        columns["end_time"] = events.taken((time,), last)[time]
        if shape.with_moment:
            columns["at"] = moments_of(found.at, events)
    columns[EVENTS] = _events(events, found, shape, starts.astype(np.int32))
    columns[SEVERITY] = pa.array([shape.severity] * count, pa.string())
    columns[TAGS] = pa.array([list(shape.tags)] * count, pa.list_(pa.string()))
    for summary in shape.summaries:
        mine = found.variable == summary.variable
        source = events.taken(() if summary.argument is None else (summary.argument,), found.row[mine])
        columns[summary.name] = summarize(summary, source, found.match[mine], count)
    return pa.table(columns)


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A rule's matches with the columns that all rules have; those of other rules are NULL."""
    columns = [
        table[field.name] if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema.names)


def _events(events: Arranged, found: Assignments, shape: RuleShape, starts: npt.NDArray[np.int32]) -> pa.ListArray:
    """What each match took: variable, place in the match from 1 on, and the event."""
    taken = events.taken(shape.columns, found.row)
    event = pa.StructArray.from_arrays([column.combine_chunks() for column in taken.columns], fields=list(taken.schema))
    variable = pa.array(shape.variables, pa.string()).take(pa.array(found.variable))
    sequence = pa.array(np.arange(len(found.match)) - starts[:-1][found.match] + 1, pa.int32())
    entries = pa.StructArray.from_arrays([variable, sequence, event], ["variable", "sequence", "event"])
    return pa.ListArray.from_arrays(pa.array(starts), entries)
