"""State from call to call: any split of a stream, with the state saved and restored in between, changes nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine.test_kernel import SCHEMA, Stream, streams, table_of
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import Pattern, SkipError, StateError
from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, bind
from cepheid.engine.columns import columns
from cepheid.engine.matcher import Matcher, match_partitions
from cepheid.engine.runs.snapshot import FORMAT, restore, snapshot
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import Arranged, arrange
from cepheid.syntax.tree import PatternTree, SpanUnit

Found = list[tuple[tuple[tuple[str, int], ...], int]]


def automaton_of(tree: PatternTree) -> Automaton:
    return build(tree, bind(tree, Schema.from_arrow(SCHEMA)))


class Rows:
    """Feeds a stream part by part, keeps the rows that the matcher holds, and names the rows of matches."""

    def __init__(self, tables: Tables, saves: bool) -> None:
        self.tables = tables
        self.saves = saves
        self.matcher = Matcher(tables)
        self.held: list[int] = []
        self.matches: Found = []
        self.timeouts: Found = []

    def feed(self, table: pa.Table, begin: int, partition: int) -> None:
        rows = table.num_rows
        events = Arranged(
            table, (), ("t",), np.zeros(rows, np.int64), np.array(table["t"].to_pylist(), np.int64), SpanUnit.ORDER
        )
        new = self.matcher.columns_of(events)
        self.held += range(begin, begin + rows)
        self._take(self.matcher.feed(new, np.array([0, rows]), np.array([partition])))
        kept = self.matcher.keep()
        self.held = [self.held[row] for row in kept]
        if self.saves:
            self.matcher = restore(Matcher(self.tables), snapshot(self.matcher))

    def end(self) -> None:
        self._take(self.matcher.end())

    def _take(self, found: Any) -> None:
        for items, assignments in zip((self.matches, self.timeouts), found, strict=True):
            items += named(assignments, self.tables.automaton, self.held)


def named(assignments: Any, automaton: Automaton, rows: Any) -> Found:
    taken: list[list[tuple[str, int]]] = [[] for _ in assignments.at]
    for match, variable, row in zip(assignments.match, assignments.variable, assignments.row, strict=True):
        taken[match].append((automaton.variables[variable], rows[row]))
    return [(tuple(entries), int(at)) for entries, at in zip(taken, assignments.at, strict=True)]


@settings(max_examples=max(150, settings().max_examples))
@given(st.one_of(patterns(), patterns(beyond=True)), streams, st.sets(st.integers(1, 11)), st.booleans())
def test_any_split_gives_the_same(tree: PatternTree, stream: Stream, cuts: set[int], timeouts: bool) -> None:
    table = table_of(stream, 0)
    try:
        tables = tabulate(automaton_of(tree), Options(timeouts=timeouts))
    except NotCompiled:
        return
    events = arrange(table, (), ("t",))
    rows = Rows(tables, saves=True)
    try:
        whole = match_partitions(tables, columns(events, tables), events.bounds)
        begins = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
        for begin, end in pairwise(begins):
            rows.feed(table.slice(begin, end - begin), begin, 0)
        rows.end()
    except SkipError:
        return
    assert rows.matches == named(whole[0], tables.automaton, range(len(stream)))
    assert rows.timeouts == named(whole[1], tables.automaton, range(len(stream)))


def part(*rows: tuple[int, str, int]) -> pa.Table:
    return pa.Table.from_pylist([{"t": t, "name": name, "price": price} for t, name, price in rows], schema=SCHEMA)


SAME_NAME = Pattern.begin("a").followed_by("b").where("name = LAST(a.name) AND price > LAST(a.price)").within(10)


def test_partitions_live_on_side_by_side_and_texts_keep_their_codes() -> None:
    rows = Rows(tabulate(automaton_of(SAME_NAME.tree), Options()), saves=True)
    rows.feed(part((1, "x", 1), (2, "y", 1)), 0, 0)
    rows.feed(part((1, "z", 1)), 10, 1)
    rows.feed(part((3, "y", 2)), 20, 0)
    rows.feed(part((4, "x", 2)), 30, 1)
    rows.feed(part((5, "z", 2), (6, "z", 0)), 40, 1)
    assert [taken for taken, _ in rows.matches] == [(("a", 1), ("b", 20)), (("a", 10), ("b", 40))]


def test_partitions_that_were_saved_before_their_first_run_stay_apart() -> None:
    """Runs of all partitions that wait for an equality share an index, so each must know whose it is."""
    same = Pattern.begin("a").where("name = 'a'").followed_by("b").where("price = LAST(a.price)")
    rows = Rows(tabulate(automaton_of(same.tree), Options(compact=False)), saves=False)
    partitions = range(40)
    for partition in partitions:
        rows.feed(part((1, "z", 7)), partition, partition)
    rows.matcher = restore(Matcher(rows.tables), snapshot(rows.matcher))
    for partition in partitions:
        rows.feed(part((2, "a", 7)), 100 + partition, partition)
    for partition in partitions:
        rows.feed(part((3, "b", 7)), 200 + partition, partition)
    assert [taken for taken, _ in rows.matches] == [(("a", 100 + one), ("b", 200 + one)) for one in partitions]


def test_runs_that_were_forgotten_are_looked_up_no_more() -> None:
    """A partition without runs stays where a `not_before` has been seen; its runs are used again."""
    begun = Pattern.not_before("n").where("name = 'n'").begin("a").where("name = 'a'")
    same = begun.followed_by("b").where("price = LAST(a.price)").within(5)
    rows = Rows(tabulate(automaton_of(same.tree), Options(compact=False)), saves=False)
    rows.feed(part((1, "a", 7), (8, "n", 0)), 0, 0)
    assert rows.matcher.forget(8).tolist() == [True]
    rows.held = [rows.held[row] for row in rows.matcher.keep()]
    rows.feed(part((14, "a", 7)), 10, 0)
    rows.feed(part((15, "b", 7)), 20, 0)
    assert [taken for taken, _ in rows.matches] == [(("a", 10), ("b", 20))]


def test_time_moves_on_in_all_partitions() -> None:
    pattern = Pattern.begin("a").where("name = 'a'").not_followed_by("b").where("name = 'b'").within(10)
    rows = Rows(tabulate(automaton_of(pattern.tree), Options()), saves=True)
    rows.feed(part((1, "a", 0)), 0, 0)
    rows.feed(part((3, "a", 0)), 10, 1)
    rows._take(rows.matcher.advance(11))
    assert rows.matches == [((("a", 0),), 11)]
    rows._take(rows.matcher.advance(13))
    assert rows.matches[1:] == [((("a", 10),), 13)]


def test_events_that_nothing_holds_are_forgotten() -> None:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within(5)
    rows = Rows(tabulate(automaton_of(pattern.tree), Options()), saves=False)
    for time in range(0, 3_000, 3):
        rows.feed(part((time, "a", 0), (time + 1, "c", 0)), time, 0)
        assert len(rows.held) <= 70  # a list is swept whenever it has doubled
    assert len(snapshot(rows.matcher)) < 20_000


def test_state_is_refused_by_another_pattern_but_not_by_other_names() -> None:
    rows = Rows(tabulate(automaton_of(SAME_NAME.tree), Options()), saves=False)
    rows.feed(part((1, "x", 1)), 0, 0)
    saved = snapshot(rows.matcher)
    renamed = Pattern.begin("p").followed_by("q").where("name = LAST(p.name) AND price > LAST(p.price)").within(10)
    restore(Matcher(tabulate(automaton_of(renamed.tree), Options())), saved)
    other = Pattern.begin("a").followed_by("b").where("name = LAST(a.name) AND price > LAST(a.price)").within(11)
    with pytest.raises(StateError, match="belongs to another pattern"):
        restore(Matcher(tabulate(automaton_of(other.tree), Options())), saved)


def test_damaged_state_is_refused() -> None:
    tables = tabulate(automaton_of(SAME_NAME.tree), Options())
    saved = snapshot(Matcher(tables))
    with pytest.raises(StateError, match="not a saved state"):
        restore(Matcher(tables), b"something else")
    with pytest.raises(StateError, match="cut off"):
        restore(Matcher(tables), saved[:-1])
    with pytest.raises(StateError, match=f"format {FORMAT + 1}"):
        restore(Matcher(tables), saved.replace(b'"format": %d' % FORMAT, b'"format": %d' % (FORMAT + 1)))


def test_runs_that_wait_for_an_equal_text_are_found_after_texts_are_forgotten() -> None:
    """Texts that no run knows are forgotten and the others get other codes, by which waiting runs are found."""
    schema = pa.schema([("t", pa.int64()), ("k", pa.string()), ("s", pa.string())])
    tree = Pattern.begin("a").where("k = 'a'").followed_by("b").where("k = 'b' AND s = a.s").within(50).tree
    matcher = Matcher(tabulate(build(tree, bind(tree, Schema.from_arrow(schema))), Options()))

    def feed(slot: int, kind: str, text: str, start: int) -> int:
        rows = [{"t": start + number, "k": kind, "s": f"{text}{number}"} for number in range(20)]
        events = arrange(pa.Table.from_pylist(rows, schema), (), ("t",))
        matches, _ = matcher.feed(matcher.columns_of(events), np.array([0, len(rows)]), np.array([slot]))
        return len(matches.at)

    feed(0, "a", "forgotten", 0)
    feed(1, "a", "kept", 40)
    matcher.advance(75)
    assert matcher.forget(75).tolist() == [False, True]
    matcher.keep()
    assert len(matcher.texts) == 20
    assert feed(0, "b", "kept", 76) == 20
