"""States that are divided and joined while a stream runs: every partition finds what it finds alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from engine.test_kernel import Stream, streams, table_of
from engine.test_state import SCHEMA, Found, automaton_of, named
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import Pattern, SkipError
from cepheid.engine.columns import columns
from cepheid.engine.matcher import Matcher, match_partitions
from cepheid.engine.runs.joining import join
from cepheid.engine.runs.snapshot import restore, snapshot
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange
from cepheid.syntax.tree import PatternTree


@dataclass
class Part:
    """Some partitions, which live together for a while."""

    matcher: Matcher
    slots: list[int] = field(default_factory=list)
    held: list[tuple[int, int]] = field(default_factory=list)


class Parts:
    """Partitions of one stream in several states; `found` has the matches and timeouts of each."""

    def __init__(self, tables: Tables, tables_of: list[pa.Table], chance: random.Random) -> None:
        self.tables, self.events, self.chance = tables, tables_of, chance
        self.parts = [Part(Matcher(tables)) for _ in tables_of]
        self.place = list(range(len(tables_of)))
        """The state in which each partition lives."""
        self.done = [0] * len(tables_of)
        self.found: list[tuple[Found, Found]] = [([], []) for _ in tables_of]

    def play(self) -> None:
        while any(done < table.num_rows for done, table in zip(self.done, self.events, strict=True)):
            self._feed(self.chance.randrange(len(self.events)))
            if self.chance.random() < 0.2:
                self._move()
        for part in self.parts:
            self._take(part, part.matcher.end())

    def _feed(self, partition: int) -> None:
        begin, table = self.done[partition], self.events[partition]
        rows = table.slice(begin, self.chance.choice((1, 2, 4)))
        if not rows.num_rows:
            return
        part = self.parts[self.place[partition]]
        if partition not in part.slots:
            part.slots.append(partition)
        new = part.matcher.columns_of(arrange(rows, (), ("t",)))
        part.held += [(partition, begin + number) for number in range(rows.num_rows)]
        slot = np.array([part.slots.index(partition)])
        self._take(part, part.matcher.feed(new, np.array([0, rows.num_rows]), slot))
        self.done[partition] += rows.num_rows

    def _move(self) -> None:
        """Give every partition another place: divide all states, then join what comes together."""
        self.place = [self.chance.randrange(len(self.events)) for _ in self.events]
        pieces: list[list[Part]] = [[] for _ in self.events]
        for part in self.parts:
            held = [part.held[row] for row in part.matcher.keep()]
            saved = snapshot(part.matcher)
            for place, own in enumerate(pieces):
                piece = Part(restore(Matcher(self.tables), saved), held=held)
                stays = np.array([self.place[one] == place for one in part.slots], bool)
                piece.matcher.only(stays)
                piece.slots = [one for one, is_kept in zip(part.slots, stays, strict=True) if is_kept]
                if self.chance.random() < 0.7:  # events that nothing holds move, too
                    piece.held = [held[row] for row in piece.matcher.keep()]
                own.append(piece)
        self.parts = [
            Part(
                join(Matcher(self.tables), [piece.matcher for piece in own]),
                [one for piece in own for one in piece.slots],
                [row for piece in own for row in piece.held],
            )
            for own in pieces
        ]

    def _take(self, part: Part, found: object) -> None:
        for kind, assignments in enumerate(found):  # type: ignore[arg-type, var-annotated]
            for taken, at in named(assignments, self.tables.automaton, part.held):
                rows: list[tuple[str, tuple[int, int]]] = list(taken)  # type: ignore[arg-type]
                [owner] = {partition for _, (partition, _) in rows}
                self.found[owner][kind].append((tuple((name, row) for name, (_, row) in rows), at))


def alone(tables: Tables, table: pa.Table) -> tuple[Found, Found]:
    events = arrange(table, (), ("t",))
    found = match_partitions(tables, columns(events, tables), events.bounds)
    matches, timeouts = (named(one, tables.automaton, range(table.num_rows)) for one in found)
    return matches, timeouts


@settings(max_examples=max(30, settings().max_examples // 4))
@given(
    st.one_of(patterns(), patterns(beyond=True)),
    st.lists(streams, min_size=2, max_size=4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_partitions_that_move_about_find_what_they_find_alone(
    tree: PatternTree, given_streams: list[Stream], timeouts: bool, chance: random.Random
) -> None:
    try:
        tables = tabulate(automaton_of(tree), Options(timeouts=timeouts))
    except NotCompiled:
        return
    events = [table_of(stream, 0) for stream in given_streams]
    moving = Parts(tables, events, chance)
    try:
        expected = [alone(tables, table) for table in events]
        moving.play()
    except SkipError:
        return
    assert moving.found == expected


NAMES = ("ash", "elm", "fir", "oak", "yew")
MEMORABLE = {
    "single runs, indexed": ("a[price > 2] ~> b[name = a.name AND price > a.price] within 12", True, False),
    "timers": ("a[price > 3] ~> !b[name = a.name] within 6", True, False),
    "cohorts": ("a[price > 2] ~>> b[price > 4]+ ~>> c[price < 3] within 9", False, True),
    "cohorts of strings": ("a ~>> b[name = a.name] ~>> c[name > a.name] within 9", False, True),
    "strings in order": ("a ~> b[name > a.name] ~> c[name < b.name] within 20, skip past last event", False, None),
    "a negation before": ("!x[name = a.name AND price > 5] before a[price < 4] ~> b[price > 3] within 8", False, None),
    "starts that are forbidden": ("a[price > 2] ~> b[price < 7]+ ~> c[price > 6] within 15, skip to next", True, False),
    "silence": ("a[price > 2] ~> b[price < 3] within 9, once per 6", False, None),
}


@pytest.mark.parametrize("kind", MEMORABLE)
def test_everything_that_is_known_of_a_partition_moves_with_it(kind: str) -> None:
    """Longer streams, with much to remember of each kind."""
    text, timeouts, is_compact = MEMORABLE[kind]
    tables = tabulate(automaton_of(Pattern.parse(text).tree), Options(timeouts=timeouts))
    assert is_compact in (None, tables.compact.is_compact)
    chance = random.Random(5)
    events = []
    for _ in range(3):
        time = np.cumsum([chance.choice((0, 0, 1, 1, 2)) for _ in range(50)]).tolist()
        rows = [{"t": t, "name": chance.choice(NAMES), "price": chance.randrange(9)} for t in time]
        events.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    expected = [alone(tables, table) for table in events]
    assert any(matches or others for matches, others in expected)
    moving = Parts(tables, events, chance)
    moving.play()
    assert moving.found == expected
