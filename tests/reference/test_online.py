"""The examples of the documents that the language comes from, on the online evaluator."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from cepheid import EvaluationError, Pattern, SkipError, skip
from cepheid.automaton.construction import build
from cepheid.conditions import bind
from cepheid.reference.online import OnlineEvaluator


def evaluator(pattern: Pattern) -> OnlineEvaluator:
    return OnlineEvaluator(build(pattern.tree, bind(pattern.tree, None)))


def taken(found: list[Any]) -> list[dict[str, list[int]]]:
    result = []
    for item in found:
        by_variable: dict[str, list[int]] = {}
        for index, variable in item.taken:
            by_variable.setdefault(variable, []).append(index + 1)
        result.append(by_variable)
    return result


def test_examples_1_and_4_of_the_formal_semantics() -> None:
    """Step by step as algorithm 2 goes. The text of example 1 speaks of four matches; its algorithm gives three."""
    pattern = Pattern.begin("p1").where("name = 1 AND SUM(p1.price) + price <= 10").one_or_more().until("name = 2")
    run = evaluator(pattern)
    stream = [(1, 1, 2), (2, 2, 5), (3, 1, 6), (4, 3, 2), (5, 1, 5)]
    after_each = []
    for number, name, price in stream:
        run.handle({"id": number, "name": name, "price": price}, number)
        after_each.append(taken(run.matches))
    assert after_each == [
        [{"p1": [1]}],
        [{"p1": [1]}],  # name 2 ends the run
        [{"p1": [1]}, {"p1": [3]}],
        [{"p1": [1]}, {"p1": [3]}],  # ignored
        [{"p1": [1]}, {"p1": [3]}, {"p1": [5]}],  # 6 + 5 is more than 10
    ]


BROWSE_PURCHASE_PAY = (
    Pattern.begin("start")
    .where("name = 'browse'")
    .followed_by("middle")
    .where("name = 'purchase'")
    .within("5 minutes", since="previous")
    .followed_by("end")
    .where("name = 'pay'")
    .within("3 minutes", since="previous")
)


@pytest.mark.parametrize(
    ("purchase", "pay", "matches", "timed_out"),
    [
        (4, 6, 1, []),
        (4, 7, 0, [["browse", "purchase"]]),  # exactly three minutes later is too late
        (5, 6, 0, [["browse"]]),
    ],
)
def test_example_of_flip_228(purchase: int, pay: int, matches: int, timed_out: list[list[str]]) -> None:
    noon = datetime(2025, 1, 1, 12)
    rows = [("browse", 0), ("purchase", purchase), ("pay", pay)]
    events = [{"name": name, "ts": noon + timedelta(minutes=minute)} for name, minute in rows]
    found = BROWSE_PURCHASE_PAY.match_events(events, order_by="ts")
    assert len(found.matches) == matches
    partial = [
        [timeout[name]["name"] for name in ("start", "middle", "end") if timeout[name]] for timeout in found.timeouts
    ]
    assert partial == timed_out


def test_bounds_per_repetition() -> None:
    pattern = Pattern.begin("a").times(3, within={2: 5, 3: 60})
    rows = [{"t": t} for t in (0, 4, 50, 56)]
    found = pattern.match_events(rows, order_by="t").matches
    assert [[event["t"] for event in match["a"]] for match in found] == [[0, 4, 50]]


def test_time_moves_without_events() -> None:
    pattern = Pattern.begin("a").where("x = 1").not_followed_by("b").where("x = 2").within(10)
    run = evaluator(pattern)
    run.handle({"x": 1}, 5)
    run.advance_time(14)
    assert run.matches == []
    run.advance_time(15)
    assert [(match.at, taken([match])) for match in run.matches] == [(15, [{"a": [1]}])]


def test_order_of_one_moment_is_by_start_then_the_longer_first() -> None:
    run = evaluator(Pattern.begin("a").where("x = 1").one_or_more().followed_by("b").where("x = 2"))
    for time, value in enumerate([1, 1, 2]):
        run.handle({"x": value}, time)
    assert taken(run.matches) == [{"a": [1, 2], "b": [3]}, {"a": [1], "b": [3]}, {"a": [2], "b": [3]}]


def test_or_fail() -> None:
    pattern = Pattern.begin("a").followed_by("b").optional().skip(skip.to_first("b", or_fail=True))
    with pytest.raises(SkipError, match="'b' took no event"):
        pattern.match_events([{"x": 1}])


def test_callables_see_the_event_and_what_was_taken() -> None:
    def dearer(event: Any, taken_so_far: Any) -> bool:
        return bool(event["price"] > sum(earlier["price"] for earlier in taken_so_far["a"]))

    pattern = Pattern.begin("a").times(2).consecutive().next("b").where(dearer)
    rows = [{"price": price} for price in (1, 2, 4, 5)]
    found = pattern.match_events(rows).matches
    assert [match["b"]["price"] for match in found] == [4]


def test_an_error_in_a_condition_names_it_and_its_values() -> None:
    pattern = Pattern.begin("a").where("10 / x > 1")
    with pytest.raises(EvaluationError, match=r"(?s)element 'a'.*10 / x > 1.*x = 0"):
        pattern.match_events([{"x": 0}])
