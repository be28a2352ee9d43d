"""How many rows satisfy each condition, and each part of it, by themselves: counted over all rows, by columns.

In: a pattern's bound conditions and a table. Out: an `ElementCount` for each element, not and until, and where each
element's own part holds. Called by `asking`; on Spark the same counts come from a job (`spark.why`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import BoundConditions, Predicate, compile_expression
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.evaluation import Evaluate
from cepheid.conditions.expression import TRUE, Expression
from cepheid.conditions.predicate import reads_variables
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.errors import CepheidError
from cepheid.explain.why.model import ElementCount, PartCount, Role
from cepheid.explain.why.nearness import part_text, parts_of
from cepheid.syntax.tree import (
    AllOfMembers,
    Element,
    Event,
    OneOf,
    PatternTree,
    Variable,
    around,
    describe,
    elements,
    negations,
    variables,
)

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """A condition of the pattern with its name and role."""

    name: str
    role: Role
    predicate: Predicate
    is_required: bool


def conditions_of(tree: PatternTree, bound: BoundConditions) -> Iterator[Asked]:
    """All conditions on events, in the order of writing."""
    for before in tree.not_before:
        yield Asked(before.name, Role.NOT_BEFORE, bound.where[before.name], False)
    places = [
        (path, variable.name, Role.ELEMENT, _is_required(tree, path, element))
        for path, element, variable in variables(tree.body)
    ]
    places += [(path, negation.name, Role.NOT, False) for path, negation in negations(tree.body)]
    for _, name, role, is_required in sorted(places, key=lambda place: place[0]):
        yield Asked(name, role, bound.where[name], is_required)
    for path, element in elements(tree.body):
        if path in bound.until:
            inside = element.body.name if isinstance(element.body, Variable) else describe(element)
            yield Asked(inside, Role.UNTIL, bound.until[path], False)


def count_rows(asked: Asked, table: pa.Table) -> tuple[ElementCount, Mask]:
    """The counts of one condition, and the rows that satisfy all that it asks of a row alone."""
    predicate = asked.predicate
    mask = _mask(predicate.own_event, table)
    parts = tuple(_part(part, table) for part in parts_of(predicate))
    text = " AND ".join(part.text for part in parts) or "any event"
    count = ElementCount(asked.name, asked.role, text, int(mask.sum()), parts, is_required=asked.is_required)
    return count, mask


def _part(part: Expression, table: pa.Table) -> PartCount:
    if reads_variables(part):
        return PartCount(part_text(part), None)
    values = _values(part, table)
    satisfied = int(pc.sum(pc.fill_null(values, False)).as_py() or 0)
    return PartCount(part_text(part), satisfied, values.null_count)


def _mask(expression: Expression, table: pa.Table) -> Mask:
    if expression == TRUE:
        return np.ones(table.num_rows, bool)
    mask: Mask = pc.fill_null(_values(expression, table), False).to_numpy(zero_copy_only=False)
    return mask


def _values(expression: Expression, table: pa.Table) -> pa.Array:
    """True, false or unknown on each row. A part may fail where another one would have guarded it: unknown there."""
    try:
        return evaluate_or_fall_back(expression, table)
    except CepheidError:
        compute = compile_expression(expression)
        return pa.array([_guarded(compute, row) for row in table.to_pylist()], pa.bool_())


def _guarded(compute: Evaluate, row: Event) -> bool | None:
    try:
        value = compute(row, NOTHING_TAKEN)
        return value if isinstance(value, bool) else None
    except CepheidError:
        return None


def _is_required(tree: PatternTree, path: tuple[int, ...], element: Element) -> bool:
    """Whether every match needs it: neither it nor what is around it may be passed by or replaced by another."""
    for one in (*around(tree.body, path), element):
        if one.optional or (one.loop is not None and one.loop.minimum == 0):
            return False
        if one is not element and isinstance(one.body, OneOf):
            return False
        if one is not element and isinstance(one.body, AllOfMembers) and one.body.at_least < len(one.body.members):
            return False
    return True
