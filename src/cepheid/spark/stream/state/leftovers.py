"""What a bucket of a stream keeps where broken runs or unmatched rows are asked for.

In: the events that the bucket handles, which of them matches took, and how far the watermark is. Out: the rows of
`broken` and `unmatched` that are decided. Called by `bucket`; can be written to bytes and read back.

A row is unmatched when it has left the horizon and no match has taken it: a match lasts less than the window, so that
a window after a row all matches with it are decided (rule 6). Where the window counts events, so many further events of
the key say the same. Broken runs are followed by the reference evaluator, key by key (see `reference.keeping`). Both
depend on events and the watermark only, not on how these are split into steps: so they come out once, restart or not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.automaton.model import Automaton
from cepheid.engine.assignments import Integers
from cepheid.errors import LimitError
from cepheid.reference.keeping import Follower
from cepheid.reference.tracing import TracedRun
from cepheid.rows.arrange import Arranged
from cepheid.spark.explained import ShippedAutomaton
from cepheid.spark.stream.state.format import read, table_bytes, table_from, written
from cepheid.spark.stream.state.pending import OwnKeys, one_after_another
from cepheid.syntax.tree import EventCount, Window

NUMBER = "__number"
"""Which row of a bucket it is, from its first on: for what the bucket holds at the time."""
_TIME, _KEY, _MATCHED, _INDEX = "__time", "__key", "__matched", "__index"
MOST_RUNS = 100_000
"""Runs of one key that are followed one by one."""


@dataclass(frozen=True)
class LeftoverWork:
    """What a worker must know; travels to other processes."""

    window: Window | None
    """Of the pattern, where unmatched rows are asked for."""
    followed: ShippedAutomaton | None
    """The pattern, where broken runs are asked for."""
    schema: pa.Schema
    """The columns of the events, with what Spark has computed of conditions."""
    columns: tuple[str, ...]
    """Those of them that are shown."""
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftOver:
    """What is decided; None where there is nothing."""

    broken: pa.Table | None = None
    unmatched: pa.Table | None = None


class Leftovers:
    """The rows in the horizon of one bucket, and the runs of its keys."""

    def __init__(self, work: LeftoverWork) -> None:
        self.work = work
        self._next = 0
        self._recent: pa.Table | None = None
        self._followers: dict[bytes, Follower] = {}
        self._broken: list[dict[str, Any]] = []
        self._automaton: Automaton | None = None if work.followed is None else work.followed.automaton()
        self.at: tuple[bytes, int | None] | None = None
        """The key that is being followed, and the time of its event: where an error stops it."""

    def numbers(self, count: int) -> pa.Array:
        """Numbers for the rows that are handled next."""
        self._next += count
        return pa.array(np.arange(self._next - count, self._next))

    def handle(self, events: Arranged, numbers: pa.Array, hashes: pa.Array) -> None:
        """Events of some keys, whose hashes are given in the order of the partitions."""
        sizes = np.diff(events.bounds)
        if self.work.window is not None:
            keys = hashes.take(pa.array(np.repeat(np.arange(len(sizes)), sizes)))
            rows = events.taken(list(self.work.columns), np.arange(len(events.time)))
            unmatched = pa.array(np.zeros(len(numbers), bool))
            for name, column in ((_TIME, pa.array(events.time)), (NUMBER, numbers), (_KEY, keys)):
                rows = rows.append_column(name, column)
            rows = rows.append_column(_MATCHED, unmatched)
            self._recent = rows if self._recent is None else pa.concat_tables([self._recent, rows])
        if self._automaton is not None:
            for part, key in enumerate(hashes.to_pylist()):
                begin, end = int(events.bounds[part]), int(events.bounds[part + 1])
                self._follow(key, events, begin, end)

    def _follow(self, key: bytes, events: Arranged, begin: int, end: int) -> None:
        assert self._automaton is not None
        follower = self._followers.get(key)
        if follower is None:
            follower = self._followers[key] = Follower(self._automaton)
        rows = events.taken(self.work.schema.names, np.arange(begin, end)).to_pylist()
        for place, (row, time) in enumerate(zip(rows, events.time[begin:end].tolist(), strict=True), begin):
            self.at = key, time
            follower.handle(row, time)
            if follower.runs > MOST_RUNS:
                raise LimitError(
                    f"broken: {events.where(0, place)} has more than {MOST_RUNS:,} runs, too many to follow one by "
                    "one.\n  Give the pattern a shorter window or a skip strategy, or leave the output broken out."
                )
        self.at = None

    def take(self, numbers: pa.ChunkedArray) -> None:
        """Matches took these rows, or they were put out otherwise."""
        if self._recent is None or not len(numbers):
            return
        taken = pc.or_(self._recent[_MATCHED], pc.is_in(self._recent[NUMBER], value_set=numbers.combine_chunks()))
        place = self._recent.schema.get_field_index(_MATCHED)
        self._recent = self._recent.set_column(place, _MATCHED, taken)

    def drop(self, key: bytes) -> None:
        """The runs of a key are given up."""
        self._followers.pop(key, None)

    def only(self, is_own: OwnKeys) -> None:
        """Keep only what belongs to some keys."""
        if self._recent is not None:
            keys = self._recent[_KEY].combine_chunks()
            self._recent = self._recent.filter(pa.array(is_own(keys)))
        if self._followers:
            own = is_own(pa.array(list(self._followers), pa.binary(16)))
            self._followers = {
                key: one for (key, one), is_kept in zip(self._followers.items(), own, strict=True) if is_kept
            }

    def join(self, other: Leftovers) -> int:
        """Take over what another has of other keys; returns by how much the numbers of its rows have grown."""
        before = self._next
        recent = None if other._recent is None else numbered_after(other._recent, before)
        self._recent = one_after_another([self._recent, recent])
        self._followers |= other._followers
        self._next += other._next
        return before

    def advance(self, watermark: int) -> LeftOver:
        """Time has moved on, and all up to the watermark is handled: what is decided by that."""
        for key, follower in list(self._followers.items()):
            self.at = key, None
            follower.advance(watermark)
            self._tell(follower, follower.settled())
            follower.forget()
            if follower.is_new:
                del self._followers[key]
        self.at = None
        is_out = self._is_out(watermark)
        return LeftOver(self._told(), self._left(is_out))

    def end(self) -> LeftOver:
        """The input is over."""
        for follower in self._followers.values():
            self._tell(follower, [*follower.settled(), *follower.end()])
        self._followers = {}
        is_out = None if self._recent is None else np.ones(self._recent.num_rows, bool)
        return LeftOver(self._told(), self._left(is_out))

    def deadline(self) -> int | None:
        """The next moment of the watermark at which a row is unmatched."""
        window, recent = self.work.window, self._recent
        if recent is None or window is None or isinstance(window, EventCount):
            return None
        first = pc.min(recent.filter(pc.invert(recent[_MATCHED]))[_TIME]).as_py()
        return None if first is None else first + int(window.length)

    def _tell(self, follower: Follower, runs: list[TracedRun]) -> None:
        from cepheid.explain.why.leftovers import BrokenRow, is_broken  # few streams need it, and it takes long

        assert self._automaton is not None
        work = self.work
        shown = BrokenRow(self._automaton, work.partition_by, work.columns, work.order_by[:1])
        self._broken += [shown.of(run, follower.events.__getitem__) for run in runs if is_broken(run)]

    def _told(self) -> pa.Table | None:
        rows, self._broken = self._broken, []
        if not rows:
            return None
        from cepheid.explain.why.leftovers import broken_schema

        columns = pa.schema([self.work.schema.field(name) for name in self.work.columns])
        return pa.Table.from_pylist(rows, broken_schema(columns, self.work.partition_by, self.work.order_by))

    def _is_out(self, watermark: int) -> npt.NDArray[np.bool_] | None:
        """Which rows have left the horizon."""
        window = self.work.window
        if self._recent is None or window is None:
            return None
        if isinstance(window, EventCount):
            return _later_rows(self._recent[_KEY].combine_chunks()) >= window.events
        time: Integers = self._recent[_TIME].to_numpy()
        is_out: npt.NDArray[np.bool_] = time <= watermark - int(window.length)
        return is_out

    def _left(self, is_out: npt.NDArray[np.bool_] | None) -> pa.Table | None:
        """The unmatched ones of rows that have left the horizon; all of these are forgotten."""
        if self._recent is None or is_out is None or not is_out.any():
            return None
        gone = self._recent.filter(pa.array(is_out))
        self._recent = self._recent.filter(pa.array(~is_out)).combine_chunks()
        left = gone.filter(pc.invert(gone[_MATCHED])).select(list(self.work.columns))
        return left if left.num_rows else None

    def to_bytes(self) -> bytes:
        """All of it."""
        states, rows = [], []
        for number, (key, follower) in enumerate(self._followers.items()):
            states.append([key.hex(), follower.state()])
            rows += [{**row, _INDEX: index, _KEY: number} for index, row in follower.events.items()]
        schema = self.work.schema.append(pa.field(_INDEX, pa.int64())).append(pa.field(_KEY, pa.int64()))
        events = table_bytes(pa.Table.from_pylist(rows, schema)) if rows else b""
        recent = b"" if self._recent is None else table_bytes(self._recent)
        return written({"next": self._next}, [recent, json.dumps(states).encode(), events])

    @classmethod
    def from_bytes(cls, work: LeftoverWork, saved: bytes, what: str) -> Leftovers:
        """What `to_bytes` wrote, for the same pattern."""
        head, (recent, states, events) = read(saved, what)
        found = cls(work)
        found._next = head["next"]
        found._recent = table_from(recent) if recent else None
        followed = json.loads(states)
        rows: list[dict[int, dict[str, Any]]] = [{} for _ in followed]
        for row in table_from(events).to_pylist() if events else ():
            rows[row.pop(_KEY)][row.pop(_INDEX)] = row
        for (key, state), own in zip(followed, rows, strict=True):
            assert found._automaton is not None
            found._followers[bytes.fromhex(key)] = Follower.restored(found._automaton, state, own)
        return found


def numbered_after(rows: pa.Table, before: int) -> pa.Table:
    """Rows whose numbers come after so many others."""
    return rows.set_column(rows.column_names.index(NUMBER), NUMBER, pc.add(rows[NUMBER], before))


def _later_rows(keys: pa.Array) -> Integers:
    """How many rows of the same key come after each row."""
    codes = keys.dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], codes[order], side="right")
    later = np.empty(len(codes), np.int64)
    later[order] = ends - 1 - np.arange(len(codes))
    return later
