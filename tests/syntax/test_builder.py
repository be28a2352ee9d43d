"""The fluent builder: which tree each call leads to."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from cepheid.syntax import PatternBuilder, PatternTree, check, skip
from cepheid.syntax.tree import (
    AllOf,
    AnyOf,
    ColumnCondition,
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
    PythonCondition,
    Sequence,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
)


class Pattern(PatternBuilder):
    """As the face derives from the builder."""

    __slots__ = ()


SECONDS_5 = Span(5_000_000, SpanUnit.MICROSECOND)
X, Y, Z = SqlText("x"), SqlText("y"), SqlText("z")


def only(pattern: PatternBuilder) -> Element:
    (element,) = pattern.tree.body.elements
    assert isinstance(element, Element)
    return element


def condition(pattern: PatternBuilder) -> Condition | None:
    body = only(pattern).body
    assert isinstance(body, Variable)
    return body.condition


def test_links_and_nots() -> None:
    pattern = (
        Pattern.begin("a").next("b").followed_by("c").followed_by_any("d").not_next("e").not_followed_by("f").next("g")
    )
    assert pattern.tree == PatternTree(
        Sequence(
            (
                Element(Link.BEGIN, Variable("a")),
                Element(Link.NEXT, Variable("b")),
                Element(Link.FOLLOWED_BY, Variable("c")),
                Element(Link.FOLLOWED_BY_ANY, Variable("d")),
                Not(NotLink.NOT_NEXT, "e"),
                Not(NotLink.NOT_FOLLOWED_BY, "f"),
                Element(Link.NEXT, Variable("g")),
            )
        )
    )


def test_groups_stand_wherever_a_name_may() -> None:
    group = Pattern.begin("x").next("y")
    for step, link in (
        ("next", Link.NEXT),
        ("followed_by", Link.FOLLOWED_BY),
        ("followed_by_any", Link.FOLLOWED_BY_ANY),
    ):
        pattern = getattr(Pattern.begin("a"), step)(group)
        assert pattern.tree.body.elements[1] == Element(link, group.tree.body)
    assert only(Pattern.begin(group).times(2)) == Element(Link.BEGIN, group.tree.body, Loop(2, 2))


def test_not_before_opens_a_pattern() -> None:
    pattern = Pattern.not_before("m").where("x").not_before("n").where("y").or_where("z").begin("a").within("5 s")
    assert pattern.tree.not_before == (NotBefore("m", X), NotBefore("n", AnyOf((Y, Z))))
    assert only(pattern) == Element(Link.BEGIN, Variable("a"))
    check(pattern.tree)


def test_begin_on_an_instance_goes_on_with_it() -> None:
    guarded = Pattern.not_before("n")
    assert guarded.begin("a").tree.not_before == (NotBefore("n"),)
    assert Pattern.begin("a").tree.not_before == ()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (Pattern.begin("a"), None),
        (Pattern.begin("a").where("x"), X),
        (Pattern.begin("a").where("x").where("y").where("z"), AllOf((X, Y, Z))),
        (Pattern.begin("a").where("x", "y"), AllOf((X, Y))),
        (Pattern.begin("a").where("x").or_where("y").or_where("z"), AnyOf((X, Y, Z))),
        (Pattern.begin("a").where("x").or_where("y").where("z"), AllOf((AnyOf((X, Y)), Z))),
        (Pattern.begin("a").where("x").where("y").or_where("z"), AnyOf((AllOf((X, Y)), Z))),
        (Pattern.begin("a").where("x").or_where("y", "z"), AnyOf((X, AllOf((Y, Z))))),
        (Pattern.begin("a").or_where("x"), X),
        (Pattern.begin("a").where(AnyOf((X, Y))), AnyOf((X, Y))),
    ],
)
def test_conditions_combine_as_in_flinkcep(pattern: Pattern, expected: Condition | None) -> None:
    assert condition(pattern) == expected


def test_conditions_may_come_after_the_quantifier() -> None:
    assert Pattern.begin("a").one_or_more().where("x") == Pattern.begin("a").where("x").one_or_more()


def test_callables_and_columns() -> None:
    def cheap(event: object, taken: object) -> bool:
        return True

    assert condition(Pattern.begin("a").where(cheap)) == PythonCondition(cheap)
    column_class = type("Column", (), {"__module__": "pyspark.sql.classic.column", "__call__": lambda self: None})
    column = column_class()
    given = condition(Pattern.begin("a").where(column))
    assert isinstance(given, ColumnCondition)
    assert given.column is column


@pytest.mark.parametrize(
    ("pattern", "loop", "optional"),
    [
        (Pattern.begin("a").times(3), Loop(3, 3), False),
        (Pattern.begin("a").times(2, 4), Loop(2, 4), False),
        (Pattern.begin("a").times(0, 4), Loop(1, 4), True),
        (Pattern.begin("a").times_or_more(2), Loop(2, None), False),
        (Pattern.begin("a").times_or_more(0), Loop(1, None), True),
        (Pattern.begin("a").one_or_more(), Loop(1, None), False),
        (Pattern.begin("a").one_or_more().optional(), Loop(1, None), True),
        (Pattern.begin("a").optional(), None, True),
        (Pattern.begin("a").times(0, 2).optional(), Loop(1, 2), True),
        (Pattern.begin("a").times(2).consecutive(), Loop(2, 2, Contiguity.STRICT), False),
        (Pattern.begin("a").times(2).allow_combinations(), Loop(2, 2, Contiguity.NON_DETERMINISTIC), False),
        (Pattern.begin("a").one_or_more().greedy(), Loop(1, None, greedy=True), False),
        (Pattern.begin("a").one_or_more().until("x", "y"), Loop(1, None, until=AllOf((X, Y))), False),
        (Pattern.begin("a").times(2, within="5 s"), Loop(2, 2, gaps=Gaps(SECONDS_5)), False),
        (Pattern.begin("a").times(2, 3, within=timedelta(seconds=5)), Loop(2, 3, gaps=Gaps(SECONDS_5)), False),
        (
            Pattern.begin("a").times_or_more(2, within={3: 7, 2: 8}),
            Loop(2, None, gaps=Gaps(by_repetition=((2, Span(8, SpanUnit.ORDER)), (3, Span(7, SpanUnit.ORDER))))),
            False,
        ),
        (Pattern.begin("a").one_or_more(within=2.5), Loop(1, None, gaps=Gaps(Span(2.5, SpanUnit.ORDER))), False),
    ],
)
def test_quantifiers(pattern: Pattern, loop: Loop | None, optional: bool) -> None:
    assert only(pattern) == Element(Link.BEGIN, Variable("a"), loop, optional)


def test_until_on_a_looped_group() -> None:
    assert only(Pattern.begin(Pattern.begin("a")).one_or_more().until("x")).loop == Loop(1, None, until=X)


def test_windows() -> None:
    assert Pattern.begin("a").within("5 s").tree.window == SECONDS_5
    assert Pattern.begin("a").within(events=3).tree.window == EventCount(3)
    assert Pattern.begin("a").within(3).tree.window == Span(3, SpanUnit.ORDER)
    with_bounds = Pattern.begin("a").next("b").within("5 s", since="previous").not_next("n").within("5 s")
    assert with_bounds.tree.body.elements[1].within_previous == SECONDS_5
    assert with_bounds.tree.body.elements[2].within_previous is None
    assert with_bounds.tree.window == SECONDS_5
    on_a_not = Pattern.begin("a").not_followed_by("n").within("5 s", since="previous")
    assert on_a_not.tree.body.elements[1].within_previous == SECONDS_5


def test_flip_228_browse_purchase_pay() -> None:
    pattern = (
        Pattern.begin("browse").where("action = 'browse'")
        .followed_by("purchase").where("action = 'purchase'").within("5 minutes", since="previous")
        .followed_by("pay").where("action = 'pay'").within("3 minutes", since="previous")
    )  # fmt: skip
    check(pattern.tree)
    lengths = [element.within_previous for element in pattern.tree.body.elements]
    assert lengths == [None, Span(300_000_000, SpanUnit.MICROSECOND), Span(180_000_000, SpanUnit.MICROSECOND)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (skip.no_skip, Skip(SkipKind.NO_SKIP)),
        ("no_skip", Skip(SkipKind.NO_SKIP)),
        (skip.to_next, Skip(SkipKind.TO_NEXT)),
        ("to_next", Skip(SkipKind.TO_NEXT)),
        ("past_last_event", skip.past_last_event),
        (skip.past_last_event, Skip(SkipKind.PAST_LAST_EVENT)),
        (skip.to_first("a"), Skip(SkipKind.TO_FIRST, "a")),
        (skip.to_last("a", or_fail=True), Skip(SkipKind.TO_LAST, "a", True)),
    ],
)
def test_skip_strategies(given: Skip, expected: Skip) -> None:
    assert Pattern.begin("a").skip(given).tree.skip == expected


def test_folds() -> None:
    pattern = Pattern.begin("a").fold("y", init="0", update="y + 1").fold("z", init="1", update="z * price")
    assert only(pattern).body == Variable("a", None, (Fold("y", "0", "y + 1"), Fold("z", "1", "z * price")))


def test_every_step_leaves_the_pattern_it_starts_from() -> None:
    start = Pattern.begin("a").one_or_more()
    before = start.tree
    start.where("x").greedy().until("y").next("b").within("5 s").skip("to_next")
    assert start.tree == before
    with pytest.raises(AttributeError):
        start.tree = Pattern.begin("b").tree  # type: ignore[misc]


def test_equality_hash_and_pickle_follow_the_tree() -> None:
    first = Pattern.begin("a").where("x").within("60 s")
    second = Pattern.begin("a").where("x").within("1 minute")
    assert first == second
    assert hash(first) == hash(second)
    assert first != Pattern.begin("a").where("y").within("60 s")
    assert pickle.loads(pickle.dumps(first)) == first
    assert Pattern.from_tree(first.tree) == first


def test_a_deriving_class_stays_itself() -> None:
    assert type(Pattern.begin("a").next("b").where("x").within(3)) is Pattern
    assert type(Pattern.not_before("n")) is Pattern
    assert type(Pattern.from_tree(Pattern.begin("a").tree)) is Pattern


def test_the_hook_sees_every_condition_with_its_owner() -> None:
    seen: list[tuple[Condition, str]] = []

    class Watched(PatternBuilder):
        __slots__ = ()

        def _check_condition(self, condition: Condition, element_description: str) -> None:
            seen.append((condition, element_description))

    (
        Watched.not_before("n").where("x").begin("a").where("x", "y").or_where("z").one_or_more().until("z")
        .not_next("m").where("x")
    )  # fmt: skip
    assert seen == [
        (X, "not_before 'n'"),
        (X, "element 'a'"),
        (Y, "element 'a'"),
        (Z, "element 'a'"),
        (Z, "until of element 'a'"),
        (X, "not 'm'"),
    ]
