"""Conditions of DEFINE that are tested while matching, as code for the stack machine.

In: the `rest` of split conditions. Out: code; what it reads, one slot of a small array for each read; the columns that
these reads and the registers take their values from; how registers change when a row gets a label. What the machine
cannot compute raises `NotCompiled`, and the row pattern takes the reference's way.

A read's argument becomes a column, computed beforehand for all rows, unless it may fail there or mentions labels: then
its parts are read, and the machine computes it from them, if there is such a row. Strings are compared by their rank
among all that occur, so that order needs no strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheid.conditions import types
from cepheid.conditions.evaluation import compile_expression
from cepheid.conditions.expression import (
    COMPARISONS,
    Column,
    Expression,
    Literal,
    Operation,
    Operator,
    SparkExpression,
    walk,
)
from cepheid.conditions.failing import can_fail
from cepheid.conditions.registers import NOTHING_TAKEN, Registers
from cepheid.conditions.types import DataType, Kind
from cepheid.engine.kernel import opcodes as m
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.tables.programs import Compiler
from cepheid.engine.tables.representation import NotCompiled, representation
from cepheid.rowpattern.expression import LABEL, NUMBER, Folded, Function, Place, Value, mentions, reads_of, replaced

ROW = Column("__row", type=types.LONG)
"""The column that holds the number of each row: registers that remember rows are fed from it."""
MAXIMUM_READS = 64
MAXIMUM_REGISTERS = 63
_COMPARISONS = {
    Operator.EQUAL: m.EQUAL,
    Operator.NOT_EQUAL: m.EQUAL,
    Operator.LESS: m.LESS,
    Operator.GREATER: m.LESS,
    Operator.LESS_OR_EQUAL: m.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: m.LESS_OR_EQUAL,
    Operator.NULL_SAFE_EQUAL: m.NULL_SAFE_EQUAL,
}


@dataclass(slots=True)
class RowPrograms:
    """What all tests of a row pattern need."""

    variables: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]]
    code: list[tuple[int, int, int]] = field(default_factory=list)
    reads: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    columns: list[Expression] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    updates: dict[str, list[tuple[int, int, int, int, int, int]]] = field(default_factory=dict)
    registers: int = 0
    known_at_first: int = 0
    places: dict[object, int] = field(default_factory=dict)

    def column(self, expression: Expression) -> int:
        """The number of a column of values."""
        representation(expression.type)
        if expression not in self.columns:
            if len(self.columns) == MAXIMUM_READS:
                raise NotCompiled(f"more than {MAXIMUM_READS} columns are read while matching")
            self.columns.append(expression)
        return self.columns.index(expression)

    def text(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def labelled(self, variable: str | None) -> tuple[str, ...]:
        """The primary variables whose rows a read sees."""
        return self.variables if variable is None else self.members[variable]

    def row_register(self, place: Place) -> int:
        """The register that holds the row of a labelled place, before its shift."""
        key = (place.variable, place.from_first, place.offset)
        if key not in self.places:
            depth = place.offset + 1
            self.places[key] = self._room(depth)
            kind = m.FIRST if place.from_first else m.LAST
            for variable in self.labelled(place.variable):
                self._update(variable, (kind, self.places[key], depth, self.column(ROW), 0, 0))
        return self.places[key] + place.offset

    def fold_register(self, kind: int, read: Folded, result: DataType) -> int:
        """The register that holds a part of an aggregate."""
        key = (kind, read.variable, read.argument)
        if key not in self.places:
            representation(result)
            place = self.places[key] = self._room(1)
            if kind in (m.COUNT, m.COUNT_EVENTS):
                self.known_at_first |= 1 << place
            for variable in self.labelled(read.variable):
                self._update(variable, (kind, place, 1, *self._argument(read.argument, variable)))
        return self.places[key]

    def _room(self, depth: int) -> int:
        place = self.registers
        self.registers += depth
        if self.registers > MAXIMUM_REGISTERS:
            raise NotCompiled(f"more than {MAXIMUM_REGISTERS} values are remembered of earlier rows")
        return place

    def _update(self, variable: str, update: tuple[int, int, int, int, int, int]) -> None:
        self.updates.setdefault(variable, []).append(update)

    def _argument(self, argument: Expression | None, variable: str) -> tuple[int, int, int]:
        """The column of an aggregate's argument on rows with the label, or the bounds of its program."""
        if argument is None:
            return -1, 0, 0
        if mentions(argument, NUMBER):
            raise NotCompiled("MATCH_NUMBER() inside an aggregate")
        labelled = replaced(argument, lambda node: _labelled(node, variable))
        if not can_fail(labelled) or _is_spark(labelled):
            return self.column(labelled), 0, 0
        begin = len(self.code)
        _RowCompiler(self).argument(labelled)
        return -1, begin, len(self.code)


