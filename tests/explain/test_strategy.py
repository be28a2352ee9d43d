"""What an explanation says of memory is what the engine does."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.matcher import Matcher
from cepheid.engine.runs.live import count_live
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.explain.text.strategy import Memory, splits, strategy, unbounded_loops
from cepheid.rows.arrange import arrange

A, B, C = (f"name = '{name}'" for name in "abc")
ABC = Pattern.begin("a").where(A).followed_by("b").where(B).followed_by("c").where(C)
LOOP = Pattern.begin("a").where(A).followed_by("b").where(B).one_or_more().followed_by("c").where(C)
READS = (
    Pattern.begin("a").where(A).followed_by("b").where("name = 'b' AND v > LAST(a.v)").followed_by("c").where("v < 0")
)


def chosen(pattern: Pattern, **options: bool) -> Memory:
    return strategy(pattern.tree, pattern.automaton(), Options(**options)).memory


@pytest.mark.parametrize(
    ("pattern", "memory"),
    [
        (ABC, Memory.ALL_RUNS),
        (ABC.skip("to_next"), Memory.RUN_PER_START),
        (ABC.within(10).skip("past_last_event"), Memory.RUN_PER_START),
        (ABC.skip("past_last_event"), Memory.CONSTANT),
        (LOOP.skip("past_last_event"), Memory.RUN_PER_STATE),
        (READS.skip("past_last_event"), Memory.RUN_PER_VALUES),
    ],
)
def test_the_strategy_follows_from_the_pattern(pattern: Pattern, memory: Memory) -> None:
    assert chosen(pattern) is memory


def test_timeouts_need_all_runs() -> None:
    assert chosen(ABC.skip("past_last_event"), timeouts=True) is Memory.ALL_RUNS


def most_live_runs(pattern: Pattern, events: int = 2_000) -> int:
    """The engine's live runs, at most, over a stream without the last event that a match needs."""
    chance = random.Random(5)
    table = pa.table(
        {
            "t": range(events),
            "name": [chance.choice("ab") for _ in range(events)],
            "v": [chance.randrange(1_000_000) for _ in range(events)],
        }
    )
    automaton = build(pattern.tree, bind(pattern.tree, Schema.from_arrow(table.schema)))
    matcher = Matcher(tabulate(automaton, Options()))
    most = 0
    for begin in range(0, events, 100):
        part = arrange(table.slice(begin, 100), (), ("t",))
        matcher.feed(matcher.columns_of(part), np.array([0, 100]), np.array([0]))
        matcher.keep()
        most = max(most, count_live(matcher, begin + 99))
    return most


def test_constant_memory_is_constant() -> None:
    assert most_live_runs(ABC.skip("past_last_event")) <= len(ABC.automaton().positions)


def test_one_run_per_state_is_that() -> None:
    assert most_live_runs(LOOP.skip("past_last_event")) <= len(LOOP.automaton().positions)


def test_where_runs_are_kept_apart_they_grow() -> None:
    for pattern in (ABC, READS.skip("past_last_event")):
        assert most_live_runs(pattern) > 100


def test_a_window_bounds_the_state() -> None:
    pattern = ABC.within(50)
    bound = strategy(pattern.tree, pattern.automaton()).bound
    assert bound is not None and "50" in bound
    assert most_live_runs(pattern) <= 50


def test_without_a_window_only_some_patterns_are_bounded() -> None:
    def bound(pattern: Pattern) -> str | None:
        return strategy(pattern.tree, pattern.automaton()).bound

    assert bound(ABC) is None
    assert bound(LOOP.skip("past_last_event")) is None
    assert bound(ABC.skip("past_last_event")) is not None
    strict = Pattern.begin("a").where(A).next("b").where(B)
    assert bound(strict) is not None
    assert most_live_runs(strict) <= 1
    bounded = Pattern.begin("a").where(A).followed_by("c").where(C).within(5, since="previous")
    assert bound(bounded) is not None
    assert most_live_runs(bounded) <= 5 + 2 * 100 + 64  # as with a window


def test_runs_that_never_split() -> None:
    assert not splits(ABC.automaton())
    assert splits(LOOP.automaton())
    assert splits(Pattern.begin("a").followed_by_any("b").automaton())


def test_unbounded_loops_are_named_also_inside_groups() -> None:
    group = Pattern.begin(Pattern.begin("x").next("y")).times_or_more(2).followed_by("z").times(3)
    assert unbounded_loops(group.tree) == ("x", "y")
