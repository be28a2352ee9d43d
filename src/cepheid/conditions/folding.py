"""The steps of aggregates and folds: one value and the next give a value.

Shared by `registers`, which steps with each event taken, and `taken`, which steps through lists, so that both add
doubles in the same order and round decimals alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from cepheid.conditions import types
from cepheid.conditions.arithmetic import compare, operation
from cepheid.conditions.casting import EXACT, cast, fit_decimal
from cepheid.conditions.evaluation import compile_expression
from cepheid.conditions.expression import Aggregate, Expression, FoldValue, Operator
from cepheid.conditions.types import DataType, Kind
from cepheid.syntax.tree import Event

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class BoundFold:
    """A fold with its meaning: `update` reads the event being taken and, as a `FoldValue`, the fold itself."""

    variable: str
    name: str
    init: Expression
    update: Expression
    type: DataType

    def initial(self) -> Any:
        """The value before its variable has taken anything."""
        return compile_expression(self.init)({}, _FoldInProgress(None))


class _FoldInProgress:
    """What a fold's update sees of the run: the fold's own value."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def fold(self, node: FoldValue) -> Any:
        return self._value

    def aggregate(self, node: Aggregate) -> Any:
        raise AssertionError("a fold's update reads no aggregate")

    def events(self) -> Mapping[str, list[Event]]:
        raise AssertionError("a fold's update is not a callable")


def updated_fold(fold: BoundFold) -> Callable[[Any, Event], Any]:
    """The fold's next value from its value and the event that its variable takes."""
    update = compile_expression(fold.update)
    return lambda value, event: update(event, _FoldInProgress(value))


def plus(data_type: DataType) -> Callable[[Any, Any], Any]:
    """The next sum; None stands for the sum of nothing."""
    add = operation(Operator.ADD, data_type)
    return lambda total, new: new if total is None else add(total, new)


def empty_sum(data_type: DataType) -> Any:
    """The sum of nothing is 0 of its type (rule 11)."""
    if data_type.kind is Kind.INTERVAL:
        return timedelta(0)
    if data_type.kind in (Kind.UNKNOWN, Kind.NULL):
        return 0
    return cast(0, data_type)


def smaller(kept: Any, new: Any) -> Any:
    return new if kept is None or compare(new, kept) < 0 else kept


def larger(kept: Any, new: Any) -> Any:
    return new if kept is None or compare(new, kept) > 0 else kept


@dataclass(frozen=True, slots=True)
class Spread:
    """What a standard deviation needs of the values so far, one value after the other, as Spark adds them up."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """The sum of the squared distances from the mean."""

    def with_value(self, value: Any) -> Spread:
        delta = cast(value, types.DOUBLE) - self.mean
        count = self.count + 1
        return Spread(count, self.mean + delta / count, self.squares + delta * (delta - delta / count))

    @property
    def deviation(self) -> float | None:
        return None if self.count < 2 else math.sqrt(self.squares / (self.count - 1))


def average(total: Any, count: int, data_type: DataType) -> Any:
    """The average, unknown over nothing; of whole numbers a double, of decimals four more digits."""
    if count == 0:
        return None
    if isinstance(total, Decimal):
        if data_type.kind is not Kind.DECIMAL:
            exponent = total.as_tuple().exponent
            assert isinstance(exponent, int)
            data_type = types.decimal(types.MAX_PRECISION, max(-exponent, 0) + 4)
        return fit_decimal(EXACT.divide(total, Decimal(count)), data_type)
    if isinstance(total, timedelta):
        # Half up, as Spark rounds; Python's division of an interval rounds half to even.
        microseconds = EXACT.divide(Decimal(total // _MICROSECOND), Decimal(count))
        return timedelta(microseconds=int(microseconds.to_integral_value(ROUND_HALF_UP)))
    return float(total) / count
