"""Cohorts against the reference and against runs; what they cost; for which patterns they are chosen."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conformance.corner_cases import Json, cases
from conformance.search import automaton_of, examine
from conformance.search import table_of as case_table
from engine.kernel_answers import kernel_outcome
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import EvaluationError, InputError, LimitError, Pattern, SkipError
from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton, Continuation, Ending, Position, Take
from cepheid.conditions import Schema, bind
from cepheid.engine.assignments import Integers
from cepheid.engine.columns import columns
from cepheid.engine.counts import Summed, counted
from cepheid.engine.matcher import Matcher, count_partitions, match_partitions
from cepheid.engine.runs.live import count_live, described, events_held, live
from cepheid.engine.runs.snapshot import snapshot
from cepheid.engine.tables import compact
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.tabulate import tabulate
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


@settings(max_examples=max(100, settings().max_examples))
@given(st.one_of(cases("cohorts"), cases("equalities")))
def test_cohorts_runs_and_reference_agree(case: Json) -> None:
    examine(case)


@settings(max_examples=max(100, settings().max_examples))
@given(st.one_of(cases("cohorts"), cases("equalities")), st.sampled_from([None, True]))
def test_matches_are_counted_as_they_are_listed(case: Json, cohorts: bool | None) -> None:
    automaton, table = automaton_of(case), case_table(case)
    events = arrange(table, (), ("t",))
    tables = tabulate(automaton, Options(compact=cohorts))
    given_columns = columns(events, tables)
    try:
        found, _ = match_partitions(tables, given_columns, events.bounds)
    except SkipError:
        return
    summed = some_sums(table)
    one, other = count_partitions(tables, given_columns, events.bounds, summed), counted(found, summed)
    assert np.array_equal(one.row, other.row) and np.array_equal(one.matches, other.matches)
    assert np.array_equal(one.sums[:, 0], other.sums[:, 0])
    assert np.allclose(*(np.ascontiguousarray(counts.sums[:, 1]).view(np.float64) for counts in (one, other)))
    assert np.array_equal(in_parts(tables, table, summed), np.column_stack((one.row, one.matches, one.sums[:, 0])))


def some_sums(table: pa.Table) -> Summed:
    """The prices of the events that the first variable takes, as whole numbers; of the second one, as doubles."""
    prices = pc.fill_null(table["price"], 0).to_numpy().astype(np.int64)
    values = np.column_stack((prices, (prices / 3).view(np.int64)))
    return Summed(np.array([0, 1]), np.array([False, True]), values)


def in_parts(tables: Tables, table: pa.Table, summed: Summed) -> Integers:
    """Row, number of matches and first sum, counted by a matcher that is given three events at a time."""
    matcher, held, found = Matcher(tables), np.zeros(0, np.int64), []
    for begin in range(0, table.num_rows, 3):
        part = arrange(table.slice(begin, 3), (), ("t",))
        new = matcher.columns_of(part)
        held = np.append(held, np.arange(begin, begin + len(part.time)))
        now = dataclasses.replace(summed, values=summed.values[held])
        counts = matcher.count(new, np.array([0, len(part.time)]), np.array([0]), now)
        found.append(np.column_stack((held[counts.row], counts.matches, counts.sums[:, 0])))
        held = held[matcher.keep()]
    return np.concatenate(found)


def test_totals_of_measures_are_those_of_the_matches() -> None:
    chance = random.Random(5)
    rows = [
        {"t": t, "key": chance.choice("xy"), "name": chance.choice("ab"), "price": chance.choice((None, 1, 2, 30))}
        for t in range(60)
    ]
    measures = {"paid": "SUM(b.price)", "some": "COUNT(b.price)", "all": "COUNT(b.*)", "first": "SUM(a.price / 4.0)"}
    loop = Pattern.begin("a").where(is_("a")).followed_by_any("b").where(is_("b")).one_or_more().allow_combinations()
    for pattern in (loop.within(9), loop.within(9).skip("to_next"), loop.within(9).skip("past_last_event")):
        found = pattern.match_events(rows, partition_by="key", order_by="t", measures=measures)
        expected: dict[tuple[str, int], list[float]] = {}
        for match in found.matches:
            totals = expected.setdefault((match["key"], match["end_time"]), [0] * 5)
            for place, value in enumerate((1, *(match[name] for name in measures))):
                totals[place] += float(value)
        counts = found.counts()
        assert counts.equals(pattern.count_events(rows, partition_by="key", order_by="t", measures=measures))
        assert counts.schema.field("paid").type == pa.int64()
        given = {(row["key"], row["end_time"]): list(map(float, list(row.values())[2:])) for row in counts.to_pylist()}
        assert given == expected and len(expected) > 10


def test_what_cannot_be_added_up_is_refused() -> None:
    rows = [{"t": 1, "name": "a", "price": 2**59}, {"t": 2, "name": "b", "price": 1}]
    for text in ("MAX(v0_a.price)", "SUM(v0_a.price) + 1", "COUNT(DISTINCT v0_a.price)"):
        with pytest.raises(InputError, match=r"counts\(\) cannot add up measure 'm'"):
            any_of("ab").count_events(rows, order_by="t", measures={"m": text})
    with pytest.raises(InputError, match="'matches' would name two columns"):
        any_of("ab").count_events(rows, order_by="t", measures={"matches": "COUNT(v0_a.*)"})
    many = [{**rows[0], "t": -t} for t in range(3)] + rows
    for pattern in (any_of("ab"), any_of("ab").skip("to_next")):
        with pytest.raises(EvaluationError, match=r"a sum over all matches is beyond 2\^60"):
            pattern.count_events(many, order_by="t", measures={"m": "SUM(v0_a.price)"})


def test_on_a_stream_memory_follows_the_events_in_the_window() -> None:
    """A window of a hundred events: more than ten thousand partial matches, a few hundred histories. What no cohort
    reaches is collected, and so are the events."""
    tables = tabulate(automaton_typed(any_of("abcdz").within(100)), Options())
    matcher, sizes, partial = Matcher(tables), [], []
    for begin in range(0, 2_000, 50):
        part = arrange(table_of("abcd" * 500).slice(begin, 50), (), ("t",))
        matcher.feed(matcher.columns_of(part), np.array([0, 50]), np.array([0]))
        matcher.forget(begin + 49)
        matcher.keep()
        sizes.append(len(snapshot(matcher)))
        partial.append(count_live(matcher, begin + 49))
    assert len(matcher.held.time) <= 100
    assert min(partial[10:]) > 10_000 and max(sizes) < 60_000 and max(sizes[10:]) < 1.2 * min(sizes[10:])
    runs, slots = live(matcher, 1_999)
    shown = [one for run in runs.tolist() for one in described(matcher, run, 0, 1_999)]
    assert len(set(shown)) == len(shown) == partial[-1] and set(slots) == {0}
    assert all(one.events == tuple(sorted(one.events)) for one in shown)
    starts = [[one.events[0] for one in described(matcher, run, 0, 1_999)] for run in runs.tolist()]
    assert all(some == sorted(some) for some in starts)
    assert events_held(matcher, runs) == list(range(len(matcher.held.time)))
    matcher.forget(10_000)
    assert matcher.slots == 0 and len(matcher.keep()) == 0


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
    return build(pattern.tree, bind(pattern.tree, Schema.from_arrow(SCHEMA)))


ANY = any_of("ab")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (ANY.skip("to_next"), "single starts"),
        (ANY.skip("past_last_event"), "first run of each state"),
        (ANY.not_followed_by("c").where(is_("c")).within(5), "a negation at its end"),
        (
            Pattern.not_before("c").where("name = b.name").begin("a").followed_by_any("b").within(5),
            "a negation at the start compares",
        ),
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
    assert is_compact(Pattern.not_before("c").where(is_("c")).begin("a").followed_by_any("b").within(5))
    assert not is_compact(ANY, timeouts=True)
    assert not is_compact(ANY, wanted=False)
    assert "same future are kept as one" in str(explain(ANY.tree))
    assert "Each is kept by itself" in str(explain(ANY.skip("to_next").tree))


SAME = "price = LAST(a.price)"
PAIR = Pattern.begin("a").where(is_("a")).followed_by("b").where(SAME)


@pytest.mark.parametrize(
    ("pattern", "is_alone"),
    [
        (PAIR, True),
        (PAIR.within(5).skip("past_last_event"), True),
        (PAIR.followed_by("c").where("price = FIRST(a.price) AND name = 'c'"), True),
        (PAIR.next("c").where(is_("c")), True),
        (Pattern.begin("a").not_followed_by("n").where(SAME).followed_by("b").where(SAME), True),
        (PAIR.followed_by("c").where(is_("c")), False),  # all that wait for c have the same future
        (PAIR.followed_by_any("c").where(SAME), False),
        (PAIR.one_or_more(), False),
        (PAIR.optional().followed_by("c").where(SAME), False),
        (Pattern.begin("a").not_followed_by("n").where(is_("n")).followed_by("b").where(SAME), False),
        (Pattern.begin("a").followed_by("b").where("price > LAST(a.price)"), False),
        (Pattern.begin("a").followed_by("b").where("price / 2.0D = LAST(a.price) / 2.0D"), False),
    ],
)
def test_runs_that_wait_for_values_of_their_own_stay_apart_unless_asked(pattern: Pattern, is_alone: bool) -> None:
    automaton = automaton_typed(pattern)
    assert tabulate(automaton, Options()).compact.is_compact is not is_alone
    assert tabulate(automaton, Options(compact=True)).compact.is_compact
    reason = "each waits for an event with its own value"
    assert (reason in str(explain(pattern.tree, Schema.from_arrow(SCHEMA))).lower()) is is_alone


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
