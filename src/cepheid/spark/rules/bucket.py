"""One bucket of a stream's keys for a set of rules: events once, and the live runs of each rule.

In: rows as Spark prepared them, and how far the watermark is. Out: matches and timeouts of all rules as tables. A
`Bucket` as the operator and the store of streams know it.

Rules come and go while the state lives. Each rule that runs is an *instance* with a name of its own: a rule that was
removed and comes back is another instance. State is kept by instance; what belongs to none of the present ones is
dropped when the bucket is read. Each event carries the number of the *generation* of the set in which it came, and an
instance sees only events of its own generation and later ones: so what it finds is what it would find alone on the
events of its lifetime, whatever the bits of earlier events meant. It may also begin with a history (`later`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Assignments
from cepheid.engine.runs.live import count_live, events_held, live
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.rule_matches import RuleFound, assemble_rules, in_schema
from cepheid.rows.views import Signed, integers
from cepheid.rule import named
from cepheid.spark.keys import HASHES
from cepheid.spark.rules.conditions import sorted_out, word_name
from cepheid.spark.rules.instances import RuleInstance, RuleRuns
from cepheid.spark.rules.later import GENERATION, each_once, marks_in
from cepheid.spark.rules.row_runs import PARTS, Due, RowInstance, RowRuns
from cepheid.spark.stream.state.format import read, table_bytes, table_from, written
from cepheid.spark.stream.state.pending import (
    FEW,
    Decided,
    OwnKeys,
    PendingEvents,
    key_hashes,
    one_after_another,
    slot_of,
    slots_of,
)
from cepheid.syntax.tree import SpanUnit

GROUP = "__group"
"""A column of events on their way: the number of their key."""

Listed: TypeAlias = list[RuleFound] | None
"""Where what is decided goes; None where it has been told already."""


@dataclass(frozen=True, slots=True)
class GroupOfRules:
    """The rules of one key."""

    partition_by: tuple[str, ...]
    words: tuple[int, ...]
    """The words that have bits of its rules."""
    held: tuple[str, ...]
    """The columns that matches need of the events that they took."""
    instances: tuple[RuleInstance, ...]
    row_instances: tuple[RowInstance, ...] = ()


@dataclass(frozen=True)
class RulesWork:
    """What a worker must know of a set of rules on a stream; travels to other processes."""

    groups: tuple[GroupOfRules, ...]
    order_by: tuple[str, ...]
    schema: pa.Schema
    """The columns of matches and timeouts."""
    timeouts: bool
    shown: tuple[str, ...]
    """The columns that late and rejected rows show."""
    identity: str
    is_arrival: bool = False
    on_error: str = "stop"
    lag_ms: int | None = None
    start: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def only_counts(self) -> bool:
        return False

    @property
    def shared(self) -> tuple[object, ...]:
        """Nothing: hundreds of rules have thousands of small arrays."""
        return ()

    def new_bucket(self) -> RulesBucket:
        """A bucket without keys."""
        return RulesBucket(self)

    def saved_bucket(self, saved: bytes, what: str) -> RulesBucket:
        """The bucket that was written, by whatever set of rules."""
        return RulesBucket.from_bytes(self, saved, what)


class RulesBucket(PendingEvents):
    """The live state of one bucket. Which key it belongs to is known with its first event."""

    def __init__(self, work: RulesWork) -> None:
        super().__init__()
        self.work = work
        self.group: int | None = None
        self.rows: pa.Table | None = None
        """The rows of the events that some rule holds."""
        self.runs: list[RuleRuns] = []
        self.row_runs = RowRuns()
        self.histories: set[int] = set()
        """The generations whose history has come."""
        self._marks = 0
        self._tidy = 0

    @property
    def live_runs(self) -> int:
        """How many partial matches of all rules may still come to something."""
        return sum(count_live(one.matcher, self.watermark) for one in self.runs) + self.row_runs.live

    def receive(self, events: pa.Table) -> None:
        """Let further events wait for the watermark. Another set of rules may have brought other columns."""
        if self.group is None:
            self._begin(int(events[GROUP][0].as_py()))
        came = events.num_rows
        events, generations = marks_in(events)
        self._marks += came - events.num_rows
        self.histories |= generations
        self.pending = one_after_another([self.pending, events])

    def _begin(self, group: int) -> None:
        self.group = group
        self.runs = [RuleRuns(instance) for instance in self.work.groups[group].instances]
        self.row_runs = RowRuns(self.work.groups[group].row_instances)

    def advance(self, watermark: int, is_end: bool = False) -> Decided:
        """Handle what the watermark has passed, and let time move on to it; at the end of the input, everything."""
        self.handled, self._marks = self._marks, 0
        matches: list[RuleFound] = []
        timeouts: list[RuleFound] = []
        of_row_patterns = self._move(watermark, matches, timeouts)
        if is_end:
            due = self._handle(self.is_due(None), matches, timeouts)
            for one in self.runs:
                with self._named(one):
                    self._show(one, one.matcher.end(self._stopping(one)), matches, timeouts)
            of_row_patterns += self.row_runs.step(due, self, is_end=True)
        tables = [*self._assembled(matches), *of_row_patterns]
        decided = Decided(pa.concat_tables(tables) if tables else None, next(self._assembled(timeouts), None))
        if is_end:
            ended = RulesBucket(self.work)
            self.rows, self.pending = ended.rows, ended.pending
            self.runs = [RuleRuns(one.instance) for one in self.runs]
            self.row_runs = self.row_runs.ended()
        self._forget()
        return decided

    def catch_up(self, watermark: int) -> None:
        """The same, where what is decided has been told already."""
        self._marks = 0
        self._move(watermark, None, None)
        self._forget()

    def _move(self, watermark: int, matches: Listed, timeouts: Listed) -> list[pa.Table]:
        """Lists what patterns find; returns what row patterns find."""
        self.watermark = max(self.watermark, watermark)
        due = self._handle(self.is_due(self.watermark), matches, timeouts)
        for one in self.runs:
            with self._named(one):
                self._show(one, one.matcher.advance(self.watermark, self._stopping(one)), matches, timeouts)
        return self.row_runs.step(due, self)

    def _handle(self, is_due: pa.Array | None, matches: Listed, timeouts: Listed) -> Due | None:
        """Feed the events that are due to the rules that they concern; returns those events."""
        due = self.take_due(is_due)
        if due is None:
            return None
        assert self.group is not None
        self.handled += due.num_rows
        due = each_once(due, self.work.shown)
        group = self.work.groups[self.group]
        events = arrange(due, group.partition_by, self.work.order_by, by_all_columns=True)
        words = {
            word: integers(pc.fill_null(events.column(word_name(word)), 0))
            for word in group.words
            if word_name(word) in due.column_names
        }
        signed = sorted_out(words)
        generation = events.column(GENERATION).to_numpy()
        first = 0 if self.rows is None else self.rows.num_rows
        held = [name for name in group.held if name in due.column_names]
        rows = events.taken(held, np.arange(due.num_rows))
        self.rows = one_after_another([self.rows, rows])
        hashes = key_hashes(events.taken(HASHES, events.bounds[:-1]))
        seen: dict[tuple[int, bool], npt.NDArray[np.bool_]] = {}
        for one in self.runs:
            begun = one.instance.since, one.instance.waits
            if begun not in seen:
                seen[begun] = one.instance.sees(generation, self.histories)
            with self._named(one):
                self._feed(one, events, hashes, signed, seen[begun], first, matches, timeouts)
        return Due(events, signed, generation, frozenset(self.histories))

    def _feed(
        self,
        one: RuleRuns,
        events: Arranged,
        hashes: pa.Array,
        signed: Signed,
        is_own: npt.NDArray[np.bool_],
        first: int,
        matches: Listed,
        timeouts: Listed,
    ) -> None:
        rule = one.instance.rule
        rows = rule.view.rows(signed, len(events.time))
        rows = rows[is_own[rows]]
        if not len(rows):
            return
        own = events.restricted(rows)
        bounds = own.bounds
        hashes = hashes.take(pa.array(own.partition[bounds[:-1]]))
        slots, one.keys = slots_of(one.keys, hashes)
        values = [own.column(name) for name in rule.values]
        columns = one.matcher.computed_columns(own.time, rule.view.own_bits(signed, rows), values)
        before = len(one.matcher.held.time)
        one.rows = np.concatenate((one.rows, first + rows))
        one.ordinals = np.concatenate((one.ordinals, own.ordinals))

        def where(part: int, row: int) -> str:
            place = max(0, row - before)
            self.stopped = hashes[part].as_py(), int(own.time[place])
            return own.where(part, place)

        self._show(one, one.matcher.feed(columns, bounds, slots, where), matches, timeouts)

    def _show(self, one: RuleRuns, found: tuple[Assignments, Assignments], matches: Listed, timeouts: Listed) -> None:
        for decided, listed in zip(found, (matches, timeouts if self.work.timeouts else None), strict=True):
            if listed is not None and len(decided.at):
                shared = replace(decided, row=one.rows[decided.row])
                listed.append(RuleFound(one.instance.rule.shape, shared, one.ordinals[decided.row]))

    def _assembled(self, found: list[RuleFound]) -> Iterator[pa.Table]:
        """Matches or timeouts of all patterns as one table, if there are any; only the rows that they took are looked
        at."""
        if not found:
            return
        assert self.rows is not None and self.group is not None
        needed = np.unique(np.concatenate([one.found.row for one in found]))
        rows = self.rows.take(pa.array(needed)).combine_chunks()
        nothing = np.zeros(len(needed), np.int64)
        events = Arranged(
            rows,
            self.work.groups[self.group].partition_by,
            self.work.order_by,
            nothing,
            nothing,
            SpanUnit.MICROSECOND,
        )
        local = [replace(one, found=replace(one.found, row=np.searchsorted(needed, one.found.row))) for one in found]
        yield in_schema(assemble_rules(events, local), self.work.schema)

    def deadline(self) -> int | None:
        """The next moment of the watermark at which something may be decided."""
        moments = [self.first_pending(), *(one.matcher.deadline() for one in self.runs), *self.row_runs.deadlines()]
        return min((moment for moment in moments if moment is not None), default=None)

    def refuse(self, key: bytes, time: int | None, watermark: int | None) -> tuple[pa.Table, bool]:
        """Take the events of a key that are due out of those that wait, those of one time or all; with all of them the
        partial matches of all rules go, too."""
        refused = self.refuse_due(key, time, watermark, self.work.shown)
        if time is None:
            is_held = refused is None or not refused.num_rows
            kept = self.row_runs.dropped(key)
            if is_held:
                refused = max(self._held_by(key), *kept, key=len)  # rules keep the same rows, some of them fewer
            for one in self.runs:
                one.matcher.drop(slot_of(one.keys, key))
            return refused, is_held
        assert refused is not None
        return refused, False

    def named(self, key: bytes) -> str:
        """The key that a hash stands for."""
        assert self.group is not None
        held = None if self.rows is None else self._held_by(key)
        return self.name_of(key, held, self.work.groups[self.group].partition_by)

    def _held_by(self, key: bytes) -> pa.Table:
        assert self.rows is not None
        held: set[int] = set()
        for one in self.runs:
            runs, their_slots = live(one.matcher, self.watermark)
            mine = events_held(one.matcher, runs[np.isin(their_slots, slot_of(one.keys, key))])
            held |= set(one.rows[mine].tolist())
        return self.rows.take(pa.array(sorted(held), pa.int64())).select(list(self.work.shown))

    def _stopping(self, one: RuleRuns) -> Callable[[int, int], str]:
        """What an error says of the place where the engine stops while time moves on."""

        def where(slot: int, event: int) -> str:
            self.stopped = one.keys[slot].as_py(), None
            return "as time moves on"

        return where

    def _named(self, one: RuleRuns) -> AbstractContextManager[None]:
        return named(f"rule {one.instance.rule.shape.rule!r}")

    def _forget(self) -> None:
        """Tidy up when there is enough to tidy."""
        if self._size() > 2 * self._tidy + FEW:
            self.tidy()

    def _size(self) -> int:
        return sum(len(one.rows) + len(one.keys) for one in self.runs) + (self.rows.num_rows if self.rows else 0)

    def tidy(self) -> None:
        """Forget the rows that no rule holds, and keys that need not be remembered."""
        for one in self.runs:
            one.tidy(self.watermark)
        if self.rows is not None:
            kept = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.rows for one in self.runs)]))
            self.rows = self.rows.take(pa.array(kept)).combine_chunks()
            for one in self.runs:
                one.rows = np.searchsorted(kept, one.rows)
        self._tidy = self._size()

    @property
    def awaits_history(self) -> bool:
        """Whether a history has been brought to a rule that no micro-batch has read."""
        begun = [(one.instance.waits, one.instance.since) for one in self.runs]
        begun += [(one.waits, one.since) for one in self.row_runs.instances]
        return any(waits and since not in self.histories for waits, since in begun)

    def only(self, is_own: OwnKeys) -> None:
        """Keep only what belongs to some keys."""
        for one in self.runs:
            one.only(is_own)
        self.row_runs.only(is_own)
        self.only_pending(is_own)
        self.tidy()

    def join(self, others: Sequence[RulesBucket]) -> None:
        """Take over what others of the same key of the set hold (see `pending.Bucket`)."""
        self.join_pending(others)
        begun = [one for one in others if one.group is not None]  # the others never had an event
        if not begun:
            return
        if self.group is None:
            assert begun[0].group is not None
            self._begin(begun[0].group)
        tables = [self.rows, *(one.rows for one in begun)]
        before = np.cumsum([0 if table is None else table.num_rows for table in tables])
        for number, one in enumerate(self.runs):
            one.join([other.runs[number] for other in begun], before[:-1].tolist())
        self.row_runs.join([other.row_runs for other in begun])
        self.rows = one_after_another(tables)
        self.histories.update(*(one.histories for one in begun))
        self._tidy = self._size()

    def to_bytes(self) -> bytes:
        """All of the bucket, tidied."""
        self.tidy()
        instances = [*((one.instance.name, one.to_parts()) for one in self.runs), *self.row_runs.to_parts()]
        head = {
            "watermark": self.watermark,
            "group": self.group,
            "instances": [name for name, _ in instances],
            "histories": sorted(self.histories),
        }
        tables = [b"" if table is None else table_bytes(table) for table in (self.rows, self.pending)]
        return written(head, [*tables, *(part for _, parts in instances for part in parts)])

    @classmethod
    def from_bytes(cls, work: RulesWork, saved: bytes, what: str) -> RulesBucket:
        """The bucket that `to_bytes` wrote: the instances that still run go on, others are dropped."""
        head, (rows, pending, *parts) = read(saved, what)
        bucket = cls(work)
        bucket.watermark = head["watermark"]
        bucket.histories = set(head.get("histories", ()))
        if head["group"] is not None:
            bucket._begin(head["group"])
        known = {name: parts[PARTS * place :][:PARTS] for place, name in enumerate(head["instances"])}
        for one in bucket.runs:
            if one.instance.name in known:
                one.with_parts(known[one.instance.name])
        bucket.row_runs.go_on(known, what)
        bucket.rows = table_from(rows) if rows else None
        bucket.pending = table_from(pending) if pending else None
        bucket._tidy = bucket._size()
        return bucket
