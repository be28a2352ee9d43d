"""Rules that hold for any part of a pattern: names, links, quantifiers, bounds, lengths of time.

A tree, also an unfinished one, comes in; nothing or a `MalformedPatternError` comes out. No later step of a builder can
repair what is refused here, so the builder asks after every step and the error appears at the line that caused it.
Called by the builder and by `validation`, which adds the rules about the whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from cepheid.errors import MalformedPatternError
from cepheid.syntax.durations import LARGEST_LENGTH, to_text
from cepheid.syntax.positions import can_be_empty
from cepheid.syntax.tree import (
    AllOf,
    AllOfMembers,
    AnyOf,
    Condition,
    Element,
    EventCount,
    Gaps,
    Link,
    Loop,
    Not,
    PatternTree,
    Sequence,
    Span,
    SpanUnit,
    SqlText,
    Variable,
    describe,
    elements,
    negations,
    walk,
)
from cepheid.syntax.windows import PATTERN, lengths

MAXIMUM_DEPTH = 50
"""How deep groups and AND and OR of conditions may be nested."""
_NAME = re.compile(r"[^\s`\x00-\x1f](?:[^`\x00-\x1f]*[^\s`\x00-\x1f])?")


def check_part(tree: PatternTree) -> None:
    """Raises `MalformedPatternError` for what is wrong however the pattern goes on or is used as a group."""
    _check_depth(tree)
    _check_names(tree)
    _check_links(tree.body, PATTERN)
    for _, element in elements(tree.body):
        _check_element(element)
    for _, negation in negations(tree.body):
        _check_condition(negation.condition, describe(negation))
    for before in tree.not_before:
        _check_condition(before.condition, f"not_before {before.name!r}")
    _check_lengths(tree)
    _check_partition_by(tree)


def _check_depth(tree: PatternTree) -> None:
    for path, part in walk(tree.body):
        if len(path) > MAXIMUM_DEPTH:
            raise MalformedPatternError(
                describe(part),
                f"it is nested more than {MAXIMUM_DEPTH} deep",
                "Write a flatter pattern: brackets without quantifier mean nothing.",
            )


def _check_names(tree: PatternTree) -> None:
    taken: dict[str, str] = {}
    for name, owner in _named(tree):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise MalformedPatternError(
                owner,
                f"{name!r} is not a name" if name else "the name is empty",
                "Names become columns: at least one character, no blank at either end, no backquote, no line break.",
            )
        key = name.lower()  # Spark's case rule: `A` and `a` are one name
        if key in taken:
            raise MalformedPatternError(
                owner,
                f"the name {name!r} is already taken by {taken[key]}",
                "Give every element, negation and fold of a pattern its own name; upper and lower case are the same.",
            )
        taken[key] = owner


def _named(tree: PatternTree) -> Iterator[tuple[str, str]]:
    """Every name of the pattern, with how an error calls its owner."""
    for before in tree.not_before:
        yield before.name, f"not_before {before.name!r}"
    for _, part in walk(tree.body):
        if isinstance(part, Not):
            yield part.name, describe(part)
        elif isinstance(part.body, Variable):
            yield part.body.name, describe(part)
            for fold in part.body.folds:
                yield fold.name, f"fold {fold.name!r} of {describe(part)}"


def _check_links(sequence: Sequence, owner: str) -> None:
    for index, element in enumerate(sequence.elements):
        if isinstance(element, Not):
            if index == 0:
                raise MalformedPatternError(
                    describe(element),
                    f"{owner} cannot start with a negation: no event comes before it",
                    'Begin with an element that takes an event; for "nothing before the match" use '
                    f"Pattern.not_before({element.name!r}).",
                )
            continue
        if (element.link is Link.BEGIN) != (index == 0):
            raise MalformedPatternError(
                describe(element),
                f"its link is {element.link.value!r}, and it is number {index + 1} of {owner}",
                "'begin' is the link of the first element, and of no other.",
            )
        _check_body(element, f"number {index + 1} of {owner}")


def _check_body(element: Element, place: str) -> None:
    """What an element holds: at least one part, each in its place."""
    body = element.body
    if isinstance(body, Variable):
        return
    kind = describe(element).split(" ")[0]
    if not body.parts:
        raise MalformedPatternError(
            place, f"the {kind} is empty", 'Put at least one element into it, such as Pattern.begin("a").'
        )
    if isinstance(body, Sequence):
        _check_links(body, describe(element))
        return
    for part in body.parts:
        if isinstance(part, Not) or part.link is not Link.BEGIN:
            raise MalformedPatternError(
                describe(part),
                f"its link is {part.link.value!r}, and it is a part of {describe(element)}",
                f"Each part of a {kind} begins anew: Pattern.begin(…).",
            )
        if can_be_empty(part):  # rule 13: it must take at least one event
            raise MalformedPatternError(
                describe(part),
                f"it may take no event, and it is a part of {describe(element)}",
                f"Let it take at least one event, and make the {kind} optional instead"
                + (", or lower at_least." if isinstance(body, AllOfMembers) else "."),
            )
        _check_body(part, describe(part))
    if isinstance(body, AllOfMembers):
        _check_all_of(element, body)


def _check_all_of(element: Element, body: AllOfMembers) -> None:
    if not 1 <= body.at_least <= len(body.members):
        raise MalformedPatternError(
            describe(element),
            f"at_least is {body.at_least}, and it has {len(body.members)} members",
            f"Give a number from 1 to {len(body.members)}, or leave at_least out to need all of them.",
        )
    if element.loop is not None and element.loop.inner is not body.inner:
        raise MalformedPatternError(
            describe(element),
            f"its members are linked {body.inner.value}, and its iterations {element.loop.inner.value}",
            "One contiguity holds for both (rule 14).",
        )


def _check_element(element: Element) -> None:
    what = describe(element)
    if isinstance(element.body, Variable):
        _check_condition(element.body.condition, what)
        for fold in element.body.folds:
            for part, text in (("init", fold.init), ("update", fold.update)):
                if not text.strip():
                    raise MalformedPatternError(
                        f"fold {fold.name!r} of {what}",
                        f"its {part} is empty",
                        'Give SQL text, such as init="0", update="z + price".',
                    )
    if element.loop is not None:
        _check_loop(element.loop, not isinstance(element.body, Variable), what)
    if element.having is not None:
        _check_having(element, element.having)


def _check_having(element: Element, having: Condition) -> None:
    """Rule 15: what can carry it, and that it is SQL text."""
    what = describe(element)
    if element.loop is None and not isinstance(element.body, AllOfMembers):
        taken = "takes one event" if isinstance(element.body, Variable) else "is gone through once"
        raise MalformedPatternError(
            what,
            f"having needs a loop, and this {taken}",
            "Call times(…), times_or_more(…) or one_or_more() on it; for one event use where.",
        )
    _check_condition(having, f"having of {what}")
    if not _is_text(having):
        raise MalformedPatternError(
            f"having of {what}",
            "it is not SQL text",
            'Give text over variables, such as "SUM(t.amount) >= 10000".',
        )


def _is_text(condition: Condition) -> bool:
    if isinstance(condition, AllOf | AnyOf):
        return all(_is_text(part) for part in condition.parts)
    return isinstance(condition, SqlText)


def _check_loop(loop: Loop, is_group: bool, what: str) -> None:
    if loop.minimum < 1:
        raise MalformedPatternError(
            what,
            f"the least number of repetitions is {loop.minimum}",
            "Give 1 or more; what may be missing altogether is optional().",
        )
    if loop.maximum is not None and loop.maximum < loop.minimum:
        raise MalformedPatternError(
            what,
            f"it should repeat at least {loop.minimum} and at most {loop.maximum} times, which cannot be",
            f"Put the smaller number first: times({loop.maximum}, {loop.minimum})."
            if loop.maximum > 0
            else f"Give a largest number of at least {loop.minimum}.",
        )
    if is_group and (loop.greedy or loop.whole):
        step = "whole" if loop.whole else "greedy"
        raise MalformedPatternError(
            what, f"only a loop of one variable can be {step}", f"Drop {step}(), or call it on a loop inside."
        )
    if loop.whole and not loop.greedy:
        raise MalformedPatternError(what, "it is whole and not greedy", "A whole loop is greedy (rule 16).")
    if loop.until is not None:
        if loop.maximum is not None:
            raise MalformedPatternError(
                what,
                f"until needs a loop without an upper bound, and this one ends after {loop.maximum}",
                f"Use one_or_more() or times_or_more({loop.minimum}) with until, or drop until.",
            )
        _check_condition(loop.until, f"until of {what}")
    if loop.gaps is not None:
        _check_gaps(loop.gaps, loop.maximum, what)


def _check_gaps(gaps: Gaps, maximum: int | None, what: str) -> None:
    repetitions = [repetition for repetition, _ in gaps.by_repetition]
    if (gaps.every is None) == (not repetitions):
        raise MalformedPatternError(
            what,
            "the bounds between its repetitions are empty" if gaps.every is None else "it has two kinds of bounds",
            'Give one length, within="5 s", or one per repetition, within={2: "5 s", 3: "1 min"}.',
        )
    if repetitions != sorted(set(repetitions)):
        raise MalformedPatternError(
            what, f"the repetitions {repetitions} are not in order or not distinct", "List each once, ascending."
        )
    for repetition in repetitions:
        if repetition == 1:
            raise MalformedPatternError(
                what,
                "within={1: …} bounds nothing: no repetition comes before the first",
                'Start with 2; to bound the way to the first event use within(t, since="previous").',
            )
        if repetition < 1 or (maximum is not None and repetition > maximum):
            raise MalformedPatternError(
                what,
                f"within={{{repetition}: …}} names a repetition that does not exist",
                f"Number the repetitions from 2{'' if maximum is None else f' to {maximum}'}."
                if maximum != 1
                else "It repeats once only: drop within=, or allow more repetitions.",
            )


def _check_condition(condition: Condition | None, owner: str, depth: int = 0) -> None:
    if depth > MAXIMUM_DEPTH:
        raise MalformedPatternError(
            owner, f"its condition is nested more than {MAXIMUM_DEPTH} deep", "Write one SQL text instead."
        )
    if isinstance(condition, SqlText) and not condition.text.strip():
        raise MalformedPatternError(
            owner,
            "the condition is empty",
            'Give SQL text such as "price > 10", or leave the condition out to accept any event.',
        )
    if isinstance(condition, AllOf | AnyOf):
        if not condition.parts:
            raise MalformedPatternError(owner, "an AND or OR has no parts", "Give it at least one condition.")
        for part in condition.parts:
            _check_condition(part, owner, depth + 1)


def _check_lengths(tree: PatternTree) -> None:
    if isinstance(tree.window, EventCount) and tree.window.events < 1:
        raise MalformedPatternError(
            PATTERN, f"its window holds {tree.window.events} events", "Give 1 event or more: within(events=10)."
        )
    first: tuple[Span, str, str] | None = None
    for span, owner, kind in lengths(tree):
        _check_length(span, owner, kind)
        if first is None:
            first = span, owner, kind
        if span.unit is not first[0].unit:
            raise MalformedPatternError(
                owner,
                f"its {kind} is {_shown(span)}, but the {first[2]} of {first[1]} is {_shown(first[0])}",
                'Use one kind throughout: durations ("10 minutes") where the order column holds times, '
                "plain numbers where it holds numbers.",
            )
        if isinstance(tree.window, Span) and owner != PATTERN and span.length > tree.window.length:  # rule 6
            raise MalformedPatternError(
                owner,
                f"its {kind} of {to_text(span)} is larger than the window of the whole pattern, {to_text(tree.window)}",
                f"Give at most {to_text(tree.window)}, or a larger window to the pattern.",
            )


def _check_length(span: Span, owner: str, kind: str) -> None:
    if not math.isfinite(span.length) or span.length > LARGEST_LENGTH:
        raise MalformedPatternError(owner, f"its {kind} is {span.length!r}", f"Give at most {LARGEST_LENGTH}.")
    if span.unit is SpanUnit.MICROSECOND and not isinstance(span.length, int):
        raise MalformedPatternError(
            owner, f"its {kind} is {span.length!r} microseconds", "Give a whole number of microseconds."
        )
    if span.length <= 0:
        raise MalformedPatternError(
            owner,
            f"its {kind} of {to_text(span)} leaves no room for an event",
            "Give a length greater than zero; an event exactly that much later is out.",
        )


def _check_partition_by(tree: PatternTree) -> None:
    seen: set[str] = set()
    for name in tree.partition_by:
        if not isinstance(name, str) or not name:
            raise MalformedPatternError(
                PATTERN, f"partition_by has {name!r} for a column", 'Give names of columns: partition_by("user").'
            )
        if name.lower() in seen:
            raise MalformedPatternError(PATTERN, f"partition_by has {name!r} twice", "Name each column once.")
        seen.add(name.lower())


def _shown(span: Span) -> str:
    return f"the plain number {to_text(span)}" if span.unit is SpanUnit.ORDER else f"a duration, {to_text(span)}"
