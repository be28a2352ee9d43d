"""A condition in brackets: SQL text, or what `where` and `or_where` combined.

In: the text of a bracket and its place. Out: a condition of the tree. Each SQL text keeps its place, so that what later
rooms find wrong with it is shown there. Called by `reading`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.conditions import parse
from cepheid.conditions.source import Range, Source
from cepheid.errors import ConditionError
from cepheid.syntax.sql_pieces import inside, parts
from cepheid.syntax.tree import AllOf, AnyOf, Condition, SqlText


@dataclass(slots=True)
class Conditions:
    """The conditions of one text."""

    source: Source
    _places: dict[str, int] = field(default_factory=dict)
    """Where each SQL text begins."""

    def read(self, place: Range) -> Condition:
        """The condition between two brackets; `(…) AND (…)` and `(…) OR (…)` are combined ones."""
        text = self.source.of(place)
        combined = parts(text)
        if combined is not None:
            word, ranges = combined
            read = tuple(self.read(Range(place.start + start, place.start + end)) for start, end in ranges)
            return AllOf(read) if word == "AND" else AnyOf(read)
        kept = inside(text)  # a text of this form that is no combination is written in parentheses once more
        if kept is not None:
            return self.sql(Range(place.start + kept[0], place.start + kept[1]))
        return self.sql(place)

    def sql(self, place: Range) -> SqlText:
        """SQL text as it is."""
        text = self.source.of(place)
        start = place.start + len(text) - len(text.lstrip())
        text = text.strip()
        if not text:
            raise self.source.error(
                Range(max(place.start - 1, 0), place.end + 1),
                "the brackets are empty",
                "Write a condition in them, or leave them out for any event.",
            )
        self._places.setdefault(text, start)
        try:
            parse(text)
        except ConditionError as error:
            raise self.anchored(error) from None
        return SqlText(text)

    def anchored(self, error: ConditionError) -> ConditionError:
        """An error about a condition, shown in the whole text."""
        marked = error.marked
        if marked is None or marked.text not in self._places:
            return error
        start = self._places[marked.text]
        remedy = f"{error.remedy[0].upper()}{error.remedy[1:]}"
        remedy = remedy if remedy.endswith((".", "?")) else f"{remedy}."
        return self.source.condition_error(Range(start + marked.start, start + marked.end), marked.problem, remedy)
