"""Running the kernel, with memory that grows, over whole partitions or over a stream that comes in parts.

In: a pattern's tables and the columns of its events. Out: which rows each match and each timeout took. Called by
`in_memory` and by the Spark plans.

A `Matcher` keeps the partitions of a stream from call to call. Events that a partial match still holds stay known by
the numbers 0, 1, … in front of the events of the next call; `kept` says which of the rows they were, so that the
caller can keep the rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.automaton.construction import build
from cepheid.conditions import bind
from cepheid.engine.columns import Columns, columns, columns_of, joined, nothing_held, selected, texts_in, values_of
from cepheid.engine.kernel import buffer, drive
from cepheid.engine.kernel import layout as l
from cepheid.engine.kernel.compiling import announce_compilation
from cepheid.engine.limits import state_limit
from cepheid.engine.problems import problem, too_large
from cepheid.engine.runs import not_before
from cepheid.engine.runs.pool import Pool, bytes_of, grown, growth_needed, new_pool, with_slots
from cepheid.engine.tables.tabulate import Options, Tables, tabulate
from cepheid.rows.arrange import Arranged, Integers
from cepheid.rows.assemble import Assignments
from cepheid.syntax.tree import Element, Link, PatternTree, Sequence, Variable

Sift: TypeAlias = Callable[[Integers, Integers, Integers], npt.NDArray[np.bool_]]
"""Given the lengths of some matches and the variables and rows of their events, which of the matches stay."""

FEWEST, MOST = 256, 1 << 16
"""Runs and nodes that there is room for at first."""
ENTRY = 24
"""Bytes for an event of a match: its match, its variable, its row."""


def by_number(partition: int, event: int) -> str:
    """How an error calls a partition and an event where nothing better is known."""
    return f"partition {partition}" if event == l.NONE else f"partition {partition}, event {event}"


def match_partitions(
    tables: Tables,
    columns: Columns,
    bounds: Integers,
    finish: int = l.END,
    moment: int = 0,
    where: Callable[[int, int], str] = by_number,
    sift: Sift | None = None,
) -> tuple[Assignments, Assignments]:
    """All matches and timeouts of whole partitions; `bounds` says where each begins, and where the last ends.

    `finish`: whether the input ends behind the last event, time only moves on to a `moment`, or nothing happens.
    `where`: how an error calls a partition and an event. `sift`: which of the matches stay.
    """
    capacity = 1 << (min(max(FEWEST, len(columns.time) // 4), MOST) - 1).bit_length()
    drive = _Drive(tables, new_pool(tables, capacity=capacity))
    drive.matches.sift = sift
    drive.match(columns, bounds, np.zeros(0, np.int64), finish, moment, where)
    return drive.decided()


def warm_up() -> None:
    """Have the kernel compiled and kept on disk, so that other processes of this machine find it there."""
    tree = PatternTree(Sequence((Element(Link.BEGIN, Variable("a")),)))
    tables = tabulate(build(tree, bind(tree, None)), Options())
    time, bits = np.zeros(1, np.int64), np.ones(1, np.uint64)
    match_partitions(tables, columns_of(time, bits, [], tables), np.array([0, 1]))


class Matcher:
    """A pattern's runs over a stream whose partitions live on from call to call, each in a slot of its own."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.pool = new_pool(tables, slots=0)
        self.held = nothing_held(tables)
        self.texts: pa.Array = pa.array([], pa.string())
        """The texts that the registers of live runs know by their codes."""
        self.next_ordinal = np.zeros(0, np.int64)

    @property
    def slots(self) -> int:
        return len(self.next_ordinal)

    def columns_of(self, events: Arranged) -> Columns:
        """The columns of further events, with texts coded as the live runs know them."""
        self._add_texts(values_of(events, self.tables))
        return columns(events, self.tables, self.texts)

    def computed_columns(
        self, time: Integers, bits: npt.NDArray[np.uint64], values: Iterable[pa.Array | pa.ChunkedArray]
    ) -> Columns:
        """The columns of further events whose tests and values were computed elsewhere."""
        values = list(values)
        self._add_texts(values)
        return columns_of(time, bits, values, self.tables, self.texts)

    def feed(
        self, new: Columns, bounds: Integers, slot_of: Integers, where: Callable[[int, int], str] = by_number
    ) -> tuple[Assignments, Assignments]:
        """Handle further events, sorted by partition and order; partition i lives in slot `slot_of[i]`.

        Rows in the answer count the held events first, then the given ones.
        """
        self._add_slots(int(slot_of.max(initial=-1)) + 1)
        held = len(self.held.time)
        lengths = np.diff(bounds)
        ordinals = np.arange(len(new.time)) - np.repeat(bounds[:-1], lengths)
        new = new._replace(ordinal=ordinals + np.repeat(self.next_ordinal[slot_of], lengths))
        self.next_ordinal[slot_of] += lengths
        drive = _Drive(self.tables, self.pool)
        self.held = joined(self.held, new, self.tables)
        drive.match(self.held, bounds + held, slot_of, l.AS_IT_IS, 0, where)
        self.pool = drive.pool
        return drive.decided()

    def advance(self, moment: int, where: Callable[[int, int], str] = by_number) -> tuple[Assignments, Assignments]:
        """Let time move on in all partitions. `where`: how an error calls a slot, beside no event."""
        return self._finish(l.ADVANCE, moment, where)

    def end(self, where: Callable[[int, int], str] = by_number) -> tuple[Assignments, Assignments]:
        """End the input of all partitions (rule 10)."""
        return self._finish(l.END, 0, where)

    def drop(self, slots: Integers) -> None:
        """Drop all runs of some partitions."""
        self._clear(slots[self.pool.slots[slots, l.K_LIVE] > 0])

    def keep(self) -> Integers:
        """Forget the events that no partial match holds. Returns the rows of those that stay, in their new order."""
        pool = self.pool
        buffer.collect(pool.lists, pool.slots, pool.runs, pool.nodes, pool.counters)
        nodes = pool.nodes[: pool.counters[l.Q_USED_NODES]]
        is_kept = np.zeros(len(self.held.time), bool)
        is_kept[nodes[:, l.N_EVENT]] = True
        not_before.mark_needed(self.tables, pool, self.held, self.next_ordinal, is_kept)
        kept = np.flatnonzero(is_kept)
        new_number = np.cumsum(is_kept) - 1
        for column in (l.N_EVENT, l.N_START):
            nodes[:, column] = new_number[nodes[:, column]]
        self.held = selected(self.held, kept, self.tables)
        not_before.renumber(self.tables, pool, self.held, np.where(is_kept, new_number, l.NONE))
        self._keep_texts()
        return kept

    @property
    def live_runs(self) -> int:
        """Runs that wait; some may be over already and wait to be dropped."""
        return int(self.pool.slots[:, l.K_LIVE].sum())

    def waiting(self) -> Integers:
        """The runs themselves, partition by partition."""
        found: Integers = buffer.live_runs(self.pool.lists, self.pool.slots, self.pool.runs)
        return found

    def deadline(self) -> int | None:
        """The earliest moment at which time may decide something, None if there is none."""
        slots = self.pool.slots
        heaps = slots[(slots[:, l.K_LIVE] > 0) & (slots[:, l.K_TIMERS] != l.NONE), l.K_TIMERS]
        due = self.pool.timers[heaps, l.T_DUE]
        earliest = int(due.min(initial=l.NEVER))
        return None if earliest == l.NEVER else earliest

    def forget(self, moment: int) -> npt.NDArray[np.bool_]:
        """Drop the runs whose time is over, where a partition has no others, and the slots of partitions that would be
        the same if they began anew. Call it when time has moved to this moment. Returns which slots stay; they are
        numbered anew in their order."""
        self._clear(self._over(moment))
        pool, params = self.pool, self.tables.arrays.params
        stays: npt.NDArray[np.bool_] = pool.slots[:, l.K_LIVE] > 0
        for place in range(l.K_BEFORE, l.K_BEFORE + 2 * int(params[l.P_NOT_BEFORE]), 2):  # rule 7, at the start
            reaches = pool.slots[:, place] != l.NONE
            if params[l.P_COUNT] == l.NEVER and params[l.P_WITHIN] != l.NEVER:
                reaches &= pool.slots[:, place + 1] > moment - params[l.P_WITHIN]
            stays |= reaches
        if stays.all():
            return stays
        self._free_timers(pool.slots[~stays][:, [l.K_TIMERS, l.K_COUNT_TIMERS]].ravel())
        self.next_ordinal = self.next_ordinal[stays]
        self.pool = pool._replace(
            lists=np.ascontiguousarray(pool.lists[stays]),
            slots=np.ascontiguousarray(pool.slots[stays]),
            buckets=np.full_like(pool.buckets, l.NONE),
        )
        if len(pool.owner) > 1:
            new_number = np.cumsum(stays, dtype=np.int32) - 1
            pool.owner[:] = np.where(pool.owner < len(stays), new_number[np.minimum(pool.owner, len(stays) - 1)], 0)
        if params[l.P_INDEXED]:
            drive.index_runs(self.tables.arrays, self.pool)
        return stays

    def _over(self, moment: int) -> Integers:
        """The slots all of whose runs have run out of their window, or are over."""
        pool, within = self.pool, int(self.tables.arrays.params[l.P_WITHIN])
        counts = pool.slots[:, l.K_LIVE]
        runs = self.waiting()
        start = self.held.time[pool.nodes[pool.runs[runs, l.R_NODE], l.N_START]]
        is_over = pool.runs[runs, l.R_OPEN] == 0
        if within != l.NEVER:
            is_over |= start <= moment - within
        still = np.bincount(np.repeat(np.arange(len(counts)), counts), weights=~is_over, minlength=len(counts))
        return np.flatnonzero((counts > 0) & (still == 0))

    def _clear(self, slots: Integers) -> None:
        """Drop all runs of some slots; timers see by the generation that their run is gone."""
        if not len(slots):
            return
        pool = self.pool
        runs = buffer.live_runs(pool.lists[slots], pool.slots[slots], pool.runs)
        if len(pool.extra) > 1:
            pool.extra[runs, l.X_GENERATION] += 1
        pool.runs[runs, l.R_NEXT] = np.append(runs[1:], pool.counters[l.Q_FREE_RUN])
        pool.counters[l.Q_FREE_RUN] = runs[0]
        for column, value in ((l.L_HEAD, l.NONE), (l.L_LENGTH, 0), (l.L_SWEPT, 0)):
            pool.lists[slots, column :: l.L_SIZE] = value
        pool.slots[slots, l.K_FRESH] = l.NONE
        pool.slots[slots, l.K_LIVE] = 0

    def _free_timers(self, heaps: Integers) -> None:
        """Let the places of all timers of some heaps be used again."""
        timers, counters = self.pool.timers, self.pool.counters
        found = heaps[heaps != l.NONE]
        while len(found):
            following = timers[found][:, [l.T_CHILD, l.T_SIBLING]].ravel()
            timers[found, l.T_SIBLING] = np.append(found[1:], counters[l.Q_FREE_TIMER])
            counters[l.Q_FREE_TIMER] = found[0]
            found = following[following != l.NONE]

    def _keep_texts(self) -> None:
        """Forget the texts that no live run knows, nor a held event that is read again."""
        codes = np.concatenate([codes.ravel() for _, _, codes in self._coded()] or [np.zeros(0, np.int64)])
        used = np.unique(codes[(codes >= 0) & (codes < len(self.texts))])  # what is unknown may hold anything
        if len(used) == len(self.texts):
            return
        new_code = np.zeros(len(self.texts), np.int64)
        new_code[used] = np.arange(len(used))
        self._recode(new_code)
        self.texts = self.texts.take(pa.array(used))

    def _add_texts(self, values: list[pa.Array | pa.ChunkedArray]) -> None:
        """Give codes to the texts of further events; where conditions ask for their order, codes go by it."""
        known = len(self.texts)
        self.texts = texts_in(values, self.tables, self.texts)
        if self.tables.orders_texts and len(self.texts) > known:
            order = pc.sort_indices(self.texts).to_numpy()
            new_code = np.empty(len(order), np.int64)
            new_code[order] = np.arange(len(order))
            self._recode(new_code)
            self.texts = self.texts.take(pa.array(order))

    def _coded(self) -> list[tuple[npt.NDArray[Any], Any, npt.NDArray[Any]]]:
        """Where codes of texts are: an array, the places in it, and the codes there."""
        runs = buffer.live_runs(self.pool.lists, self.pool.slots, self.pool.runs)
        columns = np.array(not_before.text_columns(self.tables), np.int64)
        places = (
            (self.pool.registers, np.ix_(runs, np.array(self.tables.text_registers, np.int64))),
            (self.held.values, np.ix_(np.arange(len(self.held.values)), columns)),
        )
        return [(array, place, array[place]) for array, place in places if place[1].size]

    def _recode(self, new_code: Integers) -> None:
        """Give texts other codes. Runs that wait for an equality are found by codes, so they are chained anew."""
        for array, place, codes in self._coded():
            is_code = (codes >= 0) & (codes < len(new_code))
            array[place] = np.where(is_code, new_code[np.where(is_code, codes, 0)], 0)
        if self.tables.arrays.params[l.P_INDEXED]:
            self.pool.buckets[:] = l.NONE
            drive.index_runs(self.tables.arrays, self.pool)

    def _add_slots(self, count: int) -> None:
        if count > self.slots:
            self.pool = with_slots(self.pool, count)
            self.next_ordinal = np.concatenate((self.next_ordinal, np.zeros(count - self.slots, np.int64)))

    def _finish(self, finish: int, moment: int, where: Callable[[int, int], str]) -> tuple[Assignments, Assignments]:
        drive = _Drive(self.tables, self.pool)
        drive.finish(self.held, finish, moment, where)
        self.pool = drive.pool
        return drive.decided()