class TestCompiler(Compiler):
    """Compiles the tests of one row pattern; a slot is the place of a read in the array that a test reads."""

    __test__ = False  # no test of pytest's

    def __init__(self, programs: RowPrograms) -> None:
        super().__init__(Registers.laid_out(()), {}, computes_early=False)
        self._rows = programs
        self.programs.code = programs.code
        self._slots: dict[object, int] = {}

    def test(self, condition: Expression) -> tuple[int, int, int, int]:
        """Where the code of a test begins and ends, and where its reads do."""
        begin, first = len(self._rows.code), len(self._rows.reads)
        self._slots = {}
        self._compile(condition, begin)
        if len(self._slots) > MAXIMUM_READS:
            raise NotCompiled(f"more than {MAXIMUM_READS} values are read by one condition")
        return begin, len(self._rows.code), first, len(self._rows.reads)

    def _slot(self, key: object, read: tuple[int, int, int, int, int]) -> None:
        if key not in self._slots:
            self._slots[key] = len(self._slots)
            self._rows.reads.append(read)
        self._emit(m.VALUE, self._slots[key])

    # ── leaves ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _compile(self, expression: Expression, begin: int) -> None:
        match expression:
            case Value():
                self._value(expression, begin)
            case Folded():
                self._folded(expression)
            case Column(name=name) if name == NUMBER:
                self._slot(NUMBER, (r.READ_NUMBER, 0, 0, 0, 0))
            case Literal(value=str(text)):
                self._slot(("text", text), (r.READ_TEXT, 0, 0, 0, self._rows.text(text)))
            case _:
                self._compile_or_read_whole(expression, begin)

    def _compile_or_read_whole(self, expression: Expression, begin: int) -> None:
        """Code for an operation; where the machine lacks it and it reads one row only, the whole becomes a column."""
        code, reads, slots = len(self._rows.code), len(self._rows.reads), dict(self._slots)
        try:
            super()._compile(expression, begin)
        except NotCompiled:
            whole = read_whole(expression)
            if whole is None:
                raise
            del self._rows.code[code:]
            del self._rows.reads[reads:]
            self._slots = slots
            self._compile(whole, begin)

    def _reads_only_the_event(self, expression: Expression) -> bool:
        """The number of the match is known while matching, not beforehand (rule 5.8)."""
        return super()._reads_only_the_event(expression) and not mentions(expression, NUMBER)

    def _column(self, expression: Expression) -> None:
        """What reads no row is the same on each: read on the current one."""
        self._slot(("column", expression), (r.READ_VALUE, r.FROM_CURRENT, 0, 0, self._rows.column(expression)))

    def _value(self, read: Value, begin: int) -> None:
        argument = read.argument
        if isinstance(argument, Column) and argument.name == LABEL:
            self._slot(read, (r.READ_LABEL, *self._where(read.place), 0))
        elif not (mentions(argument, LABEL) or mentions(argument, NUMBER)) and (
            not can_fail(argument) or _is_spark(argument)
        ):
            self._slot(read, (r.READ_VALUE, *self._where(read.place), self._rows.column(argument)))
        else:
            self._compile(taken_apart(read), begin)

    def _where(self, place: Place) -> tuple[int, int, int]:
        if place.variable is not None:
            return r.IN_REGISTER, self._rows.row_register(place), place.shift
        return (r.FROM_START if place.from_first else r.FROM_CURRENT), place.offset, place.shift

    def _folded(self, read: Folded) -> None:
        if read.distinct or read.function in (Function.ARRAY_AGG, Function.STDDEV):
            raise NotCompiled(f"`{read}`")
        if read.function is Function.COUNT:
            kind = m.COUNT_EVENTS if read.argument is None else m.COUNT
            self._register(self._rows.fold_register(kind, read, types.LONG))
            return
        assert read.argument is not None
        is_double = read.argument.type.is_fractional
        if read.function is Function.AVG:
            if read.type.kind is not Kind.DOUBLE:
                raise NotCompiled(f"`{read}`, an average of type {read.type}")
            self._register(self._rows.fold_register(m.SUM_DOUBLE, read, read.type))
            self._register(self._rows.fold_register(m.COUNT, read, types.LONG))
            self._emit(m.AVERAGE_DOUBLE)
            return
        kinds = {
            Function.SUM: (m.SUM, m.SUM_DOUBLE),
            Function.MIN: (m.SMALLEST, m.SMALLEST_DOUBLE),
            Function.MAX: (m.LARGEST, m.LARGEST_DOUBLE),
        }
        self._register(self._rows.fold_register(kinds[read.function][is_double], read, read.type))

    def _register(self, register: int) -> None:
        self._slot(("register", register), (r.READ_REGISTER, 0, register, 0, 0))

    # ── strings ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _compile_comparison(self, operator: Operator, left: Expression, right: Expression, begin: int) -> None:
        assert operator in COMPARISONS
        if Kind.STRING not in (left.type.kind, right.type.kind):
            super()._compile_comparison(operator, left, right, begin)
            return
        if operator in (Operator.GREATER, Operator.GREATER_OR_EQUAL):
            left, right = right, left
        self._compile(left, begin)
        self._compile(right, begin)
        self._emit(_COMPARISONS[operator])
        if operator is Operator.NOT_EQUAL:
            self._emit(m.NOT)


