"""Where a part of a condition is in its text, and how an error shows it: the line with a caret line below.

Comes in: a text and the range of the offending characters. Goes out: a `ConditionError`.
Called by every module of this room; knows nothing of expressions.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from cepheid.errors import ConditionError, Marked


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `end` (exclusive) of a condition's text."""

    text: str
    start: int
    end: int

    def underlined(self) -> str:
        """The line that the span begins on and, below it, carets under the span."""
        line_start = self.text.rfind("\n", 0, self.start) + 1
        line_end = self.text.find("\n", self.start)
        line_end = len(self.text) if line_end < 0 else line_end
        end = max(min(self.end, line_end), self.start + 1)
        # A tab stays a tab below, so that the carets are under their characters in every editor.
        padding = "".join("\t" if character == "\t" else " " for character in self.text[line_start : self.start])
        return f"{self.text[line_start:line_end]}\n{padding}{'^' * (end - self.start)}"


def condition_error(span: Span | None, problem: str, remedy: str, place: str = "condition") -> ConditionError:
    """A `ConditionError` that shows the text, if there is one, between what is wrong and what would be right."""
    if span is None:
        return ConditionError(place, problem, remedy)
    shown = "\n".join("    " + line for line in span.underlined().split("\n"))
    error = ConditionError(place, f"{problem}\n{shown}", remedy)
    error.marked = Marked(problem, span.text, span.start, span.end)
    return error


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest of the candidates, or None where none is near."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    if not near:
        return None
    return "did you mean " + " or ".join(f"`{by_folded[folded]}`" for folded in near) + "?"
