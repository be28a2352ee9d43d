"""The runs of a stream's partitions from call to call: what they hold, when they are next due, and forgetting.

In: a pattern's tables. Out: `State`, which `matcher` drives, `snapshot` saves and `live` looks into. Each partition
has a slot of its own. Events that a partial match still holds are known by the numbers 0, 1, … in front of the events
of the next call; `keep` says which of the rows they were, so that the caller can keep the rows themselves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.columns import nothing_held, selected
from cepheid.engine.kernel import buffer, drive
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs import not_before
from cepheid.engine.runs.pool import new_pool, with_slots
from cepheid.engine.tables.tabulate import Tables


class State:
    """A pattern's runs, the events they hold, and what is known of each partition."""

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
        if params[l.P_ONCE_PER]:
            stays |= pool.slots[:, l.K_SILENT_UNTIL] > moment  # rule 19
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
        if not self.tables.text_registers:
            return
        pool = self.pool
        runs = buffer.live_runs(pool.lists, pool.slots, pool.runs)
        in_runs = np.ix_(runs, self.tables.text_registers)
        in_rows = np.ix_(np.arange(len(self.held.values)), np.array(not_before.text_columns(self.tables), np.int64))
        of_runs, of_rows = pool.registers[in_runs], self.held.values[in_rows]
        codes = np.concatenate((of_runs.ravel(), of_rows.ravel()))
        is_code = (codes >= 0) & (codes < len(self.texts))  # what is unknown may hold anything
        used = np.unique(codes[is_code])
        places = np.where(is_code, np.searchsorted(used, codes), 0)
        pool.registers[in_runs] = places[: of_runs.size].reshape(of_runs.shape)
        self.held.values[in_rows] = places[of_runs.size :].reshape(of_rows.shape)
        self.texts = self.texts.take(pa.array(used))

    def _add_slots(self, count: int) -> None:
        if count > self.slots:
            self.pool = with_slots(self.pool, count)
            self.next_ordinal = np.concatenate((self.next_ordinal, np.zeros(count - self.slots, np.int64)))
