"""Expressions of MEASURES and DEFINE: SQL text → expressions in which functions of row patterns are calls.

In: a text and the range of one expression in it. Out: an expression whose names and calls `rowpattern.binding`
resolves; its spans are places in the whole text. Called by `reading`.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import ClassVar

from sqlglot import Token, exp

from cepheid.conditions.carets import Span, condition_error
from cepheid.conditions.dialect import ConditionDialect, text_range
from cepheid.conditions.expression import Expression, Name, SparkExpression
from cepheid.conditions.parser import read
from cepheid.conditions.reader import Reader
from cepheid.conditions.source import Range
from cepheid.conditions.spark_text import STAYS_TOGETHER, called
from cepheid.conditions.vocabulary import REFUSED_NODES, SPARK_AGGREGATES, is_unit, refused_function
from cepheid.rowpattern.expression import Mode, RowCall

NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT")
AGGREGATES = (
    "COUNT",
    "SUM",
    "AVG",
    "MEAN",
    "MIN",
    "MAX",
    "STDDEV",
    "STDDEV_SAMP",
    "ARRAY_AGG",
    "COLLECT_LIST",
    "COLLECT_SET",
    "COUNT_IF",
    "BOOL_AND",
    "EVERY",
    "BOOL_OR",
)
_NAMES = (*NAVIGATION, "CLASSIFIER", "MATCH_NUMBER")
_CALLS = frozenset((*_NAMES, *AGGREGATES))
_MODE = "cepheid_mode"
_WINDOW = (
    "a window function has no meaning inside a row pattern",
    "use FIRST, LAST, PREV, NEXT or an aggregate; or compute it as a column of the input",
)
_REFUSED = {
    **{kind: why for kind, why in REFUSED_NODES.items() if kind not in (exp.Distinct, exp.Filter, exp.Star)},
    exp.Window: _WINDOW,
    exp.Order: ("ORDER BY is not supported in aggregates", "rows are in the order of the clause's ORDER BY"),
    exp.Star: ("`*` is not a value", "name a column; rows are counted by COUNT(*) and COUNT(v.*)"),
}


class _RowDialect(ConditionDialect):
    """Conditions with RUNNING and FINAL before a function."""

    class Parser(ConditionDialect.Parser):
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict] = {  # type: ignore[type-arg]
            name: parse
            for name, parse in ConditionDialect.Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name not in ("NEXT", "PRIOR")
        }

        def _parse_unary(self) -> exp.Expr | None:
            following = self._next
            word = self._curr.text.upper() if self._curr else ""
            if word not in Mode.__members__ or following is None or not re.match(r"[^\W\d]|`", following.text):
                return super()._parse_unary()
            if following.text.upper() in ("AND", "OR", "IS", "IN", "LIKE", "BETWEEN", "NOT", "THEN", "ELSE", "END"):
                return super()._parse_unary()
            first = self._index
            self._advance()
            node = super()._parse_unary()
            if node is not None:
                node.meta[_MODE] = Mode[word]
            return self._with_range(node, first)


def _parse(tokens: list[Token], text: str) -> exp.Expr | None:
    return _RowDialect().parser().parse(tokens, text)[0]


def read_expression(text: str, place: Range) -> Expression:
    """The expression at a place of the text."""
    # Everything around it becomes blank, so that places in the syntax tree are places in the whole text.
    blank = re.sub(r"[^\n]", " ", text[: place.start])
    return read(blank + text[place.start : place.end], _RowReader(text).read, _parse)


class _RowReader(Reader):
    """Reads calls; everything else as conditions are read."""

    def read(self, node: exp.Expr) -> Expression:
        mode: Mode | None = node.meta.get(_MODE)
        if isinstance(node, exp.Filter) and _is_call(node.this):
            return self._call_of(node.this, mode or node.this.meta.get(_MODE), node.expression.this, node)
        if _is_call(node):
            return self._call_of(node, mode, None, node)
        if mode is not None:
            problem = f"{mode.value} is only allowed before FIRST, LAST and aggregates"
            raise self.error(node, problem, f"leave {mode.value} out, or write {mode.value} LAST(…)")
        refusal = _REFUSED.get(type(node))
        if refusal is not None:
            raise self.error(node, *refusal)
        if isinstance(node, exp.Anonymous) and node.name.upper() in SPARK_AGGREGATES:
            remedy = "use COUNT, SUM, AVG, MIN, MAX, STDDEV, ARRAY_AGG, COUNT_IF, BOOL_AND or BOOL_OR"
            raise self.error(node, f"{node.name.upper()} is not supported over the rows of a match", remedy)
        return super().read(node)

    def _call_of(self, node: exp.Expr, mode: Mode | None, condition: exp.Expr | None, whole: exp.Expr) -> Expression:
        function, span = node.name.upper(), self._span(whole)
        if mode is not None and function not in ("FIRST", "LAST") and function not in AGGREGATES:
            problem = f"{mode.value} is only allowed before FIRST, LAST and aggregates, not before {function}"
            remedy = f"leave {mode.value} out"
            if function in ("PREV", "NEXT"):
                remedy = f"write it inside: {function}({mode.value} LAST(…))"
            raise self.error(whole, problem, remedy)
        if condition is not None and function not in AGGREGATES:
            raise self.error(whole, f"FILTER follows an aggregate, not {function}", "leave it out")
        arguments, distinct = list(node.expressions), False
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            if function not in AGGREGATES:
                raise self.error(whole, f"DISTINCT has no meaning in {function}", "leave it out")
            arguments, distinct = list(arguments[0].expressions), True
        filtered = None if condition is None else self.read(condition)
        rows_of = self._rows_of(arguments)
        if rows_of is not None:
            if function != "COUNT" or distinct:
                raise self.error(whole, f"{function} needs a value, not rows", f"write {function}(v.column)")
            return RowCall(function, (), mode, rows_of, False, filtered, span=span)
        for argument in arguments:
            if type(argument) in _REFUSED:
                raise self.error(argument, *_REFUSED[type(argument)])
        return RowCall(function, tuple(map(self.read, arguments)), mode, None, distinct, filtered, span=span)

    def _rows_of(self, arguments: list[exp.Expr]) -> str | None:
        """v of `COUNT(v.*)`, "" of `COUNT(*)`."""
        if len(arguments) != 1:
            return None
        [only] = arguments
        if isinstance(only, exp.Star):
            return ""
        if isinstance(only, exp.Column) and isinstance(only.this, exp.Star) and len(only.parts) == 2:
            return str(only.parts[0].name)
        return None

    def _for_spark(self, node: exp.Expr) -> Expression:
        """What is outside the portable subset: its text, cut where names and calls occur."""
        span = self._span(node)
        parameters = {p.name.lower() for function in node.find_all(exp.Lambda) for p in function.expressions}
        found: list[tuple[int, int, Expression]] = []
        self._find_reads(node, parameters, found)
        pieces: list[str | Expression] = []
        position = span.start
        for start, end, read_node in sorted(found, key=lambda each: each[0]):
            pieces += [self._text[position:start], read_node]
            position = end
        pieces.append(self._text[position : span.end])
        kept = tuple(piece for piece in pieces if piece != "")
        together = isinstance(node, STAYS_TOGETHER)
        # a function of that name may be the user's own: only Spark knows
        near = get_close_matches(node.name.upper(), _NAMES, 1, 0.7) if isinstance(node, exp.Anonymous) else []
        return SparkExpression(called(node), kept if together else ("(", *kept, ")"), *near, span=span)

    def _find_reads(self, node: exp.Expr, parameters: set[str], found: list[tuple[int, int, Expression]]) -> None:
        if _is_call(node) or isinstance(node, exp.Filter):
            found.append((*text_range(node), self.read(node)))
            return
        if isinstance(node, exp.Column):
            if node.parts[0].name.lower() not in parameters and not is_unit(node):
                start, end = text_range(node)
                name = Name(tuple(part.name for part in node.parts), span=Span(self._text, start, end))
                found.append((start, end, name))
            return
        is_function = isinstance(node, exp.Anonymous)
        refusal = refused_function(node.name, len(node.expressions)) if is_function else _REFUSED.get(type(node))
        if refusal is not None:
            raise condition_error(self._span(node), *refusal)
        for child in node.iter_expressions():
            self._find_reads(child, parameters, found)


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in _CALLS
