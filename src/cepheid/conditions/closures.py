"""What operators compile to: closures over the closures of their operands, with SQL's three values (rule 11).

Comes in: compiled operands. Goes out: a compiled operation. Knows no expressions. Called by `evaluation` alone, which
decides what is built; `Taken` and `Evaluate` are the types of all that is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from cepheid.conditions.arithmetic import equal
from cepheid.conditions.casting import as_aware, shown
from cepheid.conditions.expression import Aggregate, FoldValue
from cepheid.errors import EvaluationError
from cepheid.syntax.tree import Event


class Taken(Protocol):
    """What the run has taken so far, as conditions read it."""

    def aggregate(self, node: Aggregate) -> Any:
        """The value of an aggregate over what its variable has taken."""

    def fold(self, node: FoldValue) -> Any:
        """The present value of a fold."""

    def events(self) -> Mapping[str, list[Event]]:
        """The events themselves by variable, for Python callables."""


Evaluate: TypeAlias = Callable[[Event, Taken], Any]
Compute: TypeAlias = Callable[..., Any]


def constant(value: Any) -> Evaluate:
    return lambda event, taken: value


def column(name: str) -> Evaluate:
    return lambda event, taken: event.get(name)


def column_of_moments(name: str, naive_is_utc: bool) -> Evaluate:
    """A column in which timestamps may have any zone: they are instants, so they are read in UTC."""

    def evaluate(event: Event, taken: Taken) -> Any:
        value = event.get(name)
        if isinstance(value, datetime) and (naive_is_utc or value.tzinfo is not None):
            return as_aware(value)
        return value

    return evaluate


def column_of_decimals(name: str) -> Evaluate:
    """A column of decimals; Arrow's unsigned 64-bit integers are some, and arrive as whole numbers."""

    def evaluate(event: Event, taken: Taken) -> Any:
        value = event.get(name)
        return Decimal(value) if type(value) is int else value

    return evaluate


def strict_binary(compute: Compute, left: Evaluate, right: Evaluate) -> Evaluate:
    """NULL in, NULL out."""

    def evaluate(event: Event, taken: Taken) -> Any:
        first = left(event, taken)
        if first is None:
            return None
        second = right(event, taken)
        return None if second is None else compute(first, second)

    return evaluate


def strict(compute: Compute, operands: tuple[Evaluate, ...]) -> Evaluate:
    """NULL in, NULL out, for any number of operands."""

    def evaluate(event: Event, taken: Taken) -> Any:
        values = []
        for operand in operands:
            value = operand(event, taken)
            if value is None:
                return None
            values.append(value)
        return compute(*values)

    return evaluate


def against_constant(compute: Compute, direct: Compute, operand: Evaluate, fixed: Any) -> Evaluate:
    """A comparison with a constant. By far the commonest is `column = 'text'`: there types are not looked at twice."""
    quick = type(fixed) if type(fixed) in (str, int) else None

    def evaluate(event: Event, taken: Taken) -> Any:
        value = operand(event, taken)
        if type(value) is quick:
            return direct(value, fixed)
        return None if value is None else compute(value, fixed)

    return evaluate


