"""Expressions as code for the stack machine.

In: bound expressions and where registers lie. Out: code, and the columns of the event that it reads. What the machine
cannot compute raises `NotCompiled` with the reason. `programs` compiles whole conditions and registers with it.

An expression over the current event alone that cannot fail (a test on strings, LIKE, IN) becomes a column of its own,
computed beforehand for all rows. Whatever may fail (arithmetic) is computed by the machine, only where the condition
asks for it. What may fail and the machine has not (a cast of a text, any function that only Spark knows) can be a
column as well, where the caller says so: it is then computed for the events that satisfy the part of their element that
reads the event alone, whether or not the rest of the condition would have asked for it.
"""

from __future__ import annotations

from cepheid.conditions.constants import constant_value
from cepheid.conditions.expression import (
    TRUE,
    Aggregate,
    AggregateFunction,
    Call,
    Cast,
    Column,
    Expression,
    FoldValue,
    Leaf,
    Literal,
    Operation,
    Operator,
    PythonCall,
    SparkExpression,
    walk,
)
from cepheid.conditions.failing import can_fail
from cepheid.conditions.functions.definition import Instruction
from cepheid.conditions.functions.table import function_of
from cepheid.conditions.registers import KINDS, Register, RegisterKind
from cepheid.conditions.types import BOOLEAN, NULL, DataType, Kind
from cepheid.engine.kernel import opcodes as m
from cepheid.engine.tables.emitting import Emitter
from cepheid.engine.tables.representation import (
    AS_INTEGER,
    MAXIMUM_DIGITS,
    NotCompiled,
    encode,
    representation,
    scale_of,
)

_INSTRUCTIONS = {
    Instruction.NEGATE: (m.NEGATE, m.NEGATE_DOUBLE),
    Instruction.ABSOLUTE: (m.ABSOLUTE, m.ABSOLUTE_DOUBLE),
    Instruction.SUBTRACT: (m.SUBTRACT, m.SUBTRACT_DOUBLE),
    Instruction.SQUARE_ROOT: (m.SQUARE_ROOT, m.SQUARE_ROOT),
    Instruction.ARC_SINE: (m.ARC_SINE, m.ARC_SINE),
}
"""What functions are computed by: on whole numbers, and on doubles."""


