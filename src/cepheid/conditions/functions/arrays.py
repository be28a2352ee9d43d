"""Functions of arrays, by rows: what an array holds is looked at one by one.

EXISTS, FORALL, FILTER and TRANSFORM apply a function of items, `x -> …`. EXISTS and FORALL are unknown where an item
decides that, though the array is known: so they count as failing, and are not moved to an earlier event (`moving`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cepheid.conditions import types
from cepheid.conditions.arithmetic import equal
from cepheid.conditions.expression import Call, Lambda
from cepheid.conditions.functions.definition import Arguments, Function, Typed, always, never, plainly
from cepheid.conditions.types import Kind
from cepheid.errors import EvaluationError


def _of_array(arguments: Arguments) -> None:
    array = arguments.operands[0]
    if array.type.kind in (Kind.UNKNOWN, Kind.NULL) or array.type.is_array:
        return
    raise arguments.error(
        array.span, f"{arguments.name} needs an array, this is a {array.type}", "name an array column"
    )


def _of_size(arguments: Arguments) -> Typed:
    _of_array(arguments)
    return arguments.operands, types.INT


def _of_member(arguments: Arguments) -> Typed:
    _of_array(arguments)
    wanted = arguments.operands[1]
    if wanted.type.kind is Kind.OTHER:
        problem = f"{arguments.name} looks for plain values, this is a {wanted.type}"
        raise arguments.error(wanted.span, problem, "compute it as a column")
    return arguments.operands, types.BOOLEAN


def _contains(items: Any, wanted: Any) -> bool | None:
    """Whether one is equal; unknown if none is and one is NULL."""
    if not isinstance(items, list):
        raise EvaluationError(f"{items!r} is not an array")
    if any(item is not None and equal(item, wanted) for item in items):
        return True
    return None if None in items else False


def _of_join(arguments: Arguments) -> Typed:
    _of_array(arguments)
    return (arguments.operands[0], *map(arguments.text, arguments.operands[1:])), types.STRING


def _joined(items: Any, separator: str, instead_of_null: str | None = None) -> str:
    """All strings in one; NULL is left out unless a string stands for it."""
    if not isinstance(items, list) or any(item is not None and not isinstance(item, str) for item in items):
        raise EvaluationError(f"{items!r} is not an array of strings")
    texts = (instead_of_null if item is None else item for item in items)
    return separator.join(text for text in texts if text is not None)


def _size(items: Any) -> int:
    if not isinstance(items, list | dict):
        raise EvaluationError(f"{items!r} is not an array")
    return len(items)


# ── with a function of items ─────────────────────────────────────────────────────────────────────────────────────────


def _applied(arguments: Arguments, most: int) -> Lambda:
    """The function that is applied to the items: of one argument, or of an item and its place."""
    _of_array(arguments)
    applied = arguments.operands[1]
    assert isinstance(applied, Lambda)
    if len(applied.arguments) > most:
        problem = f"the function of {arguments.name} has {len(applied.arguments)} arguments"
        remedy = "it takes one, an item" if most == 1 else "it takes an item, or an item and its place"
        raise arguments.error(applied.span, problem, remedy)
    return applied


def _test(arguments: Arguments, most: int) -> Typed:
    applied = _applied(arguments, most)
    if applied.type.kind not in (Kind.BOOLEAN, Kind.NULL, Kind.UNKNOWN):
        problem = f"{arguments.name} needs a condition, this is of type {applied.type}"
        raise arguments.error(applied.body.span or applied.span, problem, "compare it with something")
    return arguments.operands, types.BOOLEAN


def _of_test(arguments: Arguments) -> Typed:
    return _test(arguments, 1)


def _of_filter(arguments: Arguments) -> Typed:
    operands, _ = _test(arguments, 2)
    return operands, operands[0].type


def _of_transform(arguments: Arguments) -> Typed:
    return arguments.operands, types.array_of(_applied(arguments, 2).type)


def _answers(items: Any, test: Callable[..., Any]) -> Iterator[bool | None]:
    """What the test says of each item, asked one by one: where the answer is found, no further item is asked."""
    if not isinstance(items, list):
        raise EvaluationError(f"{items!r} is not an array")
    for place, item in enumerate(items):
        answer = test(item, place)
        if answer is not None and not isinstance(answer, bool):
            raise EvaluationError(f"{answer!r} is neither true nor false")
        yield answer


def _found(wanted: bool) -> Callable[[Any, Callable[..., Any]], bool | None]:
    """Whether one item has the wanted answer: if none has, the other one, or unknown if that is one of the answers."""

    def ask(items: Any, test: Callable[..., Any]) -> bool | None:
        otherwise: bool | None = not wanted
        for answer in _answers(items, test):
            if answer is wanted:
                return wanted
            if answer is None:
                otherwise = None
        return otherwise

    return ask


def _filtered(items: Any, test: Callable[..., Any]) -> list[Any]:
    return [item for item, answer in zip(items, _answers(items, test), strict=True) if answer]


def _transformed(items: Any, change: Callable[..., Any]) -> list[Any]:
    if not isinstance(items, list):
        raise EvaluationError(f"{items!r} is not an array")
    return [change(item, place) for place, item in enumerate(items)]


def _on_unknown_items(call: Call) -> bool:
    return call.operands[0].type.item is None


FUNCTIONS = (
    Function(("SIZE", "CARDINALITY", "ARRAY_SIZE"), 1, 1, _of_size, plainly(_size), None, never),
    Function(("ARRAY_JOIN",), 2, 3, _of_join, plainly(_joined), None, always),
    Function(("ARRAY_CONTAINS",), 2, 2, _of_member, plainly(_contains), None, always),
    Function(("EXISTS",), 2, 2, _of_test, plainly(_found(True)), None, always, takes_function=True),
    Function(("FORALL",), 2, 2, _of_test, plainly(_found(False)), None, always, takes_function=True),
    Function(("FILTER",), 2, 2, _of_filter, plainly(_filtered), None, _on_unknown_items, takes_function=True),
    Function(("TRANSFORM",), 2, 2, _of_transform, plainly(_transformed), None, _on_unknown_items, takes_function=True),
)
