"""Cohorts against the reference and against runs; what they cost; for which patterns they are chosen."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from conformance.corner_cases import Json, cohort_cases
from conformance.search import automaton_of, examine
from conformance.search import table_of as case_table
from engine.kernel_answers import kernel_outcome
from hypothesis import given, settings

from cepheid import LimitError, Pattern, SkipError
from cepheid.automaton.model import Automaton, Continuation, Ending, Position, Take
from cepheid.engine.columns import columns
from cepheid.engine.counts import counted
from cepheid.engine.matcher import count_partitions, match_partitions
from cepheid.engine.tables import compact
from cepheid.engine.tables.tabulate import Options, tabulate
from cepheid.explain import explain
from cepheid.rows.arrange import arrange

SCHEMA = pa.schema([("t", pa.int64()), ("name", pa.string()), ("price", pa.int64())])


def is_(name: str) -> str:
    return f"name = '{name}'"


def any_of(names: str) -> Pattern:
    pattern = Pattern.begin(f"v0_{names[0]}").where(is_(names[0]))
    for number, name in enumerate(names[1:], 1):
        pattern = pattern.followed_by_any(f"v{number}_{name}").where(is_(name))
    return pattern


def table_of(names: str, prices: list[int] | None = None) -> pa.Table:
    rows = [{"t": t, "name": name, "price": prices[t] if prices else 0} for t, name in enumerate(names)]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def is_compact(pattern: Pattern, **options: bool) -> bool:
    return compact.decide(pattern.automaton(), **{"timeouts": False, **options}).is_compact


@settings(max_examples=max(150, settings().max_examples))
@given(cohort_cases())
def test_cohorts_runs_and_reference_agree(case: Json) -> None:
    examine(case)


@settings(max_examples=max(100, settings().max_examples))
@given(cohort_cases())
def test_matches_are_counted_as_they_are_listed(case: Json) -> None:
    automaton, table = automaton_of(case), case_table(case)
    events = arrange(table, (), ("t",))
    tables = tabulate(automaton, Options())
    given_columns = columns(events, tables)
    try:
        found, _ = match_partitions(tables, given_columns, events.bounds)
    except SkipError:
        return
    assert np.array_equal(count_partitions(tables, given_columns, events.bounds), counted(found))


def test_billions_of_matches_are_counted() -> None:
    table = table_of("abcdefgh" * 100)
    [*_, last] = any_of("abcdefgh").count_events(table, order_by="t").to_pylist()
    assert last == {"end_time": 799, "matches": math.comb(107, 8) - math.comb(106, 8)}
    assert any_of("ab").count_events([]).num_rows == 0
    by_skip = any_of("ab").within(4).skip("past_last_event").count_events(table_of("aabb"), order_by="t")
    assert by_skip.to_pylist() == [{"end_time": 2, "matches": 1}]
    with pytest.raises(LimitError, match="more than 2\\^60 matches end here"):
        Pattern.begin("a").one_or_more().allow_combinations().count_events(table_of("a" * 70), order_by="t")


@pytest.mark.parametrize("skip", ["no_skip", "past_last_event"])
def test_long_streams_in_which_memory_is_collected(skip: Literal["no_skip", "past_last_event"]) -> None:
    chance = random.Random(3)
    table = table_of("".join(chance.choice("aabbccd") for _ in range(3_000)))
    pattern = any_of("abcd").within(24).skip(skip)
    compact_, plain = (kernel_outcome(pattern.tree, table, Options(compact=is_on)) for is_on in (True, False))
    assert compact_.matches == plain.matches
    assert len(plain.matches) > 100


def test_memory_follows_the_window_not_the_combinations() -> None:
    """In two thousand events of a window of 200 there are 10 ** 12 partial matches, and few histories."""
    table = table_of("abcdefg" * 300)
    pattern = any_of("abcdefgz").within(200)
    assert kernel_outcome(pattern.tree, table, Options(max_runs=2_000)).matches == ()


def test_limits_name_the_place() -> None:
    with pytest.raises(LimitError, match=r"(?s)partition 0, event 4: partial matches hold 4 events.*max_runs is 3"):
        kernel_outcome(any_of("ab").tree, table_of("aaaaa"), Options(max_runs=3))
    with pytest.raises(LimitError, match=r"event 3: 3 matches end here; max_matches_per_event is 2"):
        kernel_outcome(any_of("ab").tree, table_of("aaab"), Options(max_matches_per_event=2))
    with pytest.raises(LimitError, match=r"(?s)max_state_bytes given is 1,000,000 bytes"):
        kernel_outcome(any_of("abc").tree, table_of("aaa" * 100 + "bc" * 100), Options(max_state_bytes=1_000_000))


def test_a_register_that_nothing_reads_any_more_does_not_keep_cohorts_apart() -> None:
    pattern = any_of("a").followed_by_any("b").where("name = 'b' AND price > v0_a.price").followed_by_any("c")
    pattern = pattern.where(is_("c")).followed_by_any("z").where(is_("z"))
    chance = random.Random(1)
    table = table_of("".join(chance.choice("abc") for _ in range(400)), [chance.randrange(1000) for _ in range(400)])
    assert kernel_outcome(pattern.tree, table, Options(max_runs=20_000)).matches == ()
    automaton = pattern.automaton()
    [start, after_a, after_b, *_] = tabulate(automaton_typed(pattern), Options()).registers_read
    assert (start, after_b) == (1, 0) and after_a == 1
    assert len(automaton.positions) == 5


def automaton_typed(pattern: Pattern) -> Automaton:
    from cepheid.automaton.construction import build
    from cepheid.conditions import Schema, bind

    return build(pattern.tree, bind(pattern.tree, Schema.from_arrow(SCHEMA)))


ANY = any_of("ab")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (ANY.skip("to_next"), "single starts"),
        (ANY.skip("past_last_event"), "first run of each state"),
        (ANY.not_followed_by("c").where(is_("c")).within(5), "a not at its end"),
        (Pattern.not_before("c").where(is_("c")).begin("a").followed_by_any("b").within(5), "a not at the start"),
        (Pattern.begin("a").next("b"), "every link is strict"),
    ],
)
def test_where_runs_stay_apart_the_explanation_says_why(pattern: Pattern, reason: str) -> None:
    assert not is_compact(pattern)
    assert reason in str(explain(pattern.tree))


def test_cohorts_are_for_all_else() -> None:
    for skip in ("no_skip", "past_last_event"):
        assert is_compact(ANY.within(5).skip(skip))
    assert is_compact(ANY)
    assert not is_compact(ANY, timeouts=True)
    assert not is_compact(ANY, wanted=False)
    assert "same future are kept as one" in str(explain(ANY.tree))


def test_the_decision_knows_every_part_of_an_automaton() -> None:
    """A new field may tell the futures of two runs apart: then `compact` must refuse it, or its key must hold it."""
    fields = {kind: {field.name for field in dataclasses.fields(kind)} for kind in KNOWN}
    assert fields == KNOWN


KNOWN: dict[type, set[str]] = {
    Take: {"variable", "predicate", "contiguity", "target", "gap", "over", "refused", "since", "openers"},
    Continuation: {"take", "not_next", "not_followed_by", "greedy", "having"},
    Ending: {"nots", "having", "whole"},
    Position: {"continuations", "rivals", "accepts", "endings"},
    Automaton: {
        "variables",
        "predicates",
        "positions",
        "registers",
        "skip",
        "window",
        "not_before",
        "looping",
        "having",
        "once_per",
        "unit",
    },
}
