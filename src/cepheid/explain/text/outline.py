"""A pattern as an indented tree of lines: what is in it, in words.

In: a pattern tree. Out: lines. Used by explanations and by `diagram(format="text")`; the words for links,
quantifiers and windows are shared with the pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.syntax import sql_pieces
from cepheid.syntax.durations import to_text
from cepheid.syntax.notation import condition_text, inner_contiguity
from cepheid.syntax.tree import (
    AllOfMembers,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Link,
    Loop,
    Not,
    NotLink,
    OneOf,
    PatternTree,
    Sequence,
    Skip,
    SkipKind,
    Variable,
    Window,
)
from cepheid.syntax.visitor import PartVisitor

LINKS = {
    Link.BEGIN: "begin",
    Link.NEXT: "next",
    Link.FOLLOWED_BY: "followed by",
    Link.FOLLOWED_BY_ANY: "followed by any",
    NotLink.NOT_NEXT: "not next",
    NotLink.NOT_FOLLOWED_BY: "not followed by",
}


def outline(tree: PatternTree) -> tuple[str, ...]:
    """The pattern as lines, groups indented."""
    lines = [f"not before {_named(before.name, before.condition)}" for before in tree.not_before]
    lines += _sequence(tree.body, "")
    if tree.window is not None:
        lines.append(f"within {window_text(tree.window)}")
    lines.append(f"skip: {skip_text(tree.skip)}")
    if tree.once_per is not None:
        lines.append(f"once per {to_text(tree.once_per)}")
    return tuple(lines)


def window_text(window: Window) -> str:
    """A window as a user would write it: `12 hours`, `10 events`."""
    return f"{window.events} events" if isinstance(window, EventCount) else to_text(window)


def skip_text(skip: Skip) -> str:
    """A skip strategy in words."""
    if skip.kind is SkipKind.NO_SKIP:
        return "none, every match counts"
    target = "" if skip.target is None else f" {skip.target!r}"
    return f"{skip.kind.value.replace('_', ' ')}{target}{' or fail' if skip.or_fail else ''}"


def times_text(loop: Loop) -> str:
    """How often a loop repeats, in words."""
    if loop.maximum is None:
        return "one or more times" if loop.minimum == 1 else f"{loop.minimum} or more times"
    if loop.minimum == loop.maximum:
        return f"{loop.minimum} times" if loop.minimum != 1 else "once"
    return f"{loop.minimum} to {loop.maximum} times"


def qualities(element: Element | Not, with_until: bool = True) -> Iterator[str]:
    """What an element has beside its name and condition: how often, in which way, within what time."""
    if isinstance(element, Element):
        if element.loop is not None:
            yield times_text(element.loop)
        if element.optional:
            yield "optional"
        inner = inner_contiguity(element)
        if inner is not Contiguity.RELAXED:
            yield "consecutive" if inner is Contiguity.STRICT else "all combinations"
        if element.loop is not None:
            yield from _loop_qualities(element.loop, with_until)
        if element.having is not None:
            yield f"having {one_line(element.having)}"
        if element.within_since is not None:
            yield f"within {to_text(element.within_since.span)} since {element.within_since.variable}"
    if element.within_previous is not None:
        yield f"within {to_text(element.within_previous)} since the previous event"


def one_line(condition: Condition) -> str:
    """A condition as written, on one line."""
    return sql_pieces.one_line(condition_text(condition))


def _loop_qualities(loop: Loop, with_until: bool) -> Iterator[str]:
    if loop.greedy:
        yield "whole" if loop.whole else "greedy"
    if loop.gaps is not None:
        if loop.gaps.every is not None:
            yield f"less than {to_text(loop.gaps.every)} apart"
        for repetition, span in loop.gaps.by_repetition:
            yield f"number {repetition} less than {to_text(span)} after the one before"
    if with_until and loop.until is not None:
        yield f"until {one_line(loop.until)}"


class _Lines(PartVisitor[Iterator[str]]):
    """One element or not, groups indented; `word` comes before it."""

    def __init__(self, word: str, indent: str) -> None:
        self.word = word
        self.indent = indent

    def variable(self, element: Element, body: Variable) -> Iterator[str]:
        yield self._line(_named(body.name, body.condition), element)
        for fold in body.folds:
            yield f"{self.indent}  fold {fold.name}: {fold.init}, then {fold.update}"

    def group(self, element: Element, body: Sequence) -> Iterator[str]:
        yield self._line("a group", element)
        yield from _sequence(body, f"{self.indent}  ")

    def one_of(self, element: Element, body: OneOf) -> Iterator[str]:
        yield self._line(choice_text(body), element)
        yield from self._members(body.alternatives, "either", "or")

    def all_of(self, element: Element, body: AllOfMembers) -> Iterator[str]:
        yield self._line(choice_text(body), element)
        yield from self._members(body.members, "member", "member")

    def negation(self, negation: Not) -> Iterator[str]:
        yield self._line(_named(negation.name, negation.condition), negation)

    def _line(self, text: str, part: Element | Not) -> str:
        return f"{self.indent}{self.word} {text}" + "".join(f", {quality}" for quality in qualities(part))

    def _members(self, members: tuple[Element, ...], first: str, word: str) -> Iterator[str]:
        for number, member in enumerate(members):
            yield from _Lines(word if number else first, f"{self.indent}  ").visit(member)


def _sequence(sequence: Sequence, indent: str) -> Iterator[str]:
    for part in sequence.elements:
        yield from _Lines(LINKS[part.link], indent).visit(part)


def choice_text(body: OneOf | AllOfMembers) -> str:
    """What a `one_of` or `all_of` asks of its members."""
    if isinstance(body, OneOf):
        return "one of"
    count = len(body.members)
    return "all of, in any order" if body.at_least == count else f"at least {body.at_least} of {count}, in any order"


def _named(name: str, condition: Condition | None) -> str:
    return f"{name}: {'any event' if condition is None else one_line(condition)}"
