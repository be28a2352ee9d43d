"""Which type an operation has, by Spark's ANSI rules.

Comes in: the types of operands. Goes out: the type they are brought to and the type of the result, or None where Spark
would refuse. Called by `checking` alone.
"""

from __future__ import annotations

from decimal import Decimal

from cepheid.conditions import types
from cepheid.conditions.expression import AggregateFunction, Expression, Literal, Operator
from cepheid.conditions.types import DataType, Kind, decimal

_INTEGRAL_ORDER = (Kind.BYTE, Kind.SHORT, Kind.INT, Kind.LONG)
_INTEGRAL_DIGITS = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INT: 10, Kind.LONG: 20}


def common(left: DataType, right: DataType) -> DataType | None:
    """The type that two values are brought to before they are compared or used in one place (CASE, COALESCE, IN)."""
    if left == right or right.kind is Kind.NULL:
        return left
    if left.kind is Kind.NULL:
        return right
    if Kind.UNKNOWN in (left.kind, right.kind):
        return types.UNKNOWN
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    if Kind.STRING in (left.kind, right.kind):
        return _of_string_and(right if left.kind is Kind.STRING else left)
    if left.is_moment and right.is_moment:
        return types.TIMESTAMP if Kind.TIMESTAMP in (left.kind, right.kind) else types.TIMESTAMP_NTZ
    if left.kind is right.kind is Kind.INTERVAL:
        return types.INTERVAL
    return None


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether values of the one type may be cast to the other. Intervals have no casts here, though some in Spark."""
    if Kind.UNKNOWN in (source.kind, target.kind) or source.kind is Kind.NULL or source.kind is target.kind:
        return Kind.OTHER not in (source.kind, target.kind)
    if Kind.INTERVAL in (source.kind, target.kind) or Kind.OTHER in (source.kind, target.kind):
        return False
    if Kind.STRING in (source.kind, target.kind):
        return True
    if source.is_moment and target.is_moment:
        return True
    if source.kind is Kind.TIMESTAMP or target.kind is Kind.TIMESTAMP:
        return source.is_numeric or target.is_numeric
    return all(side.is_numeric or side.kind is Kind.BOOLEAN for side in (source, target))


def _common_number(left: DataType, right: DataType) -> DataType:
    if left.is_integral and right.is_integral:
        return max(left, right, key=lambda integral: integral.bits)
    if left.is_fractional or right.is_fractional:
        # A float holds neither an int nor a decimal exactly, so Spark goes on to double.
        return types.FLOAT if left.kind is right.kind is Kind.FLOAT else types.DOUBLE
    first, second = as_decimal(left), as_decimal(right)
    whole = max(first.precision - first.scale, second.precision - second.scale)
    scale = max(first.scale, second.scale)
    # Beyond 38 digits those after the point go first, all of them if need be; results of arithmetic keep six.
    excess = max(0, whole + scale - types.MAX_PRECISION)
    return DataType(Kind.DECIMAL, whole + scale - excess, max(0, scale - excess))


def _of_string_and(other: DataType) -> DataType | None:
    """A string next to a number is read as one (which may fail at run time); a date or timestamp likewise."""
    if other.is_integral:
        return types.LONG
    if other.is_numeric:
        return types.DOUBLE
    if other.is_moment or other.kind in (Kind.BOOLEAN, Kind.BINARY):
        return other
    return None


def as_decimal(data_type: DataType) -> DataType:
    """The decimal that holds every value of an integral type."""
    return decimal(_INTEGRAL_DIGITS[data_type.kind], 0) if data_type.is_integral else data_type


def _literal_decimal(operand: Expression) -> DataType:
    """A literal next to a decimal counts with its own digits, not with all that its type could have."""
    if isinstance(operand, Literal) and operand.type.is_integral and operand.value is not None:
        return decimal(len(Decimal(operand.value).as_tuple().digits), 0)
    return as_decimal(operand.type)


def arithmetic(operator: Operator, left: Expression, right: Expression) -> tuple[DataType, DataType, DataType] | None:
    """The types that both operands are brought to and that of the result; None where there is none."""
    first, second = left.type, right.type
    if Kind.UNKNOWN in (first.kind, second.kind):
        return first, second, types.UNKNOWN
    if Kind.NULL in (first.kind, second.kind):
        result = _of_null(operator, first, second)
        return None if result is None else (first, second, result)
    if first.kind is Kind.STRING and second.is_numeric:
        first = types.LONG if second.is_integral and operator is not Operator.DIVIDE else types.DOUBLE
    elif second.kind is Kind.STRING and first.is_numeric:
        second = types.LONG if first.is_integral and operator is not Operator.DIVIDE else types.DOUBLE
    elif first.kind is second.kind is Kind.STRING:
        first = second = types.DOUBLE
    if first.is_numeric and second.is_numeric:
        if Kind.DECIMAL in (first.kind, second.kind) and not (first.is_fractional or second.is_fractional):
            return _decimals(operator, _literal_decimal(left), _literal_decimal(right))
        return _numbers(operator, first, second)
    return _with_time(operator, first, second)


def _of_null(operator: Operator, first: DataType, second: DataType) -> DataType | None:
    """The type of the NULL that comes of a NULL: mostly that of two values of the other side's type."""
    known = second if first.kind is Kind.NULL else first
    if known.kind is Kind.NULL or (first.kind is Kind.NULL and operator is Operator.DIVIDE and known.is_numeric):
        return types.LONG if operator is Operator.INTEGER_DIVIDE else types.DOUBLE
    if known.kind is Kind.DECIMAL:
        return _decimals(operator, known, known)[2]
    if known.is_numeric:
        found = _numbers(operator, known, known)
        return None if found is None else found[2]
    if operator in (Operator.ADD, Operator.SUBTRACT):
        return _moved_by_null(operator, known)
    if known.kind is not Kind.INTERVAL or operator is Operator.MODULO:
        return None
    if operator is Operator.INTEGER_DIVIDE:
        return types.LONG
    return None if operator is Operator.DIVIDE and first.kind is Kind.NULL else types.INTERVAL


