"""The one table of functions, by the names that they are called by."""

from __future__ import annotations

from cepheid.conditions.expression import Call
from cepheid.conditions.functions import arrays, choices, moments, numbers, rewritten, texts
from cepheid.conditions.functions.definition import Function, Rewritten

FUNCTIONS: dict[str, Function] = {
    name: function
    for room in (numbers, texts, moments, choices, arrays)
    for function in room.FUNCTIONS
    for name in function.names
}
CALLABLE: dict[str, Function | Rewritten] = {
    **FUNCTIONS,
    **{name: short for short in rewritten.REWRITTEN for name in short.names},
}
"""All that a condition may call by a name, with the functions that are short for something else."""
UNKNOWN_TO_SPARK = frozenset(
    name for short in rewritten.REWRITTEN for name in short.names if not short.is_known_to_spark
)
"""Functions of our own: Spark gets what they mean."""


def function_of(call: Call) -> Function:
    return FUNCTIONS[call.name]
