"""Questions about places in a pattern."""

from __future__ import annotations

import pytest

from cepheid.syntax import PatternBuilder as Pattern
from cepheid.syntax.positions import can_be_empty, elements_that_only_start, nots_at_the_end, nots_before_any_event

A = Pattern.begin("a")
OPTIONAL_GROUP = Pattern.begin("x").optional().next("y").times(0, 2)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (A, False),
        (A.optional(), True),
        (A.times_or_more(0), True),
        (A.one_or_more(), False),
        (Pattern.begin(OPTIONAL_GROUP), True),
        (Pattern.begin(OPTIONAL_GROUP).times(3), True),
        (Pattern.begin(OPTIONAL_GROUP.next("z")), False),
        (Pattern.begin(Pattern.begin(OPTIONAL_GROUP).not_next("n")), True),
        (Pattern.begin(A).optional(), True),
    ],
)
def test_can_be_empty(pattern: Pattern, expected: bool) -> None:
    assert can_be_empty(pattern.tree.body.elements[0]) is expected


def test_a_not_can_always_be_empty() -> None:
    assert can_be_empty(A.not_next("n").tree.body.elements[1])


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (A, []),
        (A.not_next("n"), ["n"]),
        (A.not_next("n").not_followed_by("o"), ["o", "n"]),
        (A.not_next("n").next("b"), []),
        (A.not_next("n").next("b").optional(), []),  # rule 7: it guards the way to b
        (A.next(Pattern.begin("b").not_next("n")), ["n"]),
        (A.next(Pattern.begin("b").not_next("n")).not_next("o"), ["o", "n"]),
        (A.not_next("o").next(Pattern.begin("b").not_next("n")), ["n"]),
        (A.next(Pattern.begin("c").next(Pattern.begin("b").not_next("n"))), ["n"]),
    ],
)
def test_nots_at_the_end(pattern: Pattern, names: list[str]) -> None:
    assert [element.name for _, element in nots_at_the_end(pattern.tree.body)] == names


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (A.not_next("n").next("b"), []),
        (A.optional().not_next("n").next("b"), ["n"]),
        (A.optional().next("b").optional().not_next("n").next("c").not_next("o"), ["n"]),
        (Pattern.begin(OPTIONAL_GROUP).not_next("n").next("b"), ["n"]),
        (Pattern.begin(A.optional().not_next("n").next("b")), ["n"]),
        (Pattern.begin(A.not_next("n").next("b")).optional().next("c"), []),
        (Pattern.begin("z").next(A.optional().not_next("n").next("b")), []),
        (Pattern.begin("z").optional().next(A.optional().not_next("n").next("b")), ["n"]),
    ],
)
def test_nots_before_any_event(pattern: Pattern, names: list[str]) -> None:
    assert [element.name for _, element in nots_before_any_event(pattern.tree.body)] == names


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (A.next("b"), [(0,)]),
        (A.one_or_more(), []),
        (Pattern.begin(A.next("b")), [(0,), (0, 0)]),
        (Pattern.begin(A.times(2).next("b")), [(0,)]),
        (Pattern.begin(A.next("b")).times(2), []),
    ],
)
def test_elements_that_only_start(pattern: Pattern, paths: list[tuple[int, ...]]) -> None:
    assert [path for path, _ in elements_that_only_start(pattern.tree.body)] == paths
