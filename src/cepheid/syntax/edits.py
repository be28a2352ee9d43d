"""The steps of a builder as functions: a tree comes in, the tree after the step goes out.

Each refuses what makes no sense at its place (a quantifier on a negation, a second window), and asks `part_rules` about
the result. The builder is the only caller; modifiers apply to the element added last.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from cepheid.errors import MalformedPatternError
from cepheid.syntax.durations import Duration, to_span
from cepheid.syntax.notation import quantifier
from cepheid.syntax.part_rules import check_part
from cepheid.syntax.tree import (
    AllOfMembers,
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
    PatternTree,
    Sequence,
    Since,
    Skip,
    SkipKind,
    Variable,
    describe,
)
from cepheid.syntax.windows import PATTERN

GapBounds: TypeAlias = Duration | Mapping[int, Duration]
"""One limit for all steps of a loop, or one per repetition, counted from 2."""


def append(tree: PatternTree, element: Element | Not, step: str) -> PatternTree:
    """The tree with one more element or negation at the end."""
    elements, begins = tree.body.elements, isinstance(element, Element) and element.link is Link.BEGIN
    if begins and elements:
        raise MalformedPatternError(
            describe(element),
            f"begin cannot follow {describe(elements[-1])}: a pattern begins once",
            "Continue with next, followed_by or followed_by_any.",
        )
    if not begins and not elements:
        raise MalformedPatternError(
            describe(element),
            f"{step} has nothing to follow: the pattern has not begun",
            'Start with begin: Pattern.begin("a") or Pattern.not_before("x").where(…).begin("a").',
        )
    return _checked(replace(tree, body=Sequence((*elements, element))))


def add_not_before(tree: PatternTree, name: str) -> PatternTree:
    """The tree with one more `not_before`."""
    if tree.body.elements:
        raise MalformedPatternError(
            f"not_before {name!r}",
            f"it cannot follow {describe(tree.body.elements[-1])}: it applies to the start of the whole pattern",
            f"Start with it: Pattern.not_before({name!r}).where(…).begin(…); "
            "between elements use not_followed_by or not_next.",
        )
    return _checked(replace(tree, not_before=(*tree.not_before, NotBefore(name))))


def group_of(tree: PatternTree) -> Sequence:
    """The body of a pattern that becomes a group of another."""
    what = describe(Element(Link.BEGIN, tree.body))
    for is_there, part, remedy in (
        (tree.window is not None, "a window", 'Call within on the whole pattern, or within(t, since="previous").'),
        (tree.skip.kind is not SkipKind.NO_SKIP, "a skip strategy", "Call skip on the whole pattern."),
        (bool(tree.not_before), "a not_before", "Start the whole pattern with not_before."),
        (bool(tree.partition_by), "a partition key", "Call partition_by on the whole pattern."),
        (tree.once_per is not None, "once_per", "Call once_per on the whole pattern."),
        (bool(tree.parameters), "parameters that are bound", "Call bind on the whole pattern."),
    ):
        if is_there:
            raise MalformedPatternError(what, f"a pattern with {part} cannot be a group", remedy)
    if not tree.body.elements:
        raise MalformedPatternError(what, "the group is empty", 'Put an element into it: Pattern.begin("a").')
    return tree.body


def condition_owner(tree: PatternTree, step: str) -> str:
    """How errors name the part that a condition given now belongs to; refuses if there is none."""
    if tree.body.elements:
        last = tree.body.elements[-1]
        if isinstance(last, Element) and not isinstance(last.body, Variable):
            raise MalformedPatternError(
                describe(last),
                f"{step} cannot apply to it as a whole: each of its elements has its own conditions",
                f"Call {step} on the elements inside.",
            )
        return describe(last)
    if tree.not_before:
        return f"not_before {tree.not_before[-1].name!r}"
    raise MalformedPatternError(
        PATTERN, f"{step} comes before any element", f'Name an element first: Pattern.begin("a").{step}(…).'
    )


def change_condition(tree: PatternTree, change: Callable[[Condition | None], Condition]) -> PatternTree:
    """Change the condition of the last not_before, negation or variable; `condition_owner` has accepted it."""
    if not tree.body.elements:
        *others, before = tree.not_before
        return _checked(replace(tree, not_before=(*others, replace(before, condition=change(before.condition)))))
    last = tree.body.elements[-1]
    if isinstance(last, Not):
        return _with_last(tree, replace(last, condition=change(last.condition)))
    assert isinstance(last.body, Variable)
    return _with_last(tree, replace(last, body=replace(last.body, condition=change(last.body.condition))))


def until_owner(tree: PatternTree) -> str:
    """How errors name the loop that an until given now belongs to; refuses if it is not an unbounded loop."""
    element = _last_element(tree, "until")
    loop, what = element.loop, describe(element)
    if loop is None or loop.maximum is not None:
        raise MalformedPatternError(
            what,
            "until needs a loop without an upper bound, and "
            + ("this is taken once" if loop is None else f"this one ends after {loop.maximum}"),
            "Call one_or_more() or times_or_more(n) before until.",
        )
    if loop.until is not None:
        raise MalformedPatternError(what, "it already has an until", "Give all conditions in one until.")
    return f"until of {what}"


def set_until(tree: PatternTree, condition: Condition) -> PatternTree:
    """Close the last loop at an event that satisfies the condition; `until_owner` has accepted it."""
    element, loop = _last_loop(tree, "until")
    return _with_last(tree, replace(element, loop=replace(loop, until=condition)))


def add_fold(tree: PatternTree, fold: Fold) -> PatternTree:
    """Add a fold to the last element."""
    element = _last_element(tree, "fold")
    if not isinstance(element.body, Variable):
        raise MalformedPatternError(describe(element), "a group cannot have a fold", "Put it on its elements.")
    return _with_last(tree, replace(element, body=replace(element.body, folds=(*element.body.folds, fold))))


def repeat(tree: PatternTree, step: str, least: int, most: int | None, within: GapBounds | None) -> PatternTree:
    """Turn the last element into a loop."""
    element = _last_element(tree, step)
    what = describe(element)
    if element.loop is not None:
        raise MalformedPatternError(
            what,
            f"{step} is a second quantifier: it already has {quantifier(element.loop)}",
            "Keep one; to repeat a loop put it into a group: Pattern.begin(Pattern.begin(…).one_or_more()).times(2).",
        )
    least = whole_number(least, step, what)
    most = None if most is None else whole_number(most, step, what)
    if least < 0 or (most is not None and most < 0):
        raise MalformedPatternError(
            what, f"{step} has the negative count {min(least, least if most is None else most)}", "Give 1 or more."
        )
    if most == 0:
        raise MalformedPatternError(
            what,
            f"{step} with 0 as the largest number takes no event at all",
            "Give at least 1; for what must not happen use not_next or not_followed_by.",
        )
    # rule 3: none at all is written as optional, so that a loop always takes something
    inner = element.body.inner if isinstance(element.body, AllOfMembers) else Contiguity.RELAXED
    loop = Loop(max(least, 1), most, inner, gaps=None if within is None else _gaps(within, what))
    return _with_last(tree, replace(element, loop=loop, optional=element.optional or least == 0))


def make_optional(tree: PatternTree) -> PatternTree:
    """Make the last element optional."""
    return _with_last(tree, replace(_last_element(tree, "optional"), optional=True))


def make_greedy(tree: PatternTree) -> PatternTree:
    """Make the last loop greedy."""
    element, loop = _last_loop(tree, "greedy")
    return _with_last(tree, replace(element, loop=replace(loop, greedy=True)))


def make_whole(tree: PatternTree) -> PatternTree:
    """The last loop takes all it can, also at the end of the pattern."""
    element, loop = _last_loop(tree, "whole")
    return _with_last(tree, replace(element, loop=replace(loop, greedy=True, whole=True)))


def having_owner(tree: PatternTree) -> str:
    """How an error calls what a having given now would belong to."""
    element = _last_element(tree, "having")
    if element.having is not None:
        raise MalformedPatternError(describe(element), "it already has a having", "Give all conditions in one having.")
    return f"having of {describe(element)}"


def set_having(tree: PatternTree, condition: Condition) -> PatternTree:
    """The last loop, group or all_of may be left only where the condition holds; `having_owner` has accepted it."""
    return _with_last(tree, replace(_last_element(tree, "having"), having=condition))


def set_inner(tree: PatternTree, step: str, inner: Contiguity) -> PatternTree:
    """The contiguity between the repetitions of the last loop, or between the members of an all_of (rule 14)."""
    element = _last_element(tree, step)
    if isinstance(element.body, AllOfMembers):
        members, loop = element.body, element.loop
        _refuse_two_inners(element, members.inner, inner)
        loop = None if loop is None else replace(loop, inner=inner)
        return _with_last(tree, replace(element, body=replace(members, inner=inner), loop=loop))
    element, loop = _last_loop(tree, step)
    _refuse_two_inners(element, loop.inner, inner)
    return _with_last(tree, replace(element, loop=replace(loop, inner=inner)))


def _refuse_two_inners(element: Element, old: Contiguity, new: Contiguity) -> None:
    if old not in (Contiguity.RELAXED, new):
        raise MalformedPatternError(
            describe(element),
            "it cannot be both consecutive and with combinations",
            "Keep one of consecutive() and allow_combinations().",
        )


def set_window(tree: PatternTree, time: Duration | None, events: int | None) -> PatternTree:
    """Set the window of the whole pattern; exactly one of `time` and `events` is given."""
    if tree.window is not None:
        raise MalformedPatternError(
            PATTERN,
            "it already has a window",
            'Call within once; for a bound on one element use within(t, since="previous") or within(t, since="v").',
        )
    if time is not None:
        return _checked(replace(tree, window=to_span(time, PATTERN)))
    return _checked(replace(tree, window=EventCount(whole_number(events, "within(events=…)", PATTERN))))


def set_window_since(tree: PatternTree, time: Duration | None, since: str) -> PatternTree:
    """The window of the last element or not since the event taken before, or of the last element since a variable."""
    if not tree.body.elements:
        raise MalformedPatternError(
            PATTERN,
            f"within(…, since={since!r}) applies to the element before it, and there is none yet",
            f'Call it after an element: .followed_by("b").within("5 minutes", since={since!r}).',
        )
    last = tree.body.elements[-1]
    what = describe(last)
    if time is None:
        raise MalformedPatternError(
            what,
            f"a window since {since!r} cannot count events",
            f'Give a length of time, within("5 minutes", since={since!r}), or use next for the very next event.',
        )
    if since == "previous":
        if last.within_previous is not None:
            raise MalformedPatternError(what, "it already has a window since the previous event", "Give it once.")
        return _with_last(tree, replace(last, within_previous=to_span(time, what)))
    if isinstance(last, Not):
        raise MalformedPatternError(
            what,
            f"a negation cannot have a window since {since!r}",
            'Use within(t, since="previous") on a negation at the end, or the window of the pattern.',
        )
    if last.within_since is not None:
        raise MalformedPatternError(
            what,
            f"it already has a window since {last.within_since.variable!r}",
            "Give it once; for a second bound put the element into a group and bound that.",
        )
    return _with_last(tree, replace(last, within_since=Since(since, to_span(time, what))))


def set_once_per(tree: PatternTree, time: Duration) -> PatternTree:
    """At least so much time between one reported match and the next."""
    if tree.once_per is not None:
        raise MalformedPatternError(PATTERN, "it already has once_per", "Give it once.")
    return _checked(replace(tree, once_per=to_span(time, PATTERN)))


def set_partition_by(tree: PatternTree, columns: tuple[str, ...]) -> PatternTree:
    """Set the partition columns of the pattern."""
    if tree.partition_by:
        raise MalformedPatternError(
            PATTERN, f"it is already partitioned by {', '.join(tree.partition_by)}", "Give all columns in one call."
        )
    if not columns:
        raise MalformedPatternError(PATTERN, "partition_by has no column", 'Name one: partition_by("user").')
    return _checked(replace(tree, partition_by=columns))


def set_skip(tree: PatternTree, strategy: Skip) -> PatternTree:
    """Set the skip strategy of the pattern."""
    if tree.skip.kind is not SkipKind.NO_SKIP:
        raise MalformedPatternError(PATTERN, f"it already has the skip strategy {tree.skip.kind.value}", "Skip once.")
    return replace(tree, skip=strategy)


def whole_number(given: object, step: str, what: str) -> int:
    """`given` as an int; refuses what is not a whole number."""
    try:
        if isinstance(given, bool):
            raise TypeError
        return operator.index(given)  # type: ignore[arg-type]  # what has no index is the case below
    except TypeError:
        raise MalformedPatternError(
            what, f"{step} has {given!r} where a whole number belongs", "Give a whole number, such as 3."
        ) from None


def _gaps(within: GapBounds, what: str) -> Gaps:
    if not isinstance(within, Mapping):
        return Gaps(every=to_span(within, what))
    spans = {whole_number(key, "within={…}", what): to_span(span, what) for key, span in within.items()}
    return Gaps(by_repetition=tuple(sorted(spans.items())))


def _last_element(tree: PatternTree, step: str) -> Element:
    """The element that a modifier such as a quantifier applies to."""
    if not tree.body.elements:
        raise MalformedPatternError(
            f"not_before {tree.not_before[-1].name!r}" if tree.not_before else PATTERN,
            f"{step} applies to an element that takes events, and there is none yet",
            f'Call {step} after the element: begin("a").{step}(…).',
        )
    last = tree.body.elements[-1]
    if isinstance(last, Not):
        raise MalformedPatternError(
            describe(last),
            f"{step} cannot apply to a negation, which takes no events",
            f"Call {step} after an element that takes events, or drop it.",
        )
    return last


def _last_loop(tree: PatternTree, step: str) -> tuple[Element, Loop]:
    element = _last_element(tree, step)
    if element.loop is None:
        raise MalformedPatternError(
            describe(element),
            f"{step} applies to a loop, and this is taken once",
            f"Call times(…), times_or_more(…) or one_or_more() before {step}(), or drop it.",
        )
    return element, element.loop


def _with_last(tree: PatternTree, element: Element | Not) -> PatternTree:
    return _checked(replace(tree, body=Sequence((*tree.body.elements[:-1], element))))


def _checked(tree: PatternTree) -> PatternTree:
    check_part(tree)
    return tree
