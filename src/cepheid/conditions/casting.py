"""Values from one type to another, by Spark's ANSI rules: what does not fit is an error, not NULL or a wrapped number.

Comes in: a Python value (as Arrow's `to_pylist` gives it) and a type. Goes out: the value of that type.
Called by binding, for constants, and by evaluation. Where a time zone is needed it is UTC, unless another is named.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cepheid.conditions.types import DataType, Kind
from cepheid.errors import EvaluationError, InputError

EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
"""Wide enough for any product of two 38-digit decimals, so that only the final rounding to a type's scale rounds."""

_BLANKS = "".join(map(chr, range(0x21)))
"""What Java trims, and so Spark around the text of a double or a decimal."""
_BLANKS_AND_DELETE = _BLANKS + "\x7f"
"""What Spark itself trims, around the text of anything else."""
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)
# A suffix is Java's: it says double or float whatever the target, and changes nothing.
_DOUBLE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)[df]?\Z", re.ASCII | re.IGNORECASE)
_HEXADECIMAL_DOUBLE = re.compile(
    r"([+-]?0x(?:[\da-f]+\.?[\da-f]*|\.[\da-f]+)p[+-]?\d+)[df]?\Z", re.ASCII | re.IGNORECASE
)
_NOT_FINITE = re.compile(r"(?i:[+-]?inf(?:inity)?|nan)\Z|[+-]NaN\Z", re.ASCII)
# The one text in which Java reads the digits of any script.
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_MOMENT = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
    r"(?:[ T](?P<rest>.*))?)?)?\Z",
    re.DOTALL | re.ASCII,
)
_CLOCK = re.compile(
    r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d*)?)?)?\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?\Z", re.ASCII
)
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAST_LARGEST_LONG = float(1 << 63)
_SHORTEST, _LONGEST = timedelta(microseconds=-(1 << 63)), timedelta(microseconds=(1 << 63) - 1)
BEYOND_THE_CALENDAR = "lies outside of the years 1 to 9999"
"""Said of a moment that Spark could hold and Python cannot."""


def cast(value: Any, target: DataType, zone: str = "UTC") -> Any:
    """The value as one of the target type; NULL stays NULL; an `EvaluationError` where it does not fit."""
    if value is None:
        return None
    convert = _CASTS.get(target.kind)
    if convert is None:
        raise EvaluationError(f"cannot cast {shown(value)} to {target}")
    try:
        return convert(value if zone == "UTC" else _by_clock(value, target, zone), target)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise EvaluationError(f"cannot cast {shown(value)} to {target}") from error


def shown(value: Any) -> str:
    """A value as an error shows it."""
    if isinstance(value, str):
        return f"'{value}'"
    return "NULL" if value is None else str(value)


def fit_integer(value: int, target: DataType) -> int:
    """The value, if the integral type can hold it."""
    limit = 1 << (target.bits - 1)
    if -limit <= value < limit:
        return value
    raise EvaluationError(f"overflow: {value} does not fit into {target}")


def fit_decimal(value: Decimal, target: DataType) -> Decimal:
    """The value rounded half up to the type's scale, if its digits then fit."""
    # Looked at first: what is far too large would need more digits to be rounded than EXACT has.
    whole_digits = value.adjusted() + 1 if value else 0
    if whole_digits <= target.precision - target.scale:
        rounded = with_plain_zero(value.quantize(Decimal(1).scaleb(-target.scale), context=EXACT))
        if not rounded or rounded.adjusted() + 1 + target.scale <= target.precision:
            return rounded
    raise EvaluationError(f"overflow: {value} does not fit into {target}")


def fit_interval(value: timedelta) -> timedelta:
    """The interval, if 64 bits can hold its microseconds, as Spark's are held; Python's are longer."""
    if _SHORTEST <= value <= _LONGEST:
        return value
    raise EvaluationError(f"overflow: {value} does not fit into an interval")


def with_plain_zero(value: Decimal) -> Decimal:
    """The value; Spark's decimals, unlike Python's and unlike doubles, have no zero below zero."""
    return value if value else value.copy_abs()


