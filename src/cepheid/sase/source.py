"""The text that a user wrote: places in it, errors that show them, and SQL made from parts of it.

In: a text and ranges of its characters. Out: errors with line, column, the line itself and carets below; rewritten text
that still knows where each of its characters came from. Used by every module of this room.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from cepheid.conditions.carets import Span
from cepheid.errors import ConditionError, MalformedPatternError


@dataclass(frozen=True, slots=True)
class Range:
    """The characters `start` to `end` (exclusive) of the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """SASE text as it was given."""

    text: str

    def of(self, place: Range) -> str:
        return self.text[place.start : place.end]

    def error(self, place: Range, problem: str, remedy: str) -> MalformedPatternError:
        """What is wrong with the pattern, shown at its place."""
        return MalformedPatternError(*self._shown(place, problem, remedy))

    def condition_error(self, place: Range, problem: str, remedy: str) -> ConditionError:
        """What is wrong with a condition, shown at its place."""
        return ConditionError(*self._shown(place, problem, remedy))

    def _shown(self, place: Range, problem: str, remedy: str) -> tuple[str, str, str]:
        start = min(place.start, len(self.text))
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        shown = "\n".join(
            "    " + part.rstrip("\r") for part in Span(self.text, start, place.end).underlined().split("\n")
        )
        return f"SASE text, line {line}, column {column}", f"{problem}\n{shown}", remedy


@dataclass(slots=True)
class Rewriting:
    """Text put together piece by piece; `original` leads back to where a piece came from."""

    text: str = ""
    _starts: list[int] = field(default_factory=list)
    _origins: list[tuple[Range, bool]] = field(default_factory=list)

    def add(self, piece: str, origin: Range, verbatim: bool) -> None:
        """One more piece. `verbatim`: it has the characters of its origin, one for one."""
        if piece:
            self._starts.append(len(self.text))
            self._origins.append((origin, verbatim))
            self.text += piece

    def original(self, place: Range) -> Range:
        """Where the characters of a part of the rewritten text came from."""
        if not self._starts:
            return Range(0, 0)
        first = self._at(place.start)
        last = self._at(max(place.end - 1, place.start))
        start = self._position(first, place.start, at_end=False)
        return Range(start, max(self._position(last, place.end, at_end=True), start))

    def _at(self, position: int) -> int:
        return max(bisect_right(self._starts, position) - 1, 0)

    def _position(self, piece: int, position: int, at_end: bool) -> int:
        origin, verbatim = self._origins[piece]
        if verbatim:
            return min(origin.start + position - self._starts[piece], origin.end)
        return origin.end if at_end else origin.start
