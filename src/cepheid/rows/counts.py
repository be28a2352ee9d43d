"""How many matches end with each event, as a table, with sums over all of these matches.

In: arranged events, the summaries to add up, and what the engine has counted. Out: what the engine needs to know of the
summaries, and an Arrow table: a row for each event that ends any match. Used in memory, in batch and on streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.expression import Aggregate, AggregateFunction
from cepheid.engine.assignments import Integers
from cepheid.engine.columns import scaled
from cepheid.engine.counts import Counts, Summed, nothing_summed
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import InputError
from cepheid.rows.arrange import Arranged
from cepheid.rows.assemble import moments_of
from cepheid.rows.summaries import Summary

if TYPE_CHECKING:  # workers need no parser
    from cepheid.conditions.measures import Measure

MATCHES = "matches"
_ADDED = (AggregateFunction.COUNT, AggregateFunction.SUM)


def refuse_other_measures(measures: Iterable[Measure]) -> None:
    """Refuse measures that cannot be added up without the matches themselves."""
    for measure in measures:
        match measure.pieces:
            case (Aggregate(function=function),) if function in _ADDED:
                if measure.name.lower() in (MATCHES, "end_time", "at"):
                    raise InputError(
                        f"{measure.name!r} would name two columns: a measure and a column of the counts.\n"
                        "  Rename the measure; end_time, at and matches are columns of the counts."
                    )
            case _:
                raise InputError(
                    f"counts() cannot add up measure {measure.name!r}: only COUNT and SUM over one variable have "
                    "totals over all matches that need no match to be built.\n"
                    "  Leave the measure out, or use the matches themselves."
                )


def summed_of(events: Arranged, summaries: Sequence[Summary]) -> Summed:
    """The values that the summaries add up, of all events; COUNT adds up ones."""
    if not summaries:
        return nothing_summed(len(events.time))
    columns = [_values(events, summary) for summary in summaries]
    return Summed(
        np.array([summary.variable for summary in summaries], np.int64),
        np.array([column.dtype == np.float64 for column in columns]),
        np.stack([column.view(np.int64) for column in columns], axis=1),
    )


def _values(events: Arranged, summary: Summary) -> Integers | npt.NDArray[np.float64]:
    if summary.argument is None:
        return np.ones(len(events.time), np.int64)
    values = events.column(summary.argument).combine_chunks()
    if summary.function is AggregateFunction.COUNT:
        valid: npt.NDArray[np.bool_] = values.is_valid().to_numpy(zero_copy_only=False)
        return valid.astype(np.int64)
    if pa.types.is_decimal(values.type):
        try:
            return scaled(values, values.type.scale)
        except NotCompiled as reason:
            raise InputError(
                f"counts() cannot add up {summary.name}: it has {reason}.\n  Cast its argument to double."
            ) from reason
    kind = pa.float64() if pa.types.is_floating(values.type) else pa.int64()
    result: Integers | npt.NDArray[np.float64] = np.ascontiguousarray(
        pc.fill_null(values.cast(kind), 0).to_numpy(zero_copy_only=False)
    )
    return result


def counts_table(events: Arranged, counts: Counts, summaries: Sequence[Summary], with_moment: bool = False) -> pa.Table:
    """The partition columns, `end_time`, `at` where the moment of decision is wanted, `matches`, then the sums."""
    keys = events.taken(events.partition_by, counts.row)
    columns = dict(zip(keys.column_names, keys.columns, strict=True))
    if events.order_by:
        columns["end_time"] = events.taken(events.order_by[:1], counts.row).column(0)
    if with_moment:
        columns["at"] = moments_of(counts.at, events)
    columns[MATCHES] = pa.array(counts.matches)
    for number, summary in enumerate(summaries):
        kind = None if summary.argument is None else events.type_of(summary.argument)
        columns[summary.name] = _sums(np.ascontiguousarray(counts.sums[:, number]), kind, summary)
    return pa.table(columns)


def _sums(totals: Integers, kind: pa.DataType | None, summary: Summary) -> pa.Array:
    if summary.function is AggregateFunction.SUM and kind is not None:
        if pa.types.is_floating(kind):
            return pa.array(totals.view(np.float64)).cast(summary.arrow)
        if pa.types.is_decimal(kind):
            halves = np.stack((totals, totals >> 63), axis=1)
            wide = pa.Array.from_buffers(
                pa.decimal128(38, kind.scale), len(totals), [None, pa.py_buffer(np.ascontiguousarray(halves))]
            )
            return wide.cast(summary.arrow)
    return pa.array(totals).cast(summary.arrow)
