"""What measures read of the events that matches took, for all matches at once.

In: which rows each match took, and for each aggregate the values of its argument on all rows. Out: an Arrow array for
each aggregate, a value per match (rule 11). Called by `assemble`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.expression import AggregateFunction
from cepheid.conditions.folding import Spread, average
from cepheid.conditions.types import DataType
from cepheid.engine.assignments import Integers
from cepheid.errors import EvaluationError
from cepheid.rows.columns import canonical

_SAFE = float(2**62)
"""Sums below this in doubles do not overflow 64 bits, whatever the doubles lost."""


@dataclass(frozen=True, slots=True)
class Summary:
    """An aggregate over what one variable took. `argument` names the column of its values, None counts events."""

    name: str
    function: AggregateFunction
    variable: int
    argument: str | None
    offset: int
    type: DataType
    arrow: pa.DataType
    """The type that the values must have."""


def summarize(summary: Summary, taken: pa.Table, match: Integers, count: int) -> pa.Array:
    """The value of an aggregate for each of `count` matches; `taken` are its variable's rows, `match` says whose."""
    if summary.argument is None:
        return pa.array(np.bincount(match, minlength=count)).cast(summary.arrow)
    values = taken[summary.argument].combine_chunks()
    known = values.is_valid().to_numpy(zero_copy_only=False)
    if not known.all():  # NULLs are skipped
        values, match = values.filter(pa.array(known)), match[known]
    bounds = np.searchsorted(match, np.arange(count + 1))
    begins, ends = bounds[:-1], bounds[1:]
    match summary.function:
        case AggregateFunction.COUNT:
            result = pa.array(ends - begins)
        case AggregateFunction.FIRST:
            result = _picked(values, begins + summary.offset, begins + summary.offset < ends)
        case AggregateFunction.LAST:
            result = _picked(values, ends - 1 - summary.offset, ends - 1 - summary.offset >= begins)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            order = pc.sort_indices(
                pa.table({"match": match, "value": values}),
                sort_keys=[("match", "ascending"), ("value", "ascending")],
            ).to_numpy()
            places = begins if summary.function is AggregateFunction.MIN else ends - 1
            result = _picked(values.take(pa.array(order)), places, begins < ends)
        case AggregateFunction.SUM:
            result = _sums(values, match, begins, count)
        case AggregateFunction.AVG:
            result = _averages(_sums(values, match, begins, count), ends - begins, summary.type)
        case AggregateFunction.COUNT_DISTINCT:
            result = _different(values, match, count)
        case AggregateFunction.STDDEV:
            result = _deviations(values, match, count)
    return result.cast(summary.arrow)


def _picked(values: pa.Array, places: npt.NDArray[Any], exists: npt.NDArray[np.bool_]) -> pa.Array:
    """The values at some places, NULL where there is none."""
    return values.take(pa.array(np.where(exists, places, 0), pa.int64(), mask=~exists))


def _sums(values: pa.Array, match: Integers, begins: npt.NDArray[Any], count: int) -> pa.Array:
    """The sum for each match, added up in the order of taking; 0 where nothing was taken."""
    kind = values.type
    if pa.types.is_floating(kind):
        doubles = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pa.array(np.bincount(match, weights=doubles, minlength=count))
    if pa.types.is_decimal(kind):
        grouped = pa.table({"match": match, "value": values.cast(pa.decimal128(38, kind.scale))})
        sums = grouped.group_by("match", use_threads=False).aggregate([("value", "sum")])
        place = pc.index_in(pa.array(np.arange(count)), sums["match"].combine_chunks())
        total = sums["value_sum"].combine_chunks().take(place)
        return pc.fill_null(total, pa.scalar(0, pa.int64()).cast(total.type))
    whole = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    estimate = np.bincount(match, weights=np.abs(whole.astype(np.float64)), minlength=count)
    if np.any(estimate > _SAFE):
        return pa.array(_exact_sums(whole, match, count), pa.int64())
    totals = np.zeros(count, np.int64)
    some = np.flatnonzero(np.bincount(match, minlength=count))
    if len(some):
        totals[some] = np.add.reduceat(whole, begins[some])
    return pa.array(totals).cast(kind) if pa.types.is_duration(kind) else pa.array(totals)


def _exact_sums(whole: Integers, match: Integers, count: int) -> list[int]:
    totals = [0] * count
    for number, value in zip(match.tolist(), whole.tolist(), strict=True):
        totals[number] += value
        if not -(2**63) <= totals[number] < 2**63:
            raise EvaluationError(
                "a measure's SUM of whole numbers does not fit 64 bits.\n"
                "  Cast its argument: SUM(CAST(v.column AS DECIMAL(38, 0))) or AS DOUBLE."
            )
    return totals


def _different(values: pa.Array, match: Integers, count: int) -> pa.Array:
    """How many different values each match has (rule 18)."""
    codes = canonical(values).dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    pairs = np.unique(np.stack((match, codes)), axis=1)
    return pa.array(np.bincount(pairs[0], minlength=count))


def _deviations(values: pa.Array, match: Integers, count: int) -> pa.Array:
    spreads = [Spread()] * count
    for number, value in zip(match.tolist(), values.to_pylist(), strict=True):
        spreads[number] = spreads[number].with_value(value)
    return pa.array([spread.deviation for spread in spreads], pa.float64())


def _averages(sums: pa.Array, counts: npt.NDArray[Any], result: DataType) -> pa.Array:
    if pa.types.is_decimal(sums.type) or pa.types.is_duration(sums.type):
        pairs = zip(sums.to_pylist(), counts.tolist(), strict=True)
        averages = [average(total if number else None, number, result) for total, number in pairs]
        return pa.array(averages, sums.type if pa.types.is_duration(sums.type) else None)
    totals = sums.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return pa.array(totals / np.maximum(counts, 1), mask=counts == 0)
