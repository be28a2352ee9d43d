"""The text that a user wrote, for front ends: places in it, and errors that show them.

In: a text and ranges of its characters. Out: errors with line, column, the line itself and carets below.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.conditions.carets import Span
from cepheid.errors import ConditionError, MalformedPatternError


@dataclass(frozen=True, slots=True)
class Range:
    """The characters `start` to `end` (exclusive) of the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text as it was given; `called` is how an error calls it."""

    text: str
    called: str

    def of(self, place: Range) -> str:
        return self.text[place.start : place.end]

    def error(self, place: Range, problem: str, remedy: str) -> MalformedPatternError:
        """What is wrong with the text, shown at its place."""
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
        return f"{self.called}, line {line}, column {column}", f"{problem}\n{shown}", remedy
