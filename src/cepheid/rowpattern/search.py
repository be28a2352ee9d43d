"""The match at a row, and the scan over a partition, literally (rules 3 and 4).

In: a pattern and a test that says whether a row may get a label. Out: matches, and the rows that begin none, in the
order of the scan. The list of preference is gone through depth first, with what is still to be matched as a linked
list: nothing here recurses over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

from cepheid.errors import LimitError, SkipError
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    SkipTo,
    Variable,
)


@dataclass(frozen=True, slots=True)
class Match:
    """Rows from `first` on, with a label each; those of an exclusion are marked. Without rows: an empty match."""

    number: int
    first: int
    labels: tuple[str, ...]
    excluded: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A row that begins no match and lies in none that was found before."""

    row: int


@dataclass(frozen=True, slots=True)
class _Loop:
    """What remains of a quantified part: `count` iterations are done, the last of which began at row `began`."""

    part: Quantified
    count: int
    began: int


@dataclass(frozen=True, slots=True)
class _ExclusionEnds:
    pass


_Item: TypeAlias = Node | _Loop | _ExclusionEnds
_Todo: TypeAlias = "tuple[_Item, _Todo] | None"
_Path: TypeAlias = "tuple[str, bool, _Path] | None"

MayBe: TypeAlias = Callable[[int, int, int, list[str]], bool]
"""Whether the match with this number and first row may go on with this row; the labels include that of the row."""


def scan(pattern: RowPattern, count: int, may_be: MayBe, budget: int) -> Iterator[Match | Unmatched]:
    """What is found in a partition of `count` rows (rule 4)."""
    row, number, covered = 0, 1, 0
    while row < count:
        found = _search(pattern.pattern, row, count, number, may_be, budget)
        if found is None:
            if row >= covered:
                yield Unmatched(row)
            row += 1
            continue
        yield found
        number += 1
        covered = max(covered, row + len(found.labels))
        row = row + 1 if not found.labels else _next_start(pattern, found)


def _next_start(pattern: RowPattern, match: Match) -> int:
    """Where the scan goes on after a match that is not empty (rules 4.3 and 4.4)."""
    skip = pattern.skip
    if skip.to is SkipTo.PAST_LAST_ROW:
        return match.first + len(match.labels)
    if skip.to is SkipTo.NEXT_ROW:
        return match.first + 1
    assert skip.variable is not None
    members = pattern.members(skip.variable)
    places = [place for place, label in enumerate(match.labels) if label in members]
    if not places:
        raise skip_error(skip.variable, match.number, "no row of the match has that label")
    place = places[0] if skip.to is SkipTo.FIRST else places[-1]
    if place == 0:
        raise skip_error(
            skip.variable, match.number, "that is the first row of the match, where it would be found again"
        )
    return match.first + place


def skip_error(variable: str, number: int, why: str) -> SkipError:
    """AFTER MATCH SKIP cannot be followed (rule 4.4)."""
    return SkipError(
        f"AFTER MATCH SKIP TO {variable} failed after match {number} of a partition: {why}.\n"
        "  Skip to a variable that every match has after its first row, or use PAST LAST ROW or TO NEXT ROW."
    )


def budget_error(row: str, budget: int) -> LimitError:
    """The search at a row is given up."""
    return LimitError(
        f"the search for a match that begins at {row} went back more than {budget:,} times.\n"
        "  Conditions that read labels or aggregates make it try many ways: make the variables exclude each other, "
        "bound the quantifiers, or raise limits=Limits(max_steps=…)."
    )


def _search(pattern: Node, first: int, count: int, number: int, may_be: MayBe, budget: int) -> Match | None:
    """The first labelled run in order of preference whose every label is permitted (rule 3.2)."""
    ways: list[tuple[_Todo, int, _Path, int]] = [((pattern, None), first, None, 0)]
    turned_back = 0
    while ways:
        todo, row, path, depth = ways.pop()
        others = len(ways)
        if todo is None:
            return _match(number, first, path)
        item, rest = todo
        match item:
            case Variable(name):
                if row < count and may_be(number, first, row, [*_labels(path), name]):
                    ways.append((rest, row + 1, (name, depth > 0, path), depth))
            case Empty():
                ways.append((rest, row, path, depth))
            case PartitionStart():
                if row == 0:
                    ways.append((rest, row, path, depth))
            case PartitionEnd():
                if row == count:
                    ways.append((rest, row, path, depth))
            case Concatenation(parts):
                for part in reversed(parts):
                    rest = (part, rest)
                ways.append((rest, row, path, depth))
            case Alternation(parts):
                ways.extend(((part, rest), row, path, depth) for part in reversed(parts))
            case Permute(parts):
                orders = [Concatenation(order) for order in permutations(parts)]
                ways.extend(((order, rest), row, path, depth) for order in reversed(orders))
            case Exclusion(body):
                ways.append(((body, (_ExclusionEnds(), rest)), row, path, depth + 1))
            case _ExclusionEnds():
                ways.append((rest, row, path, depth - 1))
            case Quantified():
                ways.append(((_Loop(item, 0, row), rest), row, path, depth))
            case _Loop(part, iterations, began):
                ways.extend((way, row, path, depth) for way in reversed(_loop_ways(part, iterations, began, row, rest)))
        if len(ways) == others:
            turned_back += 1
            if turned_back > budget:
                raise budget_error(f"row {first} of its partition", budget)
    return None


def _loop_ways(part: Quantified, iterations: int, began: int, row: int, rest: _Todo) -> list[_Todo]:
    """How a loop goes on, the preferred way first (rules 3.3 and 3.4)."""
    more: _Todo = (part.body, (_Loop(part, iterations + 1, row), rest))
    if iterations < part.least:
        return [more]
    # rule 3.4: an iteration beyond the minimum that consumed no row ends the loop
    if (iterations > part.least and began == row) or (part.most is not None and iterations == part.most):
        return [rest]
    return [more, rest] if part.greedy else [rest, more]


def _labels(path: _Path) -> list[str]:
    labels = []
    while path is not None:
        labels.append(path[0])
        path = path[2]
    labels.reverse()
    return labels


def _match(number: int, first: int, path: _Path) -> Match:
    labels = tuple(_labels(path))
    excluded = []
    while path is not None:
        excluded.append(path[1])
        path = path[2]
    return Match(number, first, labels, tuple(reversed(excluded)))
