"""What the rules of a set have in common, as data.

In: rules. Out: `Sharing`: keys, rules in groups, and conditions that several rules have. Read by the explanation and by
the drawings of a set. It holds words and no coordinates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.conditions import bind
from cepheid.conditions.expression import TRUE, Expression
from cepheid.rule import AnyRule, RowRule

FEW = 12
"""Up to so many boxes in one place; what is beyond that is put together."""
LINES = 3
"""Lines that are drawn from a box of several rules."""
NO_KEY = "no key: all rows are one sequence"
ROWS = "a row pattern is a sequence of adjacent rows"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of rules on single events."""

    asked: int
    """How many there are, counted for each rule."""
    used: dict[Expression, tuple[str, ...]]
    """The distinct ones, and the rules that have each."""
    seeing_all: dict[str, str]
    """Rules that see every row of their key, and why."""


@dataclass(frozen=True, slots=True)
class RuleBox:
    """Rules that are drawn as one box."""

    names: tuple[str, ...]
    shared: tuple[tuple[int, int], ...]
    """The conditions that they share with others, by number, and how many of the rules have each."""

    @property
    def strongest(self) -> tuple[tuple[int, int], ...]:
        """Those that a picture shows: of several rules, the few that most of them have."""
        if len(self.names) == 1:
            return self.shared
        named = [one for one in self.shared if one[0] < FEW] or self.shared
        return tuple(sorted(named, key=lambda one: -one[1])[:LINES])

    def label(self, most: int = 3) -> str:
        """What the box says."""
        if len(self.names) == 1:
            return self.names[0]
        more = f" and {len(self.names) - most} more" if len(self.names) > most else ""
        return f"{len(self.names)} rules: {', '.join(self.names[:most])}{more}"


@dataclass(frozen=True, slots=True)
class KeyBox:
    """The rules of one key."""

    key: str
    rules: tuple[RuleBox, ...]

    @property
    def count(self) -> int:
        return sum(len(box.names) for box in self.rules)


@dataclass(frozen=True, slots=True)
class SharedCondition:
    """A condition that several rules have, or several such conditions."""

    text: str
    rules: int


@dataclass(frozen=True, slots=True)
class Sharing:
    """What a set of rules has in common."""

    rules: int
    asked: int
    distinct: int
    shared: int
    keys: tuple[KeyBox, ...]
    conditions: tuple[SharedCondition, ...]

    @property
    def title(self) -> str:
        """The set in one line."""
        of = f"{_counted(self.asked, 'condition')}, {self.distinct} distinct, {self.shared} shared"
        return f"{_counted(self.rules, 'rule')}, {_counted(len(self.keys), 'key')}, {of}"


def conditions_of(rules: Sequence[AnyRule]) -> Conditions:
    """The conditions of the rules on single events."""
    used: dict[Expression, list[str]] = {}
    asked, seeing_all = 0, dict[str, str]()
    for rule in rules:
        if isinstance(rule, RowRule):
            seeing_all[rule.name] = ROWS
            continue
        automaton = build(rule.tree, bind(rule.tree, None))
        own = [predicate.own_event for predicate in automaton.predicates if predicate.own_event != TRUE]
        asked += len(own)
        for part in dict.fromkeys(own):
            used.setdefault(part, []).append(rule.name)
        reason = why_all_rows_travel(automaton)
        if reason is not None:
            seeing_all[rule.name] = reason
    return Conditions(asked, {part: tuple(names) for part, names in used.items()}, seeing_all)


def key_text(key: tuple[str, ...]) -> str:
    """How a key is called."""
    return ", ".join(key) or NO_KEY


def sharing(rules: Sequence[AnyRule]) -> Sharing:
    """What the rules have in common, in at most a few boxes for each key and a few conditions."""
    known = conditions_of(rules)
    several = sorted((part for part, names in known.used.items() if len(names) > 1), key=lambda p: -len(known.used[p]))
    numbers = {part: min(place, FEW) for place, part in enumerate(several)}
    of_rule: dict[str, dict[int, None]] = {rule.name: {} for rule in rules}
    for part in several:
        for name in known.used[part]:
            of_rule[name][numbers[part]] = None
    conditions = [SharedCondition(str(part), len(known.used[part])) for part in several[:FEW]]
    if len(several) > FEW:
        rest = several[FEW:]
        names = {name for part in rest for name in known.used[part]}
        conditions.append(SharedCondition(f"{len(rest)} more conditions", len(names)))
    by_key: dict[tuple[str, ...], list[str]] = {}
    for rule in rules:
        by_key.setdefault(rule.partition_by, []).append(rule.name)
    keys = tuple(KeyBox(key_text(key), _boxes(names, of_rule)) for key, names in by_key.items())
    return Sharing(len(rules), known.asked, len(known.used), len(several), keys, tuple(conditions))


def _boxes(names: Sequence[str], of_rule: dict[str, dict[int, None]]) -> tuple[RuleBox, ...]:
    """Rules in boxes: one each if they are few; else those together whose most common condition is the same."""
    if len(names) <= FEW:
        groups = [[name] for name in names]
    else:
        by_first: dict[int, list[str]] = {}
        for name in names:
            by_first.setdefault(min(of_rule[name], default=-1), []).append(name)
        alone = by_first.pop(-1, [])
        groups = sorted(by_first.values(), key=len, reverse=True)
        groups, rest = groups[: FEW - 2], groups[FEW - 2 :]
        groups += [one for one in ([name for group in rest for name in group], alone) if one]
    return tuple(_box(group, of_rule) for group in groups)


def _box(names: Sequence[str], of_rule: dict[str, dict[int, None]]) -> RuleBox:
    counts = Counter(number for name in names for number in of_rule[name])
    return RuleBox(tuple(names), tuple(sorted(counts.items())))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
