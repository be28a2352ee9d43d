"""Parameters of conditions: `amount > :limit`, with values that are given apart from the text.

Comes in: an expression with parameters and the values of a pattern. Goes out: the expression with constants in their
places. A value never becomes part of a text that is parsed. Called by `binding` and `measures`, and by the face to see
which parameters a pattern has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite

from cepheid.conditions import types
from cepheid.conditions.expression import Aggregate, Expression, Literal, Parameter, with_children
from cepheid.conditions.parser import parse
from cepheid.errors import InputError
from cepheid.syntax.tree import AllOf, AnyOf, Condition, Not, ParameterValue, PatternTree, SqlText, Variable, walk


def filled(expression: Expression, values: Mapping[str, ParameterValue]) -> Expression:
    """The expression with values in the places of parameters; one without a value stays, for `checking` to refuse."""

    def fill(node: Expression) -> Expression:
        if isinstance(node, Parameter):
            return replace(constant(values[node.name]), span=node.span) if node.name in values else node
        if isinstance(node, Aggregate) and node.argument is not None:
            return replace(node, argument=fill(node.argument))
        return with_children(node, fill)

    return fill(expression)


def parameters_in(expression: Expression) -> Iterator[str]:
    """The names of all parameters."""
    if isinstance(expression, Parameter):
        yield expression.name
    if isinstance(expression, Aggregate) and expression.argument is not None:
        yield from parameters_in(expression.argument)
    for child in expression.children:
        yield from parameters_in(child)


def parameters_of(tree: PatternTree) -> tuple[str, ...]:
    """The names of all parameters of a pattern's conditions and folds, in the order of writing."""
    texts: list[str] = []
    for _, part in walk(tree.body):
        if isinstance(part, Not):
            texts += _texts(part.condition)
            continue
        if isinstance(part.body, Variable):
            texts += _texts(part.body.condition)
            texts += [text for fold in part.body.folds for text in (fold.init, fold.update)]
        texts += _texts(part.having) + _texts(None if part.loop is None else part.loop.until)
    for before in tree.not_before:
        texts += _texts(before.condition)
    return tuple(dict.fromkeys(name for text in texts for name in parameters_in(parse(text))))


def refuse_unused(tree: PatternTree, given: object) -> None:
    """Refuse values that no condition, and no text in what is given to a match, has a parameter for."""
    known = parameters_of(tree)
    for name, _ in tree.parameters:
        if name not in known and not _has(given, re.compile(rf":{name}\b")):
            written = ", ".join(f":{one}" for one in known) or "none"
            raise InputError(
                f"bind() has {name!r}, but neither a condition nor a measure has :{name}.\n"
                f"  Parameters of the conditions: {written}."
            )


def _has(given: object, written: re.Pattern[str]) -> bool:
    if isinstance(given, str):
        return written.search(given) is not None
    values = given.values() if isinstance(given, Mapping) else given
    return isinstance(values, Iterable) and any(_has(one, written) for one in values)


def _texts(condition: Condition | None) -> list[str]:
    if isinstance(condition, SqlText):
        return [condition.text]
    return [text for part in condition.parts for text in _texts(part)] if isinstance(condition, AllOf | AnyOf) else []


def constant(value: ParameterValue) -> Literal:
    """A value as the literal that would be written for it."""
    if value is None:
        return Literal(None, type=types.NULL)
    if isinstance(value, bool):
        return Literal(value, type=types.BOOLEAN)
    if isinstance(value, int):
        kind = types.INT if -(2**31) <= value < 2**31 else types.LONG
        if not -(2**63) <= value < 2**63:
            raise AssertionError(f"{value} was checked when it was bound")
        return Literal(value, type=kind)
    if isinstance(value, float):
        assert isfinite(value)
        return Literal(value, type=types.DOUBLE)
    return Literal(value, type=types.STRING)
