"""Functions that choose among their operands. COALESCE, which looks at none that it does not need, is an operator."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from cepheid.conditions.arithmetic import compare
from cepheid.conditions.arrow.comparison import compared
from cepheid.conditions.arrow.values import Value, filled, is_constant, widened
from cepheid.conditions.expression import Call, Operator
from cepheid.conditions.functions.definition import Arguments, Function, Rows, Typed, never


def _alike(arguments: Arguments) -> Typed:
    return arguments.alike(arguments.name, arguments.operands, arguments.span)


def _extreme(sign: int) -> Rows:
    def best(*values: Any) -> Any:
        found = None
        for value in values:
            if value is not None and (found is None or compare(value, found) == sign):
                found = value
        return found

    return lambda call: best


def _extreme_columns(call: Call, *values: Value) -> Any:
    """Of equals, such as 0.0 and -0.0, the first is kept."""
    better = Operator.GREATER if call.name == "GREATEST" else Operator.LESS
    length = next(len(value) for value in values if not is_constant(value))
    best, *others = (filled(widened(value, call.type), length) for value in values)
    for value in others:
        is_better = pc.or_(pc.is_null(best), pc.fill_null(compared(better, value, best), False))
        best = pc.if_else(is_better, value, best)
    return best


FUNCTIONS = (
    Function(("GREATEST",), 2, None, _alike, _extreme(1), _extreme_columns, never, skips_nulls=True),
    Function(("LEAST",), 2, None, _alike, _extreme(-1), _extreme_columns, never, skips_nulls=True),
)
