"""The few exception types of Cepheid. Every message names the place, what was given and what would be right."""

from __future__ import annotations

from dataclasses import dataclass


class CepheidError(Exception):
    """The base class of every error that Cepheid raises on purpose."""


class MalformedPatternError(CepheidError, ValueError):
    """The pattern itself is wrong. It is refused when it is built or bound to a schema.

    `element` names the place, `problem` says what is wrong, and `remedy` what would be right.
    """

    def __init__(self, element: str, problem: str, remedy: str) -> None:
        self.element = element
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{element}: {problem}\n  {remedy}")

    def __reduce__(self) -> tuple[type[MalformedPatternError], tuple[str, str, str]]:
        return type(self), (self.element, self.problem, self.remedy)


@dataclass(frozen=True, slots=True)
class Marked:
    """The problem of a `ConditionError`, without the text that it shows, and the characters it points at (end
    exclusive)."""

    problem: str
    text: str
    start: int
    end: int


class ConditionError(MalformedPatternError):
    """A condition is wrong; the message shows its text with a caret under the offending part."""

    marked: Marked | None = None
    """For front ends in whose text the condition is embedded, so that they can show the place there."""


class InputError(CepheidError, ValueError):
    """The events or the arguments are wrong: a missing column, NULL times, an unusable type."""


class EvaluationError(CepheidError, ArithmeticError):
    """A condition could not be computed on an event: overflow, division by zero, a callable that raised."""


class SkipError(CepheidError, RuntimeError):
    """A skip strategy with `or_fail` had no event to skip to, or would skip to the match's own first event."""


class LimitError(CepheidError, RuntimeError):
    """A limit was exceeded, for instance on runs or on matches of one event (see `Limits`). Nothing was dropped."""


class StateError(CepheidError, RuntimeError):
    """Saved state cannot be used: it is damaged, or it belongs to another pattern or version."""
