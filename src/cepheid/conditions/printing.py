"""Expression → SQL text that parses to the same expression.

Called through `str(expression)`. Parentheses are written only where precedence asks for them.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal

from cepheid.conditions.expression import (
    Aggregate,
    AggregateFunction,
    Call,
    Cast,
    Column,
    ComputedColumn,
    Expression,
    Field,
    FoldValue,
    Lambda,
    LambdaArgument,
    Leaf,
    Literal,
    Name,
    Operation,
    Operator,
    PythonCall,
    SparkColumn,
    SparkExpression,
    with_children,
)
from cepheid.conditions.types import DAYS, DataType, Kind

# In Spark all predicates that come after their operand (IS NULL, IN, LIKE) bind less than a comparison.
_OR, _AND, _NOT, _POSTFIX, _COMPARE, _SUM, _PRODUCT, _ATOM = range(8)
_PRECEDENCE = {
    Operator.OR: _OR,
    Operator.AND: _AND,
    Operator.NOT: _NOT,
    Operator.EQUAL: _COMPARE,
    Operator.NOT_EQUAL: _COMPARE,
    Operator.LESS: _COMPARE,
    Operator.LESS_OR_EQUAL: _COMPARE,
    Operator.GREATER: _COMPARE,
    Operator.GREATER_OR_EQUAL: _COMPARE,
    Operator.NULL_SAFE_EQUAL: _COMPARE,
    Operator.IS_NULL: _POSTFIX,
    Operator.IS_TRUE: _POSTFIX,
    Operator.IS_FALSE: _POSTFIX,
    Operator.IN: _POSTFIX,
    Operator.ADD: _SUM,
    Operator.SUBTRACT: _SUM,
    Operator.MULTIPLY: _PRODUCT,
    Operator.DIVIDE: _PRODUCT,
    Operator.MODULO: _PRODUCT,
    Operator.INTEGER_DIVIDE: _PRODUCT,
}
_BEHIND = frozenset(operator for operator, precedence in _PRECEDENCE.items() if precedence == _POSTFIX)
_PATTERNS = frozenset({"LIKE", "RLIKE"})
"""Functions that are written as predicates after their operand."""
_SUFFIX = {Kind.BYTE: "Y", Kind.SHORT: "S", Kind.LONG: "L", Kind.FLOAT: "F", Kind.DOUBLE: "D", Kind.DECIMAL: "BD"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
# A few words that the grammar would not read as a name.
_RESERVED_WORDS = """
    all alter and any as between both by call case cast create cross current_date current_timestamp current_user
    describe distinct div drop else end escape except exists false filter from full grant group having if ilike in
    inner insert intersect interval is join lateral leading left like limit natural not null on or order outer over
    right rlike regexp select show some table then trailing true uncache union unique unknown user using values when
    where window with
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())


def sql(expression: Expression) -> str:
    """The expression as SQL text."""
    return _write(expression, _OR)


def quoted(name: str) -> str:
    """A name as SQL text, in backquotes where it needs them."""
    if _PLAIN_NAME.match(name) and name.lower() not in _RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def _write(expression: Expression, minimum: int) -> str:
    """The text, in parentheses if its precedence is below what the place asks for."""
    text, precedence = _text(expression)
    return f"({text})" if precedence < minimum else text


def _text(expression: Expression) -> tuple[str, int]:
    match expression:
        case Literal(value=value):
            text = _literal(value, expression.type)
            return text, _PRODUCT if text.startswith("-") else _ATOM
        case Name(parts=parts):
            return ".".join(quoted(part) for part in parts), _ATOM
        case ComputedColumn(text=text):
            return text, _ATOM
        case Column(name=name) | FoldValue(name=name) | LambdaArgument(name=name):
            return quoted(name), _ATOM
        case Aggregate():
            return _aggregate(expression), _ATOM
        case Leaf():
            return str(expression), _ATOM
        case Cast(operand=operand, implicit=implicit):
            if implicit:
                return _text(operand)
            return f"CAST({sql(operand)} AS {str(expression.type).upper()})", _ATOM
        case Operation():
            return _operation(expression)
        case Call():
            return _call(expression)
        case Field(operand=operand, name=name):
            return f"{_write(operand, _ATOM)}.{quoted(name)}", _ATOM
        case Lambda(arguments=arguments, body=body):
            names = ", ".join(map(quoted, arguments))
            return f"{names if len(arguments) == 1 else f'({names})'} -> {sql(body)}", _OR
        case SparkExpression(parts=parts):
            text = "".join(part if isinstance(part, str) else _write(part, _ATOM) for part in parts)
            return text, _ATOM
        case PythonCall(function=function):
            return f"<python {getattr(function, '__qualname__', repr(function))}>", _ATOM
        case SparkColumn(column=column):
            return f"<spark {column}>", _ATOM
    raise AssertionError(f"no text for {type(expression).__name__}")