def null_safe_equal(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(event: Event, taken: Taken) -> bool:
        first, second = left(event, taken), right(event, taken)
        if first is None or second is None:
            return first is second
        return equal(first, second)

    return evaluate


def truth(operand: Evaluate) -> Evaluate:
    """An operand whose type was unknown, looked at value by value: it must be true, false or unknown."""

    def evaluate(event: Event, taken: Taken) -> bool | None:
        value = operand(event, taken)
        if value is None or value is True or value is False:
            return value
        raise EvaluationError(f"{shown(value)} is neither true nor false")

    return evaluate


def conjunction(parts: tuple[Evaluate, ...]) -> Evaluate:
    """False as soon as one part is, so that a part can guard those after it; unknown if one is unknown."""

    def evaluate(event: Event, taken: Taken) -> bool | None:
        result: bool | None = True
        for part in parts:
            value = part(event, taken)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return evaluate


def disjunction(parts: tuple[Evaluate, ...]) -> Evaluate:
    """True as soon as one part is; unknown if none is true and one is unknown."""

    def evaluate(event: Event, taken: Taken) -> bool | None:
        result: bool | None = False
        for part in parts:
            value = part(event, taken)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return evaluate


def negation(operand: Evaluate) -> Evaluate:
    def evaluate(event: Event, taken: Taken) -> bool | None:
        value = operand(event, taken)
        return None if value is None else not value

    return evaluate


def identity(operand: Evaluate, value: bool | None) -> Evaluate:
    """IS NULL, IS TRUE, IS FALSE: never unknown."""
    return lambda event, taken: operand(event, taken) is value


def membership(subject: Evaluate, options: tuple[Evaluate, ...]) -> Evaluate:
    """IN: unknown if no option is equal and one is NULL."""

    def evaluate(event: Event, taken: Taken) -> bool | None:
        value = subject(event, taken)
        if value is None:
            return None
        result: bool | None = False
        for option in options:
            candidate = option(event, taken)
            if candidate is None:
                result = None
            elif equal(value, candidate):
                return True
        return result

    return evaluate


def case(branches: tuple[tuple[Evaluate, Evaluate], ...], otherwise: Evaluate) -> Evaluate:
    """The value of the first branch whose condition is true; the others are not computed."""

    def evaluate(event: Event, taken: Taken) -> Any:
        for condition, value in branches:
            if condition(event, taken) is True:
                return value(event, taken)
        return otherwise(event, taken)

    return evaluate


def coalesce(candidates: tuple[Evaluate, ...]) -> Evaluate:
    def evaluate(event: Event, taken: Taken) -> Any:
        for candidate in candidates:
            value = candidate(event, taken)
            if value is not None:
                return value
        return None

    return evaluate


def on_all(compute: Compute, operands: tuple[Evaluate, ...]) -> Evaluate:
    """What looks at NULLs itself."""
    return lambda event, taken: compute(*(operand(event, taken) for operand in operands))


def field(operand: Evaluate, name: str) -> Evaluate:
    def evaluate(event: Event, taken: Taken) -> Any:
        struct = operand(event, taken)
        if struct is None or isinstance(struct, Mapping):
            return None if struct is None else struct.get(name)
        raise EvaluationError(f"{shown(struct)} has no field `{name}`")

    return evaluate


def argument_column(name: str) -> str:
    """Where an event that is handed to a function's body has the value of an argument: no column is called so."""
    return f"\0{name.casefold()}"


def of_items(arguments: tuple[str, ...], body: Evaluate) -> Evaluate:
    """A function of items, `x -> …`: what it gives is called with one value for each of its arguments, or with more."""
    columns = tuple(map(argument_column, arguments))

    def evaluate(event: Event, taken: Taken) -> Any:
        inner = dict(event)

        def apply(*values: Any) -> Any:
            inner.update(zip(columns, values, strict=False))
            return body(inner, taken)

        return apply

    return evaluate


def python_call(function: Callable[..., bool | None]) -> Evaluate:
    """A user's callable: what it raises and what it returns are checked."""
    name = getattr(function, "__name__", repr(function))

    def evaluate(event: Event, taken: Taken) -> bool | None:
        try:
            result = function(event, taken.events())
        except Exception as error:
            hint = ""
            if isinstance(error, AttributeError) and error.obj is event:
                hint = f"\n  An event is a dict: write event[{error.name!r}]."
            raise EvaluationError(f"the callable {name} raised {type(error).__name__}: {error}{hint}") from error
        if result is None or isinstance(result, bool):
            return result
        raise EvaluationError(f"the callable {name} returned {result!r}, which is neither a bool nor None")

    return evaluate
