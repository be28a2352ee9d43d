"""Patterns as JSON, for storing and sending: a tree comes in and text goes out, and back, without loss.

    {"cepheid": 1,
     "not_before": [{"name": "x", "where": CONDITION}],
     "sequence": [ELEMENT, …],
     "within": "10 minutes" | 600 | {"events": 10},
     "partition_by": ["user"],
     "skip": "to_next" | "past_last_event" | {"to_first" | "to_last": "a", "or_fail": true}}

    ELEMENT = {"link": "begin" | "next" | "followed_by" | "followed_by_any" | "not_next" | "not_followed_by",
               "name": "a", "where": CONDITION, "folds": [{"name", "init", "update"}]   or   "group": [ELEMENT, …],
               "times": [2, 3] | [1, null], "inner": "strict" | "non_deterministic", "greedy": true, "until": CONDITION,
               "gaps": "5 seconds" | {"2": "5 seconds", "3": "1 minute"},
               "optional": true, "within_previous": "5 minutes"}
    CONDITION = "price > 10" | {"all": [CONDITION, …]} | {"any": [CONDITION, …]}

A part that is absent has its default. Durations are text; numbers count in the unit of the order column. Reading checks
the form only; `validation.check` decides whether the pattern makes sense. The face calls both.
"""

from __future__ import annotations

import json
from typing import NoReturn, TypeAlias

from cepheid.errors import MalformedPatternError
from cepheid.syntax.durations import to_text
from cepheid.syntax.json_reading import FORMAT_VERSION, read_pattern
from cepheid.syntax.tree import (
    AllOf,
    AnyOf,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Gaps,
    Loop,
    Not,
    NotBefore,
    PatternTree,
    PythonCondition,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
    describe,
)

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_LINE = 110
"""A value that fits into so many characters stands on one line."""


def to_json(tree: PatternTree) -> str:
    """The pattern as JSON text. Callables and Spark Columns cannot be written and are refused."""
    pattern: dict[str, Json] = {"cepheid": FORMAT_VERSION}
    if tree.not_before:
        pattern["not_before"] = [_not_before(before) for before in tree.not_before]
    pattern["sequence"] = [_element(element) for element in tree.body.elements]
    if isinstance(tree.window, EventCount):
        pattern["within"] = {"events": tree.window.events}
    elif tree.window is not None:
        pattern["within"] = _span(tree.window)
    if tree.partition_by:
        pattern["partition_by"] = list(tree.partition_by)
    if tree.skip.kind is not SkipKind.NO_SKIP:
        pattern["skip"] = _skip(tree.skip)
    return _laid_out(pattern)


def from_json(text: str) -> PatternTree:
    """The pattern that `to_json` has written. Errors name the place as a path, such as `$.sequence[1].times`."""
    try:
        data = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise MalformedPatternError(
            f"JSON line {error.lineno}, column {error.colno}", f"this is not JSON: {error.msg}", "Correct the text."
        ) from None
    return read_pattern(data)


def _element(element: Element | Not) -> Json:
    if isinstance(element, Not):
        written: dict[str, Json] = {"link": element.link.value, "name": element.name}
        _add_condition(written, "where", element.condition, describe(element))
    else:
        written = {"link": element.link.value}
        if isinstance(element.body, Variable):
            written["name"] = element.body.name
            _add_condition(written, "where", element.body.condition, describe(element))
            if element.body.folds:
                written["folds"] = [
                    {"name": fold.name, "init": fold.init, "update": fold.update} for fold in element.body.folds
                ]
        else:
            written["group"] = [_element(inner) for inner in element.body.elements]
        if element.loop is not None:
            _add_loop(written, element.loop, describe(element))
        if element.optional:
            written["optional"] = True
    if element.within_previous is not None:
        written["within_previous"] = _span(element.within_previous)
    return written


def _not_before(before: NotBefore) -> Json:
    written: dict[str, Json] = {"name": before.name}
    _add_condition(written, "where", before.condition, f"not_before {before.name!r}")
    return written


def _add_loop(written: dict[str, Json], loop: Loop, owner: str) -> None:
    written["times"] = [loop.minimum, loop.maximum]
    if loop.inner is not Contiguity.RELAXED:
        written["inner"] = loop.inner.value
    if loop.greedy:
        written["greedy"] = True
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
            raise MalformedPatternError("JSON", f"the key {key!r} stands twice in one object", "Keep one of the two.")
        result[key] = value
    return result


def _no_constant(name: str) -> NoReturn:
    raise MalformedPatternError("JSON", f"{name} is not a number of JSON", "Give a finite number.")
