"""Conditions that read variables, as code for the stack machine.

In: bound conditions and the registers they read. Out: code, the columns of the event that it reads, and how registers
change. What the machine cannot compute raises `NotCompiled` with the reason; such a pattern takes the reference's way.
"""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.conditions.expression import (
    TRUE,
    Aggregate,
    AggregateFunction,
    Expression,
    Operation,
    Operator,
    conjuncts,
)
from cepheid.conditions.failing import can_fail
from cepheid.conditions.registers import KINDS, Register, RegisterKind, Registers
from cepheid.conditions.types import DOUBLE, Kind
from cepheid.engine.kernel import opcodes as m
from cepheid.engine.tables.expressions import Expressions, is_of_spark
from cepheid.engine.tables.representation import (
    NotCompiled,
    encode,
    representation,
)

MAXIMUM_COLUMNS = 64
MAXIMUM_REGISTERS = 64


class Compiler(Expressions):
    """Compiles the conditions of one pattern into one block of code."""

    def __init__(self, registers: Registers, own_event: Mapping[str, Expression], computes_early: bool) -> None:
        """`own_event`: by variable, what its events satisfy by themselves. `computes_early`: what may fail and the
        machine has not becomes a column."""
        super().__init__(computes_early)
        self._own_event = own_event
        for register in registers.registers:
            self._lay_out(register)
        for register in registers.registers:
            self._compile_update(register)
        if len(self.programs.initial) > MAXIMUM_REGISTERS:
            raise NotCompiled(f"more than {MAXIMUM_REGISTERS} values are remembered of earlier events")

    def condition(self, expression: Expression, own_event: Expression) -> tuple[int, int]:
        """Compile a condition on events of which `own_event` holds; returns where its code begins and ends."""
        begin = len(self.programs.code)
        self._guard = own_event
        self._compile(expression, begin)
        if len(self.programs.columns) > MAXIMUM_COLUMNS:
            raise NotCompiled(f"more than {MAXIMUM_COLUMNS} columns are read beside earlier events")
        return begin, len(self.programs.code)

    def equalities(self, expression: Expression) -> set[tuple[int, int]]:
        """The (register, column) pairs that must be equal for the condition to hold."""
        found: set[tuple[int, int]] = set()
        for part in conjuncts(expression):
            if not isinstance(part, Operation) or part.operator is not Operator.EQUAL:
                continue
            for one, other in (part.operands, part.operands[::-1]):
                is_last = isinstance(one, Aggregate) and one.function in (
                    AggregateFunction.LAST,
                    AggregateFunction.FIRST,
                )
                whole = one.type.is_integral or one.type.kind in (Kind.STRING, Kind.DATE, Kind.TIMESTAMP)
                if is_last and whole and one.type == other.type and other in self.programs.columns:
                    assert isinstance(one, Aggregate)
                    place, _ = self._places[KINDS[one.function], one.variable, one.argument]
                    found.add((place + one.offset, self.programs.columns.index(other)))
        return found

    # ── registers ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _lay_out(self, register: Register) -> None:
        place = len(self.programs.initial)
        self._places[register.kind, register.variable, register.argument] = place, register
        if representation(register.type) == "code":
            self.programs.texts += range(place, place + register.depth)
        if register.fold is not None:
            initial = register.fold.initial()
            self.programs.initial.append(0 if initial is None else encode(initial, register.type))
            self.programs.known_at_first |= (initial is not None) << place
            return
        if register.kind is RegisterKind.SPREAD:  # count, mean, sum of squares: all known, and 0, at first
            self.programs.initial += [0, 0, 0]
            self.programs.known_at_first |= 0b111 << place
            return
        self.programs.initial += [0] * register.depth
        if register.kind in (RegisterKind.COUNT, RegisterKind.SUM, RegisterKind.DISTINCT):  # over none they are 0
            self.programs.known_at_first |= 1 << place

    def _compile_update(self, register: Register) -> None:
        place, _ = self._places[register.kind, register.variable, register.argument]
        is_double = register.type.is_fractional
        match register.kind:
            case RegisterKind.FOLD:
                kind = m.FOLD
            case RegisterKind.COUNT:
                kind = m.COUNT_EVENTS if register.argument is None else m.COUNT
            case RegisterKind.SUM:
                kind = m.SUM_DOUBLE if is_double else m.SUM
            case RegisterKind.MIN:
                kind = m.SMALLEST_DOUBLE if is_double else m.SMALLEST
            case RegisterKind.MAX:
                kind = m.LARGEST_DOUBLE if is_double else m.LARGEST
            case RegisterKind.FIRST:
                kind = m.FIRST
            case RegisterKind.LAST:
                kind = m.LAST
            case RegisterKind.DISTINCT:
                self._compile_distinct(register, place)
                return
            case RegisterKind.SPREAD:
                self._compile_spread(register, place)
                return
        if register.type.kind is Kind.STRING and register.kind in (RegisterKind.MIN, RegisterKind.MAX):
            self.programs.orders_texts = True
        column, begin, end = -1, 0, 0
        argument = register.fold.update if register.fold is not None else register.argument
        if argument is not None:
            self._guard = self._own_event.get(register.variable, TRUE)
            begin = len(self.programs.code)
            self._compile(argument, begin)
            if register.kind is RegisterKind.SUM:
                self._convert(argument.type, register.type)
            end = len(self.programs.code)
            if end == begin + 1 and self.programs.code[begin][0] == m.VALUE:
                column = self.programs.code.pop()[1]
        self.programs.updates.setdefault(register.variable, []).append(
            (kind, place, register.depth, column, begin, end)
        )

    def _compile_distinct(self, register: Register, place: int) -> None:
        """Different values are counted by a look at the values of the events taken before: they must be a column."""
        argument = register.argument
        assert argument is not None
        self._guard = self._own_event.get(register.variable, TRUE)
        fails = can_fail(argument)
        if fails and not (self._computes_early or is_of_spark(argument)):
            raise NotCompiled(f"a count of different values of `{argument}`, which may fail")
        self._column(self._guarded(argument) if fails else argument)
        column = self.programs.code.pop()[1]
        kind = m.COUNT_DISTINCT_DOUBLE if argument.type.is_fractional else m.COUNT_DISTINCT
        self.programs.updates.setdefault(register.variable, []).append((kind, place, 1, column, 0, 0))
        self.programs.compared.add(column)

    def _compile_spread(self, register: Register, place: int) -> None:
        """Count, mean and sum of squared distances from the mean, each from what they were before (`Spread`)."""
        count, mean, squares = place, place + 1, place + 2
        argument = register.argument
        assert argument is not None
        self._guard = self._own_event.get(register.variable, TRUE)

        def distance() -> None:
            self._compile(argument, begin)
            self._convert(argument.type, DOUBLE)
            self._emit(m.REGISTER, mean)
            self._emit(m.SUBTRACT_DOUBLE)

        def by_new_count() -> None:
            self._emit(m.REGISTER, count)
            self._emit(m.CONSTANT, 1)
            self._emit(m.ADD)
            self._emit(m.TO_DOUBLE)
            self._emit(m.DIVIDE_DOUBLE)

        for kept in (count, mean, squares):
            begin = len(self.programs.code)
            distance()
            if kept == count:
                # The distance says only whether there is a value.
                self._emit(m.IS_UNKNOWN)
                self._emit(m.NOT)
                self._emit(m.REGISTER, count)
                self._emit(m.ADD)
            else:
                if kept == squares:
                    distance()
                    distance()
                    by_new_count()
                    self._emit(m.SUBTRACT_DOUBLE)
                    self._emit(m.MULTIPLY_DOUBLE)
                else:
                    by_new_count()
                self._emit(m.REGISTER, kept)
                self._emit(m.ADD_DOUBLE)
                known = self._emit(m.JUMP_IF_KNOWN)
                self._emit(m.DROP)
                self._emit(m.REGISTER, kept)
                self._patch(known, begin)
            end = len(self.programs.code)
            self.programs.updates.setdefault(register.variable, []).append((m.FOLD, kept, 1, -1, begin, end))
