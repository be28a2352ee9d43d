"""Patterns as JSON, for storing and sending: a tree comes in and text goes out, and back, without loss.

    {"cepheid": 1,
     "not_before": [{"name": "x", "where": CONDITION}],
     "sequence": [ELEMENT, …],
     "within": "10 minutes" | 600 | {"events": 10},
     "partition_by": ["user"],
     "skip": "to_next" | "past_last_event" | {"to_first" | "to_last": "a", "or_fail": true},
     "once_per": "5 minutes"}

    ELEMENT = {"link": "begin" | "next" | "followed_by" | "followed_by_any" | "not_next" | "not_followed_by",
               "name": "a", "where": CONDITION, "folds": [{"name", "init", "update"}]   or   "group": [ELEMENT, …]
               or   "one_of": [ELEMENT, …]   or   "all_of": [ELEMENT, …], "at_least": 2,
               "times": [2, 3] | [1, null], "inner": "strict" | "non_deterministic",
               "greedy": true | "whole": true, "until": CONDITION,
               "gaps": "5 seconds" | {"2": "5 seconds", "3": "1 minute"},
               "having": CONDITION, "optional": true,
               "within_previous": "5 minutes", "within_since": {"a": "1 hour"}}
    CONDITION = "price > 10" | {"all": [CONDITION, …]} | {"any": [CONDITION, …]}

A part that is absent has its default. Durations are text; numbers count in the unit of the order column. Reading checks
the form only; `validation.check` decides whether the pattern makes sense. The face calls both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

from cepheid.errors import MalformedPatternError
from cepheid.syntax.durations import to_text
from cepheid.syntax.json_reading import FORMAT_VERSION, read_pattern
from cepheid.syntax.notation import inner_contiguity
from cepheid.syntax.tree import (
    AllOf,
    AllOfMembers,
    AnyOf,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Gaps,
    Loop,
    Not,
    NotBefore,
    OneOf,
    PatternTree,
    PythonCondition,
    Sequence,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
    describe,
)
from cepheid.syntax.visitor import PartVisitor

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_LINE = 110
"""A value that fits into so many characters is written on one line."""


def to_json(tree: PatternTree) -> str:
    """The pattern as JSON text. Callables and Spark Columns cannot be written and are refused."""
    pattern: dict[str, Json] = {"cepheid": FORMAT_VERSION}
    if tree.not_before:
        pattern["not_before"] = [_not_before(before) for before in tree.not_before]
    pattern["sequence"] = _Written().all(tree.body.elements)
    if isinstance(tree.window, EventCount):
        pattern["within"] = {"events": tree.window.events}
    elif tree.window is not None:
        pattern["within"] = _span(tree.window)
    if tree.partition_by:
        pattern["partition_by"] = list(tree.partition_by)
    if tree.skip.kind is not SkipKind.NO_SKIP:
        pattern["skip"] = _skip(tree.skip)
    if tree.once_per is not None:
        pattern["once_per"] = _span(tree.once_per)
    if tree.parameters:
        pattern["parameters"] = dict(tree.parameters)
    return _laid_out(pattern)


def from_json(text: str) -> PatternTree:
    """The pattern that `to_json` has written. Errors name the place as a path, such as `$.sequence[1].times`."""
    if not isinstance(text, str | bytes | bytearray):
        raise MalformedPatternError(
            "JSON", f"this is {type(text).__name__}, not text", "Give the text that to_json() gave, such as the file's."
        )
    try:
        data = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise MalformedPatternError("JSON", f"this is not text: {error}", "Save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise MalformedPatternError(
            f"JSON line {error.lineno}, column {error.colno}", f"this is not JSON: {error.msg}", "Correct the text."
        ) from None
    except MalformedPatternError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise MalformedPatternError("JSON", f"it cannot be read: {error}", "Give smaller numbers.") from None
    except RecursionError:
        raise _too_deep() from None
    if _is_deeper_than(data, DEEPEST_JSON):
        raise _too_deep()
    try:
        return read_pattern(data)
    except RecursionError:
        raise _too_deep() from None


DEEPEST_JSON = 1_000
"""Lists and objects within one another that are read; a pattern of fifty nested groups needs a tenth of that."""


def _is_deeper_than(data: Any, levels: int) -> bool:
    """Whether lists and objects are nested more deeply; asked without recursion, whatever Python's limit for it is."""
    level = [data]
    for _ in range(levels):
        children = (
            item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)
        )
        level = [child for inner in children for child in inner]
        if not level:
            return False
    return True


def _too_deep() -> MalformedPatternError:
    return MalformedPatternError("JSON", "groups or conditions are nested too deeply", "Write a flatter pattern.")


