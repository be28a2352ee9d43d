"""The kernel's answer for a list of events, in the form of the reference's outcome."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, bind
from cepheid.engine.columns import columns
from cepheid.engine.kernel.layout import ADVANCE, AS_IT_IS, END
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables.tabulate import Options, tabulate
from cepheid.reference.outcome import Match, Outcome, Timeout
from cepheid.rows.arrange import arrange
from cepheid.syntax.tree import PatternTree


def kernel_outcome(
    tree: PatternTree, table: pa.Table, options: Options, advance_to: int | None = None, end_of_input: bool = False
) -> Outcome:
    """Matches and timeouts of one partition, ordered by the column `t`."""
    automaton = build(tree, bind(tree, Schema.from_arrow(table.schema)))
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


def _items(automaton: Automaton, found: Any) -> list[tuple[tuple[tuple[int, str], ...], int]]:
    taken: list[list[tuple[int, str]]] = [[] for _ in found.at]
    for match, variable, row in zip(found.match, found.variable, found.row, strict=True):
        taken[match].append((int(row), automaton.variables[variable]))
    return [(tuple(entries), int(at)) for entries, at in zip(taken, found.at, strict=True)]
