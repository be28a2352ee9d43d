"""What is computed of one event alone, moved to that event: `lower(LAST(a.name))` becomes `LAST(lower(a.name))`.

In: a bound call, cast or comparison. Out: the same, or an aggregate of it, which the engine holds as a column of the
event. Called by `checking`; the conditions and the proof are with the function.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.conditions.constants import constant_value
from cepheid.conditions.expression import (
    Aggregate,
    AggregateFunction,
    Call,
    Cast,
    Column,
    Expression,
    FoldValue,
    Lambda,
    Operation,
    walk,
    with_children,
)
from cepheid.conditions.failing import can_fail


def has_null(operands: tuple[Expression, ...]) -> bool:
    return any((value := constant_value(operand)) is not None and value[0] is None for operand in operands)


def moved_inside(node: Call | Cast | Operation) -> Expression:
    """`f(LAST(v.c))` as `LAST(f(v.c))`, so that what is computed of one event alone is a column of that event.

    Both are the same (also of FIRST, and with an offset) if f has a value wherever c has one, is NULL where c is, and
    never fails: then an event counts for the one where it counts for the other, and f is computed on no event that
    makes it raise. All functions of the table that do not skip NULLs and cannot fail are like that, such casts, and
    comparisons with constants.
    """
    read = [child for child in node.children if constant_value(child) is None and not _reads_items_alone(child)]
    if len(read) != 1 or not isinstance(read[0], Aggregate) or not node.type.is_known:
        return node
    aggregate = read[0]
    if aggregate.function not in (AggregateFunction.FIRST, AggregateFunction.LAST) or aggregate.argument is None:
        return node
    argument = aggregate.argument
    inside = with_children(node, lambda child: argument if child is aggregate else child)
    return node if can_fail(inside) else replace(aggregate, argument=inside, type=node.type)


def _reads_items_alone(child: Expression) -> bool:
    """Whether it is a function of items that reads nothing but these: then it is the same on every event."""
    return isinstance(child, Lambda) and not any(
        isinstance(part, Column | Aggregate | FoldValue) for part in walk(child)
    )
