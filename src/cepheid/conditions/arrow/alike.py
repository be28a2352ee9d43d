"""Rows that no condition tells apart: many conditions need to be computed for one row of each sort only.

In: bound own-event conditions that are portable (see `holding`), and a table. Out: a number for each row, equal for
rows that are alike, and one row of each sort. Called where many rules share their events.

Why that is right. A portable condition is made of parts by AND and OR, and it holds or not by which of its parts hold.
Take all parts that compare one column with constants. Whether such a part is true, false or unknown depends only on

* whether the column is NULL,
* for numbers and moments: between which two of the constants, or on which of them, the value lies. NaN is greater than
  every constant (rule 11), as is a number beyond the last of them, and no part has NaN as its constant;
* for strings, where only equality is asked for: which of the constants it is, if any.

So each such column puts the rows into a few classes. Any other part (two columns, the order of strings, decimals) puts
them into two: those where it holds and the others. Rows that are in the same class everywhere agree on all conditions.

Measured (1.25 M rows, 255 conditions such as `kind = 'x' AND price > 7`): 0.1 s of CPU instead of 1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.holding import LOGIC, Holding
from cepheid.conditions.arrow.values import arrow_type
from cepheid.conditions.constants import constant_value
from cepheid.conditions.expression import COMPARISONS, Column, Expression, Operation, Operator
from cepheid.conditions.types import DataType, Kind

Numbers: TypeAlias = npt.NDArray[np.int64]
_EQUALITY = frozenset({Operator.EQUAL, Operator.NOT_EQUAL, Operator.NULL_SAFE_EQUAL})
_CONNECTING = frozenset({*LOGIC, Operator.NOT, Operator.IS_TRUE, Operator.IS_FALSE})
_MOMENTS = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DATE})
_TABLE = 1 << 22
"""Up to so many combinations of classes a table of them is quicker than sorting."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """A column whose values are put into classes by constants."""

    column: str
    is_text: bool
    is_fractional: bool
    constants: Any
    """Strings; or numbers as numpy has them, ascending."""

    def classes(self, table: pa.Table) -> tuple[Numbers, int]:
        """The class of each row, and how many there may be; NULL has the last one."""
        column = table[self.column].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        known = len(self.constants)
        if self.is_text:
            found = pc.index_in(column, value_set=pa.array(self.constants, column.type))
            classes = pc.fill_null(found, known).to_numpy(zero_copy_only=False).astype(np.int64)
            count = known + 1
        else:
            values = pc.fill_null(_as_numbers(column, self.is_fractional), 0).to_numpy(zero_copy_only=False)
            classes = np.searchsorted(self.constants, values, "left")
            classes += np.searchsorted(self.constants, values, "right")
            count = 2 * known + 1
        if column.null_count:
            classes[column.is_null().to_numpy(zero_copy_only=False)] = count
        return classes, count + 1


@dataclass(frozen=True, slots=True)
class Alike:
    """Which rows some conditions do not tell apart. Travels to Spark's workers."""

    axes: tuple[_Axis, ...]
    parts: tuple[Expression, ...]
    """What is computed on all rows."""

    @classmethod
    def of(cls, conditions: Iterable[Expression]) -> Alike:
        """For so many conditions."""
        constants: dict[tuple[str, DataType], dict[Any, None]] = {}
        parts: dict[Expression, None] = {}
        for condition in conditions:
            for part in _parts(condition):
                found = _constants(part)
                if found is None:
                    parts[part] = None
                for column, value in found or ():
                    values = constants.setdefault((column.name, column.type), {})
                    if value is not None:
                        values[value] = None
        return cls(tuple(_axis(*column, list(values)) for column, values in constants.items()), tuple(parts))

    def sorts(self, table: pa.Table, further: Sequence[Numbers] = ()) -> tuple[Numbers, Numbers]:
        """The sort of each row, from 0 on, and a row of each sort; rows that differ in what is `further` said of them
        are not alike either."""
        holding = Holding(table, portable=True)
        sorts, count = np.zeros(table.num_rows, np.int64), min(1, table.num_rows)
        for axis in self.axes:
            sorts, count = _finer(sorts, count, *axis.classes(table))
        for part in self.parts:
            sorts, count = _finer(sorts, count, holding.of(part).astype(np.int64), 2)
        for numbers in further:
            distinct, classes = np.unique(numbers, return_inverse=True)
            sorts, count = _finer(sorts, count, classes, len(distinct))
        rows = np.zeros(count, np.int64)
        rows[sorts] = np.arange(len(sorts))
        return sorts, rows