class _Drive:
    """Calls the kernel until it is done, gives it more memory when it asks, and gathers what it decides."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self.tables = tables
        self.pool = pool
        self.matches = _Decided()
        self.timeouts = _Decided()

    def match(
        self,
        columns: Columns,
        bounds: Integers,
        slot_of: Integers,
        finish: int,
        moment: int,
        where: Callable[[int, int], str],
    ) -> None:
        progress = np.array([0, bounds[0], finish, moment], np.int64)
        self._run(
            lambda: drive.match_sorted(self.tables.arrays, columns, self.pool, bounds, slot_of, progress),
            lambda: (int(slot_of[progress[0]]) if len(slot_of) else 0, where(int(progress[0]), int(progress[1]))),
        )

    def finish(self, columns: Columns, finish: int, moment: int, where: Callable[[int, int], str]) -> None:
        progress = np.array([0, 0, finish, moment], np.int64)
        self._run(
            lambda: drive.finish_slots(self.tables.arrays, columns, self.pool, progress),
            lambda: (int(progress[0]), where(int(progress[0]), l.NONE)),
        )

    def _run(self, call: Callable[[], int], place: Callable[[], tuple[int, str]]) -> None:
        announce_compilation()
        limit = state_limit(self.tables.max_state_bytes)
        while True:
            status = call()
            pool = self.pool
            found = self.matches.bytes_with(pool, pool.matches, l.Q_MATCHES)
            found += self.timeouts.bytes_with(pool, pool.timeouts, l.Q_TIMEOUTS)
            if bytes_of(pool) + found > limit:
                raise too_large(self.tables, pool, *place(), found, 0, limit)
            self.matches.add(pool, pool.matches, l.Q_MATCHES)
            self.timeouts.add(pool, pool.timeouts, l.Q_TIMEOUTS)
            if status == l.DONE:
                return
            if status != l.GROW:
                raise problem(status, self.tables, pool, *place())
            buffer.collect(pool.lists, pool.slots, pool.runs, pool.nodes, pool.counters)
            growth = growth_needed(pool, MOST)
            if bytes_of(pool) + growth.bytes_more(pool) + found > limit:
                raise too_large(self.tables, pool, *place(), found, growth.bytes_more(pool), limit)
            self.pool = grown(pool, growth)
            if growth.with_runs > 1 and self.tables.arrays.params[l.P_INDEXED]:
                drive.index_runs(self.tables.arrays, self.pool)

    def decided(self) -> tuple[Assignments, Assignments]:
        return self.matches.assignments(), self.timeouts.assignments()


class _Decided:
    """Matches or timeouts as they come out of the kernel, part by part."""

    def __init__(self) -> None:
        self.parts: list[tuple[Integers, Integers, Integers]] = []
        self.moments: list[Integers] = []
        self.count = 0
        self.entries = 0
        self.sift: Sift | None = None

    def bytes_with(self, pool: Pool, table: Integers, counter: int) -> int:
        """The memory that this takes together with what the kernel has decided since the last call."""
        more = int(pool.nodes[table[: pool.counters[counter], 0], l.N_DEPTH].sum(dtype=np.int64))
        return self.entries * ENTRY + more * ENTRY

    def add(self, pool: Pool, table: Integers, counter: int) -> None:
        """Take over what the kernel has decided since the last call."""
        count = int(pool.counters[counter])
        pool.counters[counter] = 0
        if count == 0:
            return
        lengths = pool.nodes[table[:count, 0], l.N_DEPTH].astype(np.int64)
        moments = table[:count, 1].copy()
        variable, row = buffer.extract(pool.nodes, np.ascontiguousarray(table[:count, 0]), np.cumsum(lengths))
        if self.sift is not None:
            stays = self.sift(lengths, variable, row)
            entries = np.repeat(stays, lengths)
            lengths, moments, variable, row = lengths[stays], moments[stays], variable[entries], row[entries]
        match = np.repeat(np.arange(self.count, self.count + len(lengths)), lengths)
        self.parts.append((match, variable, row))
        self.moments.append(moments)
        self.count += len(lengths)
        self.entries += len(row)

    def assignments(self) -> Assignments:
        nothing = np.zeros(0, np.int64)
        match, variable, row = (np.concatenate([part[index] for part in self.parts] or [nothing]) for index in range(3))
        return Assignments(match, variable, row, np.concatenate(self.moments or [nothing]))
