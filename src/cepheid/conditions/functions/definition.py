"""What is known of a function: all of it in one entry, so that a further function is a further entry and its docs.

The entries are in the modules beside this one (`numbers`, `texts`, `moments`, …); `table` finds them by name. Read by
the reader (names, number of arguments), the checker (types), the evaluators by rows and by columns, and by the engine,
which asks what may fail and what the machine has an instruction for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from cepheid.conditions import types
from cepheid.conditions.carets import Span
from cepheid.conditions.expression import Call, Expression, Literal
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import ConditionError


class Instruction(Enum):
    """What the kernel's machine can compute itself, of values that it holds."""

    NEGATE = "negate"
    ABSOLUTE = "absolute"
    SUBTRACT = "subtract"
    SQUARE_ROOT = "square root"
    ARC_SINE = "arc sine"
    AS_IT_IS = "as it is"
    """The value's 64 bits are the result's."""


Typed: TypeAlias = tuple[tuple[Expression, ...], DataType]
"""The operands, brought to the types that the function computes with, and the type of its result."""
TypeRule: TypeAlias = Callable[["Arguments"], Typed]
Rows: TypeAlias = Callable[[Call], Callable[..., Any]]
"""Of a bound call, what computes its value from the values of its operands."""


def never(call: Call) -> bool:
    """The function has a value for all values of its operands."""
    return False


def always(call: Call) -> bool:
    """Some values make the function raise."""
    return True


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the portable subset: NULL in, NULL out, unless it `skips_nulls`."""

    names: tuple[str, ...]
    """As it is called in SQL; printed by the first one."""
    least: int
    most: int | None
    """How many arguments it takes; None is any number."""
    types: TypeRule
    rows: Rows
    columns: Callable[..., Any] | None
    """What computes it on columns, from the call and Arrow values of which at least one is an array; None: row by
    row. It raises `NotVectorized` where Arrow computes other than Spark."""
    can_fail: Callable[[Call], bool]
    """Whether some values of the operands' types make it raise (see `failing`); the operands are asked elsewhere."""
    kernel: Instruction | None = None
    """None: computed as a column where it reads one event alone and cannot fail."""
    skips_nulls: bool = False
    is_infix: bool = False
    """Written between its operands, as LIKE is."""
    takes_function: bool = False
    """Its second argument is a function of the items of the first, `x -> …`."""
    wanted: Callable[[Call], str | None] | None = None
    """What is wrong with literal arguments, None if nothing: said when the text is read, as Spark does."""

    @property
    def name(self) -> str:
        return self.names[0]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A function that is short for something else: what it means is put in its place when the text is read."""

    names: tuple[str, ...]
    least: int
    most: int | None
    means: Callable[..., Expression]
    """Of its operands and, by the name `span`, its place in the text. A `ValueError` says what is wrong with them."""
    is_known_to_spark: bool = True


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's operands while their types are checked; an error shows the operand."""

    name: str
    operands: tuple[Expression, ...]
    span: Span | None
    coerce: Callable[[Expression, DataType], Expression]
    error: Callable[[Span | None, str, str], ConditionError]
    alike: Callable[[str, tuple[Expression, ...], Span | None], tuple[tuple[Expression, ...], DataType]]
    """Brings operands to one type."""

    def text(self, operand: Expression) -> Expression:
        if operand.type.kind in (Kind.OTHER, Kind.INTERVAL, Kind.BINARY):
            problem = f"{self.name} needs strings, this is of type {operand.type}"
            raise self.error(operand.span, problem, "cast it with CAST(… AS STRING)")
        return self.coerce(operand, types.STRING)

    def number(self, operand: Expression, or_interval: bool = False) -> Expression:
        """A number; a string is read as a double."""
        if operand.type.kind is Kind.STRING:
            return self.coerce(operand, types.DOUBLE)
        kind = operand.type.kind
        if operand.type.is_numeric or kind in (Kind.NULL, Kind.UNKNOWN) or (or_interval and kind is Kind.INTERVAL):
            return operand
        raise self.error(operand.span or self.span, f"{self.name} needs a number, this is a {operand.type}", "cast it")

    def double(self, operand: Expression) -> Expression:
        return self.coerce(self.number(operand), types.DOUBLE)

    def whole(self, operand: Expression, literal_alone: bool = False) -> Expression:
        if literal_alone and not isinstance(operand, Literal):
            raise self.error(
                operand.span, f"the digits of {self.name} must be a literal", f"such as {self.name}(price, 2)"
            )
        if operand.type.is_integral or operand.type.kind in (Kind.UNKNOWN, Kind.NULL):
            return operand
        problem = f"{self.name} needs a whole number here, this is a {operand.type}"
        raise self.error(operand.span, problem, "cast it with CAST(… AS INT)")

    def moment(self, operand: Expression, target: DataType) -> Expression:
        """A date or timestamp, brought to the target; a string is read as one."""
        if operand.type.is_moment or operand.type.kind in (Kind.STRING, Kind.NULL, Kind.UNKNOWN):
            return self.coerce(operand, target)
        problem = f"{self.name} needs a date or timestamp, this is a {operand.type}"
        raise self.error(operand.span, problem, "cast it")


def of_texts(result: DataType) -> TypeRule:
    """All operands are strings."""
    return lambda arguments: (tuple(map(arguments.text, arguments.operands)), result)


def of_doubles(arguments: Arguments) -> Typed:
    return tuple(map(arguments.double, arguments.operands)), types.DOUBLE


def plainly(compute: Callable[..., Any]) -> Rows:
    """The same for every call."""
    return lambda call: compute
