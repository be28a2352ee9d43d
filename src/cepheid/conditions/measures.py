"""Measures: SQL over what a match's variables have taken, as columns of the result.

Comes in: SQL by name, a pattern tree and the schema of its events. Goes out: `Measure`s, the SQL cut where aggregates
occur, or a `ConditionError`. What is around the aggregates is any SQL: whoever computes the aggregates puts columns
in their places and lets Spark, or the portable evaluator, compute the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cepheid.conditions.carets import Span, condition_error, did_you_mean
from cepheid.conditions.checking import Checker
from cepheid.conditions.dialect import text_range
from cepheid.conditions.expression import Aggregate, Expression, SparkExpression, with_children
from cepheid.conditions.functions.table import UNKNOWN_TO_SPARK
from cepheid.conditions.parameters import filled
from cepheid.conditions.parser import read
from cepheid.conditions.printing import quoted
from cepheid.conditions.reader import Reader
from cepheid.conditions.scope import Scope
from cepheid.conditions.types import Schema
from cepheid.conditions.vocabulary import AGGREGATES, is_unit, refusal
from cepheid.errors import ConditionError
from cepheid.syntax import tree
from cepheid.syntax.tree import ParameterValue, PatternTree


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the result. `pieces` are SQL text and, between it, what is read of variables."""

    name: str
    pieces: tuple[str | Aggregate, ...]

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """What it reads of variables, each once."""
        return tuple(dict.fromkeys(piece for piece in self.pieces if isinstance(piece, Aggregate)))

    def sql(self, called: Callable[[Aggregate], str]) -> str:
        """The SQL that computes it from columns that hold the aggregates."""
        return "".join(piece if isinstance(piece, str) else quoted(called(piece)) for piece in self.pieces)


def bind_measures(
    measures: Mapping[str, str], pattern: PatternTree, schema: Schema, keys: tuple[str, ...]
) -> tuple[Measure, ...]:
    """Bind each text. Outside aggregates it may name the partition columns (`keys`), which all events share."""
    variables = tuple(variable.name for _, _, variable in tree.variables(pattern.body))
    nots = [element.name for _, element in tree.walk(pattern.body) if isinstance(element, tree.Not)]
    nots += [before.name for before in pattern.not_before]
    names = (*variables, *nots)
    bound = []
    for name, text in measures.items():
        place = f"measure {name!r}"
        scope = Scope(place, schema, names, variables, frozenset(nots))
        try:
            bound.append(Measure(name, read(text, _Cut(text, scope, keys, dict(pattern.parameters)).pieces)))
        except ConditionError as error:
            raise ConditionError(place, error.problem, error.remedy) from None
    return tuple(bound)


class _Cut:
    """Cuts one text where aggregates stand."""

    def __init__(self, text: str, scope: Scope, keys: tuple[str, ...], values: Mapping[str, ParameterValue]) -> None:
        self._values = values
        self._text = text
        self._scope = scope
        self._keys = keys
        self._checker = Checker(scope)
        self._found: list[tuple[int, int, tuple[str | Aggregate, ...]]] = []

    def pieces(self, root: exp.Expr) -> tuple[str | Aggregate, ...]:
        parameters = frozenset(
            parameter.name.lower() for function in root.find_all(exp.Lambda) for parameter in function.expressions
        )
        self._visit(root, parameters)
        pieces: list[str | Aggregate] = []
        position = 0
        for start, end, computed in sorted(self._found, key=lambda found: found[0]):
            pieces += [self._text[position:start], *computed]
            position = end
        pieces.append(self._text[position:])
        return tuple(piece for piece in pieces if piece != "")

    def _visit(self, node: exp.Expr, parameters: frozenset[str]) -> None:
        called = node.name.upper() if isinstance(node, exp.Anonymous) else ""
        if called in AGGREGATES or called in UNKNOWN_TO_SPARK:
            self._add(node, Reader(self._text).read(node))
            return
        if isinstance(node, exp.Column):
            self._column(node, parameters)
            return
        if isinstance(node, exp.Placeholder):
            given = self._checker.bind(filled(Reader(self._text).read(node), self._values))
            self._found.append((*text_range(node), (str(given),)))
            return
        refused = refusal(node)
        if refused is not None:
            raise condition_error(self._span(node), *refused)
        for child in node.iter_expressions():
            self._visit(child, parameters)

    def _column(self, node: exp.Column, parameters: frozenset[str]) -> None:
        head = node.parts[0].name
        if head.lower() in parameters or is_unit(node) or (len(node.parts) == 1 and self._is_key(head)):
            return
        if len(node.parts) > 1 and self._scope.variable(head) is not None:
            self._add(node, Reader(self._text).read(node))
            return
        near = did_you_mean(head, self._scope.visible) if len(node.parts) > 1 else ""
        example = self._scope.visible[0] if self._scope.visible else "v"
        problem = f"`{self._text[slice(*text_range(node))]}` does not say whose events are read"
        column = node.parts[-1].name
        remedy = near or f"name a variable: LAST({example}.{column}), SUM({example}.{column}), …"
        raise condition_error(self._span(node), problem, remedy)

    def _is_key(self, name: str) -> bool:
        return any(key.casefold() == name.casefold() for key in self._keys)

    def _add(self, node: exp.Expr, parsed: Expression) -> None:
        bound = self._checker.bind(filled(parsed, self._values))
        self._found.append((*text_range(node), tuple(_pieces(bound))))

    def _span(self, node: exp.Expr) -> Span:
        return Span(self._text, *text_range(node))


def _pieces(expression: Expression) -> Iterator[str | Aggregate]:
    """The expression's SQL, cut where aggregates occur."""
    found: list[Aggregate] = []

    def marked(node: Expression) -> Expression:
        if isinstance(node, Aggregate):
            found.append(node)
            return SparkExpression("", ("\0",))
        return with_children(node, marked)

    first, *rest = str(marked(expression)).split("\0")
    yield first
    for aggregate, text in zip(found, rest, strict=True):
        yield aggregate
        yield text
