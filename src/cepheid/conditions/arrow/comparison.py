"""Comparison of whole columns: NULL in, NULL out, and NaN equals NaN and is the largest (rule 11).

Comes in: two values that binding has brought to one type, of which at least one is an array. Goes out: an array of
booleans. Called by the `vectorized` modules alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.arrow.values import Value, is_constant
from cepheid.conditions.expression import Operator

_PLAIN: dict[Operator, Callable[[Value, Value], Any]] = {
    Operator.EQUAL: pc.equal,
    Operator.NOT_EQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_OR_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_OR_EQUAL: pc.greater_equal,
}


def compared(operator: Operator, left: Value, right: Value) -> Any:
    """What the comparison gives, row by row."""
    if operator is Operator.NULL_SAFE_EQUAL:
        return _null_safe_equal(left, right)
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        length = len(right) if is_constant(left) else len(left)
        return pa.nulls(length, pa.bool_())
    if not (pa.types.is_floating(left.type) or pa.types.is_floating(right.type)):
        return _PLAIN[operator](left, right)
    return _FRACTIONAL[operator](left, right)


def _null_safe_equal(left: Value, right: Value) -> Any:
    both_unknown = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both_unknown, pc.fill_null(compared(Operator.EQUAL, left, right), False))


# ── numbers that may be NaN: `and_` and `or_`, unlike their Kleene sisters, keep NULL whatever the other side is ──────


def _equal(left: Value, right: Value) -> Any:
    same = pc.equal(left, right)
    if _is_number(left) or _is_number(right):
        return same
    return pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _greater(left: Value, right: Value) -> Any:
    # Arrow says no to any comparison with NaN, so `not <=` also holds where the left side is NaN, as it should.
    greater = pc.invert(pc.less_equal(left, right))
    return greater if _is_number(right) else pc.and_(greater, pc.invert(pc.is_nan(right)))


def _less(left: Value, right: Value) -> Any:
    # A NaN on the left is never less, and a constant on the right is never NaN's equal.
    return pc.less(left, right) if _is_number(right) else _greater(right, left)


def _is_number(value: Value) -> bool:
    """Whether the value is a constant that is neither NaN nor NULL."""
    if not is_constant(value):
        return False
    constant = value.as_py()
    return constant is not None and constant == constant


_FRACTIONAL: dict[Operator, Callable[[Value, Value], Any]] = {
    Operator.EQUAL: _equal,
    Operator.NOT_EQUAL: lambda left, right: pc.invert(_equal(left, right)),
    Operator.LESS: _less,
    Operator.LESS_OR_EQUAL: lambda left, right: pc.invert(_greater(left, right)),
    Operator.GREATER: _greater,
    Operator.GREATER_OR_EQUAL: lambda left, right: pc.invert(_less(left, right)),
}
