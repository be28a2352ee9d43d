"""The kernel's invariants: they hold after every call of every test (`CEPHEID_DEBUG`), and a broken one is noticed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from engine.test_state import automaton_of, part

from cepheid import Pattern
from cepheid.engine.kernel import layout as l
from cepheid.engine.matcher import Matcher
from cepheid.engine.runs import invariants
from cepheid.engine.runs.pool import Pool
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange

WAITING = (
    Pattern.begin("a")
    .where("name = 'a'")
    .followed_by("b")
    .where("name = 'b' AND price = LAST(a.price)")
    .not_followed_by("c")
    .where("name = 'c'")
    .within(100)
)


def waiting(timeouts: bool = False) -> Matcher:
    """Runs that wait for b, and matches that wait for the end of a not."""
    matcher = Matcher(tabulate(automaton_of(WAITING.tree), Options(timeouts=timeouts)))
    events = arrange(part(*((t, "a" if t < 6 else "b", t % 4) for t in range(9))), (), ("t",))
    matcher.feed(matcher.columns_of(events), np.array([0, 9]), np.array([0]))
    return matcher


def a_waiting_run(pool: Pool) -> int:
    return int(pool.lists[0, L_SECOND + l.L_HEAD])


L_SECOND = l.L_SIZE


def lose_a_run(pool: Pool) -> None:
    pool.lists[0, L_SECOND + l.L_HEAD] = pool.runs[a_waiting_run(pool), l.R_NEXT]


def miscount(pool: Pool) -> None:
    pool.lists[0, L_SECOND + l.L_LENGTH] += 1


def free_twice(pool: Pool) -> None:
    pool.counters[l.Q_FREE_RUN] = a_waiting_run(pool)


def turn_time_back(pool: Pool) -> None:
    pool.nodes[pool.runs[a_waiting_run(pool), l.R_NODE], l.N_START] += 1


def count_a_place_twice(pool: Pool) -> None:
    pool.nodes[:, l.N_STATE] += l.PENDING


def forget_the_index(pool: Pool) -> None:
    pool.buckets[:] = l.NONE


def spoil_a_heap(pool: Pool) -> None:
    pool.timers[pool.slots[0, l.K_TIMERS], l.T_DUE] = 10**9


def forget_a_timer(pool: Pool) -> None:
    pool.counters[l.Q_USED_TIMERS] += 1


def overlook_a_list(pool: Pool) -> None:
    pool.occupied[:] = 0


@pytest.mark.parametrize(
    ("spoil", "number"),
    [
        (overlook_a_list, "8"),
        (lose_a_run, "2"),
        (miscount, "[12]"),
        (free_twice, "1"),
        (turn_time_back, "3"),
        (count_a_place_twice, "4"),
        (forget_the_index, "5"),
        (spoil_a_heap, "6"),
        (forget_a_timer, "6"),
    ],
)
def test_what_is_broken_is_noticed(spoil: Callable[[Pool], None], number: str) -> None:
    matcher = waiting()
    invariants.check(matcher.tables, matcher.held, matcher.pool)
    spoil(matcher.pool)
    with pytest.raises(AssertionError, match=rf"^{number}"):
        invariants.check(matcher.tables, matcher.held, matcher.pool)


def test_open_places_are_counted_where_timeouts_are_asked_for() -> None:
    matcher = waiting(timeouts=True)
    invariants.check(matcher.tables, matcher.held, matcher.pool)
    matcher.pool.nodes[matcher.pool.runs[a_waiting_run(matcher.pool), l.R_NODE], l.N_STATE] += l.OPEN
    with pytest.raises(AssertionError, match=r"^4"):
        invariants.check(matcher.tables, matcher.held, matcher.pool)


def test_the_tests_ask_for_them() -> None:
    assert invariants.IS_ASKED_FOR
