"""Negation as a filter after the engine: the plan that pushing nots into the scan is compared with.

In: an automaton with nots, and the sequences that the engine builds without them. Out: which of those are matches: the
same as those of the ordinary plan, at a higher cost.

A complete sequence tells, variable by variable, which way it took through the automaton, and so which nots guarded
each gap between two of its events. Where a not reads only its own event, whole parts of the output are decided at
once from running counts; where it reads variables, event by event.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton, Position
from cepheid.conditions import Schema, bind
from cepheid.engine.assignments import Integers
from cepheid.engine.columns import Columns, columns
from cepheid.engine.kernel import layout as l
from cepheid.engine.kernel import machine
from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.matcher import by_number, match_partitions
from cepheid.engine.runs.pool import new_pool
from cepheid.engine.runs.problems import problem
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.pages import BITS
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.errors import InputError
from cepheid.rows.arrange import arrange
from cepheid.rows.assemble import Shape, assemble
from cepheid.syntax.tree import PatternTree, SkipKind

# Parts of the kernel, which otherwise only the kernel calls.
evaluate = entrance()(machine.evaluate.py_func)  # type: ignore[attr-defined]
update_registers = entrance()(machine.update_registers.py_func)  # type: ignore[attr-defined]

Truths: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Gap:
    """One way from a taken event to the next: the position it leads to, and the nots that guard it."""

    target: int
    not_next: tuple[int, ...]
    not_followed_by: tuple[int, ...]


Gaps: TypeAlias = tuple[dict[int, Gap], ...]
"""By position and variable."""


def gaps_of(automaton: Automaton) -> Gaps:
    """The ways through an automaton; refuses what a filter behind the engine cannot decide."""
    if automaton.skip.kind is not SkipKind.NO_SKIP:
        raise _refused(
            f"skip is {automaton.skip.kind.value}: what a match forbids depends on the nots",
            "Use no_skip",
        )
    if any(position.endings for position in automaton.positions):
        raise _refused("a negation at the end is decided by time", "Put an element after it")
    return tuple(_ways(position) for position in automaton.positions)


def _ways(position: Position) -> dict[int, Gap]:
    ways: dict[int, Gap] = {}
    for continuation in position.continuations:
        take = continuation.take
        if take.variable in ways:
            raise _refused("the events of a match do not tell which negations guarded it", "Write optional parts apart")
        ways[take.variable] = Gap(take.target, continuation.not_next, continuation.not_followed_by)
    return ways


def _refused(reason: str, remedy: str) -> InputError:
    return InputError(f"a filter after the engine cannot run this pattern: {reason}.\n  {remedy}.")


def found_after(
    tree: PatternTree, rows: pa.Table, partition_by: tuple[str, ...], order_by: tuple[str, ...]
) -> pa.Table:
    """The matches of a pattern, as `match_events` gives them, by the plan that looks at nots last."""
    events = arrange(rows, partition_by, order_by)
    automaton = build(tree, bind(tree, Schema.from_arrow(rows.schema)))
    gaps = gaps_of(automaton)
    try:
        tables = tabulate(without_nots(automaton), Options())
    except NotCompiled as reason:
        raise _refused(f"it has {reason}", "Use conditions that the engine computes") from reason
    given = columns(events, tables)
    found, _ = match_partitions(tables, given, events.bounds, where=events.where, sift=Sift(gaps, tables, given))
    return assemble(events, found, Shape(automaton.variables, automaton.looping, tuple(rows.column_names)))


def without_nots(automaton: Automaton) -> Automaton:
    """The same automaton, whose ways are guarded by nothing; its predicates keep their numbers."""
    positions = tuple(
        replace(
            position,
            continuations=tuple(replace(way, not_next=(), not_followed_by=()) for way in position.continuations),
        )
        for position in automaton.positions
    )
    return replace(automaton, positions=positions)


class Sift:
    """Decides which of the sequences that the engine built are matches."""

    def __init__(self, gaps: Gaps, tables: Tables, columns: Columns) -> None:
        self.intermediate = 0
        """How many sequences there were before the nots were looked at."""
        self._gaps = gaps
        self._tables = tables
        self._columns = columns
        self._counts: dict[int, Integers] = {}
        self._machine = new_pool(tables, capacity=8)
        variables = len(tables.automaton.variables)
        self._targets = np.full((len(gaps), variables), l.NONE, np.int64)
        for number, ways in enumerate(gaps):
            for variable, gap in ways.items():
                self._targets[number, variable] = gap.target

    def __call__(self, lengths: Integers, variable: Integers, row: Integers) -> Truths:
        """Which sequences stay; each has `lengths[i]` entries in `variable` and `row`."""
        self.intermediate += len(lengths)
        begins = np.cumsum(lengths) - lengths
        stays = np.ones(len(lengths), bool)
        position = np.zeros(len(lengths), np.int64)
        for depth in range(int(lengths.max(initial=0))):
            here = np.flatnonzero(stays & (lengths > depth))
            place = begins[here] + depth
            taken_by = variable[place]
            if depth > 0:  # rule 1: nothing guards the first event
                stays[here] = self._holds(
                    position[here], taken_by, row[place - 1], row[place], variable, row, place, depth
                )
            position[here] = self._targets[position[here], taken_by]
        return stays

    def _holds(
        self,
        position: Integers,
        taken_by: Integers,
        before: Integers,
        after: Integers,
        variable: Integers,
        row: Integers,
        place: Integers,
        depth: int,
    ) -> Truths:
        """Whether the nots of one gap hold, for many sequences at once."""
        holds = np.ones(len(place), bool)
        for number, ways in enumerate(self._gaps):
            for taker, gap in ways.items():
                if not (gap.not_next or gap.not_followed_by):
                    continue
                mine = np.flatnonzero((position == number) & (taken_by == taker))
                reaches = [(predicate, before[mine] + 2) for predicate in gap.not_next]
                reaches += [(predicate, after[mine]) for predicate in gap.not_followed_by]
                for predicate, end in reaches:
                    count = self._count(predicate)
                    may_violate = mine[count[end] > count[before[mine] + 1]]
                    if not self._reads(predicate):
                        holds[may_violate] = False
                        continue
                    ends = dict(zip(mine.tolist(), end.tolist(), strict=True))
                    for sequence in may_violate.tolist():
                        first, last = place[sequence] - depth, place[sequence]
                        gap_events = np.arange(before[sequence] + 1, ends[sequence])
                        if self._is_violated(predicate, variable[first:last], row[first:last], gap_events):
                            holds[sequence] = False
        return holds

    def _count(self, predicate: int) -> Integers:
        """How many of the first n events pass a predicate's test on the event alone."""
        if predicate not in self._counts:
            bits = self._passes(predicate)
            self._counts[predicate] = np.concatenate(([0], np.cumsum(bits), [bits.sum()]))
        return self._counts[predicate]

    def _passes(self, predicate: int) -> Integers:
        """1 for each event that passes a predicate's test on the event alone."""
        for number, page in enumerate(self._tables.pages):
            if predicate in page:
                bits = self._columns.bits[:, number] >> np.uint64(page.index(predicate)) & np.uint64(1)
                return bits.astype(np.int64)
        raise _refused(f"it has more than {BITS} conditions", "Use fewer")

    def _reads(self, predicate: int) -> bool:
        begin, end = self._tables.arrays.programs[predicate]
        return bool(begin < end)

    def _is_violated(self, predicate: int, variables: Integers, rows: Integers, events: Integers) -> bool:
        """Whether an event of a gap satisfies a predicate that reads what was taken before the gap (rule 11)."""
        arrays, columns, machine = self._tables.arrays, self._columns, self._machine
        shared = (columns.values, columns.known, machine.registers, machine.stack, machine.counters)
        run = 0  # it has taken nothing yet
        nodes = np.zeros((len(rows), l.N_SIZE), machine.nodes.dtype)
        nodes[:, l.N_EVENT], nodes[:, l.N_STATE] = rows, variables
        nodes[:, l.N_PREVIOUS] = np.arange(len(rows)) - 1
        for node, (variable, row) in enumerate(zip(variables, rows, strict=True)):
            taken = (run, 1 + run % 2, variable, row, nodes, node - 1)
            update_registers(arrays.code, arrays.updates, arrays.updates_of, *shared, *taken)
            run = 1 + run % 2
        begin, end = arrays.programs[predicate]
        for event in events:
            if self._count(predicate)[event + 1] == self._count(predicate)[event]:
                continue
            holds = evaluate(arrays.code, *shared, begin, end, event, run)
            status = int(machine.counters[l.Q_PROBLEM])
            if status != l.NONE:
                machine.counters[l.Q_PROBLEM_VALUE] = predicate
                raise problem(status, self._tables, machine, 0, by_number(0, int(event)))
            if holds:
                return True
        return False
