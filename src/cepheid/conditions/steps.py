"""Keys by step: which events each element may take, where elements have keys or tables of their own.

In: `partition_by` and the tables as a caller gave them, and a pattern. Out: `Steps`, or an `InputError`. Called by the
face; `rows.steps` and `spark.steps` make one table of it, whose rows are an event and one of its keys.

An event is in partition k as a candidate for v only if v's expressions give k there. With two such elements whose keys
differ it is in two partitions, once in each. NULL joins nothing, an array joins once for each of its values. Strict
links, counts and `not_next` see the events of their partition. An `until` is asked of the events that its loop, or any
element of its group, could take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.conditions.carets import did_you_mean
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Column, Expression
from cepheid.conditions.parameters import filled
from cepheid.conditions.parser import check_text
from cepheid.conditions.predicate import reads_variables
from cepheid.conditions.scope import Scope
from cepheid.conditions.types import Role, Schema
from cepheid.errors import ConditionError, InputError
from cepheid.options import names
from cepheid.syntax import tree as syntax
from cepheid.syntax.tree import PatternTree

MOST_STEPS = 63
"""Of one pattern: a number of Spark's has a bit for each."""


@dataclass(frozen=True, slots=True)
class Step:
    """Elements that take events of one table by one key."""

    elements: tuple[str, ...]
    table: int
    keys: tuple[str, ...]
    """An expression over an event for each key."""

    @property
    def called(self) -> str:
        return ", ".join(repr(name) for name in self.elements)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a pattern."""

    keys: tuple[str, ...]
    """What the keys are called."""
    steps: tuple[Step, ...]
    tables: int = 1

    @classmethod
    def of(cls, pattern: PatternTree, partition_by: object, tables: Mapping[str, int] | None = None) -> Steps:
        """What was given for `partition_by`, and the number of the table that each element reads."""
        elements = tuple(elements_of(pattern))
        keys = _keys(partition_by, elements)
        numbers = dict.fromkeys(elements, 0) if tables is None else tables
        gathered: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        for element in elements:
            texts = tuple(texts[element] for texts in keys.values())
            gathered.setdefault((numbers[element], texts), []).append(element)
        steps = tuple(Step(tuple(listed), table, texts) for (table, texts), listed in gathered.items())
        if len(steps) > MOST_STEPS:
            raise InputError(f"partition_by has {len(steps)} different keys.\n  At most {MOST_STEPS} can differ.")
        return cls(tuple(keys), steps, max(numbers.values()) + 1)

    def of_table(self, number: int) -> list[tuple[int, Step]]:
        """The steps that read a table, with their numbers."""
        return [(place, step) for place, step in enumerate(self.steps) if step.table == number]

    def called(self, number: int) -> str:
        """How an error calls a table."""
        if self.tables == 1:
            return "the events"
        return "the table of " + ", ".join(step.called for _, step in self.of_table(number))

    def described(self) -> tuple[str, ...]:
        """The keys and the steps with their expressions, for explanations and as the identity of saved state."""
        names = ", ".join(self.keys) or "no key"
        steps = (f"{', '.join(step.keys)} for {step.called}" for step in self.steps)
        marks = (f" ({role_name(place)})" if len(self.steps) > 1 else "" for place in range(len(self.steps)))
        return (f"{names}:", *(f"{step.strip()}{mark}" for step, mark in zip(steps, marks, strict=True)))

    def key_name(self, place: int, tables: Sequence[Sequence[str]]) -> str:
        """What the column of a key is called: as a column of the events is spelt that has this name and is the key
        itself. A column that is something else cannot share its name."""
        name = spelt = self.keys[place]
        for number, columns in enumerate(tables):
            found = next((column for column in columns if column.casefold() == name.casefold()), None)
            if found is None:
                continue
            spelt = found
            for _, step in self.of_table(number):
                if step.keys[place].strip("`").casefold() != found.casefold():
                    raise InputError(
                        f"partition_by: {name!r} is a key, {step.keys[place]} for {step.called}, and also a column of "
                        f"{self.called(number)}.\n  Give the key another name, such as {name + '_key'!r}."
                    )
        return spelt

    def array_of_that_name(self, place: int) -> InputError:
        """A key cannot have the name of a column of arrays: the key is one of the values, the column has them all."""
        return InputError(
            f"partition_by: {self.keys[place]!r} is a key and also a column of arrays, each of whose values is a key.\n"
            f"  Give the key another name, such as {self.keys[place] + '_key'!r}."
        )

    def bound(self, place: int, step: Step, schema: Schema, pattern: PatternTree) -> Expression:
        """The expression of one key for one step, over the columns of its table."""
        where = f"partition_by, {self.keys[place]!r} of {step.called}"
        given = filled(check_text(step.keys[place], where), dict(pattern.parameters))
        variables = tuple(elements_of(pattern))
        bound = Checker(Scope(where, schema, variables, variables, frozenset())).bind(given)
        if reads_variables(bound):
            problem, remedy = f"`{step.keys[place]}` reads a variable", "a key is computed of one event alone"
            raise ConditionError(where, problem, remedy)
        return bound

    def schema(self, joined: Schema, columns: Sequence[Sequence[str]], asks: Sequence[Any]) -> Schema:
        """The columns of the joined table, and for each element those that its events have. `asks`: for each table,
        who knows the types of what only Spark computes."""
        kinds = dict(joined.columns)
        roles: dict[str, Role] = {}
        for place, step in enumerate(self.steps):
            own = tuple((name, kinds[name]) for name in columns[step.table])
            role = Role(role_name(place) if len(self.steps) > 1 else None, Schema(own, joined.zone, asks[step.table]))
            roles |= dict.fromkeys(step.elements, role)
        return Schema(joined.columns, joined.zone, joined.type_in_spark, roles)


def role_name(place: int) -> str:
    """The column that says whether an event is a candidate for the elements of a step."""
    return f"__role_{place}"


def elements_of(pattern: PatternTree) -> Iterator[str]:
    """All names of a pattern: of what takes events, and of what must not occur."""
    for _, part in syntax.walk(pattern.body):
        if isinstance(part, syntax.Not):
            yield part.name
        elif isinstance(part.body, syntax.Variable):
            yield part.body.name
    yield from (before.name for before in pattern.not_before)


def tables_of(pattern: PatternTree, given: Mapping[Any, Any]) -> tuple[dict[str, int], list[Any]]:
    """The number of each element's table, and the tables. Where several elements name one, it is one table."""
    elements = tuple(elements_of(pattern))
    if not {str(name).casefold() for name in given} & {name.casefold() for name in elements}:
        raise InputError(
            f"events are a dict without any element of the pattern ({', '.join(elements)}).\n"
            "  Give rows as a list of dicts; a dict gives a table for each element."
        )
    by_element = _by_element(given, elements, "events", "a table")
    tables: list[Any] = []
    numbers: dict[str, int] = {}
    for element in elements:
        table = by_element[element]
        place = next((number for number, known in enumerate(tables) if known is table), len(tables))
        if place == len(tables):
            tables.append(table)
        numbers[element] = place
    return numbers, tables


