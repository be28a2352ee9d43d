"""The plan that looks at nots last: the same matches, in the same order, and a clear refusal elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from engine.test_kernel import SCHEMA, Stream, table_of
from hypothesis import event, given, settings
from hypothesis import strategies as st
from syntax.strategies import is_well_formed, negation_patterns

from cepheid import EvaluationError, InputError, Pattern, skip
from cepheid.engine.tables.model import Options
from cepheid.rows.in_memory import match_rows
from cepheid.syntax.tree import Element, Link, PatternTree, Sequence, SqlText, Variable
from experiments.negation.after import found_after


def with_something_behind(tree: PatternTree) -> PatternTree:
    """The pattern with one more element, so that no not stands at the end, and with no_skip."""
    last = Element(Link.FOLLOWED_BY_ANY, Variable("z", SqlText("price > 2")))
    return replace(tree, body=Sequence((*tree.body.elements, last)), skip=skip.no_skip)


def runs_after(tree: PatternTree) -> bool:
    if not is_well_formed(tree):
        return False
    try:
        found_after(tree, table_of([(0, "a", 0)], 0), (), ("t",))
    except InputError:
        return False
    return True


streams = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.one_of(st.integers(0, 9), st.none())),
    min_size=6,
    max_size=14,
)


@settings(max_examples=max(100, settings().max_examples))
@given(negation_patterns().map(with_something_behind).filter(runs_after), streams)
def test_both_plans_give_the_same(tree: PatternTree, stream: Stream) -> None:
    table = table_of(stream, 0)
    pushed = match_rows(tree, table, (), ("t",), Options())
    assert found_after(tree, table, (), ("t",)).equals(pushed.matches_table)
    event(f"{min(pushed.matches_table.num_rows, 3)} matches or more")


A, B, C = "name = 'a'", "name = 'b'", "name = 'c'"
ROWS = pa.Table.from_pylist(
    [
        {"t": t, "name": name, "price": price}
        for t, (name, price) in enumerate(zip("acabcb", [1, 5, 2, 0, 1, 9], strict=True))
    ],
    schema=SCHEMA,
)


def after(pattern: Pattern) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = found_after(pattern.tree, ROWS, (), ("t",)).to_pylist()
    return found


def taken(pattern: Pattern) -> list[tuple[int, int]]:
    return [(match["a"]["t"], match["b"]["t"]) for match in after(pattern)]


def test_nots_that_read_variables() -> None:
    plain = Pattern.begin("a").where(A).not_followed_by("c").where(C).followed_by_any("b").where(B)
    assert taken(plain) == [(2, 3)]
    reading = Pattern.begin("a").where(A).not_followed_by("c").where(C, "price < LAST(a.price)")
    assert taken(reading.followed_by_any("b").where(B)) == [(0, 3), (2, 3), (0, 5)]
    failing = Pattern.begin("a").where(A).not_followed_by("c").where("price % (LAST(a.price) - 2) = 0")
    with pytest.raises(EvaluationError, match="not 'c': division by zero"):
        taken(failing.followed_by_any("b").where(B))


def test_what_is_refused() -> None:
    pattern = Pattern.begin("a").where(A).not_followed_by("c").where(C).followed_by("b").where(B).within(9)
    with pytest.raises(InputError, match=r"(?s)skip is to_next.*Use no_skip"):
        after(pattern.skip(skip.to_next))
    with pytest.raises(InputError, match="a negation at the end"):
        after(pattern.not_followed_by("x"))
    twice = Pattern.begin("a").where(A).one_or_more()
    two_ways = Pattern.begin(twice).one_or_more().not_followed_by("c").where(C).followed_by("b").where(B)
    with pytest.raises(InputError, match="do not tell which negations"):
        after(two_ways)
    with pytest.raises(InputError, match="a Python callable"):
        after(Pattern.begin("a").where(lambda event, taken: True))
