"""Hypothesis strategies: random well-formed patterns over the whole language, folds, callables and Columns excepted.

Rules 13 to 19 take part with `beyond=True`: not every engine can run them. `patterns()` makes trees that `check`
accepts by construction: it knows at each place what may stand there. Its filter would only hide a slip of this file, so
`test_strategies` looks at what comes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as AbstractSequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st

from cepheid.errors import MalformedPatternError
from cepheid.syntax import skip
from cepheid.syntax.combining import conjunction, disjunction
from cepheid.syntax.positions import can_be_empty
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Gaps,
    Link,
    Loop,
    Not,
    NotBefore,
    NotLink,
    OneOf,
    PatternTree,
    Sequence,
    Since,
    Skip,
    Span,
    SpanUnit,
    SqlText,
    Variable,
    Window,
    negations,
    variables,
)
from cepheid.syntax.validation import check

ConditionTexts: TypeAlias = Callable[[AbstractSequence[str]], st.SearchStrategy[str]]
"""Given the variables that a condition may read at its place (its own last), texts of conditions."""


@cache
def own_event_texts(readable: AbstractSequence[str] = ()) -> st.SearchStrategy[str]:
    """Conditions on the current event alone: `name` is one of a, b, c, d; `price` is 0 to 9."""
    names = st.sampled_from("abcd").map(lambda name: f"name = '{name}'")
    prices = st.tuples(st.sampled_from(("<", ">=", "=", "<>")), st.integers(0, 9)).map(lambda p: f"price {p[0]} {p[1]}")
    return st.one_of(names, names, names, prices)


@cache
def small_alphabet_texts(readable: AbstractSequence[str]) -> st.SearchStrategy[str]:
    """Conditions on the current event, and on what the readable variables have taken."""
    if not readable:
        return own_event_texts()
    variable = st.sampled_from(list(readable))
    comparison = st.sampled_from(("<", "<=", ">", ">=", "=", "<>"))
    function = st.sampled_from(("FIRST", "LAST", "SUM", "AVG", "MIN", "MAX"))
    against_aggregate = st.builds(lambda c, f, v: f"price {c} {f}({v}.price)", comparison, function, variable)
    running_sum = st.builds(lambda v, n: f"SUM({v}.price) + price <= {n}", variable, st.integers(3, 15))
    count = st.builds(lambda v, c, n: f"COUNT({v}.*) {c} {n}", variable, comparison, st.integers(0, 3))
    offset = st.builds(lambda v, k: f"price >= LAST({v}.price, {k})", variable, st.integers(0, 2))
    return st.one_of(
        own_event_texts(), own_event_texts(), own_event_texts(), against_aggregate, running_sum, count, offset
    )


@cache
def texts_with_distinct(readable: AbstractSequence[str]) -> st.SearchStrategy[str]:
    """The same, and how many different values a variable has taken (rule 18)."""
    if not readable:
        return own_event_texts()
    distinct = st.builds(
        lambda v, column, c, n: f"COUNT(DISTINCT {v}.{column}) {c} {n}",
        st.sampled_from(list(readable)),
        st.sampled_from(("price", "name")),
        st.sampled_from(("<", ">=", "=")),
        st.integers(0, 3),
    )
    return st.one_of(*[small_alphabet_texts(readable)] * 6, distinct)


@cache
def having_texts(readable: AbstractSequence[str]) -> st.SearchStrategy[str]:
    """Conditions on what variables have taken, without a current event (rule 15)."""
    variable = st.sampled_from(list(readable))
    comparison = st.sampled_from(("<", "<=", ">", ">=", "=", "<>"))
    value = st.sampled_from(("SUM({}.price)", "COUNT({}.*)", "{}.price", "MAX({}.price)", "COUNT(DISTINCT {}.name)"))
    return st.builds(lambda v, f, c, n: f"{f.format(v)} {c} {n}", variable, value, comparison, st.integers(0, 6))


def order_lengths(largest: int = 12) -> st.SearchStrategy[Span]:
    """Lengths in the unit of the order column."""
    return st.integers(1, largest).map(lambda length: Span(length, SpanUnit.ORDER))


def durations() -> st.SearchStrategy[Span]:
    """Lengths in microseconds, round ones and odd ones."""
    units = st.sampled_from((1, 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000, 604_800_000_000))
    round_ones = st.builds(lambda count, unit: count * unit, st.integers(1, 400), units)
    sums = st.lists(round_ones, min_size=1, max_size=3).map(sum)
    return st.one_of(round_ones, sums, st.integers(1, 10**15)).map(lambda length: Span(length, SpanUnit.MICROSECOND))


@dataclass
class _Writer:
    """Draws one pattern from left to right; keeps the names given so far and the window that bounds all lengths.

    `earlier` are the variables written before the present place and not in another part of a `one_of` or `all_of`;
    `readable` those that a condition may read there.
    """

    draw: st.DrawFn
    texts: ConditionTexts
    lengths: st.SearchStrategy[Span]
    largest_sequence: int
    window: Window | None
    beyond: bool = False
    variables: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    readable: list[str] = field(default_factory=list)
    names: int = 0
    loops: int = 0
    """Loops around the present place."""

    def new_name(self) -> str:
        self.names += 1
        return f"p{self.names}"

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == one_in

    def span(self) -> Span:
        span = self.draw(self.lengths)
        if isinstance(self.window, Span):
            return replace(span, length=min(span.length, self.window.length))
        return span

    def condition(self, readable: AbstractSequence[str]) -> Condition:
        """What `where` and `or_where` lead to, call by call."""
        texts = self.texts(tuple(readable)).map(SqlText)
        condition: Condition = self.draw(texts)
        for combine in (
            self.draw(st.lists(st.sampled_from((conjunction, disjunction)), max_size=2)) if self.chance(4) else ()
        ):
            condition = combine((condition, self.draw(texts)))
        return condition

    def until(self) -> Condition:
        """What one call of `until` leads to."""
        texts = self.texts(tuple(self.readable)).map(SqlText)
        return conjunction(self.draw(st.lists(texts, min_size=1, max_size=2)))

    def maybe_condition(self, readable: AbstractSequence[str]) -> Condition | None:
        return None if self.chance(8) else self.condition(readable)

    def sequence(self, depth: int, at_end: bool, fresh: bool, only_start: bool) -> Sequence:
        """A sequence of elements.

        `at_end`: nothing that takes events is written behind it; `fresh`: a match may reach it with no event taken;
        `only_start`: nothing stands before it and nothing around it repeats.
        """
        kinds = [True, *self.draw(st.lists(st.sampled_from((True, True, False)), max_size=self.largest_sequence - 1))]
        elements: list[Element | Not] = []
        for index, takes in enumerate(kinds):
            last = at_end and not any(kinds[index + 1 :])
            if takes:
                link = self.draw(st.sampled_from((Link.NEXT, Link.FOLLOWED_BY, Link.FOLLOWED_BY_ANY)))
                element = self.element(
                    Link.BEGIN if index == 0 else link, depth, last, fresh, only_start and index == 0
                )
                elements.append(element)
                fresh = fresh and can_be_empty(element)
            elif not fresh:  # a not needs an event before it
                elements.append(self.negation(last))
        return Sequence(tuple(elements))

    def negation(self, at_end: bool) -> Not:
        link = self.draw(st.sampled_from(NotLink))
        must_be_bounded = link is NotLink.NOT_FOLLOWED_BY and self.window is None
        own_window = at_end and (must_be_bounded or self.chance(3))
        condition = self.condition(self.readable)  # without one it would forbid every event
        return Not(link, self.new_name(), condition, self.span() if own_window else None)

    def element(
        self, link: Link, depth: int, at_end: bool, fresh: bool, only_start: bool, is_part: bool = False
    ) -> Element:
        """One element; `is_part`: of a `one_of` or `all_of`, so that it must take an event."""
        repeats, is_group = self.chance(2), depth > 0 and self.chance(3)
        only_start = only_start and not repeats
        earlier, written = list(self.earlier), len(self.variables)
        self.loops += repeats
        if is_group:
            body = self.body(depth - 1, at_end, fresh, only_start)
        else:
            name = self.new_name()
            self.add(name)
            body = Variable(name, self.maybe_condition(self.readable))
        self.loops -= repeats
        optional = not is_part and self.chance(4)
        element = Element(
            link,
            body,
            self.loop(is_group) if repeats else None,
            optional=optional,
            within_previous=self.span() if not only_start and self.chance(6) else None,
        )
        if isinstance(body, AllOfMembers) and element.loop is not None:
            element = replace(element, loop=replace(element.loop, inner=body.inner))
        if self.beyond:
            element = self.with_more(element, earlier, self.variables[written:])
        return taking(element) if is_part else element

    def body(self, depth: int, at_end: bool, fresh: bool, only_start: bool) -> Body:
        kind = self.draw(st.sampled_from(("group", "one_of", "all_of"))) if self.beyond else "group"
        if kind == "group":
            return self.sequence(depth, at_end, fresh, only_start)
        earlier, readable = list(self.earlier), list(self.readable)
        parts: list[Element] = []
        for _ in range(self.draw(st.sampled_from((1, 2, 2, 3)))):
            parts.append(self.element(Link.BEGIN, depth, at_end, fresh, only_start and kind == "one_of", is_part=True))
            self.earlier = list(earlier)  # rule 17: another part is not before
            if kind == "one_of" and not self.loops:  # rule 13: nor is it ever taken with this one
                self.readable = list(readable)
        names = [variable.name for part in parts for _, _, variable in variables(Sequence((part,)))]
        self.earlier = [*earlier, *names]
        self.readable = [*readable, *names]
        if kind == "one_of":
            return OneOf(tuple(parts))
        inner = self.draw(st.sampled_from((Contiguity.RELAXED, *Contiguity)))
        return AllOfMembers(tuple(parts), self.draw(st.integers(1, len(parts))), inner)

    def add(self, name: str) -> None:
        for names in (self.variables, self.earlier, self.readable):
            names.append(name)

    def with_more(self, element: Element, earlier: list[str], inside: list[str]) -> Element:
        """The element with modifiers of rules 15 to 17, where it can have them."""
        loop = element.loop
        if self.chance(4) and (loop is not None or isinstance(element.body, AllOfMembers)):
            texts = having_texts((*earlier, *inside)).map(SqlText)
            element = replace(element, having=conjunction(self.draw(st.lists(texts, min_size=1, max_size=2))))
        if loop is not None and self.chance(3) and self.can_be_whole(element, loop):
            element = replace(element, loop=replace(loop, greedy=True, whole=True))
        if earlier and self.chance(5):
            element = replace(element, within_since=Since(self.draw(st.sampled_from(earlier)), self.span()))
        return element

    def can_be_whole(self, element: Element, loop: Loop) -> bool:
        """Whether something ends the waiting, wherever the loop is (rule 16)."""
        if not isinstance(element.body, Variable):
            return False
        if self.window is not None or element.within_previous is not None:
            return True
        ends = loop.inner is Contiguity.STRICT or loop.minimum == loop.maximum or loop.until is not None
        return not element.optional and (ends or (loop.gaps is not None and loop.gaps.every is not None))

    def loop(self, is_group: bool) -> Loop:
        minimum, more = self.draw(st.sampled_from((1, 1, 2, 3))), self.draw(st.sampled_from((None, None, 0, 1, 2)))
        maximum = None if more is None else minimum + more
        return Loop(
            minimum,
            maximum,
            inner=self.draw(st.sampled_from(Contiguity)),
            greedy=not is_group and self.chance(4),
            until=self.until() if maximum is None and self.chance(4) else None,
            gaps=self.gaps(maximum) if self.chance(5) else None,
        )

    def gaps(self, maximum: int | None) -> Gaps:
        largest = 4 if maximum is None else maximum
        if largest == 1 or self.chance(2):
            return Gaps(every=self.span())
        repetitions = self.draw(st.sets(st.integers(2, largest), min_size=1))
        return Gaps(by_repetition=tuple((repetition, self.span()) for repetition in sorted(repetitions)))

    def skip(self) -> Skip:
        target, or_fail = self.draw(st.sampled_from(self.variables)), self.chance(3)
        without_target = (skip.no_skip, skip.no_skip, skip.to_next, skip.past_last_event)
        with_target = (skip.to_first(target, or_fail), skip.to_last(target, or_fail))
        return self.draw(st.sampled_from((*without_target, *with_target)))


def taking(element: Element) -> Element:
    """The element, changed so that it takes at least one event."""
    element = replace(element, optional=False)
    if not can_be_empty(element):
        return element
    assert isinstance(element.body, Sequence)
    first, *others = element.body.elements
    assert isinstance(first, Element)
    return replace(element, body=Sequence((taking(first), *others)))


@st.composite
def unfiltered_patterns(
    draw: st.DrawFn,
    texts: ConditionTexts | None = None,
    lengths: st.SearchStrategy[Span] | None = None,
    largest_sequence: int = 3,
    depth: int = 2,
    beyond: bool = False,
) -> PatternTree:
    """`patterns` without its last filter, so that a test can see that there is nothing to filter."""
    texts = texts or (texts_with_distinct if beyond else small_alphabet_texts)
    lengths = order_lengths() if lengths is None else lengths
    counts = st.integers(1, 9).map(EventCount)
    window: Window | None = draw(st.one_of(st.none(), lengths, counts))
    writer = _Writer(draw, texts, lengths, largest_sequence, window, beyond)
    body = writer.sequence(depth, at_end=True, fresh=True, only_start=True)
    befores: tuple[NotBefore, ...] = ()
    if window is not None and writer.chance(6):  # asked when a match is complete, so they may read every variable
        befores = tuple(
            NotBefore(writer.new_name(), writer.condition(writer.variables))
            for _ in range(draw(st.sampled_from((1, 1, 2))))
        )
    once_per = draw(lengths) if beyond and writer.chance(6) else None
    return PatternTree(body, writer.skip(), window, befores, once_per=once_per)


def patterns(
    texts: ConditionTexts | None = None,
    lengths: st.SearchStrategy[Span] | None = None,
    largest_sequence: int = 3,
    depth: int = 2,
    beyond: bool = False,
) -> st.SearchStrategy[PatternTree]:
    """Well-formed patterns.

    `texts` gives the conditions; `lengths` the windows, all of one unit (small numbers of the order column if not
    given); a sequence has at most `largest_sequence` elements and nots, and groups are nested `depth` deep. `beyond`:
    with the constructs of rules 13 to 19.
    """
    return unfiltered_patterns(texts, lengths, largest_sequence, depth, beyond).filter(is_well_formed)


def negation_patterns() -> st.SearchStrategy[PatternTree]:
    """Well-formed patterns that have a not, of any kind and at any place."""
    return patterns(largest_sequence=4).filter(has_not)


def has_not(tree: PatternTree) -> bool:
    """Whether anything must not happen."""
    return bool(tree.not_before) or any(True for _ in negations(tree.body))


def is_well_formed(tree: PatternTree) -> bool:
    """Whether `check` accepts the tree."""
    try:
        check(tree)
    except MalformedPatternError:
        return False
    return True