class Expressions(Emitter):
    """Writes the code of expressions into one block."""

    def __init__(self, computes_early: bool) -> None:
        """`computes_early`: what may fail and the machine has not becomes a column."""
        super().__init__()
        self._computes_early = computes_early
        self._guard: Expression = TRUE
        self._places: dict[tuple[RegisterKind, str, Expression | None], tuple[int, Register]] = {}

    def _compile(self, expression: Expression, begin: int) -> None:
        match expression:
            case Literal(value=value):
                if value is None:
                    self._emit(m.UNKNOWN)
                else:
                    self._emit(m.CONSTANT, encode(value, expression.type))
            case Aggregate():
                self._compile_aggregate(expression, begin)
            case FoldValue(variable=variable, name=name):
                for place, register in self._places.values():
                    if register.fold is not None and (register.variable, register.fold.name) == (variable, name):
                        self._emit(m.REGISTER, place)
            case Column():
                self._column(expression)
            case Operation() if self._compile_operation(expression, begin):
                pass
            case Call() if self._compile_call(expression, begin):
                pass
            case Cast() if self._compile_cast(expression, begin):
                pass
            case _ if self._reads_only_the_event(expression) and not can_fail(expression):
                self._column(expression)
            case _ if self._reads_only_the_event(expression) and (self._computes_early or is_of_spark(expression)):
                self._column(self._guarded(expression))
            case _:
                raise NotCompiled(f"`{expression}` together with earlier events")

    def _column(self, expression: Expression) -> None:
        representation(expression.type)
        if self._computes_early and expression.type.kind is Kind.DECIMAL and expression.type.precision > MAXIMUM_DIGITS:
            scale = min(expression.type.scale, MAXIMUM_DIGITS)
            raise NotCompiled(
                f"`{expression}`, a {expression.type}, beside earlier events, where decimals have up to "
                f"{MAXIMUM_DIGITS} digits. Cast each value: CAST(… AS DECIMAL({MAXIMUM_DIGITS},{scale})), inside "
                "aggregates as well"
            )
        if expression not in self.programs.columns:
            self.programs.columns.append(expression)
        self._emit(m.VALUE, self.programs.columns.index(expression))

    def _reads_only_the_event(self, expression: Expression) -> bool:
        """Whether a column of values can hold it."""
        return not any(isinstance(node, Aggregate | FoldValue | Leaf | PythonCall) for node in walk(expression))

    def _guarded(self, expression: Expression) -> Expression:
        """The expression where the event satisfies what its element asks of it alone, NULL elsewhere."""
        if self._guard == TRUE:
            return expression
        otherwise = Literal(None, type=NULL)
        return Operation(Operator.CASE, (self._guard, expression, otherwise), type=expression.type)

    def _compile_aggregate(self, node: Aggregate, begin: int) -> None:
        if node.function is AggregateFunction.STDDEV:
            self._compile_deviation(self._places[RegisterKind.SPREAD, node.variable, node.argument][0], begin)
            return
        if node.function is AggregateFunction.AVG:
            total, register = self._places[RegisterKind.SUM, node.variable, node.argument]
            count, _ = self._places[RegisterKind.COUNT, node.variable, node.argument]
            if node.type.kind is not Kind.DOUBLE:
                raise NotCompiled(f"`{node}`, an average of type {node.type}")
            self._emit(m.REGISTER, total)
            self._emit(m.REGISTER, count)
            self._emit(m.AVERAGE_DOUBLE if register.type.is_fractional else m.AVERAGE)
            return
        place, _ = self._places[KINDS[node.function], node.variable, node.argument]
        self._emit(m.REGISTER, place + node.offset)

    def _compile_deviation(self, count: int, begin: int) -> None:
        """The root of the sum of squares by the count less one; unknown for fewer than two values."""
        self._emit(m.REGISTER, count)
        self._emit(m.CONSTANT, 2)
        self._emit(m.LESS)
        enough = self._emit(m.JUMP_UNLESS_TRUE)
        self._emit(m.UNKNOWN)
        done = self._emit(m.JUMP)
        self._patch(enough, begin)
        self._emit(m.REGISTER, count + 2)
        self._emit(m.REGISTER, count)
        self._emit(m.CONSTANT, 1)
        self._emit(m.SUBTRACT)
        self._emit(m.TO_DOUBLE)
        self._emit(m.DIVIDE_DOUBLE)
        self._emit(m.SQUARE_ROOT)
        self._patch(done, begin)

    def _compile_operation(self, node: Operation, begin: int) -> bool:
        """Whether the machine has the operation; otherwise nothing was emitted."""
        operator, operands = node.operator, node.operands
        if self._reads_only_the_event(node) and not can_fail(node):
            return False  # better computed once for all rows
        match operator:
            case Operator.AND | Operator.OR:
                self._compile_logic(operator, operands, begin)
            case Operator.NOT:
                self._compile(operands[0], begin)
                self._emit(m.NOT)
            case Operator.IS_NULL:
                self._compile(operands[0], begin)
                self._emit(m.IS_UNKNOWN)
            case Operator.IS_TRUE | Operator.IS_FALSE:
                self._compile(operands[0], begin)
                if operator is Operator.IS_FALSE:
                    self._emit(m.NOT)
                self._emit(m.CONSTANT, 1)
                self._emit(m.NULL_SAFE_EQUAL)
            case Operator.IN:
                equal = (
                    Operation(Operator.EQUAL, (operands[0], other), type=BOOLEAN, span=node.span)
                    for other in operands[1:]
                )
                self._compile_logic(Operator.OR, tuple(equal), begin)
            case Operator.CASE:
                self._compile_case(operands, node.type, begin)
            case Operator.COALESCE:
                jumps = []
                for operand in operands[:-1]:
                    self._compile(operand, begin)
                    jumps.append(self._emit(m.JUMP_IF_KNOWN))
                    self._emit(m.DROP)
                self._compile(operands[-1], begin)
                for jump in jumps:
                    self._patch(jump, begin)
            case _ if operator in _COMPARISONS:
                self._compile_comparison(operator, operands[0], operands[1], begin)
            case _ if operator in _ARITHMETIC:
                self._compile_arithmetic(node, begin)
            case _:
                return False
        return True

    def _compile_call(self, call: Call, begin: int) -> bool:
        """Whether the machine has the function; otherwise nothing was emitted."""
        instruction = function_of(call).kernel
        if instruction is None or (self._reads_only_the_event(call) and not can_fail(call)):
            return False
        if call.type.kind is Kind.FLOAT or representation(call.type) is None:
            return False
        for operand in call.operands:
            self._compile(operand, begin)
        if instruction is not Instruction.AS_IT_IS:
            self._emit(_INSTRUCTIONS[instruction][call.type.is_fractional])
            self._check_range(call.type)
        return True

    def _compile_logic(self, operator: Operator, operands: tuple[Expression, ...], begin: int) -> None:
        """AND and OR, which look at a further part only if those before do not decide."""
        decides = m.JUMP_IF_FALSE if operator is Operator.AND else m.JUMP_IF_TRUE
        self._compile(operands[0], begin)
        jumps = []
        for operand in operands[1:]:
            jumps.append(self._emit(decides))
            self._compile(operand, begin)
            self._emit(m.AND if operator is Operator.AND else m.OR)
        for jump in jumps:
            self._patch(jump, begin)

    def _compile_case(self, operands: tuple[Expression, ...], result: DataType, begin: int) -> None:
        ends = []
        for index in range(0, len(operands) - 1, 2):
            self._compile(operands[index], begin)
            otherwise = self._emit(m.JUMP_UNLESS_TRUE)
            self._compile(operands[index + 1], begin)
            ends.append(self._emit(m.JUMP))
            self._patch(otherwise, begin)
        self._compile(operands[-1], begin)
        for end in ends:
            self._patch(end, begin)

    def _compile_comparison(self, operator: Operator, left: Expression, right: Expression, begin: int) -> None:
        kinds = {left.type.kind, right.type.kind} - {Kind.NULL}
        is_double = bool(kinds & {Kind.DOUBLE, Kind.FLOAT})
        if is_double and kinds - {Kind.DOUBLE, Kind.FLOAT}:
            raise NotCompiled(f"a comparison of {left.type} with {right.type}")
        if Kind.STRING in kinds and operator not in _EQUALITIES:
            self.programs.orders_texts = True
        if Kind.STRING in kinds and (isinstance(left, Literal) or isinstance(right, Literal)):
            raise NotCompiled("a text compared with one of an earlier event")
        if operator in (Operator.GREATER, Operator.GREATER_OR_EQUAL):
            left, right = right, left
        scale = max((t.scale for t in (left.type, right.type) if t.kind is Kind.DECIMAL), default=0)
        for side in (left, right):
            self._compile(side, begin)
            if Kind.DECIMAL in kinds:
                self._scale(scale - (side.type.scale if side.type.kind is Kind.DECIMAL else 0))
        code = _COMPARISONS[operator]
        if is_double:
            code = {m.EQUAL: m.EQUAL_DOUBLE, m.LESS: m.LESS_DOUBLE, m.LESS_OR_EQUAL: m.LESS_OR_EQUAL_DOUBLE}.get(
                code, m.NULL_SAFE_EQUAL_DOUBLE
            )
        self._emit(code)
        if operator is Operator.NOT_EQUAL:
            self._emit(m.NOT)

    def _compile_arithmetic(self, node: Operation, begin: int) -> None:
        operator, (left, right), result = node.operator, node.operands, node.type
        if result.kind is Kind.DOUBLE:
            if operator not in _DOUBLES or {left.type.kind, right.type.kind} != {Kind.DOUBLE}:
                raise NotCompiled(f"`{node}` of {left.type} and {right.type}")
            self._compile(left, begin)
            self._compile(right, begin)
            self._emit(_DOUBLES[operator])
            return
        is_decimal = result.kind is Kind.DECIMAL
        if operator not in _WHOLES or result.kind not in AS_INTEGER or (is_decimal and operator not in _DECIMALS):
            raise NotCompiled(f"`{node}` of {left.type} and {right.type}")
        times = {left.type.kind, right.type.kind} & {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.INTERVAL}
        if times and (Kind.DATE in times or operator not in (Operator.ADD, Operator.SUBTRACT)):
            raise NotCompiled(f"`{node}` of {left.type} and {right.type}")
        if is_decimal and operator is Operator.MULTIPLY and result.precision > MAXIMUM_DIGITS:
            raise NotCompiled(f"`{node}`, a product of more than {MAXIMUM_DIGITS} digits")
        for side in (left, right):
            self._compile(side, begin)
            if is_decimal and operator is not Operator.MULTIPLY:
                if result.scale < scale_of(side.type):
                    raise NotCompiled(f"`{node}`, whose digits are cut")
                self._scale(result.scale - scale_of(side.type))
        self._emit(_WHOLES[operator])
        self._check_range(result)

    def _compile_cast(self, expression: Cast, begin: int) -> bool:
        operand, target = expression.operand, expression.type
        fixed = constant_value(expression)
        if fixed is not None and fixed[0] is not None:
            self._emit(m.CONSTANT, encode(fixed[0], target))
            return True
        at = len(self.programs.code)
        columns = len(self.programs.columns)
        try:
            self._compile(operand, begin)
            self._convert(operand.type, target)
        except NotCompiled:
            del self.programs.code[at:]
            del self.programs.columns[columns:]
            return False
        return True


