"""sqlglot's calls → expression: functions, functions of items, and aggregates of what a variable has taken.

Called by `reader` alone, which reads every other kind of node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from sqlglot import exp

from cepheid.conditions.aggregates import of_one_variable
from cepheid.conditions.carets import Span, condition_error
from cepheid.conditions.dialect import text_range
from cepheid.conditions.expression import (
    Aggregate,
    AggregateFunction,
    Call,
    Expression,
    Field,
    Lambda,
    LambdaArgument,
    Literal,
    Name,
    SparkExpression,
    walk,
)
from cepheid.conditions.functions.definition import Function
from cepheid.conditions.functions.rewritten import FIXED_UNITS
from cepheid.conditions.functions.table import CALLABLE, FUNCTIONS
from cepheid.conditions.spark_text import spark_expression
from cepheid.conditions.vocabulary import (
    AGGREGATES,
    SPARK_AGGREGATES,
    WITH_UNIT,
)
from cepheid.errors import ConditionError


def _flat(call: Call) -> Call:
    """Strings joined to joined strings are all joined at once."""
    if call.name != "CONCAT":
        return call
    operands: list[Expression] = []
    for operand in call.operands:
        operands += operand.operands if isinstance(operand, Call) and operand.name == "CONCAT" else (operand,)
    return replace(call, operands=tuple(operands))


class CallReader(ABC):
    """Reads calls in one text's syntax tree."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._arguments: tuple[str, ...] = ()
        """The arguments of the functions that are being read, `x -> …`."""

    @abstractmethod
    def read(self, node: exp.Expr) -> Expression:
        """Any node."""

    def error(self, node: exp.Expr, problem: str, remedy: str) -> ConditionError:
        return condition_error(self._span(node), problem, remedy)

    def _span(self, node: exp.Expr) -> Span:
        start, end = text_range(node)
        return Span(self._text, start, end)

    def _source(self, node: exp.Expr) -> str:
        start, end = text_range(node)
        return self._text[start:end]

    def _for_spark(self, node: exp.Expr) -> Expression:
        return spark_expression(self._text, node)

    def _call(self, node: exp.Expr) -> Expression:
        name = node.name.upper()
        if name in AGGREGATES:
            return self._aggregate(node, AGGREGATES[name])
        if name in SPARK_AGGREGATES:
            remedy = "use FIRST, LAST, SUM, COUNT, AVG, MIN, MAX or STDDEV of a variable's column, or a fold"
            raise self.error(node, f"{name} cannot aggregate what a variable has taken", remedy)
        entry = CALLABLE.get(name)
        if entry is None or self._is_of_calendar(node):
            return self._for_spark(node)
        least, most = entry.least, entry.most
        if len(node.expressions) < least or (most is not None and len(node.expressions) > most):
            wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} or {most}"
            problem = f"{name} was given {len(node.expressions)} argument(s)"
            raise self.error(node, problem, f"it takes {wanted}")
        if isinstance(entry, Function) and entry.takes_function:
            return self._of_items(entry, node, tuple(node.expressions))
        if isinstance(entry, Function):
            return self._function(entry, node, *node.expressions)
        try:
            return entry.means(*map(self.read, node.expressions), span=self._span(node))
        except ValueError as error:
            raise self.error(node, str(error), "write it as docs/conditions.md shows") from None

    def _function(self, function: Function, node: exp.Expr, *operands: exp.Expr) -> Expression:
        """A call of a portable function. Spark refuses wrong constants before it looks at any row, and so are they
        refused here."""
        call = Call(function.name, tuple(map(self.read, operands)), span=self._span(node))
        problem = function.wanted(call) if function.wanted is not None else None
        if problem is not None:
            raise self.error(operands[1], problem, "write the escape character twice where it means itself")
        return _flat(call)

    def _trim(self, node: exp.Expr) -> Expression:
        if node.args.get("position") or node.expression:
            return self._for_spark(node)
        return self._function(FUNCTIONS["TRIM"], node, node.this)

    def _substring(self, node: exp.Expr) -> Expression:
        operands = [node.this, node.args.get("start"), node.args.get("length")]
        return self._function(FUNCTIONS["SUBSTRING"], node, *(operand for operand in operands if operand is not None))

    def _is_of_calendar(self, node: exp.Expr) -> bool:
        """Whether a function counts days or longer by a calendar: `datediff(DAY, …)`, `timestampdiff(MONTH, …)`."""
        if len(node.expressions) != 3 or node.name.upper() not in WITH_UNIT:
            return False
        return node.name.upper() != "TIMESTAMPDIFF" or node.expressions[0].name.upper() not in FIXED_UNITS

    def _of_items(self, function: Function, node: exp.Expr, operands: tuple[exp.Expr, ...]) -> Expression:
        """A call with a function of items. Where Spark alone can compute the function it computes the whole call."""
        array, applied = operands
        if not isinstance(applied, exp.Lambda):
            raise self.error(
                applied, f"{function.name} needs a function of items", f"{function.name}(tags, t -> t > 1)"
            )
        names = tuple(argument.name for argument in applied.expressions)
        around, self._arguments = self._arguments, (*self._arguments, *names)
        try:
            body = self.read(applied.this)
        finally:
            self._arguments = around
        for part in walk(body):
            if isinstance(part, SparkExpression):
                return replace(spark_expression(self._text, node), function=part.function)
        applied_to = self.read(array)
        of_items = Lambda(names, body, span=self._span(applied))
        return Call(function.name, (applied_to, of_items), span=self._span(node))

    def _transform(self, node: exp.Expr) -> Expression:
        return self._of_items(FUNCTIONS["TRANSFORM"], node, (node.this, node.expression))

    def _is_argument(self, name: str) -> bool:
        return name.casefold() in map(str.casefold, self._arguments)

    def _argument(self, name: Name) -> Expression:
        """An argument of a function, or a field of one."""
        read: Expression = LambdaArgument(name.parts[0], span=name.span)
        for field in name.parts[1:]:
            read = Field(read, field, span=name.span)
        return read

    def _identifier(self, node: exp.Expr) -> Expression:
        """The grammar has these only where a function's argument is meant."""
        return LambdaArgument(node.name, span=self._span(node))

    def _dot(self, node: exp.Expr) -> Expression:
        parts = [part.name for part in node.flatten()]
        if not self._is_argument(parts[0]) or not all(isinstance(part, exp.Identifier) for part in node.flatten()):
            return self._for_spark(node)
        return self._argument(Name(tuple(parts), span=self._span(node)))

    def _aggregate(self, node: exp.Expr, function: AggregateFunction) -> Expression:
        arguments, name = node.expressions, function.value
        offset = 0
        if len(arguments) == 2 and function in (AggregateFunction.FIRST, AggregateFunction.LAST):
            second = self.read(arguments[1])
            if not isinstance(second, Literal) or type(second.value) is not int or second.value < 0:
                remedy = f"{name}(v.column, 1) is the one {'before the last' if name == 'LAST' else 'after the first'}"
                raise self.error(arguments[1], f"the offset of {name} is a whole number, 0 or more", remedy)
            offset = second.value
        elif len(arguments) != 1:
            raise self.error(node, f"{name} was given {len(arguments)} arguments", f"write {name}(v.column)")
        argument = arguments[0]
        if isinstance(argument, exp.Distinct):
            function, argument = self._distinct(node, function, argument)
        if isinstance(argument, exp.Star):
            problem = f"`{self._source(node)}` does not say whose events"
            raise self.error(node, problem, "COUNT(v.*) counts the events that variable v has taken")
        if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
            if function is not AggregateFunction.COUNT or len(argument.parts) != 2:
                raise self.error(node, f"{name} needs a column", f"write {name}({argument.parts[0].name}.column)")
            return Aggregate(function, argument.parts[0].name, None, span=self._span(node))
        variable, unqualified = of_one_variable(function, self.read(argument), self._span(node))
        return Aggregate(function, variable, unqualified, offset, span=self._span(node))

    def _distinct(
        self, node: exp.Expr, function: AggregateFunction, distinct: exp.Expr
    ) -> tuple[AggregateFunction, exp.Expr]:
        """COUNT(DISTINCT v.c) and what it counts (rule 18)."""
        if function is not AggregateFunction.COUNT:
            unneeded = function in (AggregateFunction.MIN, AggregateFunction.MAX)
            remedy = "leave DISTINCT out" if unneeded else "write COUNT(DISTINCT v.column), or use a Python callable"
            raise self.error(node, f"{function.value} does not take DISTINCT", remedy)
        if len(distinct.expressions) != 1 or isinstance(distinct.expressions[0], exp.Tuple):
            remedy = "count one value, such as COUNT(DISTINCT CONCAT(v.a, '|', v.b))"
            raise self.error(node, "COUNT(DISTINCT …) takes one value", remedy)
        counted = distinct.expressions[0]
        if isinstance(counted, exp.Star) or isinstance(getattr(counted, "this", None), exp.Star):
            raise self.error(node, "COUNT(DISTINCT …) needs a column", "write COUNT(DISTINCT v.column)")
        return AggregateFunction.COUNT_DISTINCT, counted
