"""Ticks of a time axis: at round times, a handful of them, labelled as short as possible.

In: the ends of the axis, and whether it counts microseconds. Out: (place, label) pairs, and durations in words.
"""

from __future__ import annotations

from math import ceil, floor, log10

from cepheid.explain.timeline.plain_rows import from_number

_SECOND = 1_000_000.0
_STEPS = (
    *(count * unit for unit in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1) for count in (1, 2, 5)),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000),
)
"""Steps between ticks in seconds."""


def ticks(start: float, end: float, is_time: bool, most: int = 5) -> list[tuple[float, str]]:
    """Round places between start and end, both included, with their labels."""
    if end <= start:
        return [(start, _label(start, 0.0, is_time))]
    step = _time_step(end - start, most) if is_time else _plain_step(end - start, most)
    first, last = ceil(start / step), floor(end / step)
    return [(number * step, _label(number * step, step, is_time)) for number in range(first, last + 1)]


def duration(length: float, is_time: bool) -> str:
    """A length on the axis in two units at most: `2 h 31 min`; nothing for nothing."""
    if length <= 0:
        return ""
    if not is_time:
        return f"{length:g}"
    seconds = length / _SECOND
    if seconds < 1:
        return f"{seconds * 1000:g} ms"
    parts: list[str] = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count = int(seconds // size)
        seconds -= count * size
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def moment(number: float, is_time: bool) -> str:
    """A place on the axis in full."""
    if not is_time:
        return f"{number:g}"
    return from_number(number).isoformat(" ", "seconds" if number % _SECOND == 0 else "microseconds")


def _time_step(length: float, most: int) -> float:
    for step in _STEPS:
        if length / (step * _SECOND) <= most:
            return step * _SECOND
    years = 31536000 * _SECOND
    return years * ceil(length / years / most)


def _plain_step(length: float, most: int) -> float:
    unit = 10.0 ** floor(log10(length / most))
    return next(unit * count for count in (1, 2, 5, 10) if length / (unit * count) <= most)


def _label(number: float, step: float, is_time: bool) -> str:
    if not is_time:
        return f"{number:.10g}"
    at = from_number(number)
    if step >= 86400 * _SECOND:
        return f"{at:%Y-%m-%d}"
    if step >= 60 * _SECOND:
        return f"{at:%H:%M}"
    return f"{at:%H:%M:%S}" if step >= _SECOND or step == 0 else f"{at:%H:%M:%S.%f}".rstrip("0")
