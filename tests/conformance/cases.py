"""Conformance cases (FORMAT.md) as pattern trees and events.

A case's `where` becomes real condition text, so that the parser takes part; names are quoted, since some are SQL words.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Gaps,
    Link,
    Loop,
    Not,
    NotBefore,
    NotLink,
    OneOf,
    PatternTree,
    Sequence,
    Since,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
)

Matches = frozenset[tuple[tuple[str, tuple[int, ...]], ...]]
"""Each match as sorted (variable, ids) pairs."""


@dataclass(frozen=True)
class Case:
    """One line of a corpus."""

    data: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(self.data.get("events", []))

    @property
    def tree(self) -> PatternTree:
        """The pattern; raises what the tree's own classes raise, nothing is checked here."""
        return pattern_tree(self.data["pattern"])

    @property
    def matches(self) -> Matches | None:
        """What must be found, or None where the case does not say."""
        return match_set(self.data["matches"]) if "matches" in self.data else None

    @property
    def timeouts(self) -> frozenset[tuple[tuple[tuple[str, tuple[int, ...]], ...], int]] | None:
        if "timeouts" not in self.data:
            return None
        return frozenset((assignment(timeout["partial"]), timeout["at"]) for timeout in self.data["timeouts"])

    @property
    def is_ended(self) -> bool:
        """Whether the input ends after what the case says."""
        return bool(self.data.get("end_of_input"))

    @property
    def features(self) -> list[str]:
        """What the table of results is broken down by."""
        given = self.data.get("features")
        if given:
            return list(given)
        if "query" in self.data:
            return [self.id.split(":")[1].split("/")[0]]
        if "source" in self.data:
            return [self.id.split("/")[1].split(".")[0].split("@")[0]]
        return ["rule " + self.id.split(":")[1].split("/")[0]]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a corpus file, plain or gzipped."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in text.decode().splitlines():
        if line.strip():
            yield json.loads(line)


def read(path: Path) -> Iterator[Case]:
    """The cases of a corpus file."""
    return map(Case, lines(path))


def assignment(taken: dict[str, list[int]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple(sorted((name, tuple(ids)) for name, ids in taken.items() if ids))


def match_set(matches: list[dict[str, list[int]]]) -> Matches:
    return frozenset(assignment(match) for match in matches)


def pattern_tree(pattern: dict[str, Any]) -> PatternTree:
    skip = pattern["skip"]
    window: Span | EventCount | None = None
    if "within" in pattern:
        window = _span(pattern["within"])
    elif "within_events" in pattern:
        window = EventCount(pattern["within_events"])
    return PatternTree(
        Sequence(tuple(_element(element) for element in pattern["seq"])),
        Skip(SkipKind(skip["kind"]), skip.get("target"), skip.get("or_fail", False)),
        window,
        tuple(NotBefore(before["name"], _condition(before.get("where"))) for before in pattern.get("not_before", [])),
        once_per=_span(pattern["once_per"]) if "once_per" in pattern else None,
    )


def _element(element: dict[str, Any]) -> Element | Not:
    within_previous = _span(element["within_prev"]) if "within_prev" in element else None
    if element["link"] in ("not_next", "not_followed_by"):
        if {"times", "optional", "greedy", "inner", "until", "having", "whole", "within_since"} & element.keys():
            raise NotExpressible(element["name"])
        return Not(NotLink(element["link"]), element["name"], _condition(element.get("where")), within_previous)
    optional = element.get("optional", False)
    loop: Loop | None = None
    if "times" in element:
        minimum, maximum = element["times"]
        if minimum == 0:
            optional, minimum = True, 1
        gaps = Gaps(_span(element["times_within"])) if "times_within" in element else None
        until, whole = _condition(element.get("until")), element.get("whole", False)
        loop = Loop(minimum, maximum, _inner(element), element.get("greedy", False) or whole, until, gaps, whole)
    elif {"greedy", "whole", "until", "times_within"} & element.keys() or (
        "inner" in element and "all_of" not in element
    ):
        raise NotExpressible(element.get("name", "group"))
    since = element.get("within_since")
    return Element(
        Link(element["link"]),
        _body(element),
        loop,
        optional,
        within_previous,
        None if since is None else Since(since["var"], _span(since["t"])),
        _condition(element.get("having")),
    )


def _body(element: dict[str, Any]) -> Body:
    if "group" in element:
        return Sequence(tuple(_element(inner) for inner in element["group"]))
    if "one_of" in element:
        return OneOf(tuple(map(_part, element["one_of"])))
    if "all_of" in element:
        members = tuple(map(_part, element["all_of"]))
        return AllOfMembers(members, element.get("at_least", len(members)), _inner(element))
    return Variable(element["name"], _condition(element.get("where")))


def _part(element: dict[str, Any]) -> Element:
    part = _element(element)
    if isinstance(part, Not):
        raise NotExpressible(part.name)
    return part


def _inner(element: dict[str, Any]) -> Contiguity:
    return Contiguity(element.get("inner", "relaxed").replace("nd_relaxed", "non_deterministic"))


class NotExpressible(ValueError):
    """The tree has no place for this: a quantifier's modifier where there is no loop, a not as a part of a `one_of`."""


def _span(milliseconds: int) -> Span:
    return Span(milliseconds, SpanUnit.ORDER)


def _condition(condition: dict[str, Any] | None) -> Condition | None:
    return None if condition is None else SqlText(condition_text(condition))


def condition_text(condition: dict[str, Any]) -> str:
    """A condition of the corpora as SQL text."""
    if "and" in condition:
        return " AND ".join(f"({condition_text(part)})" for part in condition["and"])
    if "or" in condition:
        return " OR ".join(f"({condition_text(part)})" for part in condition["or"])
    if "not" in condition:  # conditions of the corpora know no NULL: what is unknown is false
        return f"NOT COALESCE({condition_text(condition['not'])}, FALSE)"
    operator = condition["op"]
    if "agg" not in condition:
        return f"`{condition['col']}` {operator} {_literal(condition['value'])}"
    aggregate = _aggregate(condition["agg"])
    if "col" in condition:
        return f"`{condition['col']}` {operator} {aggregate}"
    if "plus_current" in condition:
        aggregate = f"{aggregate} + `{condition['plus_current']}`"
    return f"{aggregate} {operator} {_literal(condition['value'])}"


def _aggregate(aggregate: dict[str, Any]) -> str:
    column = f"`{aggregate['col']}`" if "col" in aggregate else "*"
    if aggregate["fn"] == "count_distinct":
        return f"COUNT(DISTINCT `{aggregate['var']}`.{column})"
    offset = f", {aggregate['k']}" if "k" in aggregate else ""
    return f"{aggregate['fn'].upper()}(`{aggregate['var']}`.{column}{offset})"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)