def single(value: float) -> float:
    """The nearest value of 32 bits."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _boolean(value: Any, target: DataType) -> bool:
    if isinstance(value, str):
        word = value.strip(_BLANKS_AND_DELETE).lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise ValueError(value)
    if isinstance(value, bool | int | float | Decimal):
        return value != 0
    raise ValueError(value)


def _integer(value: Any, target: DataType) -> int:
    if isinstance(value, str):
        digits = value.strip(_BLANKS_AND_DELETE)
        if not _INTEGER.match(digits):
            raise ValueError(value)
        return fit_integer(int(digits), target)
    if isinstance(value, float) and target.kind is Kind.LONG and value == _PAST_LARGEST_LONG:
        # As a double the largest bigint is this number too, so Spark lets it pass.
        return (1 << 63) - 1
    if isinstance(value, bool | int | float | Decimal):
        return fit_integer(int(value), target)
    if isinstance(value, datetime):
        return fit_integer((as_aware(value) - _EPOCH) // timedelta(seconds=1), target)
    raise ValueError(value)


def _fractional(value: Any, target: DataType) -> float:
    if isinstance(value, datetime):
        # Spark divides doubles: beyond 2 ** 53 microseconds the dividend is rounded as well.
        value = float((as_aware(value) - _EPOCH) // timedelta(microseconds=1)) / 1e6
    elif not isinstance(value, str | bool | int | float | Decimal):
        raise ValueError(value)
    number = _double_of_text(value) if isinstance(value, str) else float(value)
    return single(number) if target.kind is Kind.FLOAT else number


def _double_of_text(text: str) -> float:
    """The number that Java reads, or one of the words for those that are not finite."""
    trimmed = text.strip(_BLANKS)
    if found := _DOUBLE.match(trimmed):
        return float(found[1])
    if found := _HEXADECIMAL_DOUBLE.match(trimmed):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return -math.inf if trimmed[0] == "-" else math.inf
    if _NOT_FINITE.match(trimmed):
        return float(trimmed)
    raise ValueError(text)


def _decimal(value: Any, target: DataType) -> Decimal | None:
    if isinstance(value, datetime):
        value = Decimal((as_aware(value) - _EPOCH) // timedelta(microseconds=1)).scaleb(-6, EXACT)
    if isinstance(value, float):
        if not math.isfinite(value):
            # Of a double, unlike of its text, Spark makes NULL.
            return None
        value = repr(value)
    elif isinstance(value, str):
        value = value.strip(_BLANKS)
        if not _DECIMAL.match(value):
            raise ValueError(value)
    elif isinstance(value, bool):
        value = int(value)
    elif not isinstance(value, int | Decimal):
        raise ValueError(value)
    return fit_decimal(Decimal(value), target)


def single_text(value: float) -> str:
    """A float of 32 bits as text: as few digits as tell it from its neighbours."""
    for digits in range(1, 10):
        shortest = float(f"{value:.{digits}g}")
        if single(shortest) == value:
            return java_double(shortest)
    return java_double(value)


def _string(value: Any, target: DataType) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        moment = as_naive(value)
        fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
        return f"{moment.date().isoformat()} {moment.strftime('%H:%M:%S')}{fraction}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, int):
        return str(value)
    raise ValueError(value)


def java_double(value: float) -> str:
    """A double as Java writes it, since Spark's casts to string do so too."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{int(exponent) + len(digits) - 1}"


def _binary(value: Any, target: DataType) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise ValueError(value)