class _RowCompiler(TestCompiler):
    """Compiles an aggregate's argument: it reads the columns of the row that gets a label."""

    def argument(self, expression: Expression) -> None:
        self._compile(expression, len(self._rows.code))

    def _column(self, expression: Expression) -> None:
        self._emit(m.VALUE, self._rows.column(expression))

    def _slot(self, key: object, read: tuple[int, int, int, int, int]) -> None:
        raise NotCompiled("strings in an aggregate whose argument may fail")


def read_whole(expression: Expression) -> Expression | None:
    """An expression whose reads are all of one row, as one read of that row; None if it is no such expression.

    If there is no such row, each of its reads is NULL, and so the value is that of the expression over NULLs.
    """
    reads = list(reads_of(expression))
    places = {read.place if isinstance(read, Value) else None for read in reads}
    if len(places) != 1 or None in places or any(mentions(part, NUMBER) for part in (expression, *_arguments(reads))):
        return None
    [place] = places
    assert place is not None
    inner = replaced(expression, lambda node: node.argument if isinstance(node, Value) else None)
    if mentions(inner, LABEL) or (can_fail(inner) and not _is_spark(inner)):
        return None
    value = Value(place, inner, type=expression.type, span=expression.span)
    if place.variable is None and not place.offset and not place.shift:  # the first row and the current one are there
        return value
    if _is_spark(inner):
        return None
    nothing = replaced(expression, lambda node: Literal(None, type=node.type) if isinstance(node, Value) else None)
    otherwise = Literal(compile_expression(nothing)({}, NOTHING_TAKEN), type=expression.type)
    return Operation(Operator.CASE, (_is_there(place), value, otherwise), type=expression.type, span=expression.span)


def _arguments(reads: list[Value | Folded]) -> list[Expression]:
    return [read.argument for read in reads if read.argument is not None]


def _is_there(place: Place) -> Expression:
    return Value(place, Literal(True, type=types.BOOLEAN), type=types.BOOLEAN)


def taken_apart(read: Value) -> Expression:
    """The read as an expression over reads of the columns of its argument; NULL if there is no row."""

    def change(node: Expression) -> Expression | None:
        if isinstance(node, Column) and node.name != NUMBER:
            return Value(read.place, node, type=node.type)
        return None

    parts = (_is_there(read.place), replaced(read.argument, change), Literal(None, type=types.NULL))
    return Operation(Operator.CASE, parts, type=read.type, span=read.span)


def _labelled(node: Expression, variable: str) -> Expression | None:
    is_label = isinstance(node, Column) and node.name == LABEL
    return Literal(variable, type=types.STRING) if is_label else None


def _is_spark(expression: Expression) -> bool:
    return any(isinstance(node, SparkExpression) for node in walk(expression))
