"""What a run has taken, as plain lists: aggregates computed literally, as rule 11 says.

Comes in: the events of each variable, in the order taken. Used by the definition evaluator, and by tests as the
measure of `registers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from cepheid.conditions.arithmetic import equality_key
from cepheid.conditions.evaluation import compile_expression
from cepheid.conditions.expression import Aggregate, AggregateFunction, FoldValue
from cepheid.conditions.folding import BoundFold, Spread, average, empty_sum, larger, plus, smaller, updated_fold
from cepheid.conditions.promotion import sum_type
from cepheid.syntax.tree import Event


class ListedTaken:
    """The events that each variable has taken; a variable without any may be missing."""

    __slots__ = ("_events", "_folds")

    def __init__(self, events: Mapping[str, Sequence[Event]], folds: Sequence[BoundFold] = ()) -> None:
        self._events = events
        self._folds = folds

    def aggregate(self, node: Aggregate) -> Any:
        events = self._events.get(node.variable, ())
        if node.argument is None:
            return len(events)
        argument = compile_expression(node.argument)
        values = [value for event in events if (value := argument(event, self)) is not None]
        match node.function:
            case AggregateFunction.COUNT:
                return len(values)
            case AggregateFunction.SUM:
                return reduce(plus(node.type), values) if values else empty_sum(node.type)
            case AggregateFunction.AVG:
                total = reduce(plus(sum_type(node.argument.type)), values) if values else None
                return average(total, len(values), node.type)
            case AggregateFunction.COUNT_DISTINCT:
                return len(set(map(equality_key, values)))
            case AggregateFunction.STDDEV:
                return reduce(Spread.with_value, values, Spread()).deviation
            case AggregateFunction.MIN:
                return reduce(smaller, values) if values else None
            case AggregateFunction.MAX:
                return reduce(larger, values) if values else None
            case AggregateFunction.FIRST:
                return values[node.offset] if len(values) > node.offset else None
            case AggregateFunction.LAST:
                return values[-1 - node.offset] if len(values) > node.offset else None

    def fold(self, node: FoldValue) -> Any:
        fold = next(fold for fold in self._folds if (fold.variable, fold.name) == (node.variable, node.name))
        return reduce(updated_fold(fold), self._events.get(node.variable, ()), fold.initial())

    def events(self) -> Mapping[str, list[Event]]:
        return {variable: list(events) for variable, events in self._events.items()}
