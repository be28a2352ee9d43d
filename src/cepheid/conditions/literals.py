"""The text of literals → values with Spark's types: numbers with suffixes, strings with escapes, dates, intervals.

Called by `parser` alone. Problems are `ValueError`s whose text says what would be right; the parser adds the caret.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from cepheid.conditions import types
from cepheid.conditions.casting import cast, fit_interval, single, timestamp_as_written, with_plain_zero
from cepheid.conditions.expression import Literal
from cepheid.conditions.types import DataType
from cepheid.errors import EvaluationError

_SUFFIXES = {"Y": types.BYTE, "S": types.SHORT, "L": types.LONG}
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_ESCAPED = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_NUMBER = re.compile(r"\d+(\.\d*)?(e[+-]?\d+)?(bd|[yslfd])?\Z|\.\d+(e[+-]?\d+)?(bd|[fd])?\Z", re.IGNORECASE | re.ASCII)
_WHOLE_AMOUNT = re.compile(r"[+-]?\d+\Z", re.ASCII)
_AMOUNT_OF_SECONDS = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)\Z", re.ASCII)
_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
_CALENDAR_UNITS = frozenset({"month", "year", "quarter"})
_RANGES = {
    ("day", "hour"): r"(?P<day>\d+) (?P<hour>\d+)",
    ("day", "minute"): r"(?P<day>\d+) (?P<hour>\d+):(?P<minute>\d+)",
    ("day", "second"): r"(?P<day>\d+) (?P<hour>\d+):(?P<minute>\d+):(?P<second>\d+(?:\.\d{1,9})?)",
    ("hour", "minute"): r"(?P<hour>\d+):(?P<minute>\d+)",
    ("hour", "second"): r"(?P<hour>\d+):(?P<minute>\d+):(?P<second>\d+(?:\.\d{1,9})?)",
    ("minute", "second"): r"(?P<minute>\d+):(?P<second>\d+(?:\.\d{1,9})?)",
}


class CalendarInterval(ValueError):
    """An interval of months or years: no fixed length, so only Spark can add it to a moment."""


def is_number(text: str) -> bool:
    """Whether a text is a number without sign, with or without a suffix."""
    return _NUMBER.match(text) is not None


def number(text: str) -> Literal:
    """A number as Spark types it: `1` int, `10000000000` bigint, `1.5` decimal(2,1), `1e3` double, or by its suffix."""
    upper = text.upper()
    try:
        if upper.endswith("BD"):
            return _decimal(Decimal(upper[:-2]))
        if upper[-1] in _SUFFIXES:
            data_type = _SUFFIXES[upper[-1]]
            return Literal(cast(upper[:-1], data_type), type=data_type)
        if upper[-1] == "D":
            return Literal(float(upper[:-1]), type=types.DOUBLE)
        if upper[-1] == "F":
            return Literal(single(float(upper[:-1])), type=types.FLOAT)
        if "E" in upper:
            return Literal(float(upper), type=types.DOUBLE)
        if "." in upper:
            return _decimal(Decimal(upper))
        return integer(int(upper))
    except (ArithmeticError, ValueError, EvaluationError) as error:
        raise ValueError(f"`{text}` is not a number that Spark reads") from error


def integer(value: int) -> Literal:
    """An integer without suffix: the smallest of int, bigint and decimal that holds it."""
    if -(1 << 31) <= value < 1 << 31:
        return Literal(value, type=types.INT)
    if -(1 << 63) <= value < 1 << 63:
        return Literal(value, type=types.LONG)
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> Literal:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(exponent, 0), scale)
    if precision > types.MAX_PRECISION:
        raise ValueError("a decimal has at most 38 digits")
    return Literal(with_plain_zero(Decimal(format(value, "f"))), type=types.decimal(precision, scale))


def string(text: str) -> str:
    """The value of one or more adjacent string literals, escapes resolved as Spark does."""
    value, end = "", -1
    for found in _STRING.finditer(text):
        if found.start() == end:
            # Spark 4.0 joins 'it''s' to its, standard SQL reads it's: whoever writes it means the latter.
            raise ValueError("two quotes in a row: Spark reads two strings side by side, standard SQL one quote")
        value += _ESCAPED.sub(_unescape, found[0][1:-1])
        end = found.end()
    return value


def _unescape(found: re.Match[str]) -> str:
    escape: str = found[1]
    if escape[0] in "uU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if len(escape) == 3:
        return chr(int(escape, 8))
    # LIKE needs to see that these were escaped, so the backslash stays.
    if escape in "%_":
        return "\\" + escape
    return _ESCAPES.get(escape, escape)


def moment(text: str, data_type: DataType) -> Literal:
    """`DATE '…'`, `TIMESTAMP '…'` or `TIMESTAMP_NTZ '…'`; a timestamp without zone keeps none (see `Literal`)."""
    try:
        value = timestamp_as_written(text) if data_type == types.TIMESTAMP else cast(text, data_type)
        cast(value, data_type)  # the evaluator's years end at 9999, in UTC as well
        return Literal(value, type=data_type)
    except EvaluationError as error:
        example = "2024-01-31" if data_type == types.DATE else "2024-01-31 13:45:00"
        raise ValueError(f"'{text}' is not a {data_type}; write it as '{example}'") from error


def interval(amount: str, unit: str, last_unit: str | None = None) -> Literal:
    """`INTERVAL '10' MINUTE`, `INTERVAL 10 MINUTES`, `INTERVAL '1 02:03:04' DAY TO SECOND`."""
    first = _unit(unit)
    if last_unit is not None:
        return _interval_range(amount, first, _unit(last_unit))
    if first in _CALENDAR_UNITS:
        raise CalendarInterval(f"an interval of {first}s has no fixed length")
    if first not in _UNITS:
        raise ValueError(f"`{unit}` is not a unit of time; use DAY, HOUR, MINUTE or SECOND")
    try:
        if not (_AMOUNT_OF_SECONDS if first == "second" else _WHOLE_AMOUNT).match(amount.strip()):
            raise ValueError(amount)
        microseconds = Decimal(amount.strip()) * (_UNITS[first] // timedelta(microseconds=1))
        value = fit_interval(timedelta(microseconds=int(microseconds)))
    except (ArithmeticError, ValueError, EvaluationError) as error:
        raise ValueError(f"'{amount}' is not a number of {first}s") from error
    return Literal(value, type=types.DAYS if first in ("day", "week") else types.INTERVAL)


def _interval_range(amount: str, first: str, last: str) -> Literal:
    if first in _CALENDAR_UNITS:
        raise CalendarInterval("an interval of months has no fixed length")
    pattern = _RANGES.get((first, last))
    found = re.fullmatch(rf"(?P<sign>[+-]?){pattern}", amount.strip(), re.ASCII) if pattern else None
    if found is None:
        raise ValueError(f"'{amount}' is not an interval {first.upper()} TO {last.upper()}")
    fields = found.groupdict()
    microseconds = sum(
        Decimal(text) * (_UNITS[unit] // timedelta(microseconds=1)) for unit, text in fields.items() if unit != "sign"
    )
    value = timedelta(microseconds=int(microseconds))
    return Literal(-value if fields["sign"] == "-" else value, type=types.INTERVAL)


def _unit(unit: str) -> str:
    return unit.lower().removesuffix("s")
