"""The runs of a stream's partitions from call to call: what they hold, when they are next due, and forgetting.

In: a pattern's tables. Out: `State`, which `matcher` drives, `snapshot` saves and `live` looks into. Each partition
has a slot of its own. Events that a partial match still holds are known by the numbers 0, 1, … in front of the events
of the next call; `keep` says which of the rows they were, so that the caller can keep the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Integers
from cepheid.engine.columns import nothing_held, selected, texts_in
from cepheid.engine.kernel import buffer, cohorts, drive
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs import not_before
from cepheid.engine.runs.cohort_pool import CohortPool, new_cohort_pool
from cepheid.engine.runs.pool import Pool, more_slots, new_pool, with_slots
from cepheid.engine.tables.model import Tables

FEWEST = 256
"""Cohorts that there is room for at first."""


class State:
    """A pattern's runs, or cohorts of runs (`tables.compact`), the events they hold, and what is known of each
    partition."""

    pool: Pool | CohortPool

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.pool = new_cohort_pool(tables, FEWEST, slots=0) if self.is_compact else new_pool(tables, slots=0)
        self.held = nothing_held(tables)
        self.texts: pa.Array = pa.array([], pa.string())
        """The strings that the registers of live runs know by their codes."""
        self.next_ordinal = np.zeros(0, np.int64)

    @property
    def is_compact(self) -> bool:
        """Whether partial matches with the same future are kept as one."""
        return self.tables.compact.is_compact

    @property
    def slots(self) -> int:
        return len(self.next_ordinal)

    def drop(self, slots: Integers) -> None:
        """Drop all runs of some partitions."""
        self._clear(slots[self.pool.slots[slots, l.K_LIVE] > 0])

    def keep(self) -> Integers:
        """Forget the events that no partial match holds. Returns the rows of those that stay, in their new order."""
        self._collect()
        return self._only_held()

    def tidy(self, moment: int) -> tuple[npt.NDArray[np.bool_], Integers]:
        """`forget`, then `keep`: which slots and which rows stay."""
        stays = self.forget(moment)
        if not self.is_compact:  # of cohorts, to forget has collected already
            self._collect()
        return stays, self._only_held()

    def _only_held(self) -> Integers:
        """Forget the events that no node has, after the nodes were collected."""
        pool = self.pool
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

    def _collect(self) -> None:
        """Drop the nodes that no run reaches; of cohorts, also what is out of its window or forbidden."""
        pool = self.pool
        if isinstance(pool, CohortPool):
            cohorts.collect(self.tables.arrays, self.held, pool, self.next_ordinal)
        else:
            buffer.collect(pool.lists, pool.slots, pool.runs, pool.nodes, pool.counters)

    def waiting(self) -> Integers:
        """The runs themselves, partition by partition."""
        found: Integers = buffer.live_runs(self.pool.lists, self.pool.slots, self.pool.runs)
        return found

    def deadline(self) -> int | None:
        """The earliest moment at which time may decide something, None if there is none."""
        if isinstance(self.pool, CohortPool):  # nothing waits for time alone
            return None
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
        if self.is_compact:
            self._collect()
        pool, params = self.pool, self.tables.arrays.params
        stays: npt.NDArray[np.bool_] = pool.slots[:, l.K_LIVE] > 0
        if params[l.P_ONCE_PER]:
            stays |= pool.slots[:, l.K_SILENT_UNTIL] > moment  # rule 19
        for place in range(l.K_BEFORE, l.K_BEFORE + 2 * int(params[l.P_NOT_BEFORE]), 2):  # rule 7, at the start
            reaches = pool.slots[:, place] != l.NONE
            if params[l.P_COUNT] == l.NEVER and params[l.P_WITHIN] != l.NEVER:
                reaches &= pool.slots[:, place + 1] > moment - params[l.P_WITHIN]
            stays |= reaches
        self._remove(~stays)
        return stays

    def only(self, stays: npt.NDArray[np.bool_]) -> None:
        """Drop all partitions but these, with what is known of them; slots are numbered anew in their order."""
        self.drop(np.flatnonzero(~stays))
        self._remove(~stays)

    def _remove(self, goes: npt.NDArray[np.bool_]) -> None:
        """Remove slots without runs."""
        if not goes.any():
            return
        pool, stays = self.pool, ~goes
        self._free_timers(pool.slots[goes][:, [l.K_TIMERS, l.K_COUNT_TIMERS]].ravel())
        self.next_ordinal = self.next_ordinal[stays]
        self.pool = pool._replace(
            lists=np.ascontiguousarray(pool.lists[stays]),
            occupied=np.ascontiguousarray(pool.occupied[stays]),
            slots=np.ascontiguousarray(pool.slots[stays]),
        )
        if len(pool.owner) > 1:
            new_number = np.cumsum(stays, dtype=np.int32) - 1
            pool.owner[:] = np.where(pool.owner < len(stays), new_number[np.minimum(pool.owner, len(stays) - 1)], 0)
        self.index()

    def index(self) -> None:
        """Chain all runs anew by what they are looked up by."""
        self.pool.buckets[:] = l.NONE
        if isinstance(self.pool, CohortPool):
            self.pool.twins[:] = l.NONE
            cohorts.rebuild(self.tables.arrays, self.held, self.pool)
        elif self.tables.arrays.params[l.P_INDEXED]:
            drive.index_runs(self.tables.arrays, self.pool)

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
        pool.occupied[slots] = 0
        pool.slots[slots, l.K_FRESH] = l.NONE
        pool.slots[slots, l.K_LIVE] = 0
        self.index()  # whether the slots stay or not: a run that is free and still chained would be found again

    def _free_timers(self, heaps: Integers) -> None:
        """Let the places of all timers of some heaps be used again."""
        if isinstance(self.pool, CohortPool):
            return
        timers, counters = self.pool.timers, self.pool.counters
        found = heaps[heaps != l.NONE]
        while len(found):
            following = timers[found][:, [l.T_CHILD, l.T_SIBLING]].ravel()
            timers[found, l.T_SIBLING] = np.append(found[1:], counters[l.Q_FREE_TIMER])
            counters[l.Q_FREE_TIMER] = found[0]
            found = following[following != l.NONE]

    def add_texts(self, values: Sequence[pa.Array | pa.ChunkedArray]) -> None:
        """Give codes to the strings of further events; where conditions ask for their order, codes go by it."""
        known = len(self.texts)
        self.texts = texts_in(values, self.tables, self.texts)
        if self.tables.orders_texts and len(self.texts) > known:
            order = pc.sort_indices(self.texts).to_numpy()
            new_code = np.empty(len(order), np.int64)
            new_code[order] = np.arange(len(order))
            self._recode(new_code)
            self.texts = self.texts.take(pa.array(order))

    def _keep_texts(self) -> None:
        """Forget the strings that no live run knows, nor a held event that is read again."""
        codes = np.concatenate([codes.ravel() for _, _, codes in self._coded()] or [np.zeros(0, np.int64)])
        used = np.unique(codes[(codes >= 0) & (codes < len(self.texts))])  # what is unknown may hold anything
        if len(used) == len(self.texts):
            return
        new_code = np.zeros(len(self.texts), np.int64)
        new_code[used] = np.arange(len(used))
        self._recode(new_code)
        self.texts = self.texts.take(pa.array(used))

    def _coded(self) -> list[tuple[npt.NDArray[Any], Any, npt.NDArray[Any]]]:
        """Where codes of strings are: an array, the places in it, and the codes there."""
        columns = np.array(not_before.text_columns(self.tables), np.int64)
        places = (
            (self.pool.registers, np.ix_(self.waiting(), np.array(self.tables.text_registers, np.int64))),
            (self.held.values, np.ix_(np.arange(len(self.held.values)), columns)),
        )
        return [(array, place, array[place]) for array, place in places if place[1].size]

    def _recode(self, new_code: Integers) -> None:
        """Give strings other codes. Runs that wait for an equality are found by codes, so they are chained anew."""
        for array, place, codes in self._coded():
            is_code = (codes >= 0) & (codes < len(new_code))
            array[place] = np.where(is_code, new_code[np.where(is_code, codes, 0)], 0)
        self.index()

    def _add_slots(self, count: int) -> None:
        if count > self.slots:
            pool = self.pool
            if isinstance(pool, CohortPool):
                self.pool = pool._replace(**more_slots(pool, count))
            else:
                self.pool = with_slots(pool, count)
            self.next_ordinal = np.concatenate((self.next_ordinal, np.zeros(count - self.slots, np.int64)))
