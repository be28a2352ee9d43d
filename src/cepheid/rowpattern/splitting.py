"""DEFINE split by what its parts read, so that each is computed where that is cheapest.

In: a bound row pattern. Out: a `SplitCondition` for each variable, of conjuncts:
- `own`: the row alone. One expression, computed on whole columns before matching; Spark has all its functions for it.
- `near`: the row and its physical neighbours (PREV, NEXT of the row). Computed on columns shifted within partitions.
- `rest`: the start of the match, its labels, aggregates, its number. Computed while matching.

`Depends` says what the outcome of a test hangs on beside the row, which decides what the matcher may remember.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from cepheid.conditions import types
from cepheid.conditions.expression import TRUE, Column, Expression, Literal, Operator, combine, conjuncts, walk
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.expression import LABEL, NUMBER, Folded, Value, mentions, reads_of, replaced
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    Variable,
)
from cepheid.rowpattern.model import (
    walk as walk_pattern,
)


class Depends(IntEnum):
    """What a test reads, from the least to the most."""

    ROW = 0
    NEIGHBOURS = 1
    START = 2
    """Also which row the match begins at, and its number."""
    LABELS = 3
    """Also how the rows before are labelled."""


class Remembers(IntEnum):
    """What a search need not try again; `engine.kernel.row_patterns` says why."""

    NOTHING = 0
    STATES = 1
    """Places of the program at a row, with what registers hold."""
    PLACES_OF_START = 2
    """Places of the program at a row, for one first row of the match."""
    PLACES = 3
    """Places of the program at a row, for the whole partition."""


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """The condition of a variable is `own AND near AND rest`. In `own`, columns are those of the row; `near` and `rest`
    have reads. A read of the row under test is a `Value` at the universal last place."""

    own: Expression = TRUE
    near: Expression = TRUE
    rest: Expression = TRUE
    depends: Depends = Depends.ROW


def split_defines(bound: BoundRowPattern) -> Mapping[str, SplitCondition]:
    """The split conditions by variable; those without DEFINE are true of every row."""
    first = only_first(bound.pattern.pattern)
    return {variable: _split(bound, variable, condition, first) for variable, condition in bound.defines.items()}


def remembers(conditions: Iterable[SplitCondition], has_within: bool) -> Remembers:
    """What the search of a row pattern may remember."""
    depends = Depends.ROW
    for condition in conditions:
        depends = max(depends, condition.depends)
        for read in reads_of(condition.rest):
            if isinstance(read, Value) and mentions(read.argument, LABEL):
                return Remembers.NOTHING
    if depends is Depends.LABELS:
        return Remembers.STATES
    return Remembers.PLACES_OF_START if depends is Depends.START or has_within else Remembers.PLACES


def only_first(pattern: Node) -> str | None:
    """The variable that the first row of every match has, and no other row, if there is one.

    For such a variable, LAST(v.x) and FIRST(v.x) are FIRST(x): its row is known without looking at labels.
    """
    first = _beginning(pattern)
    if first is None:
        return None
    return first if sum(_occurs(pattern, first)) == 1 else None


def _beginning(node: Node) -> str | None:
    """The variable that every run of the node begins with; a part that may be empty begins with none."""
    match node:
        case Variable(name):
            return name
        case Concatenation(parts):
            taking = [part for part in parts if not isinstance(part, Empty | PartitionStart)]
            return _beginning(taking[0]) if taking else None
        case Alternation(parts):
            names = {_beginning(part) for part in parts}
            return names.pop() if len(names) == 1 else None
        case Exclusion(body):
            return _beginning(body)
        case Quantified(body, least, most, _):
            return _beginning(body) if least == most == 1 else None
        case Permute(parts) if len(parts) == 1:
            return _beginning(parts[0])
    return None


def _occurs(pattern: Node, name: str) -> list[bool]:
    return [True for node in walk_pattern(pattern) if isinstance(node, Variable) and node.name == name]


def _split(bound: BoundRowPattern, variable: str, condition: Expression, first: str | None) -> SplitCondition:
    known = _on_the_row(bound.pattern, variable, condition, first)
    parts: dict[str, list[Expression]] = {"own": [], "near": [], "rest": []}
    depends = Depends.ROW
    for part in conjuncts(known):
        reads = _depends(bound.pattern, part)
        depends = max(depends, reads)
        name = "own" if reads is Depends.ROW else "near" if reads is Depends.NEIGHBOURS else "rest"
        parts[name].append(_own(part) if reads is Depends.ROW else part)
    joined = {name: combine(Operator.AND, tuple(each)) if each else TRUE for name, each in parts.items()}
    return SplitCondition(joined["own"], joined["near"], joined["rest"], depends)


def _on_the_row(pattern: RowPattern, variable: str, condition: Expression, first: str | None) -> Expression:
    """The condition with reads of the row under test at the universal last place, and its label written out."""

    def change(node: Expression) -> Expression | None:
        if not isinstance(node, Value):
            return None
        place = node.place
        includes = place.variable is not None and variable in pattern.members(place.variable)
        if includes and not place.from_first and not place.offset:
            place = replace(place, variable=None)
        elif place.variable is not None and first is not None and pattern.members(place.variable) == (first,):
            if place.offset:  # the variable has one row
                return Literal(None, type=node.type)
            place = replace(place, variable=None, from_first=True)
        argument = node.argument
        if place.variable is None and not place.from_first and not place.offset and not place.shift:
            argument = replaced(argument, lambda part: _label(part, variable))
        return Value(place, argument, type=node.type, span=node.span)

    return replaced(condition, change)


def _label(node: Expression, variable: str) -> Expression | None:
    is_label = isinstance(node, Column) and node.name == LABEL
    return Literal(variable, type=types.STRING) if is_label else None


def _depends(pattern: RowPattern, part: Expression) -> Depends:
    depends = Depends.START if mentions(part, NUMBER) else Depends.ROW
    for read in reads_of(part):
        if isinstance(read, Folded):
            by_label = read.variable is not None or (read.argument is not None and mentions(read.argument, LABEL))
            depends = max(depends, Depends.LABELS if by_label else Depends.START)
            continue
        place = read.place
        if mentions(read.argument, NUMBER):
            depends = max(depends, Depends.START)
        if place.variable is not None or mentions(read.argument, LABEL):
            depends = Depends.LABELS
        elif place.from_first or place.offset:
            depends = max(depends, Depends.START)
        elif place.shift:
            depends = max(depends, Depends.NEIGHBOURS)
    return depends


def _own(part: Expression) -> Expression:
    """The part over the columns of the row."""
    return replaced(part, lambda node: node.argument if isinstance(node, Value) else None)


def is_of_row(expression: Expression) -> bool:
    """Whether an expression has no reads: it is computed on a row alone."""
    return not any(isinstance(node, Value | Folded) for node in walk(expression))
