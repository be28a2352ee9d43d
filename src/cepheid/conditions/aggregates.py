"""The argument of an aggregate: whose events it reads, and what of each.

Comes in: the argument as it was read, `b.price * b.qty`. Goes out: the variable, `b`, and the argument over columns of
one event, `price * qty`. Called by `reader` alone.
"""

from __future__ import annotations

from cepheid.conditions.carets import Span, condition_error
from cepheid.conditions.expression import (
    Aggregate,
    AggregateFunction,
    Expression,
    Name,
    walk,
    with_children,
)


def of_one_variable(function: AggregateFunction, argument: Expression, span: Span) -> tuple[str, Expression]:
    """The variable that an aggregate's argument reads, and the argument without that qualifier."""
    called = function.value
    for part in walk(argument):
        if isinstance(part, Aggregate):
            raise condition_error(part.span, "an aggregate cannot contain another one", "use a fold")
    names = [part for part in walk(argument) if isinstance(part, Name)]
    bare = next((name for name in names if len(name.parts) == 1), None)
    if not names or bare is not None:
        shown = bare.parts[0] if bare else "column"
        raise condition_error(
            bare.span if bare else span,
            f"{called} reads what a variable has taken, but no variable is named",
            f"write {called}(v.{shown}) with v the name of an element; the current event's value is just {shown}",
        )
    variables = {name.parts[0].casefold(): name.parts[0] for name in names}
    if len(variables) > 1:
        shown = " and ".join(f"`{variable}`" for variable in variables.values())
        remedy = "an aggregate covers the events of one variable; write one aggregate for each"
        raise condition_error(span, f"{called} reads two variables, {shown}", remedy)
    return next(iter(variables.values())), _unqualified(argument)


def _unqualified(expression: Expression) -> Expression:
    """The expression with the first part of each name, the variable, taken off."""
    if isinstance(expression, Name):
        return Name(expression.parts[1:], span=expression.span)
    return with_children(expression, _unqualified)
