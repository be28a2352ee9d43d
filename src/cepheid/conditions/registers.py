"""What a run remembers of the events it has taken: as many values as its conditions read, not the events.

Comes in: bound conditions, then one event after the other. Goes out: tuples of values, and a `Taken` that reads them.
Called by the online evaluator; the kernel lays out its own registers by the same list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from cepheid.conditions import types
from cepheid.conditions.arithmetic import equality_key
from cepheid.conditions.evaluation import Taken, compile_expression
from cepheid.conditions.expression import Aggregate, AggregateFunction, Expression, FoldValue, walk
from cepheid.conditions.folding import BoundFold, Spread, average, empty_sum, larger, plus, smaller, updated_fold
from cepheid.conditions.promotion import sum_type
from cepheid.conditions.types import DataType
from cepheid.errors import ConditionError, EvaluationError
from cepheid.syntax.tree import Event

Values: TypeAlias = tuple[Any, ...]


class RegisterKind(Enum):
    """How a register changes when its variable takes an event."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    DISTINCT = "distinct values"
    SPREAD = "spread"
    FOLD = "fold"


KINDS = {
    AggregateFunction.COUNT: RegisterKind.COUNT,
    AggregateFunction.SUM: RegisterKind.SUM,
    AggregateFunction.MIN: RegisterKind.MIN,
    AggregateFunction.MAX: RegisterKind.MAX,
    AggregateFunction.FIRST: RegisterKind.FIRST,
    AggregateFunction.LAST: RegisterKind.LAST,
    AggregateFunction.COUNT_DISTINCT: RegisterKind.DISTINCT,
    AggregateFunction.STDDEV: RegisterKind.SPREAD,
}
"""The register that an aggregate is read from; an average has two, SUM and COUNT."""


@dataclass(frozen=True, slots=True)
class Register:
    """One remembered value. `argument` is None where events are counted; FIRST and LAST keep `depth` values."""

    kind: RegisterKind
    variable: str
    argument: Expression | None
    type: DataType
    depth: int = 1
    fold: BoundFold | None = None

    def __str__(self) -> str:
        if self.fold is not None:
            return f"{self.fold.name} of {self.variable}"
        argument = f"{self.variable}.*" if self.argument is None else str(self.argument)
        return f"{self.kind.value}({argument}) of {self.variable}" + (f", {self.depth} deep" if self.depth > 1 else "")


Update: TypeAlias = Callable[[Any, Event], Any]
Read: TypeAlias = Callable[[Values], Any]


@dataclass(frozen=True, slots=True)
class Registers:
    """The layout: which registers there are, how they change and how they are read."""

    registers: tuple[Register, ...]
    _updates: Mapping[str, tuple[tuple[int, Update], ...]] = field(compare=False, repr=False)
    _reads: Mapping[Aggregate | FoldValue, Read] = field(compare=False, repr=False)
    _initial: Values = field(compare=False, repr=False)

    @classmethod
    def laid_out(cls, expressions: Iterable[Expression], folds: tuple[BoundFold, ...] = ()) -> Registers:
        """One register for each value that any expression reads; equal ones are shared."""
        layout = _Layout(folds)
        for expression in expressions:
            for node in walk(expression):
                if isinstance(node, Aggregate):
                    layout.add_aggregate(node)
                elif isinstance(node, FoldValue):
                    layout.add_fold(node)
        return layout.finished()

    def initial(self) -> Values:
        """The values before anything is taken."""
        return self._initial

    def take(self, values: Values, variable: str, event: Event) -> Values:
        """The values after the variable has taken the event; the same object if nothing depends on it."""
        updates = self._updates.get(variable)
        if updates is None:
            return values
        changed = list(values)
        for index, update in updates:
            try:
                changed[index] = update(values[index], event)
            except EvaluationError as error:
                raise EvaluationError(f"{self.registers[index]}: {error}") from (error.__cause__ or error)
        return tuple(changed)

    def taken(self, values: Values, events: Callable[[], Mapping[str, list[Event]]]) -> Taken:
        """The values as conditions read them. `events` is called only for Python callables."""
        return RegisterTaken(values, self._reads, events)

    def __str__(self) -> str:
        return "\n".join(f"r{index}: {register}" for index, register in enumerate(self.registers)) or "no registers"


class RegisterTaken:
    """What a run has taken, read from its registers."""

    __slots__ = ("_events", "_reads", "_values")

    def __init__(
        self,
        values: Values,
        reads: Mapping[Aggregate | FoldValue, Read],
        events: Callable[[], Mapping[str, list[Event]]],
    ) -> None:
        self._values = values
        self._reads = reads
        self._events = events

    def aggregate(self, node: Aggregate) -> Any:
        return self._reads[node](self._values)

    def fold(self, node: FoldValue) -> Any:
        return self._reads[node](self._values)

    def events(self) -> Mapping[str, list[Event]]:
        return self._events()


