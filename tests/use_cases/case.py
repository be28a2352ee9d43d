"""One use case: what somebody wants to find, the pattern that says so, a few events and what is found in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from cepheid import Pattern

Rows = list[dict[str, Any]]


def rows(columns: str, text: str) -> Rows:
    """Events as words: `rows("t kind", "1 a; 2 b")`. Numbers are numbers, `-` is NULL."""
    names = columns.split()
    return [dict(zip(names, map(_value, line.split()), strict=True)) for line in text.split(";") if line.strip()]


def _value(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return None if word == "-" else word


@dataclass(frozen=True)
class UseCase:
    """A case and its answer: for each match `key: variable@times …`, in any order."""

    name: str
    says: str
    pattern: Pattern
    events: Any
    finds: str
    by: Any = None
    order: str | list[str] = "t"
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the match."""
    measures: tuple[str, ...] = ()
    """Measures to show instead of times."""
    timeouts: bool = False
    awkward: str = ""
    """Why it is awkward, if it is: a trick, a computed column, two passes, or work on the matches afterwards."""
    further: Callable[[Any], str] | None = None
    """What is done with what was found, where that is part of the case."""

    def found(self) -> str:
        """What the engine finds, written as `finds` is."""
        found = self.pattern.match_events(self.events, partition_by=self.by, order_by=self.order, **self.more)
        if self.further is not None:
            return self.further(found)
        lines = [self._line(match) for match in found.matches]
        lines += [f"timeout {self._line(match)}" for match in found.timeouts] if self.timeouts else []
        return " | ".join(sorted(lines))

    def expected(self) -> str:
        return " | ".join(sorted(line.strip() for line in self.finds.split("|")))

    def _line(self, match: Mapping[str, Any]) -> str:
        keys = [self.by] if isinstance(self.by, str) else list(self.by or ())
        own = {*keys, "match_id", "start_time", "end_time", "at"}
        time = self.order if isinstance(self.order, str) else self.order[0]
        if self.measures:
            said = " ".join(f"{name}={match[name]}" for name in self.measures)
        else:
            said = " ".join(f"{name}@{_times(taken, time)}" for name, taken in match.items() if name not in own)
        key = "/".join(str(match[name]) for name in keys)
        return f"{key}: {said}" if keys else said


def _times(taken: Any, time: str) -> str:
    events = taken if isinstance(taken, list) else [taken]
    return ",".join(_shown(event[time]) for event in events if event is not None) or "-"


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%H:%M")
    return value.isoformat() if isinstance(value, date) else str(value)


def moments(columns: str, text: str) -> Rows:
    """As `rows`, with a column `ts` of moments on one day, written as hours and minutes."""
    listed = rows(columns, text)
    for row in listed:
        hour, minute = str(row["ts"]).split(":")
        row["ts"] = datetime(2025, 1, 1, int(hour), int(minute))
    return listed
