"""A rule: a pattern with a name and what belongs to it in a set of rules. Plain data, shared by the rooms above."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from cepheid.errors import CepheidError, ConditionError, InputError, MalformedPatternError
from cepheid.options import Asked
from cepheid.rowpattern.model import RowPattern
from cepheid.syntax.json_format import from_json, to_json
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


@dataclass(frozen=True, slots=True)
class RowRule:
    """A row pattern in a set: the clause has its key and its measures."""

    name: str
    clause: RowPattern
    severity: str | None = None
    tags: tuple[str, ...] = ()
    place: str = ""

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns of PARTITION BY."""
        return tuple(name.parts[0] for name in self.clause.partition_by)

    @property
    def measures(self) -> tuple[tuple[str, str], ...]:
        """Names and texts of MEASURES."""
        return tuple((measure.name, str(measure.expression)) for measure in self.clause.measures)

    def __str__(self) -> str:
        return f"rule {self.name!r}" + (f" ({self.place})" if self.place else "")


AnyRule: TypeAlias = Rule | RowRule


def patterns_of(rules: Iterable[AnyRule]) -> tuple[Rule, ...]:
    """The rules that are patterns."""
    return tuple(rule for rule in rules if isinstance(rule, Rule))


def row_patterns_of(rules: Iterable[AnyRule]) -> tuple[RowRule, ...]:
    """The rules that are row patterns."""
    return tuple(rule for rule in rules if isinstance(rule, RowRule))


def unknown_rule(name: object, known: Collection[str]) -> InputError:
    """There is no rule of that name."""
    close = get_close_matches(str(name), known, 3, 0.5) or list(known)[:10]
    more = f" and {len(known) - len(close)} more" if len(known) > len(close) else ""
    return InputError(f"there is no rule {name!r}.\n  There are: {', '.join(close) or 'none'}{more}.")


def written(rule: Rule) -> str:
    """The rule as text; nothing for one that has no text, such as a callable."""
    try:
        pattern = to_json(rule.tree)
        known = [rule.name, pattern, rule.partition_by, rule.measures, rule.severity, rule.tags, rule.place]
        return json.dumps(known)
    except (CepheidError, TypeError, ValueError):
        return ""


def read(text: str) -> Rule:
    """The rule that `written` wrote."""
    name, pattern, keys, measures, severity, tags, place = json.loads(text)
    pairs = tuple((str(label), str(value)) for label, value in measures)
    return Rule(name, from_json(pattern), tuple(keys), pairs, severity, tuple(tags), place)


@contextmanager
def named(rule: AnyRule | str) -> Iterator[None]:
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
