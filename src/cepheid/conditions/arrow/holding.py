"""Which rows satisfy each of many conditions: what they have in common is computed once.

In: a table of events and bound own-event conditions. Out: a truth value for each row. Called where several patterns
share their events: in memory, and by Spark's workers when they pack rows.

A condition holds where it is true; unknown is not true (rule 11). So `a AND b` holds where both hold and `a OR b` where
one does, and each part is computed once however many conditions have it. A part that reads one column of strings is
computed on the distinct strings only.

Measured (2 M rows, 250 conditions such as `name = 'x' AND price > 7`): 1 s of CPU for one table, 4 s in batches of
10,000 rows, against 42 s where Spark computes them as bits, in one generated method that is too large for the JVM to
compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.arrow.expression import columns_of
from cepheid.conditions.expression import (
    COMPARISONS,
    TRUE,
    Cast,
    Column,
    Expression,
    Literal,
    Operation,
    Operator,
    walk,
)
from cepheid.conditions.failing import can_fail

Truth = npt.NDArray[np.bool_]
LOGIC = (Operator.AND, Operator.OR)
_PLAIN = COMPARISONS | {Operator.NOT, Operator.IS_NULL, Operator.IS_TRUE, Operator.IS_FALSE, Operator.IN, *LOGIC}


def is_portable(expression: Expression) -> bool:
    """Whether a condition is of columns, constants, comparisons and logic alone, and raises on no row: then it may be
    computed on all rows, part by part, and it is the same here as on Spark."""
    if can_fail(expression):
        return False
    for node in walk(expression):
        is_plain = isinstance(node, Column | Literal | Cast) or (
            isinstance(node, Operation) and node.operator in _PLAIN
        )
        if not is_plain or not node.type.is_known:
            return False
    return True


class Holding:
    """The conditions that hold on the rows of one table."""

    def __init__(self, table: pa.Table, portable: bool = False) -> None:
        """`portable`: all conditions that will be asked for are (see `is_portable`), which takes long to find out."""
        self._table = table
        self._portable = portable
        self._known: dict[Expression, Truth] = {}
        self._codes: dict[str, tuple[pa.Table, npt.NDArray[Any]]] = {}

    def of(self, expression: Expression) -> Truth:
        """Where the condition holds."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._computed(expression)
        return known

    def _computed(self, expression: Expression) -> Truth:
        if expression == TRUE:
            return np.ones(self._table.num_rows, bool)
        if isinstance(expression, Operation) and expression.operator in LOGIC and self._is_portable(expression):
            parts = [self.of(operand) for operand in expression.operands]
            both = np.logical_and if expression.operator is Operator.AND else np.logical_or
            result: Truth = parts[0]
            for part in parts[1:]:
                result = both(result, part)
            return result
        names = columns_of(expression)
        if len(names) == 1 and _is_text(self._table.schema.field(names[0]).type) and self._is_portable(expression):
            distinct, codes = self._coded(names[0])
            return _spread(_holds(expression, distinct), codes)
        return _holds(expression, self._table)

    def _is_portable(self, expression: Expression) -> bool:
        return self._portable or is_portable(expression)

    def _coded(self, name: str) -> tuple[pa.Table, npt.NDArray[Any]]:
        """The distinct strings of a column, NULL last, and which of them each row has."""
        if name not in self._codes:
            column = self._table[name].combine_chunks()
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            texts = encoded.dictionary
            codes = pc.fill_null(encoded.indices, len(texts)).to_numpy(zero_copy_only=False)
            codes = codes.astype(np.min_scalar_type(len(texts)), copy=False)
            with_null = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
            self._codes[name] = pa.table({name: with_null}), codes
        return self._codes[name]


def _holds(expression: Expression, table: pa.Table) -> Truth:
    truth: Truth = pc.fill_null(evaluate_or_fall_back(expression, table), False).to_numpy(zero_copy_only=False)
    return truth


def _spread(truth: Truth, codes: npt.NDArray[Any]) -> Truth:
    """The truth of each row, from that of distinct values. Most conditions name one value: to compare numbers is ten
    times faster than to look each of them up."""
    places = np.flatnonzero(truth)
    if len(places) == 1:
        return np.asarray(codes == codes.dtype.type(places[0]))
    return truth.take(codes, mode="clip")


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
