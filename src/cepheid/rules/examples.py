"""The tests that a rule file carries: events, and the matches that the rule must find in them.

In: a table `[[examples]]` of a rule file. Out: an `Example`; run, the difference between what was expected and what was
found, in words. A match is written as what each variable takes, by the numbers of the events from 1 on:
`{ small = [1, 2], large = 4 }`. Variables that take nothing are left out. The order of matches does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cepheid.errors import InputError
from cepheid.options import names
from cepheid.rule import AnyRule, RowRule
from cepheid.rules.pattern_set import PatternSet
from cepheid.syntax.tree import variables

Taken: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""What a match took: by variable, in the order of their names, the numbers of events."""
_NUMBER = "__example_event"
_KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "description": (str,),
    "order_by": (str, list),
    "events": (list,),
    "matches": (list,),
}


@dataclass(frozen=True, slots=True)
class Example:
    """Events, and the matches expected in them."""

    name: str
    order_by: tuple[str, ...]
    events: tuple[dict[str, Any], ...]
    matches: tuple[Taken, ...]

    def difference(self, rule: AnyRule) -> str | None:
        """What is not as expected; None if all is."""
        found = Counter(self._found(rule))
        expected = Counter(self.matches)
        missing, further = expected - found, found - expected
        lines = [f"expected, not found: {_shown(taken)}" for taken in missing.elements()]
        lines += [f"found, not expected: {_shown(taken)}" for taken in further.elements()]
        return "\n".join(lines) or None

    def _found(self, rule: AnyRule) -> list[Taken]:
        numbered = [{**event, _NUMBER: number} for number, event in enumerate(self.events, start=1)]
        found = PatternSet([rule]).match_events(numbered, order_by=self.order_by or None, columns=[_NUMBER])
        listed = []
        for row in found.matches:
            taken: dict[str, list[int]] = {}
            for entry in row["events"]:
                taken.setdefault(entry["variable"], []).append(entry["event"][_NUMBER])
            listed.append(_taken(taken))
        return listed


def example_of(given: object, number: int, order_by: tuple[str, ...], rule: AnyRule) -> Example:
    """An example as the file gives it; `order_by` is what the file says for all of them."""
    if not isinstance(given, Mapping):
        raise InputError("it is not a section.\n  Write [[examples]], then events = […] and matches = […].")
    for key, value in given.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise InputError(f"{key} = {value!r} is not allowed here.\n  An example has: {', '.join(_KEYS)}.")
    if "events" not in given or "matches" not in given:
        raise InputError("it needs events and matches.\n  For none, write matches = [].")
    for place, event in enumerate(given["events"], start=1):
        if not isinstance(event, Mapping):
            raise InputError(f"event {place} is {event!r}.\n  Write a table: {{ ts = 2026-03-02T10:00:00Z, … }}.")
    order = names(given.get("order_by"), "order_by") or order_by
    if isinstance(rule, RowRule):
        known = list(rule.clause.variables)
    else:
        known = [variable.name for _, _, variable in variables(rule.tree.body)]
    matches = tuple(_expected(match, len(given["events"]), known) for match in given["matches"])
    return Example(given.get("name", f"example {number}"), order, tuple(map(dict, given["events"])), matches)


def _expected(match: object, events: int, known: list[str]) -> Taken:
    remedy = "Write what each variable takes, by the numbers of the events from 1 on: { a = 1, b = [2, 3] }."
    if not isinstance(match, Mapping) or not match:
        raise InputError(f"the match {match!r} says nothing.\n  {remedy}")
    taken: dict[str, list[int]] = {}
    for variable, given in match.items():
        if variable not in known:
            raise InputError(
                f"the match {dict(match)} has {variable!r}, which is not a variable.\n  There are: {known}."
            )
        taken[variable] = given if isinstance(given, list) else [given]
        for number in taken[variable]:
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= events:
                raise InputError(f"the match {dict(match)}: {number!r} is not one of the {events} events.\n  {remedy}")
    return _taken(taken)


def _taken(by_variable: Mapping[str, list[int]]) -> Taken:
    return tuple(sorted((variable, tuple(numbers)) for variable, numbers in by_variable.items() if numbers))


def _shown(taken: Taken) -> str:
    parts = [f"{name} = {numbers[0] if len(numbers) == 1 else list(numbers)}" for name, numbers in taken]
    return f"{{ {', '.join(parts)} }}"
