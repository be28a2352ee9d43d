"""SQL made from parts of SASE text, which still knows where each of its characters came from.

In: pieces of text with their ranges. Out: text, and ranges for its characters. Used by every module of this room.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from cepheid.conditions.source import Range


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
