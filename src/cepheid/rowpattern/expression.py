"""What expressions of MEASURES and DEFINE read: nodes that occur among those of `conditions.expression`.

`RowCall` is what the parser makes of FIRST, LAST, PREV, NEXT, CLASSIFIER, MATCH_NUMBER and aggregates. `binding` turns
calls and names into *reads*: a `Value` is what an expression over one row gives on the row at a `Place`; a `Folded` is
an aggregate over rows. So each bound expression is an outer expression whose leaves are reads; in a read's argument
the columns are those of one row, with the label of that row and the number of the match as two columns more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from cepheid.conditions import types
from cepheid.conditions.expression import Column, Expression, Leaf, walk, with_children
from cepheid.conditions.printing import quoted

LABEL = "CLASSIFIER()"
"""The column of a row that holds its label; NULL on a row outside the match (rule 5.7)."""
NUMBER = "MATCH_NUMBER()"
"""The column that holds the number of the match (rule 5.8)."""


class Mode(Enum):
    """Which rows of the match are visible (rule 5.1)."""

    RUNNING = "RUNNING"
    FINAL = "FINAL"


class Function(Enum):
    """Aggregates; a member's value is its SQL."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    STDDEV = "STDDEV"
    ARRAY_AGG = "ARRAY_AGG"


@dataclass(frozen=True, slots=True)
class RowCall(Leaf):
    """A function of row patterns as written. `rows_of` is the variable of `COUNT(v.*)`, "" for `COUNT(*)`."""

    function: str
    arguments: tuple[Expression, ...] = ()
    mode: Mode | None = None
    rows_of: str | None = None
    distinct: bool = False
    filter: Expression | None = None

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments if self.filter is None else (*self.arguments, self.filter)

    def __str__(self) -> str:
        if self.rows_of is not None:
            inside = f"{quoted(self.rows_of)}.*" if self.rows_of else "*"
        else:
            inside = ("DISTINCT " if self.distinct else "") + ", ".join(map(str, self.arguments))
        mode = "" if self.mode is None else f"{self.mode.value} "
        condition = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{mode}{self.function}({inside}){condition}"


@dataclass(frozen=True, slots=True)
class Place:
    """A row: the first or last visible one with the label (any, if `variable` is None), `offset` such rows on or back
    (rule 5.3), then `shift` rows of the partition forward (rule 5.4)."""

    variable: str | None = None
    from_first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True, slots=True)
class Value(Leaf):
    """What the argument gives on the row at the place; NULL if there is none."""

    place: Place
    argument: Expression

    def __str__(self) -> str:
        place = self.place
        inside = _qualified(self.argument, place.variable)
        plain = isinstance(self.argument, Column) and not (place.from_first or place.offset or place.final)
        if plain and not place.shift:
            return inside
        offset = f", {place.offset}" if place.offset else ""
        shift = f", {abs(place.shift)}" if abs(place.shift) != 1 else ""
        moved = f"{'PREV' if place.shift < 0 else 'NEXT'}("
        if place.shift and not (place.from_first or place.offset or place.final):
            return f"{moved}{inside}{shift})"
        found = f"{'FINAL ' if place.final else ''}{'FIRST' if place.from_first else 'LAST'}({inside}{offset})"
        return f"{moved}{found}{shift})" if place.shift else found


@dataclass(frozen=True, slots=True)
class Folded(Leaf):
    """An aggregate over the visible rows with the label; `argument` is None where rows are counted (rule 5.9)."""

    function: Function
    variable: str | None
    argument: Expression | None
    distinct: bool = False
    final: bool = False

    def __str__(self) -> str:
        if self.argument is None:
            inside = "*" if self.variable is None else f"{quoted(self.variable)}.*"
        else:
            inside = ("DISTINCT " if self.distinct else "") + _qualified(self.argument, self.variable)
        return f"{'FINAL ' if self.final else ''}{self.function.value}({inside})"


def reads_of(expression: Expression) -> tuple[Value | Folded, ...]:
    """The reads of a bound expression, each once."""
    return tuple(dict.fromkeys(node for node in walk(expression) if isinstance(node, Value | Folded)))


def mentions(expression: Expression, column: str) -> bool:
    """Whether an expression over one row, or an outer one, has the column."""
    return any(isinstance(node, Column) and node.name == column for node in walk(expression))


def replaced(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with nodes changed, from the top; None leaves a node as it is."""
    new = change(expression)
    return with_children(expression, lambda child: replaced(child, change)) if new is None else new


def _qualified(argument: Expression, variable: str | None) -> str:
    """The argument with the variable before each column."""

    def change(node: Expression) -> Expression | None:
        if not isinstance(node, Column):
            return None
        if node.name == LABEL:
            return _Text("CLASSIFIER()" if variable is None else f"CLASSIFIER({quoted(variable)})")
        if node.name == NUMBER:
            return _Text("MATCH_NUMBER()")
        return _Text(quoted(node.name) if variable is None else f"{quoted(variable)}.{quoted(node.name)}")

    return str(replaced(argument, change))


@dataclass(frozen=True, slots=True)
class _Text(Leaf):
    """A text that stands for itself."""

    text: str = ""

    def __str__(self) -> str:
        return self.text


def label_column() -> Column:
    """The label of the row."""
    return Column(LABEL, type=types.STRING)


def number_column() -> Column:
    """The number of the match."""
    return Column(NUMBER, type=types.LONG)
