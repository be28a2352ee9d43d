"""Expression → fast Python closure: the portable evaluator, on events as mappings.

Comes in: a bound expression. Goes out: a function of the current event and of what the run has taken.
Called by both reference evaluators and by `registers`. What only Spark can compute is refused by name.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from cepheid.conditions import closures
from cepheid.conditions.arithmetic import comes_second, compare, operation
from cepheid.conditions.carets import condition_error
from cepheid.conditions.casting import cast, shown, single_text
from cepheid.conditions.closures import Evaluate, Taken
from cepheid.conditions.constants import constant_value, literal_value
from cepheid.conditions.expression import (
    ARITHMETIC,
    COMPARISONS,
    Aggregate,
    Call,
    Cast,
    Column,
    Expression,
    Field,
    FoldValue,
    Lambda,
    LambdaArgument,
    Literal,
    Operation,
    Operator,
    PythonCall,
    SparkColumn,
    SparkExpression,
    walk,
)
from cepheid.conditions.functions.table import CALLABLE, function_of
from cepheid.conditions.predicate import Predicate
from cepheid.conditions.types import Kind
from cepheid.errors import ConditionError, EvaluationError
from cepheid.syntax.tree import Event

__all__ = ["Evaluate", "Taken", "compile_expression", "compile_predicate"]


def compile_predicate(predicate: Predicate) -> Callable[[Event, Taken], bool]:
    """Whether an event satisfies the predicate; unknown is not satisfied (rule 11)."""
    try:
        evaluate = _truth(predicate.expression)
    except ConditionError as error:
        raise ConditionError(predicate.place, error.problem, error.remedy) from None

    def holds(event: Event, taken: Taken) -> bool:
        try:
            return evaluate(event, taken) is True
        except EvaluationError as error:
            raise _located(predicate, error, event, taken) from (error.__cause__ or error)

    return holds


def _located(predicate: Predicate, error: EvaluationError, event: Event, taken: Taken) -> EvaluationError:
    """The error with the element, the condition and the values that it was computed from."""
    values: dict[str, Any] = {}
    for node in walk(predicate.expression):
        if isinstance(node, Column):
            values[str(node)] = event.get(node.name)
        elif isinstance(node, Aggregate):
            values[str(node)] = taken.aggregate(node)
        elif isinstance(node, FoldValue):
            values[str(node)] = taken.fold(node)
    given = ", ".join(f"{name} = {shown(value)}" for name, value in values.items())
    return EvaluationError(f"{predicate.place}: {error}\n  in: {predicate}" + (f"\n  with: {given}" if given else ""))


@lru_cache(maxsize=8192)
def compile_expression(expression: Expression) -> Evaluate:
    """The value of an expression on an event; None is NULL, and so is a column that the event lacks."""
    match expression:
        case Literal():
            return closures.constant(literal_value(expression))
        case Column():
            return _column(expression)
        case Aggregate():
            return lambda event, taken: taken.aggregate(expression)
        case FoldValue():
            return lambda event, taken: taken.fold(expression)
        case Cast():
            return _cast(expression)
        case Operation():
            return _operation(expression)
        case Call():
            return _call(expression)
        case Field(operand=operand, name=name):
            return closures.field(compile_expression(operand), name)
        case LambdaArgument(name=name):
            return _column(Column(closures.argument_column(name), type=expression.type))
        case Lambda(arguments=arguments, body=body):
            return closures.of_items(arguments, compile_expression(body))
        case PythonCall(function=function):
            return closures.python_call(function)
        case SparkExpression(function=function_name, meant=meant):
            near = [meant] if meant else get_close_matches(function_name.strip("`").upper(), CALLABLE, 1, 0.75)
            raise condition_error(
                expression.span,
                f"{function_name} is {'not known here' if near else 'computed by Spark only'}",
                f"{f'did you mean `{near[0].lower()}`? A function of Spark' if near else 'if Spark has it, it'} needs "
                "a DataFrame and `match`; or compute it as a column first, or use a Python callable",
            )
        case SparkColumn():
            problem = "a Spark Column is computed by Spark only"
            raise ConditionError("condition", problem, "run the pattern on a DataFrame with `match`, or write SQL text")
    raise AssertionError(f"`{expression}` is not bound: conditions must be bound before they run")


def _column(column: Column) -> Evaluate:
    match column.type.kind:
        case Kind.DECIMAL:
            return closures.column_of_decimals(column.name)
        case Kind.TIMESTAMP | Kind.UNKNOWN:
            return closures.column_of_moments(column.name, naive_is_utc=column.type.kind is Kind.TIMESTAMP)
    return closures.column(column.name)


def _cast(expression: Cast) -> Evaluate:
    operand, target = expression.operand, expression.type
    fixed = constant_value(expression)
    if fixed is not None:
        return closures.constant(fixed[0])
    inner = compile_expression(operand)
    if operand.type.kind is Kind.FLOAT and target.kind is Kind.STRING:
        return closures.strict(single_text, (inner,))
    if operand.type.kind is Kind.DECIMAL and target.kind is Kind.STRING:
        # Binding leaves a decimal that is brought to more digits as it is; here the zeros behind it show.
        return lambda event, taken: cast(cast(inner(event, taken), operand.type), target)
    zone = expression.zone
    return lambda event, taken: cast(inner(event, taken), target, zone)


def _operation(expression: Operation) -> Evaluate:
    operator, operands = expression.operator, expression.operands
    if operator in COMPARISONS:
        return _comparison(operator, *operands)
    if operator in ARITHMETIC:
        compute = operation(operator, expression.type)
        first, second = map(compile_expression, operands)
        if comes_second(*operands):
            return closures.strict_binary(lambda right, left: compute(left, right), second, first)
        return closures.strict_binary(compute, first, second)
    match operator:
        case Operator.AND:
            return closures.conjunction(tuple(map(_truth, operands)))
        case Operator.OR:
            return closures.disjunction(tuple(map(_truth, operands)))
        case Operator.NOT:
            return closures.negation(_truth(operands[0]))
        case Operator.IS_TRUE:
            return closures.identity(_truth(operands[0]), True)
        case Operator.IS_FALSE:
            return closures.identity(_truth(operands[0]), False)
        case Operator.CASE:
            values = map(compile_expression, operands[1:-1:2])
            branches = tuple(zip(map(_truth, operands[:-1:2]), values, strict=True))
            return closures.case(branches, compile_expression(operands[-1]))
    compiled = tuple(map(compile_expression, operands))
    match operator:
        case Operator.IS_NULL:
            return closures.identity(compiled[0], None)
        case Operator.IN:
            return closures.membership(compiled[0], compiled[1:])
    assert operator is Operator.COALESCE
    return closures.coalesce(compiled)


def _call(call: Call) -> Evaluate:
    function = function_of(call)
    operands = tuple(map(compile_expression, call.operands))
    compute = function.rows(call)
    return closures.on_all(compute, operands) if function.skips_nulls else closures.strict(compute, operands)


def _truth(operand: Expression) -> Evaluate:
    """The operand as a truth value; where its type was unknown, each value is looked at."""
    evaluate = compile_expression(operand)
    return closures.truth(evaluate) if operand.type.kind is Kind.UNKNOWN else evaluate


# Types whose values Python compares as Spark does; doubles have NaN, and unknown types need a look at the values.
_PLAIN = frozenset(Kind) - {Kind.UNKNOWN, Kind.NULL, Kind.FLOAT, Kind.DOUBLE, Kind.OTHER}
_DIRECT: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: python.eq,
    Operator.NOT_EQUAL: python.ne,
    Operator.LESS: python.lt,
    Operator.LESS_OR_EQUAL: python.le,
    Operator.GREATER: python.gt,
    Operator.GREATER_OR_EQUAL: python.ge,
}


def _comparison(operator: Operator, left: Expression, right: Expression) -> Evaluate:
    if operator is Operator.NULL_SAFE_EQUAL:
        return closures.null_safe_equal(compile_expression(left), compile_expression(right))
    direct = _DIRECT[operator]
    plain = left.type.kind in _PLAIN and right.type.kind in _PLAIN
    compute = direct if plain else _by_order(direct)
    fixed = constant_value(right)
    if fixed is not None and fixed[0] is not None:
        return closures.against_constant(compute, direct, compile_expression(left), fixed[0])
    return closures.strict_binary(compute, compile_expression(left), compile_expression(right))


def _by_order(direct: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The comparison by Spark's order, in which NaN equals itself and values of two types are brought together."""
    return lambda left, right: direct(compare(left, right), 0)
