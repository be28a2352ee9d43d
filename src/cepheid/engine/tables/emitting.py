"""The block of code that a pattern's expressions are written into, and the conversions between types."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.conditions.expression import Expression
from cepheid.conditions.types import DataType, Kind
from cepheid.engine.kernel import opcodes as m
from cepheid.engine.tables.representation import EXACT_DIGITS, INTEGERS, MAXIMUM_DIGITS, NotCompiled, scale_of


@dataclass(slots=True)
class Programs:
    """Code of all conditions of a pattern, and what it reads."""

    code: list[tuple[int, int, int]] = field(default_factory=list)
    columns: list[Expression] = field(default_factory=list)
    """Expressions over the event, each a column of values that the kernel reads."""
    updates: dict[str, list[tuple[int, int, int, int, int, int]]] = field(default_factory=dict)
    """By variable: kind, register, depth, column of the argument or -1, and the bounds of its program where it has
    one."""
    initial: list[int] = field(default_factory=list)
    known_at_first: int = 0
    """Bits of the registers that have a value before anything is taken."""
    texts: list[int] = field(default_factory=list)
    """The registers that hold codes of strings."""
    orders_texts: bool = False
    """Whether the order of strings is asked for, so that their codes must go by it."""
    compared: set[int] = field(default_factory=set)
    """The columns that are read again of events taken before: different values of them are counted."""


class Emitter:
    """Writes instructions into one block."""

    def __init__(self) -> None:
        self.programs = Programs()

    def _emit(self, code: int, operand: int = 0, extra: int = 0) -> int:
        self.programs.code.append((code, operand, extra))
        return len(self.programs.code) - 1

    def _patch(self, at: int, begin: int) -> None:
        """Let a jump lead to here."""
        self.programs.code[at] = (self.programs.code[at][0], len(self.programs.code) - begin, 0)

    def _convert(self, source: DataType, target: DataType) -> None:
        """Bring the topmost value from one type to another, where that cannot lose anything."""
        if source == target or source.kind is Kind.NULL:
            return
        if target.kind is Kind.DOUBLE:
            if source.is_integral:
                self._emit(m.TO_DOUBLE)
                return
            if source.kind is Kind.FLOAT:
                return
            if source.kind is Kind.DECIMAL and source.precision <= EXACT_DIGITS:
                self._emit(m.DECIMAL_TO_DOUBLE, 10**source.scale)
                return
        if source.is_integral and target.is_integral and target.bits >= source.bits:
            return
        if target.kind is Kind.DECIMAL and (source.is_integral or source.kind is Kind.DECIMAL):
            digits = target.precision - target.scale
            whole = source.precision - source.scale if source.kind is Kind.DECIMAL else 19
            if target.scale >= scale_of(source) and digits >= whole:
                self._scale(target.scale - scale_of(source))
                return
        raise NotCompiled(f"a cast from {source} to {target} together with earlier events")

    def _scale(self, digits: int) -> None:
        if digits > MAXIMUM_DIGITS:
            raise NotCompiled(f"decimals of more than {MAXIMUM_DIGITS} digits")
        if digits > 0:
            self._emit(m.CONSTANT, 10**digits)
            self._emit(m.MULTIPLY)

    def _check_range(self, result: DataType) -> None:
        if result.is_integral and result.kind is not Kind.LONG:
            self._emit(m.CHECK_RANGE, INTEGERS[result.kind], 1)
