"""Values for the parameters of conditions: names and values that every form of a pattern can write.

In: a mapping as a user gave it. Out: pairs in alphabetical order, or an error. Used by the face and by every form.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from cepheid.errors import MalformedPatternError
from cepheid.syntax.tree import ParameterValue


def parameters(given: Mapping[str, object]) -> tuple[tuple[str, ParameterValue], ...]:
    """The parameters, checked."""
    return tuple((name, _value(name, given[name])) for name in sorted(given))


def _value(name: str, value: object) -> ParameterValue:
    place = f"parameter {name!r}"
    if not name.isidentifier() or not name.isascii():
        raise MalformedPatternError(
            place, "this cannot be the name of a parameter", "Use letters, digits and _: `limit`."
        )
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise MalformedPatternError(place, f"{value} does not fit 64 bits", "Give it as text, and cast it.")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise MalformedPatternError(place, f"{value} is not a finite number", "Give a finite number.")
        return float(value)
    raise MalformedPatternError(
        place,
        f"{value!r} ({type(value).__name__}) cannot be a parameter",
        f"Give a number, text, True, False or None; others as text that the condition casts: CAST(:{name} AS DATE).",
    )