def _finer(sorts: Numbers, count: int, classes: Numbers, size: int) -> tuple[Numbers, int]:
    """The sorts of rows that are alike and of one class, without gaps."""
    combined = sorts * size + classes
    if count * size > _TABLE:
        distinct, finer = np.unique(combined, return_inverse=True)
        return finer, len(distinct)
    there = np.zeros(count * size, bool)
    there[combined] = True
    places = np.flatnonzero(there)
    numbers = np.zeros(count * size, np.int64)
    numbers[places] = np.arange(len(places))
    return numbers[combined], len(places)


def _parts(condition: Expression) -> Iterable[Expression]:
    if isinstance(condition, Operation) and condition.operator in LOGIC:
        for operand in condition.operands:
            yield from _parts(operand)
    else:
        yield condition


def _constants(part: Expression) -> list[tuple[Column, Any]] | None:
    """The columns that a part compares with constants, and these; None if it does anything else. None for a constant:
    only whether the column is NULL is asked for."""
    if not isinstance(part, Operation):
        return None
    if part.operator in _CONNECTING:
        below = [_constants(operand) for operand in part.operands]
        return None if any(one is None for one in below) else [pair for one in below for pair in one or ()]
    first, *others = part.operands
    if part.operator is Operator.IS_NULL:
        return [(first, None)] if isinstance(first, Column) and _is_sorted(first.type) else None
    if part.operator in COMPARISONS and not isinstance(first, Column):
        first, others = others[0], [first]
    if not isinstance(first, Column) or part.operator not in COMPARISONS | {Operator.IN}:
        return None
    if first.type.kind is Kind.STRING and part.operator not in _EQUALITY | {Operator.IN}:
        return None
    found = [(first, _constant(first.type, other)) for other in others]
    return None if any(value is None for _, value in found) else found


def _is_sorted(kind: DataType) -> bool:
    return kind.is_integral or kind.is_fractional or kind.kind in _MOMENTS or kind.kind is Kind.STRING


def _constant(kind: DataType, given: Expression) -> Any:
    """A constant in the form in which a column of that type is compared with it; None if there is none."""
    known, own = constant_value(given), given.type
    value = None if known is None else known[0]
    if value is None:
        return None
    if kind.is_integral and own.is_integral:
        return int(value)
    if kind.is_fractional and own.is_fractional:
        return float(value) if value == value else None
    if kind.kind is own.kind is Kind.STRING:
        return str(value)
    if kind.kind in _MOMENTS and kind == own:
        return int(_as_numbers(pa.array([value], arrow_type(kind)), False)[0].as_py())
    return None


def _as_numbers(column: pa.Array, is_fractional: bool) -> pa.Array:
    """Numbers and moments as numpy compares them: microseconds, days, the number itself."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    elif pa.types.is_date(column.type):
        column = column.cast(pa.date32()).cast(pa.int32())
    return column.cast(pa.float64() if is_fractional else pa.int64())


def _axis(column: str, kind: DataType, constants: list[Any]) -> _Axis:
    is_text = kind.kind is Kind.STRING
    if is_text:
        return _Axis(column, True, False, tuple(constants))
    numbers = np.unique(np.array(constants, np.float64 if kind.is_fractional else np.int64))
    return _Axis(column, False, kind.is_fractional, numbers)
