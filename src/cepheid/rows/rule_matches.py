"""The matches of rules as rows that all rules of a set have in common.

In: the arranged events that rules share, what the matches of each took, and what the rows are to hold. Out: an Arrow
table: `rule`, the columns of all keys (NULL where the rule has another key), `match_id`, `start_time`, `end_time`, `at`
where the moment of decision is wanted, `events`, `severity`, `tags`, and a column for each summary. Called in memory
and by Spark's workers. The matches of many rules are made in one go: a call for each rule would cost more than the
matches do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Assignments, Integers
from cepheid.rows.arrange import Arranged
from cepheid.rows.assemble import moments_of
from cepheid.rows.identity import match_ids
from cepheid.rows.summaries import Summary, summarize
from cepheid.rule import named

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


@dataclass(frozen=True, slots=True)
class RuleFound:
    """What a rule found among events that it shares with others."""

    shape: RuleShape
    found: Assignments
    """With the rows of the shared events."""
    ordinals: Integers | None = None
    """For each event taken, its number among those that key and order do not tell apart, where the rule saw only some
    of the rows; None if it saw them all."""


def assemble_rule(events: Arranged, found: Assignments, shape: RuleShape) -> pa.Table:
    """The table of a rule's matches, in their order."""
    return assemble_rules(events, [RuleFound(shape, found)])


def assemble_rules(events: Arranged, found: Sequence[RuleFound]) -> pa.Table:
    """The table of the matches of some rules, rule by rule, in their order."""
    shape = found[0].shape
    counts = np.array([len(one.found.at) for one in found])
    rule = np.repeat(np.arange(len(found)), counts)
    before = np.cumsum(counts) - counts
    match = np.concatenate([one.found.match + first for one, first in zip(found, before, strict=True)])
    row = np.concatenate([one.found.row for one in found])
    count = int(counts.sum())
    starts = np.searchsorted(match, np.arange(count + 1)).astype(np.int64)
    first, last = row[starts[:-1]], row[starts[1:] - 1]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        RULE: _of_rules([one.shape.rule for one in found], pa.string(), rule)
    }
    own_keys = events.taken(events.partition_by, first)
    for name, kind in shape.keys:
        columns[name] = own_keys[name] if name in events.partition_by else pa.nulls(count, kind)
    variable = np.concatenate([one.found.variable for one in found])
    columns["match_id"] = match_ids(events, variable, row, starts, _ordinals(events, found))
    if events.order_by:
        time = events.order_by[0]
        columns["start_time"] = events.taken((time,), first)[time]
        columns["end_time"] = events.taken((time,), last)[time]
        if shape.with_moment:
            columns["at"] = moments_of(np.concatenate([one.found.at for one in found]), events)
    columns[EVENTS] = _events(events, found, variable, row, match, starts.astype(np.int32))
    columns[SEVERITY] = _of_rules([one.shape.severity for one in found], pa.string(), rule)
    columns[TAGS] = _of_rules([list(one.shape.tags) for one in found], pa.list_(pa.string()), rule)
    return pa.table(columns | _summaries(events, found))


def _ordinals(events: Arranged, found: Sequence[RuleFound]) -> Integers | None:
    if all(one.ordinals is None for one in found):
        return None
    own = [events.ordinals[one.found.row] if one.ordinals is None else one.ordinals for one in found]
    return np.concatenate(own)


def _of_rules(values: Sequence[object], kind: pa.DataType, rule: Integers) -> pa.Array:
    """What belongs to rules, for each match."""
    return pa.array(values, kind).take(pa.array(rule))


def _summaries(events: Arranged, found: Sequence[RuleFound]) -> dict[str, pa.ChunkedArray]:
    """The column of each summary; NULL for rules that have none of that name."""
    names = dict.fromkeys(summary.name for one in found for summary in one.shape.summaries)
    columns = {}
    for name in names:
        made: list[pa.Array | None] = []
        for one in found:
            summary = next((summary for summary in one.shape.summaries if summary.name == name), None)
            made.append(None if summary is None else _summary(events, one, summary))
        kind = next(array.type for array in made if array is not None)
        parts = [
            pa.nulls(len(one.found.at), kind) if array is None else array
            for one, array in zip(found, made, strict=True)
        ]
        columns[name] = pa.chunked_array(parts, kind)
    return columns


def _summary(events: Arranged, one: RuleFound, summary: Summary) -> pa.Array:
    mine = one.found.variable == summary.variable
    source = events.taken(() if summary.argument is None else (summary.argument,), one.found.row[mine])
    with named(f"rule {one.shape.rule!r}"):
        return summarize(summary, source, one.found.match[mine], len(one.found.at))


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A rule's matches with the columns that all rules have; those of other rules are NULL."""
    columns = [
        table[field.name] if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema.names)


def _events(
    events: Arranged,
    found: Sequence[RuleFound],
    variable: Integers,
    row: Integers,
    match: Integers,
    starts: npt.NDArray[np.int32],
) -> pa.ListArray:
    """What each match took: variable, place in the match from 1 on, and the event."""
    taken = events.taken(found[0].shape.columns, row)
    event = pa.StructArray.from_arrays([column.combine_chunks() for column in taken.columns], fields=list(taken.schema))
    names = [name for one in found for name in one.shape.variables]
    counts = [len(one.shape.variables) for one in found]
    first = np.repeat(np.cumsum(counts) - counts, [len(one.found.match) for one in found])
    variables = pa.array(names, pa.string()).take(pa.array(first + variable))
    sequence = pa.array(np.arange(len(match)) - starts[:-1][match] + 1, pa.int32())
    entries = pa.StructArray.from_arrays([variables, sequence, event], ["variable", "sequence", "event"])
    return pa.ListArray.from_arrays(pa.array(starts), entries)
