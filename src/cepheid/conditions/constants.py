"""The values that are known before any event: literals, and casts of literals.

Called by the evaluators and by the functions that look at their constant arguments.
"""

from __future__ import annotations

from typing import Any

from cepheid.conditions.casting import as_aware, cast
from cepheid.conditions.expression import Cast, Expression, Literal
from cepheid.conditions.types import Kind


def literal_value(literal: Literal) -> Any:
    is_timestamp = literal.type.kind is Kind.TIMESTAMP and literal.value is not None
    return as_aware(literal.value) if is_timestamp else literal.value


def constant_value(expression: Expression) -> tuple[Any] | None:
    """The value of a literal, casts included, in a tuple; None if the expression is not constant."""
    if isinstance(expression, Literal):
        return (literal_value(expression),)
    if isinstance(expression, Cast) and isinstance(expression.operand, Literal):
        return (cast(literal_value(expression.operand), expression.type, expression.zone),)
    return None
