"""Rejections that need the whole pattern, and what trees made by hand can get wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from syntax.refusals import refused
from syntax.strategies import patterns

from cepheid.errors import MalformedPatternError
from cepheid.syntax import PatternBuilder as Pattern
from cepheid.syntax import PatternTree, check, skip
from cepheid.syntax.tree import (
    AllOf,
    AnyOf,
    Element,
    EventCount,
    Fold,
    Gaps,
    Link,
    Loop,
    Not,
    NotLink,
    Sequence,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
)

A = Pattern.begin("a")
GROUP = Pattern.begin("x").next("y")
FIVE = Span(5, SpanUnit.ORDER)

WHOLE: dict[str, tuple[Pattern, str, str, str]] = {
    "nothing": (Pattern(), "the pattern", "no elements", "begin"),
    "only a not_before": (Pattern.not_before("n"), "not_before 'n'", "no element that takes", "begin"),
    "a not_before without window": (Pattern.not_before("n").begin("a"), "not_before 'n'", "no window", "within("),
    "not_followed_by at the end": (A.not_followed_by("n"), "not 'n'", "needs a window", 'since="previous"'),
    "not_followed_by and a not at the end": (
        A.not_followed_by("n").not_next("m"),
        "not 'n'",
        "needs a window",
        'within("10 minutes")',
    ),
    "of two at the end one has a window": (
        A.not_followed_by("n").not_followed_by("m").within(5, since="previous"),
        "not 'n'",
        "needs a window",
        'within("10 minutes")',
    ),
    "not_followed_by at the end of the last group": (
        A.next(Pattern.begin("b").not_followed_by("n")),
        "not 'n'",
        "needs a window",
        'within("10 minutes")',
    ),
    "not_followed_by at the end of the last group of a group": (
        A.next(Pattern.begin("b").next(Pattern.begin("c").not_followed_by("n")).times(2)).not_next("m"),
        "not 'n'",
        "needs a window",
        'within("10 minutes")',
    ),
    "a window on a not in the middle": (
        A.not_next("n").within(5, since="previous").next("b"),
        "not 'n'",
        "not at the end",
        "on the element that follows",
    ),
    "a window on a not before an optional end": (
        A.not_next("n").within(5, since="previous").next("b").optional(),
        "not 'n'",
        "not at the end",
        "on the element that follows",
    ),
    "a window on a not at the end of a middle group": (
        A.next(Pattern.begin("b").not_next("n").within(5, since="previous")).next("c"),
        "not 'n'",
        "not at the end",
        "on the element that follows",
    ),
    "a not behind an optional first": (
        A.optional().not_next("n").next("b"),
        "not 'n'",
        "before any event is taken",
        "Pattern.not_before('n')",
    ),
    "a not behind a loop that may be empty": (
        A.times_or_more(0).not_followed_by("n").next("b"),
        "not 'n'",
        "before any event is taken",
        "Pattern.not_before('n')",
    ),
    "a not behind a first group of optionals": (
        Pattern.begin(Pattern.begin("x").optional().next("y").optional()).times(2).not_next("n").next("b"),
        "not 'n'",
        "before any event is taken",
        "not optional",
    ),
    "a not inside a first group": (
        Pattern.begin(A.optional().not_next("n").next("b")).next("c"),
        "not 'n'",
        "before any event is taken",
        "not optional",
    ),
    "since previous on the first": (
        A.within(5, since="previous").next("b"),
        "element 'a'",
        "only take the first event",
        "later element",
    ),
    "since previous on an optional first": (
        A.optional().within(5, since="previous").next("b"),
        "element 'a'",
        "only take the first event",
        "later element",
    ),
    "since previous on a first group": (
        Pattern.begin(GROUP).within(5, since="previous"),
        "group (x, y)",
        "only take the first event",
        "later element",
    ),
    "since previous on the first of a first group": (
        Pattern.begin(Pattern.begin("x").within(5, since="previous").next("y")).next("b"),
        "element 'x'",
        "only take the first event",
        "later element",
    ),
    "skip to nothing": (
        A.next("middle").skip(skip.to_last("midd")),
        "skip to_last('midd')",
        "'midd' is not a variable",
        "Did you mean 'middle'?",
    ),
    "skip to a not": (
        A.not_next("n").next("b").skip(skip.to_first("n")),
        "skip to_first('n')",
        "'n' is a negation",
        "takes events: a, b",
    ),
    "skip to another case": (A.skip(skip.to_first("A")), "skip to_first('A')", "not a variable", "Did you mean 'a'?"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_refused_as_a_whole(name: str) -> None:
    pattern, element, problem, remedy = WHOLE[name]
    refused(lambda: check(pattern.tree), element, problem, remedy)


ACCEPTED = {
    "a not_next at the end": A.not_next("n"),
    "not_followed_by at the end with a window": A.not_followed_by("n").within(5),
    "not_followed_by at the end with a count window": A.not_followed_by("n").within(events=5),
    "not_followed_by at the end with its own": A.not_followed_by("n").within(5, since="previous"),
    "not_followed_by before an optional end": A.not_followed_by("n").next("b").optional(),
    "a not's own window at the end of the last group": A.next(
        Pattern.begin("b").not_followed_by("n").within(5, since="previous")
    ).times(2),
    "a window on a not before a not at the end": A.not_next("n").within(5, since="previous").not_next("m"),
    "a not inside an optional first group": Pattern.begin(A.not_next("n").next("b")).optional().next("c"),
    "a not behind an optional in a later group": A.next(Pattern.begin("b").optional().not_next("n").next("c")),
    "since previous on a first loop": A.times(2).within(5, since="previous"),
    "since previous behind an optional first": A.optional().next("b").within(5, since="previous"),
    "since previous first in a looped group": Pattern.begin(A.within(5, since="previous")).times(2),
    "since previous as large as the window": A.next("b").within(5, since="previous").within(5),
    "a gap as large as the window": A.times(2, within=5).within(5),
    "since previous with a count window": A.next("b").within(500, since="previous").within(events=2),
    "skip to a variable in a group": A.next(GROUP).skip(skip.to_last("y")),
    "letters of any alphabet": Pattern.begin("größe_1"),
    "until on a looped group": Pattern.begin(GROUP).times_or_more(2).until("p"),
    "greedy and bounded": A.times(2, 3).greedy(),
    "greedy twice": A.times(2, 3).greedy().greedy(),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_looks_alike_but_is_right(name: str) -> None:
    check(ACCEPTED[name].tree)


def tree_of(*elements: Element | Not) -> PatternTree:
    return PatternTree(Sequence(elements))


def loop_of(loop: Loop) -> PatternTree:
    return tree_of(Element(Link.BEGIN, Variable("a"), loop))


FIRST = Element(Link.BEGIN, Variable("a"))

# What the builder cannot express, but JSON and other front ends can.
BY_HAND: dict[str, tuple[PatternTree, str, str, str]] = {
    "a not first": (
        tree_of(Not(NotLink.NOT_NEXT, "n"), Element(Link.NEXT, Variable("a"))),
        "not 'n'",
        "the pattern cannot start with a negation",
        "Pattern.not_before('n')",
    ),
    "a not first in a later group": (
        tree_of(FIRST, Element(Link.NEXT, Sequence((Not(NotLink.NOT_NEXT, "n"), Element(Link.NEXT, Variable("b")))))),
        "not 'n'",
        "group (n, b) cannot start with a negation",
        "takes an event",
    ),
    "begin in the middle": (tree_of(FIRST, replace(FIRST, body=Variable("b"))), "element 'b'", "'begin'", "first"),
    "next at the start": (tree_of(replace(FIRST, link=Link.NEXT)), "element 'a'", "'next'", "first"),
    "an empty group": (
        tree_of(FIRST, Element(Link.NEXT, Sequence(()))),
        "number 2 of the pattern",
        "empty",
        'Pattern.begin("a")',
    ),
    "a minimum of 0": (loop_of(Loop(0, 2)), "element 'a'", "least number of repetitions is 0", "optional()"),
    "a negative minimum": (loop_of(Loop(-1, -1)), "element 'a'", "repetitions is -1", "1 or more"),
    "n > m": (loop_of(Loop(3, 2)), "element 'a'", "at least 3 and at most 2", "times(2, 3)"),
    "m of 0": (loop_of(Loop(1, 0)), "element 'a'", "at most 0", "at least 1"),
    "until on a bounded loop": (loop_of(Loop(1, 2, until=SqlText("x"))), "element 'a'", "ends after 2", "one_or_more"),
    "greedy on a group": (
        tree_of(Element(Link.BEGIN, Sequence((FIRST,)), Loop(1, None, greedy=True))),
        "group (a)",
        "only a loop of one variable can be greedy",
        "on a loop inside",
    ),
    "gaps without bounds": (loop_of(Loop(1, 2, gaps=Gaps())), "element 'a'", "are empty", "within={2:"),
    "gaps of both kinds": (
        loop_of(Loop(1, 2, gaps=Gaps(FIVE, ((2, FIVE),)))),
        "element 'a'",
        "two kinds of bounds",
        "one per repetition",
    ),
    "gaps out of order": (
        loop_of(Loop(1, 3, gaps=Gaps(None, ((3, FIVE), (2, FIVE))))),
        "element 'a'",
        "not in order",
        "ascending",
    ),
    "an empty text": (
        tree_of(Element(Link.BEGIN, Variable("a", AllOf((SqlText("x"), SqlText(" ")))))),
        "element 'a'",
        "condition is empty",
        "price > 10",
    ),
    "an empty AND": (tree_of(Element(Link.BEGIN, Variable("a", AnyOf(())))), "element 'a'", "no parts", "at least one"),
    "an empty fold": (
        tree_of(Element(Link.BEGIN, Variable("a", None, (Fold("z", "0", ""),)))),
        "fold 'z' of element 'a'",
        "update is empty",
        "SQL text",
    ),
    "half a microsecond": (
        replace(tree_of(FIRST), window=Span(0.5, SpanUnit.MICROSECOND)),
        "the pattern",
        "0.5 microseconds",
        "whole number",
    ),
    "no time": (replace(tree_of(FIRST), window=Span(float("nan"), SpanUnit.ORDER)), "the pattern", "nan", "at most"),
    "no events": (replace(tree_of(FIRST), window=EventCount(-1)), "the pattern", "holds -1 events", "1 event or more"),
    "a target without need": (
        replace(tree_of(FIRST), skip=Skip(SkipKind.TO_NEXT, "a")),
        "skip to_next",
        "neither a target nor or_fail",
        "skip.to_next",
    ),
    "no target": (
        replace(tree_of(FIRST), skip=Skip(SkipKind.TO_LAST)),
        "skip to_last(None)",
        "not a variable",
        "events: a",
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_refused_in_trees_made_by_hand(name: str) -> None:
    tree, element, problem, remedy = BY_HAND[name]
    refused(lambda: check(tree), element, problem, remedy)


def first_with(tree: PatternTree, **changes: object) -> PatternTree:
    first, *others = tree.body.elements
    return replace(tree, body=Sequence((replace(first, **changes), *others)))  # type: ignore[arg-type]


def appended(tree: PatternTree, *elements: Element | Not) -> PatternTree:
    return replace(tree, body=Sequence((*tree.body.elements, *elements)))


BREAKERS: dict[str, Callable[[PatternTree], PatternTree]] = {
    "a name again": lambda tree: appended(tree, Element(Link.NEXT, Variable("P1"))),
    "an unbounded not at the end": lambda tree: replace(
        appended(tree, Not(NotLink.NOT_FOLLOWED_BY, "last")), window=None, not_before=()
    ),
    "an unbounded not at the end of a last group": lambda tree: replace(
        appended(tree, Element(Link.NEXT, Sequence((replace(FIRST, body=Variable("b")), Not(*NOT_LAST))))),
        window=None,
        not_before=(),
    ),
    "a not behind an optional first": lambda tree: replace(
        first_with(tree, link=Link.NEXT),
        body=Sequence((replace(FIRST, optional=True), Not(*NOT_LAST), *first_with(tree, link=Link.NEXT).body.elements)),
    ),
    "since previous on the first": lambda tree: first_with(tree, loop=None, within_previous=Span(1, SpanUnit.ORDER)),
    "a window on a not in the middle": lambda tree: appended(
        tree, Not(*NOT_LAST, SqlText("x"), Span(1, SpanUnit.ORDER)), Element(Link.NEXT, Variable("b"))
    ),
    "a length of the other kind": lambda tree: appended(
        replace(tree, window=Span(10**6, SpanUnit.ORDER)),
        Element(Link.NEXT, Variable("b"), within_previous=Span(1, SpanUnit.MICROSECOND)),
    ),
    "a window too small": lambda tree: appended(
        replace(tree, window=Span(12, SpanUnit.ORDER)),
        Element(Link.NEXT, Variable("b"), within_previous=Span(13, SpanUnit.ORDER)),
    ),
    "a skip target that is a not": lambda tree: replace(
        appended(tree, Not(*NOT_LAST), Element(Link.NEXT, Variable("b"))), skip=skip.to_first("last")
    ),
    "until on a bounded loop": lambda tree: first_with(tree, loop=Loop(1, 2, until=SqlText("x"))),
    "a least number above the largest": lambda tree: first_with(tree, loop=Loop(3, 2)),
}
NOT_LAST = (NotLink.NOT_FOLLOWED_BY, "last")


@pytest.mark.parametrize("name", BREAKERS)
@settings(max_examples=30)
@given(tree=patterns())
def test_one_fault_spoils_any_pattern(name: str, tree: PatternTree) -> None:
    with pytest.raises(MalformedPatternError):
        check(BREAKERS[name](tree))
