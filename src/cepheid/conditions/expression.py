"""Expressions: what a condition means, as a small tree of frozen nodes.

`parser` makes them from text, with names as they were written; `binding` gives names and types a meaning; `evaluation`
and later stages read them. Nodes are equal if they mean the same: where they were in the text is not compared.
`str(node)` is SQL that parses to the same node again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from cepheid.conditions import types
from cepheid.conditions.carets import Span
from cepheid.conditions.types import DataType


class Operator(Enum):
    """What an operation computes; a member's value is its SQL sign. Functions are in a table of their own (`Call`)."""

    OR = "OR"
    AND = "AND"
    NOT = "NOT"
    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    NULL_SAFE_EQUAL = "<=>"
    IS_NULL = "IS NULL"
    IS_TRUE = "IS TRUE"
    IS_FALSE = "IS FALSE"
    IN = "IN"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    INTEGER_DIVIDE = "DIV"
    CASE = "CASE"
    """Operands: condition, value, condition, value, …, and the value otherwise."""
    COALESCE = "COALESCE"


COMPARISONS = frozenset(
    {
        Operator.EQUAL,
        Operator.NOT_EQUAL,
        Operator.LESS,
        Operator.LESS_OR_EQUAL,
        Operator.GREATER,
        Operator.GREATER_OR_EQUAL,
        Operator.NULL_SAFE_EQUAL,
    }
)
ARITHMETIC = frozenset(
    {
        Operator.ADD,
        Operator.SUBTRACT,
        Operator.MULTIPLY,
        Operator.DIVIDE,
        Operator.MODULO,
        Operator.INTEGER_DIVIDE,
    }
)


class AggregateFunction(Enum):
    """What is read of the events that a variable has taken (rule 11)."""

    FIRST = "FIRST"
    LAST = "LAST"
    SUM = "SUM"
    COUNT = "COUNT"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    COUNT_DISTINCT = "COUNT(DISTINCT)"
    """How many different values there are (rule 18)."""
    STDDEV = "STDDEV"
    """The standard deviation of a sample, unknown for fewer than two values."""


@dataclass(frozen=True, slots=True)
class Expression:
    """What every node has: its type, UNKNOWN until bound to a schema, and where it was in the text."""

    type: DataType = field(default=types.UNKNOWN, kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The nodes right below this one that are evaluated on the same event."""
        return ()

    def __str__(self) -> str:
        from cepheid.conditions.printing import sql

        return sql(self)


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant; None is NULL.

    A TIMESTAMP written without a zone has a value without one until binding gives it the zone of its schema. Compared
    by how Python shows the value: there 0.0 and -0.0 differ, and 1, 1.0 and True.
    """

    value: Any = field(compare=False)
    identity: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", repr(self.value))


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """A name as it was written, part by part. Only the parser's trees have these; binding resolves them."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaf(Expression):
    """What a room above adds to expressions: it has a type, prints itself, and is replaced before evaluation."""


@dataclass(frozen=True, slots=True)
class Parameter(Leaf):
    """A place for a value, by its name. Its type is not known before it has one."""

    name: str

    def __str__(self) -> str:
        return f":{self.name}"


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """A column of the current event, as the schema spells it; in an aggregate's argument, of the variable's event."""

    name: str


@dataclass(frozen=True, slots=True)
class ComputedColumn(Column):
    """A column that Spark has computed beforehand, since only it can; printed as the text that it was computed from."""

    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """What `function` gives over the events that `variable` has taken so far (rule 11).

    The argument is read on each of these events; None stands for the events themselves, in `COUNT(v.*)`.
    `offset` is k of `LAST(v.c, k)` and `FIRST(v.c, k)`.
    """

    function: AggregateFunction
    variable: str
    argument: Expression | None
    offset: int = 0
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Registers are found by node once per evaluation; the hash of a whole argument each time would be felt.
        object.__setattr__(self, "_hash", hash((self.function, self.variable, self.argument, self.offset)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class FoldValue(Expression):
    """The present value of a fold."""

    variable: str
    name: str


@dataclass(frozen=True, slots=True)
class Operation(Expression):
    """An operator, applied to its operands."""

    operator: Operator
    operands: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function of the portable subset (`functions.table`), by the first of its names, applied to its operands."""

    name: str
    operands: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, slots=True)
class Field(Expression):
    """A field of a struct, NULL where the struct is."""

    operand: Expression
    name: str

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """The operand as a value of this node's type. An implicit one was added by binding and is not printed.

    Between a timestamp and what a clock or a calendar shows, the clock is that of `zone`. Spark's own is the session's.
    """

    operand: Expression
    implicit: bool = field(default=False, compare=False)
    zone: str = "UTC"

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class LambdaArgument(Expression):
    """An argument of the function around it, as it was written there."""

    name: str


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """A function of the items of an array, `x -> x > 1`: an operand of a call. Its type is that of its body."""

    arguments: tuple[str, ...]
    body: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True)
class PythonCall(Expression):
    """A Python callable `(event, taken) -> bool`, compared by identity: it need not be hashable."""

    function: Callable[..., bool | None] = field(compare=False)
    identity: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", id(self.function))


@dataclass(frozen=True, slots=True)
class SparkColumn(Expression):
    """A Spark `Column` over the current event, compared by identity: `==` on Columns builds a Column."""

    column: object = field(compare=False)
    identity: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", id(self.column))


@dataclass(frozen=True, slots=True)
class SparkExpression(Expression):
    """SQL over the current event that only Spark can evaluate: its text, cut where columns (at first: names) occur."""

    function: str
    """What is outside the portable subset, as an error would call it."""
    parts: tuple[str | Expression, ...]
    meant: str | None = field(default=None, compare=False)
    """The function of the language around that has nearly this name: only an error says so."""

    @property
    def children(self) -> tuple[Expression, ...]:
        return tuple(part for part in self.parts if isinstance(part, Expression))


TRUE = Literal(True, type=types.BOOLEAN)


def with_children(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The node with each of the nodes right below it changed."""
    match expression:
        case Operation(operands=operands) | Call(operands=operands):
            return replace(expression, operands=tuple(map(change, operands)))
        case Cast(operand=operand) | Field(operand=operand):
            return replace(expression, operand=change(operand))
        case Lambda(body=body):
            return replace(expression, body=change(body))
        case SparkExpression(parts=parts):
            return replace(expression, parts=tuple(part if isinstance(part, str) else change(part) for part in parts))
    return expression


def walk(expression: Expression) -> Iterator[Expression]:
    """The node and all below it that are evaluated on the current event (not the arguments of aggregates)."""
    yield expression
    for child in expression.children:
        yield from walk(child)


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """What all must hold for the expression to hold."""
    if isinstance(expression, Operation) and expression.operator is Operator.AND:
        return expression.operands
    return (expression,)


def combine(operator: Operator, parts: tuple[Expression, ...], span: Span | None = None) -> Expression:
    """AND or OR over any number of parts, flat: nested ones of the same operator are taken apart, order kept."""
    flat: list[Expression] = []
    for part in parts:
        if isinstance(part, Operation) and part.operator is operator:
            flat.extend(part.operands)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Operation(operator, tuple(flat), type=types.BOOLEAN, span=span)
