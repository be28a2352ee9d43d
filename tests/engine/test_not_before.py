"""Nots at the start that read variables: what the engine decides, and what a stream keeps for them."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest
from engine.test_kernel import SCHEMA
from engine.test_state import Rows, automaton_of, part

from cepheid import EvaluationError, Pattern
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate


def after(condition: str) -> Pattern:
    """a, then b, within 10, unless such an x came before."""
    pattern = Pattern.not_before("x").where(f"name = 'x' AND {condition}").begin("a").where("name = 'a'")
    return pattern.followed_by("b").where("name = 'b'").within(10)


def matches(pattern: Pattern, text: str) -> list[tuple[int, ...]]:
    """The times of the matches' events, on events such as `x1:5`: a name, a time and a price."""
    rows = []
    for word in text.split():
        time, price = word[1:].split(":")
        rows.append({"t": int(time), "name": word[0], "price": int(price)})
    found = pattern.match_events(pa.Table.from_pylist(rows, schema=SCHEMA), order_by="t").matches
    return [(match["a"]["t"], match["b"]["t"]) for match in found]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("x1:5 a2:0 b3:7", []),
        ("x1:5 a2:0 b3:4", [(2, 3)]),
        ("x1:3 x2:9 a3:0 b4:7", []),  # not the last x, but one before it
        ("x1:3 x2:9 a3:0 b11:7", [(3, 11)]),  # x1 lies exactly 10 before the last event, and x2 is too dear
        ("a1:0 x2:5 b3:7", [(1, 3)]),  # not before the first
        ("x1:5 a2:0 b3:4 b4:7 a5:0 b6:4", [(2, 3), (5, 6)]),
    ],
)
def test_every_event_in_the_window_is_asked(
    stream: str, expected: list[tuple[int, int]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "cepheid.engine"):
        assert matches(after("price < LAST(b.price)"), stream) == expected
    assert "slow" not in caplog.text


def test_with_a_count_window() -> None:
    pattern = Pattern.not_before("x").where("name = 'x' AND price < LAST(b.price)").begin("a").where("name = 'a'")
    pattern = pattern.followed_by("b").where("name = 'b'").within(events=3)
    assert matches(pattern, "x1:5 a2:0 b3:7") == []
    assert matches(pattern, "x1:5 c2:0 a3:0 b4:7") == [(3, 4)]


def test_with_a_not_at_the_end() -> None:
    pattern = after("price < LAST(b.price)").not_followed_by("c").where("name = 'c'")
    assert matches(pattern, "x1:5 a2:0 b3:7") == []
    assert matches(pattern, "x1:9 a2:0 b3:7") == [(2, 3)]
    assert matches(pattern, "x1:9 a2:0 b3:7 c4:0") == []


def test_a_failing_condition_names_the_not() -> None:
    with pytest.raises(EvaluationError, match=r"(?s)not_before 'x': division by zero"):
        matches(after("10 % (LAST(b.price) - price) = 0"), "x1:5 a2:0 b3:5")


def test_a_stream_keeps_the_window_and_no_more() -> None:
    pattern = Pattern.not_before("x").where("name <> 'a' AND price = LAST(a.price)").begin("a").where("name = 'a'")
    rows = Rows(tabulate(automaton_of(pattern.within(10).tree), Options()), saves=True)
    for time in range(100):
        rows.feed(part((time, "x", time)), time, 0)
        assert len(rows.held) == min(time + 1, 10)
    rows.feed(part((100, "a", 91)), 100, 0)
    rows.feed(part((101, "a", 90), (102, "a", 99)), 101, 0)
    assert rows.matches == [((("a", 101),), 101)]


def test_texts_of_kept_events_keep_their_codes() -> None:
    pattern = Pattern.not_before("x").where("price = 1 AND name = LAST(a.name)").begin("a").where("price = 2")
    rows = Rows(tabulate(automaton_of(pattern.within(50).tree), Options()), saves=True)
    for time, name in enumerate(["p", "q", "r"]):
        rows.feed(part((time, name, 1)), time, 0)
    for time, name in enumerate(["s", "q", "t", "p", "r"], 10):
        rows.feed(part((time, name, 2)), time, 0)
    assert [taken for taken, _ in rows.matches] == [(("a", 10),), (("a", 12),)]
