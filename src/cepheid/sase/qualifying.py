"""The condition of a component → conjuncts of WHERE, in which every column says of which component it is.

In: a component with its condition, where its own columns have no prefix. Out: what each conjunct means, and how SASE
says it. Called by `writing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cepheid.conditions import parse
from cepheid.conditions.expression import Expression, Literal, Name, Operation, Operator, combine
from cepheid.sase.conjuncts import ColumnRead, Conjunct, split
from cepheid.sase.expressible import WrittenComponent, cannot_say
from cepheid.sase.words import column, word
from cepheid.syntax.tree import AllOf, AnyOf, Condition, PythonCondition, SqlText


@dataclass(frozen=True, slots=True)
class Said:
    """One conjunct: what it means on its component, and its text in WHERE."""

    meaning: Expression
    text: str

    @property
    def compared(self) -> tuple[str, tuple[Literal, ...]] | None:
        """The column and the constants of `column = constant` and `column IN (constant, …)`."""
        meaning = self.meaning
        if not isinstance(meaning, Operation) or meaning.operator not in (Operator.EQUAL, Operator.IN):
            return None
        subject, *options = meaning.operands
        constants = tuple(option for option in options if isinstance(option, Literal))
        if not isinstance(subject, Name) or len(subject.parts) != 1 or len(constants) != len(options):
            return None
        return subject.parts[0], constants


def said(component: WrittenComponent, among: Iterable[WrittenComponent]) -> tuple[Said, ...]:
    """The conjuncts of the condition of one component, `among` all of the pattern."""
    if component.condition is None:
        return ()
    components = {other.name.casefold(): other for other in among}
    return tuple(_Qualifying(component, components).conjuncts(component.condition))


@dataclass(frozen=True, slots=True)
class _Qualifying:
    component: WrittenComponent
    components: dict[str, WrittenComponent]
    """All of the pattern, by name."""

    def conjuncts(self, condition: Condition) -> Iterator[Said]:
        if isinstance(condition, AllOf):
            for part in condition.parts:
                yield from self.conjuncts(part)
        elif isinstance(condition, AnyOf):
            parts = [tuple(self.conjuncts(part)) for part in condition.parts]
            meanings = tuple(combine(Operator.AND, tuple(one.meaning for one in part)) for part in parts)
            text = " OR ".join(f"({' AND '.join(one.text for one in part)})" for part in parts)
            yield Said(combine(Operator.OR, meanings), f"({text})")
        elif isinstance(condition, SqlText):
            for conjunct in split(condition.text):
                text = self._text(condition.text, conjunct)
                meaning = parse(condition.text[conjunct.place.start : conjunct.place.end])
                yield Said(meaning, f"({text})" if conjunct.is_or else text)
        else:
            kind = "a Python callable" if isinstance(condition, PythonCondition) else "a Spark Column"
            raise cannot_say(f"element {self.component.name!r}", kind, 'Give SQL text instead, such as "price > 10".')

    def _text(self, text: str, conjunct: Conjunct) -> str:
        own_columns = any(self._is_own(read) for read in conjunct.columns)
        written, position = "", conjunct.place.start
        for read in conjunct.columns:
            as_it_stands = text[read.place.start : read.place.end]
            if self._is_own(read):
                as_it_stands = f"{word(self.component.name)}{'[i]' if self.component.repeats else ''}.{as_it_stands}"
            elif self.component.repeats and not own_columns and self._is_aggregate_of_own(read):
                # Without a word about the current event, x.price would stand for all events of x.
                as_it_stands = f"{word(self.component.name)}[..i-1].{_path(read)}"
            elif read.aggregate is None and self.components[read.parts[0].casefold()].repeats:
                # The last of all its events: without the index it would be each of them.
                name = word(self.components[read.parts[0].casefold()].name)
                as_it_stands = f"{name}[{name}.LEN].{_path(read)}"
            written += text[position : read.place.start] + as_it_stands
            position = read.place.end
        return written + text[position : conjunct.place.end]

    def _is_own(self, read: ColumnRead) -> bool:
        """Whether it is a column of the current event: bare, or a field of a struct."""
        return read.aggregate is None and (len(read.parts) == 1 or read.parts[0].casefold() not in self.components)

    def _is_aggregate_of_own(self, read: ColumnRead) -> bool:
        return read.aggregate is not None and read.parts[0].casefold() == self.component.name.casefold()


def _path(read: ColumnRead) -> str:
    """What is read of a component, without its name."""
    return ".".join(part if part == "*" else column(part) for part in read.parts[1:])