def _moved_by_null(operator: Operator, known: DataType) -> DataType | None:
    if known.is_moment and operator is Operator.SUBTRACT:
        return types.DAYS if known.kind is Kind.DATE else types.INTERVAL
    if known.kind is Kind.DATE:
        return types.TIMESTAMP
    return known if known.is_moment or known.kind is Kind.INTERVAL else None


def _numbers(operator: Operator, first: DataType, second: DataType) -> tuple[DataType, DataType, DataType] | None:
    if operator is Operator.DIVIDE:
        return types.DOUBLE, types.DOUBLE, types.DOUBLE
    if operator is Operator.INTEGER_DIVIDE:
        return (types.LONG,) * 3 if first.is_integral and second.is_integral else None
    wider = _common_number(first, second)
    return wider, wider, wider


def _decimals(operator: Operator, first: DataType, second: DataType) -> tuple[DataType, DataType, DataType]:
    whole = max(first.precision - first.scale, second.precision - second.scale)
    scale = max(first.scale, second.scale)
    match operator:
        case Operator.ADD | Operator.SUBTRACT:
            result = decimal(whole + scale + 1, scale)
        case Operator.MULTIPLY:
            result = decimal(first.precision + second.precision + 1, first.scale + second.scale)
        case Operator.DIVIDE:
            digits = max(6, first.scale + second.precision + 1)
            result = decimal(first.precision - first.scale + second.scale + digits, digits)
        case Operator.MODULO:
            result = decimal(min(first.precision - first.scale, second.precision - second.scale) + scale, scale)
        case _:
            result = types.LONG
    return first, second, result


def _with_time(operator: Operator, first: DataType, second: DataType) -> tuple[DataType, DataType, DataType] | None:
    adds, subtracts = operator is Operator.ADD, operator is Operator.SUBTRACT
    intervals = (first.kind is Kind.INTERVAL, second.kind is Kind.INTERVAL)
    if all(intervals) and (adds or subtracts):
        wider = first if first == second else types.INTERVAL
        return first, second, wider
    if subtracts and first.is_moment and second.is_moment:
        if first == second:
            return first, second, types.DAYS if first.kind is Kind.DATE else types.INTERVAL
        wider = types.TIMESTAMP if Kind.TIMESTAMP in (first.kind, second.kind) else types.TIMESTAMP_NTZ
        return wider, wider, types.INTERVAL
    if first.is_moment and second.kind is Kind.INTERVAL and (adds or subtracts):
        return _moved(first, second)
    if adds and second.is_moment and first.kind is Kind.INTERVAL:
        moved = _moved(second, first)
        return moved[1], moved[0], moved[2]
    if first.kind is Kind.DATE and _counts_days(second) and (adds or subtracts):
        return first, second, types.DATE
    if adds and second.kind is Kind.DATE and _counts_days(first):
        return first, second, types.DATE
    scaled = operator in (Operator.MULTIPLY, Operator.DIVIDE) and intervals[0] and second.is_numeric
    if scaled or (operator is Operator.MULTIPLY and intervals[1] and first.is_numeric):
        return first, second, types.INTERVAL
    return None


def _counts_days(number: DataType) -> bool:
    """Whether Spark moves a date by such a number: not by a bigint."""
    return number.is_integral and number.bits <= 32


def _moved(moment: DataType, interval: DataType) -> tuple[DataType, DataType, DataType]:
    if moment.kind is Kind.DATE and interval != types.DAYS:
        return types.TIMESTAMP, interval, types.TIMESTAMP
    return moment, interval, moment


def aggregate(function: AggregateFunction, argument: DataType) -> tuple[DataType, DataType] | None:
    """The type that an aggregate's argument is brought to and that of its result."""
    if function is AggregateFunction.COUNT:
        return argument, types.LONG
    if function is AggregateFunction.COUNT_DISTINCT:
        return None if argument.kind is Kind.OTHER else (argument, types.LONG)
    if function is AggregateFunction.STDDEV:
        return _of_deviation(argument)
    if function not in (AggregateFunction.SUM, AggregateFunction.AVG):
        return None if argument.kind is Kind.OTHER and function.value in ("MIN", "MAX") else (argument, argument)
    summed = function is AggregateFunction.SUM
    match argument.kind:
        case Kind.UNKNOWN:
            return argument, types.UNKNOWN
        case Kind.DECIMAL:
            extra = 10 if summed else 4
            scale = argument.scale if summed else argument.scale + 4
            return argument, decimal(min(argument.precision + extra, types.MAX_PRECISION), min(scale, 38))
        case Kind.INTERVAL:
            return argument, types.INTERVAL
        case Kind.STRING | Kind.FLOAT | Kind.DOUBLE | Kind.NULL:
            return types.DOUBLE, types.DOUBLE
        case _ if argument.is_integral:
            return (types.LONG, types.LONG) if summed else (types.DOUBLE, types.DOUBLE)
    return None


def _of_deviation(argument: DataType) -> tuple[DataType, DataType] | None:
    if argument.kind is Kind.UNKNOWN or argument.is_numeric or argument.kind in (Kind.STRING, Kind.NULL):
        return (argument if argument.kind is Kind.UNKNOWN else types.DOUBLE), types.DOUBLE
    return None


def sum_type(argument: DataType) -> DataType:
    """The type of the sum behind an average: it has room to grow, which the average's own type has not."""
    found = aggregate(AggregateFunction.SUM, argument)
    assert found is not None
    return found[1]
