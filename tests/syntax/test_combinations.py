"""`one_of`, `all_of` and the modifiers of rules 15 to 19: the trees they make, their forms, and what is refused."""

from __future__ import annotations

import pytest
from syntax.refusals import refused

from cepheid import Pattern, all_of, one_of, skip
from cepheid.errors import MalformedPatternError
from cepheid.syntax.tree import (
    AllOfMembers,
    Contiguity,
    Element,
    Link,
    OneOf,
    Sequence,
    Since,
    Span,
    SpanUnit,
    SqlText,
    Variable,
)

A, B, C = (Pattern.begin(name).where(f"x = '{name}'") for name in "abc")
LOOP = A.one_or_more()


def last(pattern: Pattern) -> Element:
    element = pattern.tree.body.elements[-1]
    assert isinstance(element, Element)
    return element


def test_parts_are_names_single_elements_groups_and_combinations() -> None:
    body = last(Pattern.begin("s").followed_by(one_of("a", B.times(2), C.next("d"), all_of("e", "f")))).body
    assert isinstance(body, OneOf)
    single, loop, group, members = body.alternatives
    assert single == Element(Link.BEGIN, Variable("a"))
    assert isinstance(loop.body, Variable) and loop.loop is not None and loop.loop.minimum == 2
    assert isinstance(group.body, Sequence) and len(group.body.elements) == 2
    assert isinstance(members.body, AllOfMembers) and members.body.at_least == 2


def test_the_inner_contiguity_of_an_all_of_needs_no_loop_and_holds_for_its_iterations() -> None:
    once = last(Pattern.begin(all_of("a", "b")).consecutive())
    assert isinstance(once.body, AllOfMembers) and once.body.inner is Contiguity.STRICT and once.loop is None
    for looped in (
        Pattern.begin(all_of("a", "b")).consecutive().times(2),
        Pattern.begin(all_of("a", "b")).times(2).consecutive(),
    ):
        element = last(looped)
        assert isinstance(element.body, AllOfMembers) and element.loop is not None
        assert element.body.inner is element.loop.inner is Contiguity.STRICT


def test_modifiers() -> None:
    assert last(LOOP.having("SUM(a.x) > 3")).having == SqlText("SUM(a.x) > 3")
    whole = last(LOOP.consecutive().whole()).loop
    assert whole is not None and whole.whole and whole.greedy
    assert last(A.followed_by("b").within(5, since="a")).within_since == Since("a", Span(5, SpanUnit.ORDER))
    assert A.once_per("1 minute").tree.once_per == Span(60_000_000, SpanUnit.MICROSECOND)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (Pattern.begin("s").followed_by(one_of("a", C.next("d"))), "s ~> (a | (c[x = 'c'] -> d))"),
        (Pattern.begin(all_of("a", "b", at_least=1)).times(2), "(a & b){2}<at least 1>"),
        (Pattern.begin(all_of("a", "b")).consecutive().optional(), "(a & b)?<consecutive>"),
        (LOOP.whole().within(9), "a[x = 'a']+<whole> within 9"),
        (LOOP.having("COUNT(a.*) > 2"), "a[x = 'a']+<having [COUNT(a.*) > 2]>"),
        (A.next("b").within(5, since="a").once_per(7), "a[x = 'a'] -> b<within 5 since a> once per 7"),
    ],
)
def test_one_line_of_text(pattern: Pattern, text: str) -> None:
    assert str(pattern) == text
    assert Pattern.from_json(pattern.to_json()) == pattern


