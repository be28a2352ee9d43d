"""Which parts of a condition were false on an event, and with which values.

In: a bound condition, an event, and what a run has taken. Out: `FalsePart`s. Called by `failures` and `causes`.
"""

from __future__ import annotations

import re
from typing import Any

from cepheid.conditions import Predicate, Taken, compile_expression
from cepheid.conditions.casting import shown
from cepheid.conditions.expression import (
    COMPARISONS,
    TRUE,
    Aggregate,
    Cast,
    Column,
    Expression,
    FoldValue,
    Literal,
    Operation,
    PythonCall,
    conjuncts,
    walk,
)
from cepheid.errors import CepheidError
from cepheid.explain.why.model import FalsePart
from cepheid.syntax.tree import Event

_LAST = re.compile(r"\bLAST\((`[^`]+`|\w+)\.(`[^`]+`|\w+)\)")


def part_text(part: Expression) -> str:
    """A part as people write it: `low.price`, not `LAST(low.price)`."""
    if isinstance(part, PythonCall):
        return getattr(part.function, "__name__", "a Python function")
    return _LAST.sub(r"\1.\2", str(part))


def parts_of(predicate: Predicate) -> tuple[Expression, ...]:
    """The AND-parts; none where any event will do."""
    return tuple(part for part in conjuncts(predicate.expression) if part != TRUE)


def value_of(expression: Expression, event: Event, taken: Taken) -> tuple[Any, str]:
    """The value, None where it is NULL or cannot be computed, and the problem in the second case."""
    try:
        return compile_expression(expression)(event, taken), ""
    except CepheidError as error:
        return None, str(error).splitlines()[0]


def holds(part: Expression, event: Event, taken: Taken) -> bool:
    """Whether a part is true; unknown is not (rule 11)."""
    return value_of(part, event, taken)[0] is True


def false_parts(predicate: Predicate, event: Event, taken: Taken) -> tuple[FalsePart, ...]:
    """The parts that do not hold, with their values."""
    return tuple(
        FalsePart(part_text(part), values_in(part, event, taken))
        for part in parts_of(predicate)
        if not holds(part, event, taken)
    )


def values_in(part: Expression, event: Event, taken: Taken) -> str:
    """The part with values in place of what it reads."""
    value, problem = value_of(part, event, taken)
    if problem:
        return problem
    unknown = " (unknown)" if value is None else ""
    if isinstance(part, Operation) and part.operator in COMPARISONS:
        sides = [shown_value(value_of(side, event, taken)[0]) for side in part.operands]
        return f"{sides[0]} {part.operator.value} {sides[1]}{unknown}"
    read = [node for node in walk(part) if isinstance(node, Column | Aggregate | FoldValue)]
    given = dict.fromkeys((part_text(node), shown_value(value_of(node, event, taken)[0])) for node in read)
    return (", ".join(f"{name} is {text}" for name, text in given) or "false") + unknown


def shown_value(value: Any) -> str:
    """A value, not too long."""
    text = f"{value:.6g}" if isinstance(value, float) else shown(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def literal_of(part: Expression) -> tuple[Column, tuple[Any, ...]] | None:
    """The column and the values of `column = literal`, `literal = column` or `column IN (literals)`."""
    if not isinstance(part, Operation):
        return None
    operands = [_bare(operand) for operand in part.operands]
    columns = [operand for operand in operands if isinstance(operand, Column)]
    literals = [operand.value for operand in operands if isinstance(operand, Literal)]
    if part.operator.value in ("=", "<=>", "IN") and len(columns) == 1 and len(literals) == len(operands) - 1:
        return columns[0], tuple(literals)
    return None


def _bare(expression: Expression) -> Expression:
    return _bare(expression.operand) if isinstance(expression, Cast) and expression.implicit else expression
