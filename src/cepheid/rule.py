"""A rule: a pattern with a name and what belongs to it in a set of rules. Plain data, shared by the rooms above."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cepheid.errors import CepheidError, ConditionError, MalformedPatternError
from cepheid.options import Asked
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern in a set: its key, what is computed of its matches, and how it is labelled."""

    name: str
    tree: PatternTree
    partition_by: tuple[str, ...] = ()
    measures: tuple[tuple[str, str], ...] = ()
    severity: str | None = None
    tags: tuple[str, ...] = ()
    place: str = ""
    """Where it was read from, for errors: the path of a file, or nothing."""

    def asked(self, columns: tuple[str, ...] | None) -> Asked:
        """What is asked of its matches where it runs by itself."""
        return Asked(self.measures, columns)

    def __str__(self) -> str:
        return f"rule {self.name!r}" + (f" ({self.place})" if self.place else "")


@contextmanager
def named(rule: Rule | str) -> Iterator[None]:
    """Let an error say which rule it is about."""
    try:
        yield
    except MalformedPatternError as error:
        again = type(error)(f"{rule}, {error.element}", error.problem, error.remedy)
        if isinstance(again, ConditionError) and isinstance(error, ConditionError):
            again.marked = error.marked
        raise again from error
    except CepheidError as error:
        raise type(error)(f"{rule}: {error}") from error
