"""From parsed JSON to a pattern tree: what `json.loads` gives comes in, a tree or an error with the path goes out.

Only `json_format` calls this; its docstring shows the format. Every place knows its path, so that an error says
exactly where: `$.sequence[1].times`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import NoReturn, TypeVar

from cepheid.errors import MalformedPatternError
from cepheid.syntax.combining import conjunction, disjunction
from cepheid.syntax.durations import to_span
from cepheid.syntax.parameters import parameters
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Fold,
    Gaps,
    Link,
    Loop,
    Not,
    NotBefore,
    NotLink,
    OneOf,
    ParameterValue,
    PatternTree,
    Sequence,
    Since,
    Skip,
    SkipKind,
    Span,
    SqlText,
    Variable,
    Window,
)

FORMAT_VERSION = 1
"""The version that is written, and the only one that is read."""

_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=Enum)
_LOOP_KEYS = ("inner", "greedy", "whole", "until", "gaps")
_QUANTIFIER_KEYS = ("times", *_LOOP_KEYS, "having", "optional", "within_previous", "within_since")


@dataclass(frozen=True, slots=True)
class _Place:
    """A value of the JSON and the path that leads to it."""

    value: object
    path: str

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        raise MalformedPatternError(self.path, problem, remedy)

    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    def keys(self, *allowed: str) -> set[str]:
        """The keys of an object, none of which may be unknown."""
        if not isinstance(self.value, dict):
            self._expected("an object {…}")
        for key in self.value:
            if key not in allowed:
                near = get_close_matches(str(key), allowed, n=1)
                hint = f"Did you mean {near[0]!r}? " if near else ""
                self.refuse(f"the key {key!r} is not known here", f"{hint}Known: {', '.join(allowed)}.")
        return set(self.value)

    def at(self, key: str) -> _Place:
        if not isinstance(self.value, dict) or key not in self.value:
            self.refuse(f"the key {key!r} is missing", "Add it.")
        return _Place(self.value[key], f"{self.path}.{key}")

    def maybe(self, key: str, read: Callable[[_Place], _Value]) -> _Value | None:
        """What is under a key that may be absent."""
        return read(self.at(key)) if isinstance(self.value, dict) and key in self.value else None

    def items(self) -> Iterator[_Place]:
        if not isinstance(self.value, list):
            self._expected("a list […]")
        for index, value in enumerate(self.value):
            yield _Place(value, f"{self.path}[{index}]")

    def text(self) -> str:
        if not isinstance(self.value, str):
            self._expected("text")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self._expected("true or false")
        return self.value

    def whole_number(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self._expected("a whole number")
        return self.value

    def choice(self, *choices: _Choice) -> _Choice:
        for choice in choices:
            if choice.value == self.value:
                return choice
        self._expected(f"one of {', '.join(repr(choice.value) for choice in choices)}")

    def _expected(self, what: str) -> NoReturn:
        shown = repr(self.value)
        self.refuse(f"this is {shown if len(shown) < 60 else shown[:57] + '…'}", f"It should be {what}.")


def read_pattern(data: object) -> PatternTree:
    """The pattern that parsed JSON describes."""
    place = _Place(data, "$")
    if not place.is_object() or not isinstance(data, dict) or "cepheid" not in data:
        place.refuse(
            'this is not a pattern: the key "cepheid" is missing', f'Start with {{"cepheid": {FORMAT_VERSION}, …}}.'
        )
    version = place.at("cepheid")
    if version.value != FORMAT_VERSION or isinstance(version.value, bool):
        version.refuse(
            f"the format version is {version.value!r}",
            f"This release reads version {FORMAT_VERSION}; use the release that wrote it, or a newer one.",
        )
    place.keys("cepheid", "not_before", "sequence", "within", "partition_by", "skip", "once_per", "parameters")
    return PatternTree(
        body=_sequence(place.at("sequence")),
        skip=place.maybe("skip", _skip) or Skip(SkipKind.NO_SKIP),
        window=place.maybe("within", _window),
        not_before=place.maybe("not_before", _not_befores) or (),
        partition_by=place.maybe("partition_by", _columns) or (),
        once_per=place.maybe("once_per", _span),
        parameters=place.maybe("parameters", _parameters) or (),
    )


def _parameters(place: _Place) -> tuple[tuple[str, ParameterValue], ...]:
    if not isinstance(place.value, dict):
        place.refuse("this is not an object", 'It should be an object from names to values: {"limit": 100}.')
    try:
        return parameters(place.value)
    except MalformedPatternError as error:
        place.refuse(error.problem, error.remedy)


def _sequence(place: _Place) -> Sequence:
    return Sequence(tuple(_element(item) for item in place.items()))


def _element(place: _Place) -> Element | Not:
    if not place.is_object():
        place.keys()
    link = place.at("link").choice(*Link, *NotLink)
    if isinstance(link, NotLink):
        place.keys("link", "name", "where", "within_previous")
        return Not(
            link, place.at("name").text(), place.maybe("where", _condition), place.maybe("within_previous", _span)
        )
    return _taking(place, link)


def _taking(place: _Place, link: Link) -> Element:
    loop = _loop(place)
    return Element(
        link,
        _body(place, loop),
        loop=loop,
        optional=place.maybe("optional", _Place.flag) or False,
        within_previous=place.maybe("within_previous", _span),
        within_since=place.maybe("within_since", _since),
        having=place.maybe("having", _condition),
    )


def _body(place: _Place, loop: Loop | None) -> Body:
    given = place.value if isinstance(place.value, dict) else {}
    if "group" in given:
        place.keys("link", "group", *_QUANTIFIER_KEYS)
        return _sequence(place.at("group"))
    if "one_of" in given:
        place.keys("link", "one_of", *_QUANTIFIER_KEYS)
        return OneOf(_members(place.at("one_of")))
    if "all_of" in given:
        place.keys("link", "all_of", "at_least", *_QUANTIFIER_KEYS)
        members = _members(place.at("all_of"))
        least = place.maybe("at_least", _Place.whole_number)
        inner = _inner(place) if loop is None else loop.inner
        return AllOfMembers(members, len(members) if least is None else least, inner)
    place.keys("link", "name", "where", "folds", *_QUANTIFIER_KEYS)
    return Variable(place.at("name").text(), place.maybe("where", _condition), place.maybe("folds", _folds) or ())


def _members(place: _Place) -> tuple[Element, ...]:
    members = []
    for item in place.items():
        if not item.is_object():
            item.keys()
        members.append(_taking(item, item.at("link").choice(Link.BEGIN)))
    return tuple(members)


def _loop(place: _Place) -> Loop | None:
    times = place.maybe("times", _times)
    if times is None:
        given = place.value if isinstance(place.value, dict) else {}
        for key in _LOOP_KEYS:
            if key in given and not (key == "inner" and "all_of" in given):  # rule 14: between its members
                place.at(key).refuse(f"{key!r} applies to a loop, and there is no 'times'", 'Add "times": [1, null].')
        return None
    whole = place.maybe("whole", _Place.flag) or False
    return Loop(
        *times,
        inner=_inner(place),
        greedy=place.maybe("greedy", _Place.flag) or whole,
        until=place.maybe("until", _condition),
        gaps=place.maybe("gaps", _gaps),
        whole=whole,
    )


def _inner(place: _Place) -> Contiguity:
    return place.maybe("inner", lambda inner: inner.choice(*Contiguity)) or Contiguity.RELAXED


def _since(place: _Place) -> Since:
    if not isinstance(place.value, dict) or len(place.value) != 1:
        place.refuse("this does not say since which variable", 'Give one: {"a": "1 hour"}.')
    variable = next(iter(place.value))
    return Since(variable, _span(place.at(variable)))


def _times(place: _Place) -> tuple[int, int | None]:
    numbers = list(place.items())
    if len(numbers) != 2:
        place.refuse(f"a list of {len(numbers)}", "Give two: the least and the largest number, or null for no bound.")
    least, most = numbers
    return least.whole_number(), None if most.value is None else most.whole_number()


def _gaps(place: _Place) -> Gaps:
    if not isinstance(place.value, dict):
        return Gaps(every=_span(place))
    spans = []
    for key in place.value:
        if not key.isascii() or not key.isdigit() or len(key) > 9 or key.startswith("0"):
            place.refuse(
                f"the key {key!r} is not the number of a repetition", 'Use numbers from 2: {"2": "5 seconds"}.'
            )
        spans.append((int(key), _span(place.at(key))))
    return Gaps(by_repetition=tuple(sorted(spans, key=lambda pair: pair[0])))


def _window(place: _Place) -> Window:
    if place.is_object():
        place.keys("events")
        return EventCount(place.at("events").whole_number())
    return _span(place)


def _span(place: _Place) -> Span:
    if isinstance(place.value, str | int | float):
        return to_span(place.value, place.path)
    place.refuse(f"{place.value!r} is not a length of time", 'Give text such as "10 minutes", or a plain number.')


def _condition(place: _Place) -> Condition:
    if isinstance(place.value, str):
        return SqlText(place.value)
    if not place.is_object():
        place.refuse(
            f"{place.value!r} is not a condition", 'Give SQL text, or {"all": […]} or {"any": […]} of conditions.'
        )
    keys = place.keys("all", "any")
    if len(keys) != 1:
        place.refuse(f"a condition with {len(keys)} keys", "Give exactly one of 'all' and 'any'.")
    key = keys.pop()
    parts = [_condition(item) for item in place.at(key).items()]
    return conjunction(parts) if key == "all" else disjunction(parts)


def _folds(place: _Place) -> tuple[Fold, ...]:
    folds = []
    for item in place.items():
        item.keys("name", "init", "update")
        folds.append(Fold(item.at("name").text(), item.at("init").text(), item.at("update").text()))
    return tuple(folds)


def _not_befores(place: _Place) -> tuple[NotBefore, ...]:
    befores = []
    for item in place.items():
        item.keys("name", "where")
        befores.append(NotBefore(item.at("name").text(), item.maybe("where", _condition)))
    return tuple(befores)


def _columns(place: _Place) -> tuple[str, ...]:
    return tuple(item.text() for item in place.items())


def _skip(place: _Place) -> Skip:
    if not place.is_object():
        return Skip(place.choice(SkipKind.NO_SKIP, SkipKind.TO_NEXT, SkipKind.PAST_LAST_EVENT))
    keys = place.keys("to_first", "to_last", "or_fail") - {"or_fail"}
    if len(keys) != 1:
        place.refuse("the target is not clear", 'Give exactly one of "to_first" and "to_last" with a variable.')
    key = keys.pop()
    return Skip(SkipKind(key), place.at(key).text(), place.maybe("or_fail", _Place.flag) or False)
