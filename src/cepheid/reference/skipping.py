"""Skip strategies: which starts an emitted match forbids (rule 8).

In: the matches in the order of emission. Out: whether a start is forbidden by now. Used by the evaluators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepheid.errors import SkipError
from cepheid.syntax.tree import Skip, SkipKind


class SkipFilter:
    """Remembers the starts that the matches emitted so far forbid."""

    def __init__(self, skip: Skip, variables: Sequence[str]) -> None:
        self._skip = skip
        self._target = variables.index(skip.target) if skip.target is not None else -1
        self._first_allowed = 0
        self._forbidden: set[int] = set()

    def forbids(self, start: int) -> bool:
        return start < self._first_allowed or start in self._forbidden

    def emitted(self, taken: tuple[tuple[int, int], ...]) -> None:
        """A match was emitted: its events with the number of the variable that took each."""
        start, last = taken[0][0], taken[-1][0]
        match self._skip.kind:
            case SkipKind.NO_SKIP:
                pass
            case SkipKind.TO_NEXT:
                self._forbidden.add(start)
            case SkipKind.PAST_LAST_EVENT:
                self._forbid_before(last + 1)
            case SkipKind.TO_FIRST | SkipKind.TO_LAST:
                events = [index for index, variable in taken if variable == self._target]
                if self._skip.or_fail:
                    self._check(events, start)
                if events:
                    self._forbid_before(events[0] if self._skip.kind is SkipKind.TO_FIRST else events[-1])

    def kept(self, starts: set[int]) -> tuple[int, list[int]]:
        """What it remembers, as far as it matters to runs with these starts and to later ones."""
        self._forbidden &= starts
        return self._first_allowed, sorted(self._forbidden)

    def restore(self, first_allowed: int, forbidden: Iterable[int]) -> None:
        """Remember what `kept` gave."""
        self._first_allowed, self._forbidden = first_allowed, set(forbidden)

    def _forbid_before(self, start: int) -> None:
        self._first_allowed = max(self._first_allowed, start)

    def _check(self, events: list[int], start: int) -> None:
        if not events:
            raise target_missing(self._skip)
        if (events[0] if self._skip.kind is SkipKind.TO_FIRST else events[-1]) == start:
            raise target_is_start(self._skip)


def target_missing(skip: Skip) -> SkipError:
    """`or_fail`, and the variable to skip to took nothing."""
    return SkipError(
        f"skip {_shown(skip)}: {skip.target!r} took no event in a match.\n"
        "  Skip to a variable that every match has, or drop or_fail: then such a match skips nothing."
    )


def target_is_start(skip: Skip) -> SkipError:
    """`or_fail`, and skipping would lead to where the match began."""
    return SkipError(
        f"skip {_shown(skip)}: the event to skip to is the match's own first event, so nothing would be skipped.\n"
        "  Skip to a later variable, use to_next, or drop or_fail."
    )


def _shown(skip: Skip) -> str:
    return f"{skip.kind.value}({skip.target!r}, or_fail=True)"