def common_names(steps: Steps, tables: Sequence[Sequence[str]]) -> None:
    """Refuse columns of two tables that differ only by case."""
    seen: dict[str, tuple[str, int]] = {}
    for number, columns in enumerate(tables):
        for name in columns:
            other, first = seen.setdefault(name.casefold(), (name, number))
            if other != name:
                raise InputError(
                    f"{steps.called(first)} has a column {other!r}, {steps.called(number)} has {name!r}.\n"
                    "  Spell them alike, or give one of them another name."
                )


def different_types(steps: Steps, name: str, one: tuple[int, object], other: tuple[int, object]) -> InputError:
    """Two tables disagree about a column."""
    return InputError(
        f"the column {name!r} is {one[1]} in {steps.called(one[0])}, but {other[1]} in {steps.called(other[0])}.\n"
        "  Cast or rename it in one of them: in what is found, a column has one type."
    )


def different_keys(steps: Steps, place: int, one: tuple[Step, object], other: tuple[Step, object]) -> InputError:
    """Two steps disagree about the type of a key."""
    texts = [f"{step.keys[place]} is {kind} for {step.called}" for step, kind in (one, other)]
    return InputError(
        f"partition_by, {steps.keys[place]!r}: {texts[0]}, but {texts[1]}.\n"
        "  Values of different types are never equal: cast one of them, such as CAST(… AS STRING)."
    )


def _keys(given: object, elements: tuple[str, ...]) -> dict[str, dict[str, str]]:
    if not isinstance(given, Mapping):
        columns = names(given, "partition_by")
        return {name: dict.fromkeys(elements, f"`{name}`") for name in columns}
    keys = {}
    for name, texts in given.items():
        if not isinstance(name, str) or not name.strip() or "`" in name:
            raise InputError(f"partition_by has a key called {name!r}.\n  {_EXAMPLE}")
        if isinstance(texts, str):
            keys[name] = dict.fromkeys(elements, texts)
        elif isinstance(texts, Mapping):
            keys[name] = _by_element(texts, elements, f"partition_by[{name!r}]", "an expression")
            wrong = next((text for text in keys[name].values() if not isinstance(text, str)), None)
            if wrong is not None:
                raise InputError(f"partition_by[{name!r}] has {wrong!r}, which is not SQL text.\n  {_EXAMPLE}")
        else:
            raise InputError(f"partition_by[{name!r}] is {texts!r}.\n  {_EXAMPLE}")
    return keys


_EXAMPLE = 'For example: partition_by={"ip": {"a": "host_ip", "b": "source_ip"}, "site": "site"}.'


def _by_element(given: Mapping[Any, Any], elements: tuple[str, ...], argument: str, what: str) -> dict[str, Any]:
    """What is given for each element, whatever the case of its name."""
    folded = {name.casefold(): name for name in elements}
    found = {}
    for name, value in given.items():
        if not isinstance(name, str) or name.casefold() not in folded:
            hint = did_you_mean(str(name), elements) or f"they are: {', '.join(elements)}"
            shared = "\n  A table that all elements share is given by itself: a list of dicts, pandas, a DataFrame."
            hint = _sentence(hint) + (shared if what == "a table" else "")
            raise InputError(f"{argument} has {name!r}, which is not an element of the pattern.\n  {hint}")
        found[folded[name.casefold()]] = value
    missing = [name for name in elements if name not in found]
    if missing:
        said = ", ".join(repr(name) for name in missing)
        raise InputError(f"{argument} does not mention {said}.\n  Give {what} for each element, negations included.")
    return found


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith("?") else ".")


def plain_column(expression: Expression) -> str | None:
    """The column that an expression is, if it is nothing more."""
    return expression.name if isinstance(expression, Column) else None