class _Layout:
    """Collects registers while conditions are walked."""

    def __init__(self, folds: tuple[BoundFold, ...]) -> None:
        self._folds = {(fold.variable, fold.name): fold for fold in folds}
        self._registers: list[Register] = []
        self._depths: dict[Register, int] = {}
        self._reads: dict[Aggregate | FoldValue, tuple[Register, ...]] = {}

    def add_aggregate(self, node: Aggregate) -> None:
        if node in self._reads:
            return
        if node.function is AggregateFunction.AVG:
            assert node.argument is not None
            total = self._register(RegisterKind.SUM, node, node.argument, sum_type(node.argument.type))
            self._reads[node] = (total, self._register(RegisterKind.COUNT, node, node.argument, types.LONG))
            return
        kind = KINDS[node.function]
        self._reads[node] = (self._register(kind, node, node.argument, node.type, node.offset + 1),)

    def add_fold(self, node: FoldValue) -> None:
        if node not in self._reads:
            fold = self._folds[node.variable, node.name]
            register = Register(RegisterKind.FOLD, node.variable, fold.update, fold.type, 1, fold)
            self._reads[node] = (self._shared(register),)

    def _register(
        self, kind: RegisterKind, node: Aggregate, argument: Expression | None, data_type: DataType, depth: int = 1
    ) -> Register:
        register = self._shared(Register(kind, node.variable, argument, data_type))
        self._depths[register] = max(self._depths.get(register, 1), depth)
        return register

    def _shared(self, register: Register) -> Register:
        if register not in self._registers:
            self._registers.append(register)
        return register

    def finished(self) -> Registers:
        final = tuple(
            Register(r.kind, r.variable, r.argument, r.type, self._depths.get(r, 1), r.fold) for r in self._registers
        )
        index_of = {register: index for index, register in enumerate(self._registers)}
        updates: dict[str, list[tuple[int, Update]]] = {}
        for index, register in enumerate(final):
            updates.setdefault(register.variable, []).append((index, _update(register)))
        reads = {
            node: _read(node, tuple(index_of[register] for register in registers), final)
            for node, registers in self._reads.items()
        }
        return Registers(
            final,
            {variable: tuple(changes) for variable, changes in updates.items()},
            reads,
            tuple(map(_initial, final)),
        )


def _initial(register: Register) -> Any:
    if register.fold is not None:
        return register.fold.initial()
    if register.kind is RegisterKind.COUNT:
        return 0
    if register.kind is RegisterKind.DISTINCT:
        return frozenset()
    if register.kind is RegisterKind.SPREAD:
        return Spread()
    return () if register.depth > 1 else None


def _update(register: Register) -> Update:
    """How the register changes with an event. NULLs are skipped by all but folds (rule 11)."""
    if register.argument is None:
        return lambda count, event: count + 1
    try:
        if register.fold is not None:
            return updated_fold(register.fold)
        argument = compile_expression(register.argument)
    except ConditionError as error:  # only Spark computes it; the engine gets it as a column
        return _refused(error)
    step = _step(register)

    def update(value: Any, event: Event) -> Any:
        new = argument(event, NOTHING_TAKEN)
        return value if new is None else step(value, new)

    return update


def _refused(error: ConditionError) -> Update:
    def update(value: Any, event: Event) -> Any:
        raise error

    return update


def _step(register: Register) -> Callable[[Any, Any], Any]:
    depth = register.depth
    match register.kind:
        case RegisterKind.COUNT:
            return lambda count, new: count + 1
        case RegisterKind.SUM:
            return plus(register.type)
        case RegisterKind.MIN:
            return smaller
        case RegisterKind.MAX:
            return larger
        case RegisterKind.DISTINCT:
            return lambda seen, new: seen if (key := equality_key(new)) in seen else seen | {key}
        case RegisterKind.SPREAD:
            return lambda spread, new: spread.with_value(new)
        case RegisterKind.FIRST if depth > 1:
            return lambda kept, new: kept if len(kept) == depth else (*kept, new)
        case RegisterKind.FIRST:
            return lambda first, new: new if first is None else first
        case RegisterKind.LAST if depth > 1:
            return lambda kept, new: (*kept[-(depth - 1) :], new)
    return lambda last, new: new


def _read(node: Aggregate | FoldValue, indexes: tuple[int, ...], registers: tuple[Register, ...]) -> Read:
    index = indexes[0]
    if isinstance(node, FoldValue) or node.function is AggregateFunction.COUNT:
        return lambda values: values[index]
    if node.function is AggregateFunction.COUNT_DISTINCT:
        return lambda values: len(values[index])
    if node.function is AggregateFunction.STDDEV:
        return lambda values: values[index].deviation
    if node.function is AggregateFunction.AVG:
        count_index, data_type = indexes[1], node.type
        return lambda values: average(values[index], values[count_index], data_type)
    if node.function is AggregateFunction.SUM:
        nothing = empty_sum(node.type)
        return lambda values: nothing if values[index] is None else values[index]
    if registers[index].depth == 1:
        return lambda values: values[index]
    offset, is_first = node.offset, node.function is AggregateFunction.FIRST

    def kept(values: Values) -> Any:
        found = values[index]
        return None if len(found) <= offset else found[offset] if is_first else found[-1 - offset]

    return kept


class _NothingTaken:
    """What an aggregate's argument sees of variables: it reads one event alone."""

    def aggregate(self, node: Aggregate) -> Any:
        raise AssertionError("an aggregate's argument reads no aggregate")

    def fold(self, node: FoldValue) -> Any:
        raise AssertionError("an aggregate's argument reads no fold")

    def events(self) -> Mapping[str, list[Event]]:
        raise AssertionError("an aggregate's argument is not a callable")


NOTHING_TAKEN = _NothingTaken()