def _operation(operation: Operation) -> tuple[str, int]:
    operator, operands = operation.operator, operation.operands
    precedence = _PRECEDENCE.get(operator, _ATOM)
    match operator:
        case Operator.AND | Operator.OR:
            text = f" {operator.value} ".join(_write(operand, precedence + 1) for operand in operands)
        case Operator.NOT:
            return _negation(operands[0])
        case _ if operator in _BEHIND:
            text = _behind(operation, negated=False)
        case Operator.CASE:
            branches = zip(operands[:-1:2], operands[1:-1:2], strict=True)
            whens = " ".join(f"WHEN {sql(condition)} THEN {sql(value)}" for condition, value in branches)
            text = f"CASE {whens} ELSE {sql(operands[-1])} END"
        case _ if operator in _PRECEDENCE:
            left = precedence + 1 if precedence == _COMPARE else precedence  # comparisons are not chained
            text = f"{_write(operands[0], left)} {operator.value} {_write(operands[1], precedence + 1)}"
        case _:
            text = _function(operator.value, operands)
    return text, precedence


def _call(call: Call) -> tuple[str, int]:
    if call.name in _PATTERNS:
        return _pattern(call, negated=False), _POSTFIX
    if call.name == "NEGATIVE":
        return f"-{_write(call.operands[0], _ATOM)}", _PRODUCT
    return _function(call.name, call.operands), _ATOM


def _function(name: str, operands: tuple[Expression, ...]) -> str:
    return f"{name}({', '.join(sql(operand) for operand in operands)})"


def _negation(operand: Expression) -> tuple[str, int]:
    if isinstance(operand, Operation) and operand.operator in _BEHIND:
        return _behind(operand, negated=True), _POSTFIX
    if isinstance(operand, Call) and operand.name in _PATTERNS:
        return _pattern(operand, negated=True), _POSTFIX
    return f"NOT {_write(operand, _POSTFIX)}", _NOT


def _behind(operation: Operation, negated: bool) -> str:
    """A predicate that comes after its operand, where its NOT is written as well."""
    operator, operands = operation.operator, operation.operands
    subject = _write(operands[0], _COMPARE if operator.value.startswith("IS ") else _SUM)
    if operator.value.startswith("IS "):
        return f"{subject} {operator.value.replace('IS', 'IS NOT') if negated else operator.value}"
    word = f"NOT {operator.value}" if negated else operator.value
    return f"{subject} {word} ({', '.join(sql(option) for option in operands[1:])})"


def _pattern(call: Call, negated: bool) -> str:
    subject, pattern, *escape = call.operands
    word = f"NOT {call.name}" if negated else call.name
    escaped = f" ESCAPE {sql(escape[0])}" if escape else ""
    return f"{_write(subject, _SUM)} {word} {_write(pattern, _SUM)}{escaped}"


def _aggregate(aggregate: Aggregate) -> str:
    variable = quoted(aggregate.variable)
    argument = f"{variable}.*" if aggregate.argument is None else sql(_qualified(aggregate.argument, variable))
    offset = f", {aggregate.offset}" if aggregate.offset else ""
    if aggregate.function is AggregateFunction.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {argument})"
    return f"{aggregate.function.value}({argument}{offset})"


def _qualified(expression: Expression, variable: str) -> Expression:
    """The argument with `variable.` before each of its columns."""
    match expression:
        case Column(name=name):
            return SparkExpression("", (f"{variable}.{quoted(name)}",))
        case Name(parts=parts):
            return SparkExpression("", (f"{variable}." + ".".join(quoted(part) for part in parts),))
    return with_children(expression, lambda child: _qualified(child, variable))


def _literal(value: object, data_type: DataType) -> str:
    kind = data_type.kind
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, datetime):
        word = "TIMESTAMP_NTZ" if kind is Kind.TIMESTAMP_NTZ else "TIMESTAMP"
        return f"{word} '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, timedelta):
        return _interval(value, data_type)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return f"CAST('{value}' AS {kind.value.upper()})"
        return f"{value!r}{'F' if kind is Kind.FLOAT else 'D'}"
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text if "." in text else f"{text}BD"
    return f"{value}{_SUFFIX.get(kind, '')}"


def _interval(value: timedelta, data_type: DataType) -> str:
    if data_type == DAYS:
        return f"INTERVAL '{value.days}' DAY"
    microseconds = abs(value) // timedelta(microseconds=1)
    seconds, fraction = divmod(microseconds, 1_000_000)
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}" + (f".{fraction:06}" if fraction else "")
    sign = "-" if value < timedelta(0) else ""
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"
