"""Functions of arrays, by rows: what an array holds is looked at one by one."""

from __future__ import annotations

from typing import Any

from cepheid.conditions import types
from cepheid.conditions.arithmetic import equal
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


FUNCTIONS = (
    Function(("SIZE", "CARDINALITY", "ARRAY_SIZE"), 1, 1, _of_size, plainly(_size), None, never),
    Function(("ARRAY_JOIN",), 2, 3, _of_join, plainly(_joined), None, always),
    Function(("ARRAY_CONTAINS",), 2, 2, _of_member, plainly(_contains), None, always),
)
