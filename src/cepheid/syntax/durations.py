"""Lengths of time: text, `timedelta` or a plain number in; a `Span` out; and a `Span` back to text.

Called by the builder and by every notation that writes or reads windows. Whether a length suits its place (positive,
one unit throughout the pattern) is decided by `validation`.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from numbers import Integral, Real
from typing import TypeAlias

from cepheid.errors import MalformedPatternError
from cepheid.syntax.tree import Span, SpanUnit

Duration: TypeAlias = str | timedelta | int | float
"""What a user may give as a length: text, a timedelta, or a number in the unit of the order column."""

LARGEST_LENGTH = 2**63 - 1
"""Lengths travel as 64-bit integers; in microseconds that is about 292,000 years."""

_MICROSECONDS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,  # rule 6: a day is 24 hours
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}

_SPELLINGS = {
    "week": ("w", "week", "weeks"),
    "day": ("d", "day", "days"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "minute": ("m", "min", "mins", "minute", "minutes"),
    "second": ("s", "sec", "secs", "second", "seconds"),
    "millisecond": ("ms", "msec", "millisecond", "milliseconds"),
    # U+00B5 is the micro sign of keyboards, U+03BC the Greek letter that lower-casing and copying may yield.
    "microsecond": ("us", "\u00b5s", "\u03bcs", "usec", "microsecond", "microseconds"),
}

_UNIT_OF_SPELLING = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}

_REASONS = {
    **dict.fromkeys(
        ("mo", "mon", "month", "months", "y", "yr", "yrs", "year", "years", "quarter", "quarters"),
        "months and years differ in length, so a window cannot be counted in them",
    ),
    **dict.fromkeys(
        ("ns", "nsec", "nanosecond", "nanoseconds"),
        "times are kept to the microsecond, so a window cannot be counted in nanoseconds",
    ),
}

_EXAMPLES = (
    'Write a number and a unit, such as "10 minutes", "1 day 2 hours" or "500 ms" (weeks, days, hours, minutes, '
    "seconds, ms, us); or give a timedelta; or a plain number in the unit of the order column."
)

_PART = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>[^\W\d_]+)\s*,?", re.UNICODE)


def to_span(given: Duration, element: str) -> Span:
    """The span that `given` stands for; `element` says in errors whose length it is.

    >>> to_span("1 day 2 hours", "the pattern").length
    93600000000
    """
    if isinstance(given, str):
        return _within_limit(Span(_parse(given, element), SpanUnit.MICROSECOND), element, repr(given))
    if isinstance(given, timedelta):
        if getattr(given, "nanoseconds", 0):  # pandas' Timedelta is a finer timedelta
            raise MalformedPatternError(element, f"the length {given!r} holds nanoseconds", _REASONS["ns"] + ".")
        return _within_limit(Span(given // timedelta(microseconds=1), SpanUnit.MICROSECOND), element, repr(given))
    if isinstance(given, Integral) and not isinstance(given, bool):
        return _within_limit(Span(int(given), SpanUnit.ORDER), element, repr(given))
    if isinstance(given, Real) and not isinstance(given, bool):
        return Span(float(given), SpanUnit.ORDER)
    raise MalformedPatternError(element, f"{given!r} ({type(given).__name__}) is not a length of time", _EXAMPLES)


def to_text(span: Span) -> str:
    """The shortest exact text of a span: one unit or several, whichever is shorter; a plain number stays a number.

    >>> to_text(Span(93_600_000_000, SpanUnit.MICROSECOND)), to_text(Span(5, SpanUnit.ORDER))
    ('26 hours', '5')
    """
    if span.unit is SpanUnit.ORDER:
        return repr(span.length)
    if span.length != int(span.length):
        raise ValueError(f"a span of {span.length!r} microseconds has no exact text")
    total = int(span.length)
    sign, total = ("-", -total) if total < 0 else ("", total)
    unit = next((unit for unit, size in _MICROSECONDS.items() if total and total % size == 0), "second")
    in_one_unit = _counted(total // _MICROSECONDS[unit], unit)
    parts, rest = [], total
    for name, size in _MICROSECONDS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(_counted(count, name))
    in_many_units = " ".join(parts)
    if parts and len(in_many_units) < len(in_one_unit):
        return sign + in_many_units
    return sign + in_one_unit


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _within_limit(span: Span, element: str, given: str) -> Span:
    if span.length > LARGEST_LENGTH:
        what = "292,000 years" if span.unit is SpanUnit.MICROSECOND else f"{LARGEST_LENGTH}"
        raise MalformedPatternError(
            element, f"the length {given} is more than a 64-bit number holds", f"Give at most {what}."
        )
    return span


def _parse(text: str, element: str) -> int:
    if not text.strip():
        raise MalformedPatternError(element, "an empty string is not a length of time", _EXAMPLES)
    if text.strip().startswith("-"):
        raise MalformedPatternError(element, f"the length {text!r} is negative", "Give a length greater than zero.")
    total, position, seen = Fraction(0), 0, set[str]()
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            if text[position:].strip() == "":
                break
            raise _unreadable(text, position, element)
        unit = _unit(part["unit"], text, element)
        if unit in seen:
            raise MalformedPatternError(
                element, f"the length {text!r} has two parts in {unit}s", "Give each unit once."
            )
        seen.add(unit)
        total += Fraction(part["number"]) * _MICROSECONDS[unit]
        position = part.end()
    if total.denominator != 1:
        raise MalformedPatternError(
            element,
            f"the length {text!r} is not a whole number of microseconds",
            "Times are kept to the microsecond: round the length to one.",
        )
    return int(total)


def _unit(spelling: str, text: str, element: str) -> str:
    unit = _UNIT_OF_SPELLING.get(spelling.lower())
    if unit is None:
        reason = _REASONS.get(spelling.lower())
        if reason is not None:
            raise MalformedPatternError(
                element,
                f"the length {text!r} cannot be used: {reason}",
                'Count in days or less, such as "30 days".'
                if "month" in reason
                else 'Count in microseconds or more, such as "1 us".',
            )
        raise MalformedPatternError(element, f"the length {text!r} has the unknown unit {spelling!r}", _EXAMPLES)
    return unit


def _unreadable(text: str, position: int, element: str) -> MalformedPatternError:
    rest = text[position:].strip()
    if re.fullmatch(r"\d+(\.\d+)?|\.\d+", rest):
        return MalformedPatternError(element, f"the length {text!r} has no unit after {rest}", _EXAMPLES)
    return MalformedPatternError(element, f"the length {text!r} cannot be read from {rest!r} on", _EXAMPLES)