class _Written(PartVisitor[dict[str, Json]]):
    """An element or not as an object."""

    def variable(self, element: Element, body: Variable) -> dict[str, Json]:
        written: dict[str, Json] = {"link": element.link.value, "name": body.name}
        _add_condition(written, "where", body.condition, describe(element))
        if body.folds:
            written["folds"] = [{"name": fold.name, "init": fold.init, "update": fold.update} for fold in body.folds]
        return _with_quantifier(written, element)

    def group(self, element: Element, body: Sequence) -> dict[str, Json]:
        return _with_quantifier({"link": element.link.value, "group": self.all(body.elements)}, element)

    def one_of(self, element: Element, body: OneOf) -> dict[str, Json]:
        return _with_quantifier({"link": element.link.value, "one_of": self.all(body.alternatives)}, element)

    def all_of(self, element: Element, body: AllOfMembers) -> dict[str, Json]:
        written: dict[str, Json] = {"link": element.link.value, "all_of": self.all(body.members)}
        if body.at_least != len(body.members):
            written["at_least"] = body.at_least
        return _with_quantifier(written, element)

    def negation(self, negation: Not) -> dict[str, Json]:
        written: dict[str, Json] = {"link": negation.link.value, "name": negation.name}
        _add_condition(written, "where", negation.condition, describe(negation))
        if negation.within_previous is not None:
            written["within_previous"] = _span(negation.within_previous)
        return written

    def all(self, parts: Iterable[Element | Not]) -> list[Json]:
        return [self.visit(part) for part in parts]


def _with_quantifier(written: dict[str, Json], element: Element) -> dict[str, Json]:
    if element.loop is not None:
        written["times"] = [element.loop.minimum, element.loop.maximum]
    if inner_contiguity(element) is not Contiguity.RELAXED:
        written["inner"] = inner_contiguity(element).value
    if element.loop is not None:
        _add_loop(written, element.loop, describe(element))
    _add_condition(written, "having", element.having, f"having of {describe(element)}")
    if element.optional:
        written["optional"] = True
    if element.within_previous is not None:
        written["within_previous"] = _span(element.within_previous)
    if element.within_since is not None:
        written["within_since"] = {element.within_since.variable: _span(element.within_since.span)}
    return written


def _not_before(before: NotBefore) -> Json:
    written: dict[str, Json] = {"name": before.name}
    _add_condition(written, "where", before.condition, f"not_before {before.name!r}")
    return written


def _add_loop(written: dict[str, Json], loop: Loop, owner: str) -> None:
    if loop.greedy:
        written["whole" if loop.whole else "greedy"] = True
    _add_condition(written, "until", loop.until, f"until of {owner}")
    if loop.gaps is not None:
        written["gaps"] = _gaps(loop.gaps)


def _gaps(gaps: Gaps) -> Json:
    if gaps.every is not None:
        return _span(gaps.every)
    return {str(repetition): _span(span) for repetition, span in gaps.by_repetition}


def _span(span: Span) -> Json:
    return span.length if span.unit is SpanUnit.ORDER else to_text(span)


def _skip(skip: Skip) -> Json:
    if skip.target is None:
        return skip.kind.value
    written: dict[str, Json] = {skip.kind.value: skip.target}
    if skip.or_fail:
        written["or_fail"] = True
    return written


def _add_condition(written: dict[str, Json], key: str, condition: Condition | None, owner: str) -> None:
    if condition is not None:
        written[key] = _condition(condition, owner)


def _condition(condition: Condition, owner: str) -> Json:
    if isinstance(condition, SqlText):
        return condition.text
    if isinstance(condition, AllOf | AnyOf):
        parts: list[Json] = [_condition(part, owner) for part in condition.parts]
        return {"all" if isinstance(condition, AllOf) else "any": parts}
    kind = "a Python callable" if isinstance(condition, PythonCondition) else "a Spark Column"
    raise MalformedPatternError(
        owner,
        f"its condition is {kind}, which cannot be written to JSON",
        'Give SQL text instead, such as "price > 10".',
    )


def _laid_out(value: Json, indent: str = "") -> str:
    """JSON text with short values on one line and long ones one part a line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (indent and len(indent) + len(line) <= _LINE):
        return line
    deeper = indent + "  "
    if isinstance(value, list):
        parts, ends = [_laid_out(part, deeper) for part in value], "[]"
    else:
        ends = "{}"
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(part, deeper)}" for key, part in value.items()]
    inside = f",\n{deeper}".join(parts)
    return f"{ends[0]}\n{deeper}{inside}\n{indent}{ends[1]}"


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result:
            raise MalformedPatternError("JSON", f"the key {key!r} appears twice in one object", "Keep one of the two.")
        result[key] = value
    return result


def _no_constant(name: str) -> NoReturn:
    raise MalformedPatternError("JSON", f"{name} is not a number of JSON", "Give a finite number.")
