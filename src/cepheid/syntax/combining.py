"""Conditions as a user gives them in; `Condition` nodes out, with AND and OR kept flat.

Called by the builder and by notations that read conditions. What a text means is the business of the room
`conditions`; here it only has to be there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from cepheid.errors import MalformedPatternError
from cepheid.syntax.tree import AllOf, AnyOf, ColumnCondition, Condition, PythonCondition, SqlText

GivenCondition: TypeAlias = Any
"""SQL text, a callable `(event, taken) -> bool`, a Spark Column, or a node of the tree that a front end has made."""

_REMEDY = (
    'Give SQL text such as "price > 10", a callable (event, taken) -> bool, or a Spark Column; '
    "leave the condition out to accept any event."
)


def from_given(given: GivenCondition, element: str) -> Condition:
    """The condition that `given` stands for; `element` says in errors whose it is."""
    if isinstance(given, str):
        if not given.strip():
            raise MalformedPatternError(element, "the condition is empty", _REMEDY)
        return SqlText(given)
    if isinstance(given, SqlText | PythonCondition | ColumnCondition | AllOf | AnyOf):
        return given
    if _is_spark_object(given):  # before callable(): nothing is known about what a Column answers there
        return ColumnCondition(given)
    if callable(given):
        _refuse_other_arguments(given, element)
        return PythonCondition(given)
    raise MalformedPatternError(element, f"{given!r} ({type(given).__name__}) is not a condition", _REMEDY)


def conjunction(parts: Iterable[Condition]) -> Condition:
    """Every part must hold. An AND inside an AND is dissolved; a single part stands for itself."""
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, AllOf) else (part,)))
    return flat[0] if len(flat) == 1 else AllOf(flat)


def disjunction(parts: Iterable[Condition]) -> Condition:
    """One part must hold. An OR inside an OR is dissolved; a single part stands for itself."""
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, AnyOf) else (part,)))
    return flat[0] if len(flat) == 1 else AnyOf(flat)


def _refuse_other_arguments(given: Callable[..., object], element: str) -> None:
    """A callable is called with the event and with what was taken; one that takes something else is refused now."""
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        signature.bind({}, {})
    except TypeError:
        name = getattr(given, "__name__", repr(given))
        raise MalformedPatternError(
            element,
            f"the callable {name}{signature} does not take two arguments",
            "It is given the event, a dict, and what was taken before: lambda event, taken: event['price'] > 10.",
        ) from None


def _is_spark_object(given: object) -> bool:
    """Recognised by the module of a class it derives from, so that pyspark need not be there."""
    return any(base.__module__.split(".")[0] == "pyspark" for base in type(given).__mro__)