_COMPARISONS = {
    Operator.EQUAL: m.EQUAL,
    Operator.NOT_EQUAL: m.EQUAL,
    Operator.LESS: m.LESS,
    Operator.LESS_OR_EQUAL: m.LESS_OR_EQUAL,
    Operator.GREATER: m.LESS,
    Operator.GREATER_OR_EQUAL: m.LESS_OR_EQUAL,
    Operator.NULL_SAFE_EQUAL: m.NULL_SAFE_EQUAL,
}
_EQUALITIES = {Operator.EQUAL, Operator.NOT_EQUAL, Operator.NULL_SAFE_EQUAL}
_ARITHMETIC = {
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.DIVIDE,
    Operator.MODULO,
    Operator.INTEGER_DIVIDE,
}
_DOUBLES = {
    Operator.ADD: m.ADD_DOUBLE,
    Operator.SUBTRACT: m.SUBTRACT_DOUBLE,
    Operator.MULTIPLY: m.MULTIPLY_DOUBLE,
    Operator.DIVIDE: m.DIVIDE_DOUBLE,
}
_WHOLES = {
    Operator.ADD: m.ADD,
    Operator.SUBTRACT: m.SUBTRACT,
    Operator.MULTIPLY: m.MULTIPLY,
    Operator.MODULO: m.MODULO,
    Operator.INTEGER_DIVIDE: m.INTEGER_DIVIDE,
}
_DECIMALS = {Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY}


def is_of_spark(expression: Expression) -> bool:
    """Whether nobody but Spark can compute it, so that it cannot wait until the condition asks for it."""
    return any(isinstance(node, SparkExpression) for node in walk(expression))
