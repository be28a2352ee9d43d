"""The kernel's answer for a list of events, in the form of the reference's outcome."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, bind
from cepheid.engine.arrange import arrange
from cepheid.engine.columns import columns
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables import Options, tabulate
from cepheid.reference.outcome import Match, Outcome, Timeout
from cepheid.syntax.tree import PatternTree


def kernel_outcome(tree: PatternTree, table: pa.Table, options: Options) -> Outcome:
    """Matches and timeouts of one partition, ordered by the column `t`; the end of the table is the end of the input."""
    automaton = build(tree, bind(tree, Schema.from_arrow(table.schema)))
    return run_kernel(automaton, table, options)


def run_kernel(automaton: Automaton, table: pa.Table, options: Options) -> Outcome:
    events = arrange(table, (), ("t",))
    tables = tabulate(automaton, options)
    matches, timeouts = match_partitions(tables, columns(events, tables), events.bounds)
    return Outcome(
        tuple(Match(taken, at) for taken, at in _items(automaton, matches)),
        tuple(Timeout(taken, at) for taken, at in _items(automaton, timeouts)),
    )


def _items(automaton: Automaton, found: Any) -> list[tuple[tuple[tuple[int, str], ...], int]]:
    taken: list[list[tuple[int, str]]] = [[] for _ in found.at]
    for match, variable, row in zip(found.match, found.variable, found.row, strict=True):
        taken[match].append((int(row), automaton.variables[variable]))
    return [(tuple(entries), int(at)) for entries, at in zip(taken, found.at, strict=True)]
