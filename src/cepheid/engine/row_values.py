"""Expressions over rows, on whole columns: for the tests of a row pattern and for its measures.

In: a table, the order of the clause, and which expressions were computed elsewhere (by Spark). Out: arrays. An
expression that may fail is asked only of the rows where it is needed. Columns that only matches show are never sorted:
they are read where they are, for the rows of matches alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.expression import TRUE, Column, Expression, walk

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RowValues:
    """The rows of all partitions; partition p has the rows `bounds[p]` to `bounds[p + 1]`."""

    source: pa.Table
    bounds: Integers
    computed: Mapping[Expression, str] = field(default_factory=dict)
    """Expressions whose values are columns of the table."""
    order: Integers | None = None
    """Which row of the source each row is; None where they are in order as they are."""
    _sorted: dict[str, pa.Array] = field(default_factory=dict, compare=False, repr=False)
    """Columns of all rows, in order."""

    def __len__(self) -> int:
        return int(self.source.num_rows)

    @property
    def table(self) -> pa.Table:
        """All rows, in order."""
        return self.source if self.order is None else self.source.take(pa.array(self.order))

    def column(self, name: str) -> pa.Array:
        """A column of all rows, in order."""
        if name not in self._sorted:
            values = self.source[name]
            self._sorted[name] = as_array(values if self.order is None else values.take(pa.array(self.order)))
        return self._sorted[name]

    def taken(self, names: Iterable[str], rows: Integers) -> pa.Table:
        """Some columns of some rows."""
        places = pa.array(rows if self.order is None else self.order[rows])
        return pa.table({name: as_array(self.source[name].take(places)) for name in names})

    def of(self, expression: Expression) -> pa.Array:
        """The expression on every row."""
        name = self._stored(expression)
        if name is not None:
            return self.column(name)
        names = _columns_of(expression)
        rows = pa.table({name: self.column(name) for name in names}) if names else _blank(len(self))
        return as_array(evaluate_or_fall_back(expression, rows))

    def at(self, expression: Expression, rows: Integers) -> pa.Array:
        """The expression on some rows; NULL where the row is -1."""
        missing = rows < 0
        if not missing.any():
            return self._at_rows(expression, rows)
        values = self._at_rows(expression, rows[~missing])
        places = np.cumsum(~missing) - 1
        return values.take(pa.array(places, mask=missing))

    def is_known(self, expression: Expression) -> bool:
        """Whether the expression is a column without NULLs."""
        name = self._stored(expression)
        return name is not None and self.source[name].null_count == 0

    def _at_rows(self, expression: Expression, rows: Integers) -> pa.Array:
        name = self._stored(expression)
        if name is not None:
            return as_array(self.taken([name], rows)[name])
        names = _columns_of(expression)
        return as_array(evaluate_or_fall_back(expression, self.taken(names, rows) if names else _blank(len(rows))))

    def holds(self, condition: Expression) -> Mask:
        """Where a condition is true: not false, not NULL (rule 3.1)."""
        return np.ones(len(self), bool) if condition == TRUE else is_true(self.of(condition))

    def shifted(self, values: pa.Array, shift: int) -> pa.Array:
        """For every row the value of the row so many further on, NULL outside the partition (rule 5.4)."""
        count, distance = len(self), min(abs(shift), len(self))
        if not distance:
            return values
        nothing, kept = pa.nulls(distance, values.type), values.slice(max(shift, 0), count - distance)
        moved = pa.concat_arrays([kept, nothing] if shift > 0 else [nothing, kept])
        # The rows from which that leads out of the partition: its last ones, or its first.
        sizes = np.minimum(np.diff(self.bounds), distance)
        edges = self.bounds[1:] - sizes if shift > 0 else self.bounds[:-1]
        places = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        outside = np.zeros(count, bool)
        outside[np.repeat(edges, sizes) + places] = True
        return pc.if_else(pa.array(outside), pa.scalar(None, values.type), moved)

    def _stored(self, expression: Expression) -> str | None:
        if isinstance(expression, Column) and expression.name in self.source.column_names:
            return expression.name
        return self.computed.get(expression)


def is_true(values: pa.Array) -> Mask:
    """Where truth values are true."""
    result: Mask = values.fill_null(False).to_numpy(zero_copy_only=False).astype(bool, copy=False)
    return result


def as_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """In one piece, dictionaries resolved."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _columns_of(expression: Expression) -> list[str]:
    return list(dict.fromkeys(node.name for node in walk(expression) if isinstance(node, Column)))


def _blank(count: int) -> pa.Table:
    return pa.table({"__row": np.arange(count)})
