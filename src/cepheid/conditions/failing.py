"""What may fail: expressions that raise on some row, and so must not be computed on rows that do not ask for them.

`k = 'b' AND price / pieces > 2` divides only where k is 'b'. The evaluator by columns asks here before it computes a
part on all rows, the engine before it computes a part as a column; a test asks whether what is said here is true.
"""

from __future__ import annotations

from functools import lru_cache

from cepheid.conditions.constants import constant_value
from cepheid.conditions.expression import (
    ARITHMETIC,
    Call,
    Cast,
    Expression,
    Operation,
    Operator,
    PythonCall,
    SparkColumn,
    SparkExpression,
)
from cepheid.conditions.functions.table import function_of
from cepheid.conditions.types import DataType, Kind

_WHOLE_DIGITS = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INT: 10, Kind.LONG: 19}
_PLAIN = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY})


@lru_cache(maxsize=8192)
def can_fail(expression: Expression) -> bool:
    """Whether some row makes the expression raise."""
    if any(can_fail(child) for child in expression.children):
        return True
    if any(not child.type.is_known for child in expression.children):
        return True  # values decide, and they may not fit one another
    match expression:
        case Cast(operand=operand):
            return constant_value(expression) is None and cast_can_fail(operand.type, expression.type)
        case Operation(operator=operator) if operator in ARITHMETIC:
            return not (expression.type.is_fractional and operator in _PLAIN)
        case Call():
            return function_of(expression).can_fail(expression)
    return isinstance(expression, SparkExpression | SparkColumn | PythonCall)


def cast_can_fail(source: DataType, target: DataType) -> bool:
    """Whether some value of the one type cannot be one of the other."""
    if source.kind is Kind.NULL or source == target or target.kind in (Kind.STRING, Kind.BOOLEAN, Kind.BINARY):
        return source.kind is Kind.STRING and target.kind is Kind.BOOLEAN
    if source.is_integral and target.is_integral:
        return target.bits < source.bits
    if source.is_numeric and target.is_fractional:
        return False
    if source.is_integral and target.kind is Kind.DECIMAL:
        return target.precision - target.scale < _WHOLE_DIGITS[source.kind]
    if source.kind is target.kind is Kind.DECIMAL:
        return target.scale < source.scale or target.precision - target.scale < source.precision - source.scale
    if source.kind is Kind.BOOLEAN:
        return not (target.is_integral or target.is_fractional)
    return not (source.is_moment and target.is_moment)
