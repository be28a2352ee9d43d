"""The order of what one moment decides, and the skip strategy that filters it (rules 8 and 9).

Comes in: moment by moment, the partial matches that timed out and the matches that became complete. Goes out: the
outcome. `definition` is the only caller; it asks as well which starts are forbidden.
"""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.reference.outcome import Assignment, Match, Outcome, Timeout
from cepheid.reference.skipping import target_is_start, target_missing
from cepheid.syntax.tree import PatternTree, Skip, SkipKind, variables


class Emission:
    """Collects the outcome of one partition."""

    def __init__(self, tree: PatternTree) -> None:
        self._skip = tree.skip
        self._once_per = None if tree.once_per is None else tree.once_per.length
        self._rank = {variable.name: rank for rank, (_, _, variable) in enumerate(variables(tree.body))}
        self._matches: list[Match] = []
        self._timeouts: list[Timeout] = []
        self._forbidden: dict[int, int | float] = {}

    def has_forbidden(self, start: int, before: int | float) -> bool:
        """Whether a match emitted before that moment forbids what starts at this event."""
        return start in self._forbidden and self._forbidden[start] < before

    def moment(self, at: int | float, timeouts: Iterable[Assignment], matches: Iterable[Assignment]) -> None:
        """Decide what falls together: timeouts first, then matches, each of which may forbid the next ones.

        Several calls may have the same `at`, one for each event of that time. A timeout is still decided before the
        matches of all of them (rule 9), so what those forbid does not reach it; this only shows with count windows.
        """
        for taken in sorted(timeouts, key=self._priority):
            if not self.has_forbidden(taken[0][0], before=at):
                self._timeouts.append(Timeout(taken, at))
        for taken in sorted(matches, key=self._priority):
            if taken[0][0] not in self._forbidden:
                if self._once_per is None or not self._matches or at - self._matches[-1].at >= self._once_per:
                    self._matches.append(Match(taken, at))  # rule 19: what is not reported forbids all the same
                for start in forbidden_starts(self._skip, taken):
                    self._forbidden.setdefault(start, at)

    def outcome(self) -> Outcome:
        return Outcome(tuple(self._matches), tuple(self._timeouts))

    def _priority(self, taken: Assignment) -> list[tuple[float, int]]:
        """Sorts by start, then at the first event where two part: taking before passing over, earlier elements first.

        The last entry stands for taking nothing more, which is to pass over every event to come.
        """
        return [*((index, self._rank[variable]) for index, variable in taken), (float("inf"), 0)]


def forbidden_starts(skip: Skip, taken: Assignment) -> range:
    """The starts that an emitted match forbids; raises SkipError where `or_fail` finds nothing to skip to."""
    start, last = taken[0][0], taken[-1][0]
    match skip.kind:
        case SkipKind.NO_SKIP:
            return range(0)
        case SkipKind.TO_NEXT:
            return range(start, start + 1)
        case SkipKind.PAST_LAST_EVENT:
            return range(last + 1)
        case SkipKind.TO_FIRST | SkipKind.TO_LAST:
            return _starts_before_target(skip, taken)


def _starts_before_target(skip: Skip, taken: Assignment) -> range:
    targets = [index for index, variable in taken if variable == skip.target]
    if not targets:
        if skip.or_fail:
            raise target_missing(skip)
        return range(0)
    target = targets[0] if skip.kind is SkipKind.TO_FIRST else targets[-1]
    if skip.or_fail and target == taken[0][0]:
        raise target_is_start(skip)
    return range(target)
