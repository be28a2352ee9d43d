"""The kernel's answer for a list of events, in the form of the reference's outcome."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, bind
from cepheid.engine import matcher as matching
from cepheid.engine.columns import columns
from cepheid.engine.kernel.layout import ADVANCE, AS_IT_IS, END
from cepheid.engine.matcher import Matcher, match_partitions
from cepheid.engine.runs import cohort_pool
from cepheid.engine.runs.snapshot import restore, snapshot
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.reference.outcome import Match, Outcome, Timeout
from cepheid.rows.arrange import arrange
from cepheid.syntax.tree import PatternTree

Answers = Callable[[Automaton, pa.Table, Options, int | None, bool], Outcome]


def kernel_outcome(
    tree: PatternTree, table: pa.Table, options: Options, advance_to: int | None = None, end_of_input: bool = False
) -> Outcome:
    """Matches and timeouts of one partition, ordered by the column `t`."""
    automaton = build(tree, bind(tree, Schema.from_arrow(table.schema)))
    return outcome_of(automaton, table, options, advance_to, end_of_input)


def outcome_of(
    automaton: Automaton, table: pa.Table, options: Options, advance_to: int | None = None, end_of_input: bool = False
) -> Outcome:
    """The same for an automaton."""
    events = arrange(table, (), ("t",))
    tables = tabulate(automaton, options)
    finish = END if end_of_input else AS_IT_IS if advance_to is None else ADVANCE
    matches, timeouts = match_partitions(
        tables, columns(events, tables), events.bounds, finish, 0 if advance_to is None else advance_to
    )
    return Outcome(
        tuple(Match(taken, at) for taken, at in _items(automaton, matches)),
        tuple(Timeout(taken, at) for taken, at in _items(automaton, timeouts)),
    )


def outcome_in_little_memory(chance: random.Random) -> Answers:
    """The same with room for few runs, cohorts and histories at first, so that memory is collected and grows."""

    def answer(
        automaton: Automaton, table: pa.Table, options: Options, advance_to: int | None, end_of_input: bool
    ) -> Outcome:
        before = matching.FEWEST, cohort_pool.SMALLEST_NODES
        matching.FEWEST, cohort_pool.SMALLEST_NODES = chance.choice((8, 16, 64)), chance.choice((32, 256))
        try:
            return outcome_of(automaton, table, options, advance_to, end_of_input)
        finally:
            matching.FEWEST, cohort_pool.SMALLEST_NODES = before

    return answer


def outcome_in_parts(chance: random.Random) -> Answers:
    """The same for events that come in parts of random sizes: the state is kept, saved or restored in between."""

    def answer(
        automaton: Automaton, table: pa.Table, options: Options, advance_to: int | None, end_of_input: bool
    ) -> Outcome:
        tables = tabulate(automaton, options)
        matcher = Matcher(tables)
        held: list[int] = []
        matches: list[Match] = []
        timeouts: list[Timeout] = []

        def decided(found: Any) -> None:
            def named(taken: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
                return tuple((held[row], name) for row, name in taken)

            matches.extend(Match(named(taken), at) for taken, at in _items(automaton, found[0]))
            timeouts.extend(Timeout(named(taken), at) for taken, at in _items(automaton, found[1]))

        begin = 0
        while begin < table.num_rows:
            end = min(table.num_rows, begin + chance.choice((1, 1, 2, 4)))
            part = arrange(table.slice(begin, end - begin), (), ("t",))
            columns_of_part = matcher.columns_of(part)
            held += range(begin, end)
            decided(matcher.feed(columns_of_part, np.array([0, end - begin]), np.array([0])))
            if chance.random() < 0.7:
                held = [held[row] for row in matcher.keep()]
                if chance.random() < 0.5:
                    matcher = restore(Matcher(tables), snapshot(matcher))
            begin = end
        if advance_to is not None:
            decided(matcher.advance(advance_to))
        if end_of_input:
            decided(matcher.end())
        return Outcome(tuple(matches), tuple(timeouts))

    return answer


def outcome_beside_others(chance: random.Random) -> Answers:
    """The same for three partitions that have these events, each at its own pace, in one pool: partitions are forgotten
    and begin anew, the state is saved and restored in between. All of them must answer the same."""

    def answer(
        automaton: Automaton, table: pa.Table, options: Options, advance_to: int | None, end_of_input: bool
    ) -> Outcome:
        tables = tabulate(automaton, options)
        matcher = Matcher(tables)
        slots: list[int] = []
        """The partition that lives in each slot."""
        held: list[tuple[int, int]] = []
        done = [0, 0, 0]
        found: list[list[Match]] = [[], [], []]
        while min(done) < table.num_rows:
            moving = [one for one in range(3) if done[one] < table.num_rows and chance.random() < 0.7]
            if not moving:
                continue
            lengths = [min(chance.choice((1, 1, 2, 4)), table.num_rows - done[one]) for one in moving]
            slots += [one for one in moving if one not in slots]
            pieces = [table.slice(done[one], length) for one, length in zip(moving, lengths, strict=True)]
            named = [
                piece.append_column("partition", pa.array([place] * len(piece))) for place, piece in enumerate(pieces)
            ]
            part = arrange(pa.concat_tables(named), ("partition",), ("t",))
            columns_of_part = matcher.columns_of(part)
            held += [(one, done[one] + i) for one, length in zip(moving, lengths, strict=True) for i in range(length)]
            matches, _ = matcher.feed(columns_of_part, part.bounds, np.array([slots.index(one) for one in moving]))
            for taken, at in _items(automaton, matches):
                [owner] = {held[row][0] for row, _ in taken}
                found[owner].append(Match(tuple((held[row][1], name) for row, name in taken), at))
            for one, length in zip(moving, lengths, strict=True):
                done[one] += length
            if chance.random() < 0.5:
                if chance.random() < 0.5:
                    reached = [table["t"][done[one] - 1].as_py() if done[one] else -(10**9) for one in range(3)]
                    stays = matcher.forget(min(reached))
                    slots = [one for one, is_kept in zip(slots, stays, strict=True) if is_kept]
                held = [held[row] for row in matcher.keep()]
                if chance.random() < 0.5:
                    matcher = restore(Matcher(tables), snapshot(matcher))
        assert found[0] == found[1] == found[2], f"partitions with the same events differ: {found}"
        return Outcome(tuple(found[0]), ())

    return answer


def _items(automaton: Automaton, found: Any) -> list[tuple[tuple[tuple[int, str], ...], int]]:
    taken: list[list[tuple[int, str]]] = [[] for _ in found.at]
    for match, variable, row in zip(found.match, found.variable, found.row, strict=True):
        taken[match].append((int(row), automaton.variables[variable]))
    return [(tuple(entries), int(at)) for entries, at in zip(taken, found.at, strict=True)]
