"""sqlglot's syntax tree → expression.

Node types are allowed by list. What is not on it and reads the current event only becomes a `SparkExpression`, which
Spark computes and the portable evaluator refuses by name. Called by `parser` alone.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from cepheid.conditions import literals, types
from cepheid.conditions.calls import CallReader
from cepheid.conditions.carets import Span
from cepheid.conditions.dialect import text_range
from cepheid.conditions.expression import (
    COMPARISONS,
    Call,
    Cast,
    Expression,
    Literal,
    Name,
    Operation,
    Operator,
    Parameter,
    combine,
)
from cepheid.conditions.functions.table import FUNCTIONS
from cepheid.conditions.types import DataType
from cepheid.conditions.vocabulary import (
    BINARY,
    TYPES,
)


class Reader(CallReader):
    """Turns one text's syntax tree into an expression, node by node."""

    def read(self, node: exp.Expr) -> Expression:
        kind = type(node)
        operator = BINARY.get(kind)
        if operator is not None:
            if operator in COMPARISONS:
                self._refuse_bare_predicate(node)
            return self._operation(operator, node, node.this, node.expression)
        reader = _READERS.get(kind)
        if reader is not None:
            return reader(self, node)
        return self._for_spark(node)

    def _operation(self, operator: Operator, node: exp.Expr, *operands: exp.Expr) -> Expression:
        return Operation(operator, tuple(map(self.read, operands)), span=self._span(node))

    def _refuse_bare_predicate(self, node: exp.Expr) -> None:
        """Spark reads `a = b < c` and `a = b IN (…)` from the left, the grammar here does not: no guess is made."""
        for side in (node.this, node.expression):
            inner = side.this if isinstance(side, exp.Not) else side
            if BINARY.get(type(inner)) in COMPARISONS:
                remedy = "write `a < b AND b < c`, or put parentheses around one of the comparisons"
                raise self.error(node, "comparisons cannot be chained", remedy)
            if isinstance(inner, exp.In | exp.Like | exp.ILike | exp.Between | exp.RegexpLike | exp.Escape):
                raise self.error(node, "this can be read in two ways", "put parentheses around one of the two")

    def _connective(self, node: exp.Expr) -> Expression:
        """AND and OR, flat, without recursion along a long chain."""
        kind = type(node)
        parts: list[exp.Expr] = []
        while isinstance(node, kind):
            parts.append(node.expression)
            node = node.this
        parts.append(node)
        read = tuple(self.read(part) for part in reversed(parts))
        span = Span(self._text, text_range(parts[-1])[0], text_range(parts[0])[1])
        return combine(Operator.AND if kind is exp.And else Operator.OR, read, span)

    def _not(self, node: exp.Expr) -> Expression:
        return self._operation(Operator.NOT, node, node.this)

    def _paren(self, node: exp.Expr) -> Expression:
        return self.read(node.this)

    def _negate(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Literal | exp.Cast) and literals.is_number(self._source(node.this)):
            return self._negative(node)
        return Call("NEGATIVE", (self.read(node.this),), span=self._span(node))

    def _negative(self, node: exp.Expr) -> Expression:
        """`-1` is a literal, so that the least number of each type can be written."""
        try:
            negative = literals.number("-" + self._source(node.this))
        except ValueError as error:
            raise self.error(node, str(error), "write a number such as 10, 1.5, 1e3 or 10L") from None
        return Literal(negative.value, type=negative.type, span=self._span(node))

    def _literal(self, node: exp.Expr) -> Expression:
        if node.is_string:
            return Literal(literals.string(self._source(node)), type=types.STRING, span=self._span(node))
        try:
            literal = literals.number(self._source(node))
        except ValueError as error:
            raise self.error(node, str(error), "write a number such as 10, 1.5, 1e3 or 10L") from None
        return Literal(literal.value, type=literal.type, span=self._span(node))

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(bool(node.this), type=types.BOOLEAN, span=self._span(node))

    def _null(self, node: exp.Expr) -> Expression:
        return Literal(None, type=types.NULL, span=self._span(node))

    def _name(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Star):
            remedy = "name a column; `v.*` works only in COUNT(v.*)"
            raise self.error(node, f"`{self._source(node)}` is not a value", remedy)
        assert isinstance(node, exp.Column)
        name = Name(tuple(part.name for part in node.parts), span=self._span(node))
        return self._argument(name) if self._is_argument(name.parts[0]) else name

    def _is(self, node: exp.Expr) -> Expression:
        what = node.expression
        if isinstance(what, exp.Null):
            return self._operation(Operator.IS_NULL, node, node.this)
        if isinstance(what, exp.Boolean):
            return self._operation(Operator.IS_TRUE if what.this else Operator.IS_FALSE, node, node.this)
        return self._for_spark(node)

    def _between(self, node: exp.Expr) -> Expression:
        """`x BETWEEN a AND b` is `x >= a AND x <= b`, as in Spark."""
        if node.args.get("symmetric"):
            raise self.error(node, "BETWEEN SYMMETRIC is not Spark SQL", "write BETWEEN low AND high")
        span = self._span(node)
        value, low, high = self.read(node.this), self.read(node.args["low"]), self.read(node.args["high"])
        above = Operation(Operator.GREATER_OR_EQUAL, (value, low), span=span)
        below = Operation(Operator.LESS_OR_EQUAL, (value, high), span=span)
        return combine(Operator.AND, (above, below), span)

    def _in(self, node: exp.Expr) -> Expression:
        if not node.expressions:
            raise self.error(node, "IN needs a list", "write IN (1, 2, 3)")
        return self._operation(Operator.IN, node, node.this, *node.expressions)

    def _like(self, node: exp.Expr, escape: exp.Expr | None = None) -> Expression:
        if isinstance(node.expression, exp.Any | exp.All | exp.Tuple):
            return self._for_spark(node)
        operands = (node.this, node.expression) if escape is None else (node.this, node.expression, escape)
        if escape is not None:
            character = self.read(escape)
            if not isinstance(character, Literal) or not isinstance(character.value, str) or len(character.value) != 1:
                raise self.error(escape, "ESCAPE takes one character", "such as ESCAPE '!'")
        like = self._function(FUNCTIONS["LIKE"], node, *operands)
        return Operation(Operator.NOT, (like,), span=like.span) if node.args.get("negate") else like

    def _regular(self, node: exp.Expr) -> Expression:
        return self._function(FUNCTIONS["RLIKE"], node, node.this, node.expression)

    def _escape(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Like):
            return self._like(node.this, node.expression)
        return self._for_spark(node)

    def _case(self, node: exp.Expr) -> Expression:
        subject = self.read(node.this) if node.this is not None else None
        operands: list[Expression] = []
        for branch in node.args["ifs"]:
            condition = self.read(branch.this)
            if subject is not None:
                condition = Operation(Operator.EQUAL, (subject, condition), span=condition.span)
            operands += [condition, self.read(branch.args["true"])]
        default = node.args.get("default")
        operands.append(self.read(default) if default is not None else Literal(None, type=types.NULL))
        return Operation(Operator.CASE, tuple(operands), span=self._span(node))

    def _if(self, node: exp.Expr) -> Expression:
        otherwise = node.args.get("false")
        last = self.read(otherwise) if otherwise is not None else Literal(None, type=types.NULL)
        operands = (self.read(node.this), self.read(node.args["true"]), last)
        return Operation(Operator.CASE, operands, span=self._span(node))

    def _concat(self, node: exp.Expr) -> Expression:
        # Spark binds `||` as tightly as `+`, the grammar here does not: no guess is made.
        for side in (node.this, node.expression):
            if isinstance(side, exp.Add | exp.Sub):
                raise self.error(node, "`||` next to `+` or `-` is ambiguous", "put parentheses around one of them")
        return self._function(FUNCTIONS["CONCAT"], node, node.this, node.expression)

    def _adjacent_strings(self, node: exp.Expr) -> Expression:
        """String literals side by side are one string."""
        try:
            value = literals.string(self._source(node))
        except ValueError as error:
            raise self.error(node, str(error), r"write \' for a quote inside a string") from None
        return Literal(value, type=types.STRING, span=self._span(node))

    def _bytes(self, node: exp.Expr) -> Expression:
        source = self._source(node)
        if source[:2] in ("x'", "X'"):
            return Literal(bytes.fromhex(source[2:-1]), type=types.BINARY, span=self._span(node))
        return self._for_spark(node)

    def _interval(self, node: exp.Expr) -> Expression:
        unit, amount = node.args.get("unit"), node.this
        if unit is None or not isinstance(amount, exp.Literal):
            return self._for_spark(node)
        try:
            if isinstance(unit, exp.IntervalSpan):
                value = literals.interval(amount.name, unit.this.name, unit.expression.name)
            else:
                value = literals.interval(amount.name, unit.name)
        except literals.CalendarInterval:
            return self._for_spark(node)
        except ValueError as error:
            raise self.error(node, str(error), "write INTERVAL '10' MINUTE or INTERVAL 10 MINUTES") from None
        return Literal(value.value, type=value.type, span=self._span(node))

    def _cast(self, node: exp.Expr) -> Expression:
        target = self._type(node.args["to"])
        operand = node.this
        source = self._source(node)
        if literals.is_number(source):  # the grammar reads a suffix such as L as a cast
            return self._number_with_suffix(node, source)
        if target is None:
            return self._for_spark(node)
        if isinstance(operand, exp.Literal) and operand.is_string and source.rstrip()[-1] in "'\"" and target.is_moment:
            try:
                value = literals.moment(literals.string(self._source(operand)), target)
            except ValueError as error:
                raise self.error(node, str(error), "dates are years, months and days, times 24 hours") from None
            return Literal(value.value, type=value.type, span=self._span(node))
        return Cast(self.read(operand), type=target, span=self._span(node))

    def _number_with_suffix(self, node: exp.Expr, source: str) -> Expression:
        try:
            value = literals.number(source)
        except ValueError as error:
            raise self.error(node, str(error), "check the size that its suffix asks for") from None
        return Literal(value.value, type=value.type, span=self._span(node))

    def _type(self, node: exp.Expr) -> DataType | None:
        """The type that a CAST names, or None where it is not a portable one."""
        if node.this is exp.DType.DECIMAL:
            numbers = [int(parameter.name) for parameter in node.expressions]
            precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
            return types.DataType(types.Kind.DECIMAL, precision, scale)
        return None if node.expressions else TYPES.get(node.this)

    def _parameter(self, node: exp.Expr) -> Expression:
        if not isinstance(node.this, str):
            raise self.error(node, "a parameter has a name", "write :limit, and give its value with bind(limit=…)")
        return Parameter(node.this, span=self._span(node))


_READERS: dict[type[exp.Expr], Callable[[Reader, exp.Expr], Expression]] = {
    exp.And: Reader._connective,
    exp.Or: Reader._connective,
    exp.Not: Reader._not,
    exp.Paren: Reader._paren,
    exp.Neg: Reader._negate,
    exp.Literal: Reader._literal,
    exp.Boolean: Reader._boolean,
    exp.Null: Reader._null,
    exp.Column: Reader._name,
    exp.Is: Reader._is,
    exp.Between: Reader._between,
    exp.In: Reader._in,
    exp.Like: Reader._like,
    exp.RegexpLike: Reader._regular,
    exp.Escape: Reader._escape,
    exp.Case: Reader._case,
    exp.If: Reader._if,
    exp.DPipe: Reader._concat,
    exp.Concat: Reader._adjacent_strings,
    exp.HexString: Reader._bytes,
    exp.Interval: Reader._interval,
    exp.Cast: Reader._cast,
    exp.Trim: Reader._trim,
    exp.Substring: Reader._substring,
    exp.Anonymous: Reader._call,
    exp.Transform: Reader._transform,
    exp.Identifier: Reader._identifier,
    exp.Dot: Reader._dot,
    exp.Placeholder: Reader._parameter,
}
