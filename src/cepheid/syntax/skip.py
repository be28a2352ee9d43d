"""Skip strategies by the names users write: `skip.past_last_event`, `skip.to_first("a")`.

Plain values for `Pattern.skip(...)`; `validation` decides whether a target exists. Rule 8 says what each rules out.
"""

from __future__ import annotations

from cepheid.syntax.tree import Skip, SkipKind

__all__ = ["no_skip", "past_last_event", "to_first", "to_last", "to_next"]

no_skip = Skip(SkipKind.NO_SKIP)
"""Emit every match."""

to_next = Skip(SkipKind.TO_NEXT)
"""A match rules out further matches with the same start."""

past_last_event = Skip(SkipKind.PAST_LAST_EVENT)
"""A match rules out every start up to its last event."""


def to_first(variable: str, or_fail: bool = False) -> Skip:
    """A match rules out every start before the first event of `variable`; `or_fail`: an error if there is none."""
    return Skip(SkipKind.TO_FIRST, variable, or_fail)


def to_last(variable: str, or_fail: bool = False) -> Skip:
    """A match rules out every start before the last event of `variable`; `or_fail`: an error if there is none."""
    return Skip(SkipKind.TO_LAST, variable, or_fail)
