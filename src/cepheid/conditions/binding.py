"""A pattern's conditions, given a meaning: names resolved, types checked, registers laid out.

Comes in: a pattern tree and the schema of its events, if known. Goes out: `BoundConditions`, or a `ConditionError`
that names the element. Called once per pattern and schema, before the automaton is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cepheid.conditions import promotion, types
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import (
    TRUE,
    Aggregate,
    Cast,
    Column,
    Expression,
    Operator,
    PythonCall,
    SparkColumn,
    combine,
    walk,
)
from cepheid.conditions.folding import BoundFold
from cepheid.conditions.parameters import filled
from cepheid.conditions.parser import check_text
from cepheid.conditions.predicate import Predicate
from cepheid.conditions.registers import Registers
from cepheid.conditions.scope import FoldName, Scope
from cepheid.conditions.types import DataType, Kind, Schema
from cepheid.errors import ConditionError
from cepheid.syntax import tree
from cepheid.syntax.positions import readable_at
from cepheid.syntax.tree import (
    AllOf,
    AnyOf,
    ColumnCondition,
    Condition,
    Element,
    Fold,
    Not,
    Path,
    PatternTree,
    PythonCondition,
    SqlText,
    Variable,
)


@dataclass(frozen=True, slots=True)
class BoundConditions:
    """What a pattern asks of its events."""

    where: Mapping[str, Predicate]
    """By the name of the variable, not or not_before."""
    until: Mapping[Path, Predicate]
    """By the path of the loop's or group's element."""
    having: Mapping[Path, Predicate]
    """By the path of the element that carries it."""
    registers: Registers
    folds: tuple[BoundFold, ...]
    columns: tuple[str, ...]
    """The columns read anywhere, as the schema spells them and in its order. A callable may read any other as well."""

    @property
    def calls_python(self) -> bool:
        return any(predicate.calls_python for predicate in (*self.where.values(), *self.until.values()))


def bind(pattern: PatternTree, schema: Schema | None) -> BoundConditions:
    """Binds every condition. Without a schema types are unknown and only names of variables are checked."""
    return _Binder(pattern, schema).bind()


class _Binder:
    """Binds folds first, then conditions in the order of writing, in which variables become readable."""

    def __init__(self, pattern: PatternTree, schema: Schema | None) -> None:
        self._pattern = pattern
        self._schema = schema
        self._variables = tuple(variable.name for _, _, variable in tree.variables(pattern.body))
        nots = [negation.name for _, negation in tree.negations(pattern.body)]
        nots.extend(before.name for before in pattern.not_before)
        self._nots = frozenset(nots)
        self._names = (*self._variables, *nots)
        self._folds: list[BoundFold] = []

    def bind(self) -> BoundConditions:
        for _, element, variable in tree.variables(self._pattern.body):
            for fold in variable.folds:
                self._folds.append(self._fold(fold, variable.name, tree.describe(element)))
        where, until, having = self._where(), self._until(), self._having()
        predicates = (*where.values(), *until.values(), *having.values())
        expressions = tuple(predicate.expression for predicate in predicates)
        folds = tuple(self._folds)
        return BoundConditions(
            MappingProxyType(where),
            MappingProxyType(until),
            MappingProxyType(having),
            Registers.laid_out(expressions, folds),
            folds,
            self._columns(expressions, folds),
        )

    def _where(self) -> dict[str, Predicate]:
        where: dict[str, Predicate] = {}
        for path, part in tree.walk(self._pattern.body):
            if isinstance(part, Not):
                scope = self._scope(tree.describe(part), path, of=part.name)
                where[part.name] = self._predicate(part.condition, scope, part.name)
            elif isinstance(part.body, Variable):
                name = part.body.name
                scope = self._scope(tree.describe(part), path, (name,), name)
                where[name] = self._predicate(part.body.condition, scope, name)
        for before in self._pattern.not_before:
            # Asked when a match is complete, so every variable has taken what it will take.
            scope = self._reading(f"not_before {before.name!r}", self._variables, of=before.name)
            where[before.name] = self._predicate(before.condition, scope, before.name)
        return where

    def _until(self) -> dict[Path, Predicate]:
        until: dict[Path, Predicate] = {}
        for path, element in tree.elements(self._pattern.body):
            if element.loop is not None and element.loop.until is not None:
                # The until of a group is asked of events during its iterations: it reads all that the group holds.
                own = element.body.name if isinstance(element.body, Variable) else None
                scope = self._scope(f"until of {tree.describe(element)}", path, _taken_inside(element), own)
                until[path] = self._predicate(element.loop.until, scope, *_taken_inside(element))
        return until

    def _having(self) -> dict[Path, Predicate]:
        having: dict[Path, Predicate] = {}
        for path, element in tree.elements(self._pattern.body):
            if element.having is not None:
                # Rule 15: asked where the element is left, so `v.column` is v's last value, also of its own v.
                scope = self._scope(f"having of {tree.describe(element)}", path, _taken_inside(element))
                having[path] = self._predicate(element.having, replace(scope, has_event=False))
        return having

    def _scope(
        self, place: str, path: Path, inside: tuple[str, ...] = (), own: str | None = None, of: str | None = None
    ) -> Scope:
        """What can be read at a path: what comes before it, and what is inside. `of`: whose events are asked, where
        that is not a variable."""
        readable, apart = readable_at(self._pattern.body, path)
        return replace(self._reading(place, (*readable, *inside), own, of), apart=apart)

    def _reading(self, place: str, visible: tuple[str, ...], own: str | None = None, of: str | None = None) -> Scope:
        folds = tuple(FoldName(fold.variable, fold.name, fold.type) for fold in self._folds if fold.variable in visible)
        later = tuple(fold.name for fold in self._folds if fold.variable not in visible)
        return Scope(place, self._schema_of(own or of), self._names, visible, self._nots, own, folds, later)

    def _schema_of(self, element: str | None) -> Schema | None:
        return self._schema if element is None or self._schema is None else self._schema.of_element(element)

    def _predicate(self, condition: Condition | None, scope: Scope, *elements: str) -> Predicate:
        """The condition, which holds only on events that one of the elements may take."""
        candidate = self._candidate(elements)
        if condition is None:
            return Predicate(candidate, scope.place)
        asked = self._condition(condition, Checker(scope), scope.place)
        return Predicate(asked if candidate == TRUE else combine(Operator.AND, (candidate, asked)), scope.place)

    def _candidate(self, elements: tuple[str, ...]) -> Expression:
        """Whether an event may be taken by one of the elements at all (keys by step)."""
        roles = {} if self._schema is None else self._schema.roles
        columns = dict.fromkeys(roles[element].column for element in elements if element in roles)
        named = [Column(name, type=types.BOOLEAN) for name in columns if name is not None]
        return combine(Operator.OR, tuple(named)) if named and len(named) == len(columns) else TRUE

    def _condition(self, condition: Condition, checker: Checker, place: str) -> Expression:
        match condition:
            case SqlText(text=text):
                return checker.condition(self._read(text, place))
            case PythonCondition(function=function):
                return PythonCall(function, type=types.BOOLEAN)
            case ColumnCondition(column=column):
                return SparkColumn(column, type=types.BOOLEAN)
            case AllOf(parts=parts) | AnyOf(parts=parts):
                operator = Operator.AND if isinstance(condition, AllOf) else Operator.OR
                return combine(operator, tuple(self._condition(part, checker, place) for part in parts))

    def _read(self, text: str, place: str) -> Expression:
        """A text with the values of its parameters."""
        return filled(check_text(text, place), dict(self._pattern.parameters))

    def _fold(self, fold: Fold, variable: str, place: str) -> BoundFold:
        place = f"fold {fold.name!r} of {place}"
        if any(other.name.casefold() == fold.name.casefold() for other in self._folds):
            raise ConditionError(place, "another fold has this name", "give each fold of a pattern its own name")
        if self._schema is not None and self._schema.find(fold.name) is not None:
            raise ConditionError(place, f"`{fold.name}` is also a column of the events", "give the fold another name")
        init = Checker(Scope(place, Schema(()), self._names, (), self._nots)).bind(self._read(fold.init, place))
        parsed, schema = self._read(fold.update, place), self._schema_of(variable)
        data_type = _fold_type(init.type)
        # The type must hold what the update makes of it: 0 and `z + price` is a double if price is one.
        for _ in range(3):
            scope = Scope(place, schema, (), (), frozenset(), None, (FoldName(variable, fold.name, data_type),))
            checker = Checker(scope)
            update = checker.bind(parsed)
            wider = promotion.common(data_type, update.type)
            if wider is None:
                problem = f"it starts as {init.type} and becomes {update.type}"
                raise ConditionError(place, problem, "let init and update be of one type, for example with CAST")
            if _fold_type(wider) == data_type:
                break
            data_type = _fold_type(wider)
        init, update = checker.coerce(init, data_type), checker.coerce(update, data_type)
        if data_type.kind is Kind.DECIMAL:
            init, update = Cast(init, True, type=data_type), Cast(update, True, type=data_type)
        return BoundFold(variable, fold.name, init, update, data_type)

    def _columns(self, expressions: tuple[Expression, ...], folds: tuple[BoundFold, ...]) -> tuple[str, ...]:
        read = dict.fromkeys(
            name for expression in (*expressions, *(fold.update for fold in folds)) for name in _columns_of(expression)
        )
        if self._schema is None:
            return tuple(read)
        return tuple(name for name in self._schema.names if name in read)


def _fold_type(data_type: DataType) -> DataType:
    """Folds grow: whole numbers have 64 bits, as those of SUM have, and decimals all of their 38 digits."""
    if data_type.is_integral:
        return types.LONG
    if data_type.kind is Kind.DECIMAL:
        return DataType(Kind.DECIMAL, types.MAX_PRECISION, data_type.scale)
    return data_type


def _taken_inside(element: Element) -> tuple[str, ...]:
    """The variables that an element's events go to: its own, or all of a group."""
    if isinstance(element.body, Variable):
        return (element.body.name,)
    return tuple(variable.name for _, _, variable in tree.variables(element.body))


def _columns_of(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, Column):
            yield node.name
        elif isinstance(node, Aggregate) and node.argument is not None:
            yield from _columns_of(node.argument)