def _date(value: Any, target: DataType) -> date:
    if isinstance(value, str):
        found = _MOMENT.match(value.strip(_BLANKS_AND_DELETE))
        if not found:
            raise ValueError(value)
        return date(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    if isinstance(value, datetime):
        return as_naive(value).date()
    if isinstance(value, date):
        return value
    raise ValueError(value)


def _timestamp(value: Any, target: DataType) -> datetime:
    if isinstance(value, bool | str):
        moment = _moment_of_text(value) if isinstance(value, str) else None
    elif isinstance(value, int | float | Decimal):
        microseconds = value * 1e6 if isinstance(value, float) else EXACT.multiply(Decimal(value), Decimal(1_000_000))
        moment = _after_epoch(int(microseconds))
    elif isinstance(value, datetime):
        moment = value
    else:
        moment = datetime.combine(value, time()) if isinstance(value, date) else None
    if moment is None:
        raise ValueError(value)
    return as_aware(moment) if target.kind is Kind.TIMESTAMP else as_naive(moment)


def _after_epoch(microseconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        problem = f"overflow: {microseconds} microseconds from 1970 on {BEYOND_THE_CALENDAR}"
        raise EvaluationError(problem) from None


def timestamp_as_written(text: str) -> datetime:
    """A timestamp with the zone that its text gives, or none."""
    try:
        return _moment_of_text(text)
    except ValueError:
        raise EvaluationError(f"cannot cast {shown(text)} to timestamp") from None


def _moment_of_text(text: str) -> datetime:
    found = _MOMENT.match(text.strip(_BLANKS_AND_DELETE))
    if not found:
        raise ValueError(text)
    day = date(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    if not found["rest"]:
        return datetime.combine(day, time())
    clock = _CLOCK.match(found["rest"])
    if not clock:
        raise ValueError(text)
    hour, minute, second, fraction, zone = clock.groups()
    moment = time(int(hour), int(minute or 0), int(second or 0), int((fraction or "0").ljust(6, "0")))
    return datetime.combine(day, moment, _zone(zone))


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text in ("Z", "UTC"):
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def as_aware(moment: datetime) -> datetime:
    """The moment in UTC, which it is taken to be in where it has no zone.

    Python computes within any one zone by the clock on the wall, which is wrong whenever clocks are changed.
    """
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise EvaluationError(f"overflow: in UTC {moment} {BEYOND_THE_CALENDAR}") from None


def as_naive(moment: datetime) -> datetime:
    """The moment in UTC, without a zone."""
    return moment if moment.tzinfo is None else as_aware(moment).replace(tzinfo=None)


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """A time zone by its name, as Spark and Python know it, or by its distance from UTC."""
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-]\d{1,2}(?::?\d{2})?)|(Z|UTC|GMT|Etc/UTC)", name)
    if offset is not None:
        return _zone(offset[1]) or UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise InputError(
            f"time_zone={name!r} is not a time zone.\n  Name one such as 'Europe/Berlin', '+02:00' or 'UTC'."
        ) from None


def _by_clock(value: Any, target: DataType, zone: str) -> Any:
    """What the clock of a zone shows of an instant that is cast to a day, a text or a timestamp without zone; and the
    instant at which it shows what is cast to a timestamp. Of an hour that it shows twice the first is meant, and one
    that it leaves out is as much later, as in Java."""
    if target.kind is Kind.TIMESTAMP and isinstance(value, str | date):
        if isinstance(value, str):
            value = _moment_of_text(value)
        elif not isinstance(value, datetime):
            value = datetime.combine(value, time())
        return as_aware(value.replace(tzinfo=zone_of(zone)) if value.tzinfo is None else value)
    is_instant = isinstance(value, datetime) and value.tzinfo is not None
    if is_instant and target.kind in (Kind.DATE, Kind.STRING, Kind.TIMESTAMP_NTZ):
        return value.astimezone(zone_of(zone)).replace(tzinfo=None)
    return value


def _interval(value: Any, target: DataType) -> timedelta:
    if isinstance(value, timedelta):
        return value
    raise ValueError(value)


_CASTS: dict[Kind, Callable[[Any, DataType], Any]] = {
    Kind.BOOLEAN: _boolean,
    Kind.BYTE: _integer,
    Kind.SHORT: _integer,
    Kind.INT: _integer,
    Kind.LONG: _integer,
    Kind.FLOAT: _fractional,
    Kind.DOUBLE: _fractional,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _string,
    Kind.BINARY: _binary,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_NTZ: _timestamp,
    Kind.INTERVAL: _interval,
}