REFUSED = {
    "an empty one_of": (lambda: A.next(one_of()), "number 2 of the pattern", "the one_of is empty", "at least one"),
    "an empty all_of": (lambda: A.next(all_of()), "number 2 of the pattern", "the all_of is empty", "at least one"),
    "an optional alternative": (
        lambda: A.next(one_of(B.optional(), "c")),
        "element 'b'",
        "no event",
        "one_of optional",
    ),
    "a member of none": (lambda: A.next(all_of(B.times(0, 2), "c")), "element 'b'", "no event", "lower at_least"),
    "optional elements only": (
        lambda: A.next(one_of(Pattern.begin("b").optional().next("c").optional(), "d")),
        "group (b, c)",
        "may take no event",
        "at least one event",
    ),
    "at_least of none": (lambda: A.next(all_of("b", "c", at_least=0)), "all_of (b, c)", "at_least is 0", "from 1 to 2"),
    "at_least of too many": (lambda: A.next(all_of("b", at_least=2)), "all_of (b)", "at_least is 2", "from 1 to 1"),
    "a name in two alternatives": (lambda: A.next(one_of("b", "B")), "element 'B'", "already taken", "its own name"),
    "a number as a part": (lambda: one_of(3), "one_of(…)", "it was given 3", "Give names"),
    "greedy on a one_of": (lambda: A.next(one_of("b")).times(2).greedy(), "one_of (b)", "can be greedy", "inside"),
    "whole on an all_of": (lambda: A.next(all_of("b")).times(2).whole(), "all_of (b)", "can be whole", "inside"),
    "whole on a single": (lambda: A.whole(), "element 'a'", "whole applies to a loop", "one_or_more()"),
    "consecutive on a one_of": (lambda: A.next(one_of("b")).consecutive(), "one_of (b)", "applies to a loop", "times"),
    "having on a single": (lambda: A.having("COUNT(a.*) > 1"), "element 'a'", "having needs a loop", "use where"),
    "having on a group": (
        lambda: A.next(B.next("c")).having("COUNT(a.*) > 1"),
        "group (b, c)",
        "gone through once",
        "times",
    ),
    "having on a not": (lambda: A.not_next("n").having("COUNT(a.*) > 1"), "not 'n'", "cannot apply to", "having"),
    "having twice": (lambda: LOOP.having("a.x > 1").having("a.x < 9"), "element 'a'", "already has a having", "one"),
    "having as a callable": (lambda: LOOP.having(lambda e, t: True), "having of element 'a'", "not SQL text", "SUM("),
    "where on a one_of": (lambda: A.next(one_of("b", "c")).where("x"), "one_of (b, c)", "as a whole", "inside"),
    "since on a not": (lambda: A.not_next("n").within(5, since="a"), "not 'n'", "cannot have a window", "previous"),
    "since twice": (
        lambda: A.next("b").within(5, since="a").within(6, since="a"),
        "element 'b'",
        "already has a window since 'a'",
        "group",
    ),
    "once_per of nothing": (lambda: A.once_per(0), "the pattern", "leaves no room", "greater than zero"),
    "once_per twice": (lambda: A.once_per(1).once_per(2), "the pattern", "already has once_per", "once"),
    "a group with once_per": (lambda: A.next(B.once_per(1)), "group (b)", "with once_per", "whole pattern"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_the_step_that_is_wrong(name: str) -> None:
    refused(*REFUSED[name])


WHOLE = {
    "since what comes later": (
        A.followed_by("b").within(5, since="c").followed_by("c"),
        "element 'b'",
        "'c' comes later",
        "events: a",
    ),
    "since itself": (A.next("b").times(2).within(5, since="b"), "element 'b'", "is the element itself", "events: a"),
    "since its own part": (A.next(B.next("c")).within(5, since="c"), "group (b, c)", "is a part of it", "events: a"),
    "since an unknown name": (
        A.next("b").within(5, since="aa"),
        "element 'b'",
        "'aa' is not a variable",
        "Did you mean",
    ),
    "since the word first": (A.next("b").within(5, since="first"), "element 'b'", "leave since out", "events: a"),
    "since a not": (A.not_next("n").next("b").within(5, since="n"), "element 'b'", "'n' is a negation", "events: a"),
    "since another alternative": (
        Pattern.begin(one_of(A, B.within(5, since="a"))),
        "element 'b'",
        "in another part of one_of (a, b)",
        "No element comes before",
    ),
    "since another member": (
        Pattern.begin("s").next(all_of(A, B.within(5, since="a"))),
        "element 'b'",
        "in another part of all_of (a, b)",
        "events: s",
    ),
    "whole without an end": (LOOP.whole(), "element 'a'", "nothing says when no further event", "consecutive()"),
    "whole before what is optional": (LOOP.whole().next("b").optional(), "element 'a'", "nothing says", "until"),
    "whole as an alternative": (
        Pattern.begin("s").next(one_of(LOOP.whole(), "b")),
        "element 'a'",
        "nothing says when",
        "a window",
    ),
    "whole and optional": (
        Pattern.begin("s").followed_by("a").one_or_more().consecutive().whole().optional(),
        "element 'a'",
        "how long its first event may take",
        "next",
    ),
    "whole since what may be missing": (
        Pattern.begin("s").optional().next("t").next("a").one_or_more().whole().within(5, since="s"),
        "element 'a'",
        "nothing says when",
        "a window",
    ),
    "a not at the end of an alternative": (
        A.next(one_of(B.not_followed_by("n"), "c")),
        "not 'n'",
        "needs a window",
        "within(",
    ),
    "reading another alternative": (
        Pattern.begin(one_of(A, Pattern.begin("b").where("x = a.x"))),
        "element 'b'",
        "in another alternative",
        "loop over",
    ),
    "having of a column": (LOOP.having("x > 1"), "having of element 'a'", "no current event", "LAST(a.x)"),
    "having of what comes later": (
        LOOP.having("COUNT(b.*) > 1").next("b"),
        "having of element 'a'",
        "a later element",
        "earlier ones",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_refused_as_a_whole(name: str) -> None:
    pattern, element, problem, remedy = WHOLE[name]
    refused(pattern.check, element, problem, remedy)


ACCEPTED = {
    "whole with a fixed number": A.times(2).whole(),
    "whole and first": A.one_or_more().consecutive().whole().optional().next("b").optional(),
    "whole after a strict link": Pattern.begin("s").next("a").one_or_more().consecutive().whole().optional(),
    "whole in the middle": LOOP.whole().followed_by("b"),
    "whole since what every match takes": Pattern.begin("s").next("a").one_or_more().whole().within(5, since="s"),
    "another alternative in a loop": Pattern.begin(one_of(A, Pattern.begin("b").where("x = a.x"))).times(2),
    "another member": Pattern.begin(all_of(Pattern.begin("a").where("x = b.x"), B)),
    "since an element in the same alternative": A.next(one_of(B.next("c").within(5, since="b"), "d")),
    "having of its own last value": LOOP.having("a.x = 'a'"),
    "a skip target in an alternative": A.next(one_of("b", "c")).skip(skip.to_first("c")),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    ACCEPTED[name].check()


@pytest.mark.parametrize("step", ["where", "next", "one_or_more", "within", "having", "skip", "times"])
def test_a_step_on_the_class_has_no_pattern_to_go_on_with(step: str) -> None:
    for arguments in ((), ("x",)):
        with pytest.raises(MalformedPatternError, match=r"called on the class.*\n.*Pattern\.begin"):
            getattr(Pattern, step)(*arguments)
