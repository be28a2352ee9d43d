"""Functions that are short for something else, which is put in their place when a text is read."""

from __future__ import annotations

import ipaddress
from typing import Any

from cepheid.conditions import types
from cepheid.conditions.carets import Span
from cepheid.conditions.expression import Call, Cast, Expression, Literal, Name, Operation, Operator
from cepheid.conditions.functions.definition import Rewritten

_NOTHING = Literal(None, type=types.NULL)


def _operator(operator: Operator) -> Any:
    return lambda *operands, span: Operation(operator, operands, span=span)


def _is_not_null(operand: Expression, span: Span) -> Expression:
    return Operation(Operator.NOT, (Operation(Operator.IS_NULL, (operand,), span=span),), span=span)


def _null_if(first: Expression, second: Expression, span: Span) -> Expression:
    equal = Operation(Operator.EQUAL, (first, second), span=span)
    return Operation(Operator.CASE, (equal, _NOTHING, first), span=span)


# ── between moments ──────────────────────────────────────────────────────────────────────────────────────────────────

FIXED_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
}
"""Units in microseconds; longer ones go by the calendar of a time zone, so that Spark alone counts them."""


def _whole_units_between(unit: Expression, start: Expression, end: Expression, span: Span) -> Expression:
    """Whole units from start to end, cut towards zero: a difference of microseconds, divided."""
    assert isinstance(unit, Name)
    micros = tuple(
        Call("UNIX_MICROS", (Cast(moment, type=types.TIMESTAMP, span=moment.span),), span=moment.span)
        for moment in (end, start)
    )
    length = Literal(FIXED_UNITS[unit.parts[0].upper()], type=types.LONG)
    return Operation(Operator.INTEGER_DIVIDE, (Operation(Operator.SUBTRACT, micros, span=span), length), span=span)


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_DIAMETER = 2 * 6371.0088
"""Of a sphere as large as the earth on average, in km."""


def _kilometres(
    latitude: Expression, longitude: Expression, other_latitude: Expression, other_longitude: Expression, span: Span
) -> Expression:
    """The great circle between two places, from the straight line between them through the sphere.

    Both places become points of the sphere, each computed from its own event alone; what is left to compute of both
    is subtraction, squares, one root and one arc sine, which the engine can do.
    """

    def real(name: str, *operands: Expression) -> Expression:
        return Call(name, operands, span=span)

    def times(left: Expression, right: Expression) -> Expression:
        return Operation(Operator.MULTIPLY, (left, right), span=span)

    def point(latitude: Expression, longitude: Expression) -> tuple[Expression, ...]:
        north, east = real("RADIANS", latitude), real("RADIANS", longitude)
        away = real("COS", north)
        return times(away, real("COS", east)), times(away, real("SIN", east)), real("SIN", north)

    total: Expression | None = None
    for one, other in zip(point(latitude, longitude), point(other_latitude, other_longitude), strict=True):
        difference = Operation(Operator.SUBTRACT, (one, other), span=span)
        square = times(difference, difference)
        total = square if total is None else Operation(Operator.ADD, (total, square), span=span)
    assert total is not None
    half = times(Literal(0.5, type=types.DOUBLE), real("SQRT", total))
    # Opposite places may come out a last digit too far apart.
    inside = Operation(
        Operator.CASE,
        (
            Operation(Operator.GREATER, (half, Literal(1.0, type=types.DOUBLE)), span=span),
            Literal(1.0, type=types.DOUBLE),
            half,
        ),
        span=span,
    )
    return times(Literal(_DIAMETER, type=types.DOUBLE), real("ASIN", inside))


# ── networks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


def _is_in_network(address: Expression, *blocks: Expression, span: Span) -> Expression:
    """Whether an IPv4 address, as text, lies in one of the blocks: a block is a regular expression."""
    matched = []
    for block in blocks:
        if not isinstance(block, Literal) or not isinstance(block.value, str):
            raise ValueError("CIDR_MATCH takes blocks as literals, such as '10.0.0.0/8'")
        matched.append(_block_expression(block.value))
    pattern = Literal(f"^(?:{'|'.join(matched)})$", type=types.STRING)
    return Call("RLIKE", (address, pattern), span=span)


def _block_expression(block: str) -> str:
    try:
        network = ipaddress.IPv4Network(block)
    except ValueError as error:
        raise ValueError(f"'{block}' is not a block of IPv4 addresses such as '10.0.0.0/8': {error}") from None
    first, last = network.network_address.packed, network.broadcast_address.packed
    octets = []
    for low, high in zip(first, last, strict=True):
        numbers = range(low, high + 1)
        octets.append(_OCTET if len(numbers) == 256 else f"(?:{'|'.join(map(str, numbers))})")
    return "[.]".join(octets)


REWRITTEN = (
    Rewritten(("COALESCE",), 1, None, _operator(Operator.COALESCE)),
    Rewritten(("IFNULL", "NVL"), 2, 2, _operator(Operator.COALESCE)),
    Rewritten(("NULLIF",), 2, 2, _null_if),
    Rewritten(("ISNULL",), 1, 1, _operator(Operator.IS_NULL)),
    Rewritten(("ISNOTNULL",), 1, 1, _is_not_null),
    Rewritten(("MOD",), 2, 2, _operator(Operator.MODULO)),
    Rewritten(("TIMESTAMPDIFF",), 3, 3, _whole_units_between),
    Rewritten(("GEO_KM",), 4, 4, _kilometres, is_known_to_spark=False),
    Rewritten(("CIDR_MATCH",), 2, None, _is_in_network, is_known_to_spark=False),
)
