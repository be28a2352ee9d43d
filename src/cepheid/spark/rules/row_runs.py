"""The row patterns among the rules of a stream: what each keeps of the rows of a bucket.

In: the events of a step that are due, in order, and how far the watermark is. Out: matches in the form of all rules.
Called by `bucket`, which has the events that wait and the rules that are patterns.

A row pattern keeps the rows that can still matter to it, as it does on a stream of its own (`state.row_bucket`): all
rows of a key from the start of an open match on. So they are kept for each of these rules, not once for all.

`at`, the moment of decision, is the time of the last row of a match. If the match hung on rows that came later, or on
time that passed, it is the watermark that decided it: an earlier moment would be late for whoever reads the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Integers
from cepheid.engine.row_patterns import RowMatches
from cepheid.engine.row_values import Mask, RowValues
from cepheid.errors import CepheidError, InputError
from cepheid.rows.arrange import Arranged
from cepheid.rows.row_order import OrderedRows, in_order
from cepheid.rows.row_rules import taken_of
from cepheid.rows.views import Signed
from cepheid.rule import named
from cepheid.spark.keys import HASHES
from cepheid.spark.row_workers import MASK
from cepheid.spark.rules.instances import Instance
from cepheid.spark.rules.row_rules import RowRulePlan, RowRuleWork
from cepheid.spark.stream.state.pending import OwnKeys, PendingEvents
from cepheid.spark.stream.state.row_bucket import BucketRows, RowStreamWork
from cepheid.spark.stream.time import TIME
from cepheid.syntax.tree import SpanUnit

ORDINAL = "__ordinal"
"""Of a kept row: its number among those that key and order do not tell apart."""
PARTS = 4
"""As many parts of saved state as a rule that is a pattern has."""


@dataclass(frozen=True, slots=True)
class Due:
    """The events of one step, in order."""

    events: Arranged
    signed: Signed
    generation: npt.NDArray[np.int64]
    histories: frozenset[int]
    """The generations whose history has come."""


@dataclass(frozen=True)
class RowRuleOnStream(RowStreamWork):
    """What a worker must know of a row pattern in a set on a stream; travels to other processes."""

    rule: RowRuleWork | None = None
    partition_by: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The columns of rows that are kept."""

    def arranged(self, table: pa.Table, codes: Integers, count: int) -> OrderedRows:
        """Rows by key: they come in the order of the set."""
        return in_order(table, codes, count, ())

    def result(self, values: RowValues, found: RowMatches) -> pa.Table:
        """The matches in the form of all rules."""
        assert self.rule is not None
        if not len(found.matches):
            return self.schema.empty_table()
        rows = values.table
        nothing = np.zeros(len(values), np.int64)
        events = Arranged(
            rows,
            self.partition_by,
            self.order_by,
            nothing,
            rows[TIME].to_numpy(),
            SpanUnit.MICROSECOND,
            ordinals=rows[ORDINAL].to_numpy(),
        )
        taken = taken_of(self.bound, values, found, events.time)
        return self.rule.assembled(events, taken, self.schema)

    def rows_of(self, due: Due, is_own: Mask) -> pa.Table:
        """What is kept of events."""
        assert self.rule is not None
        rows = np.flatnonzero(is_own)
        own = due.events.restricted(rows)
        table = own.taken(self.kept, np.arange(len(rows)))
        bits = np.zeros(len(rows), np.int64)
        for number, holds in enumerate(self.rule.own(due.signed, len(is_own)).T):
            bits |= holds[rows].astype(np.int64) << number
        return table.append_column(MASK, pa.array(bits)).append_column(ORDINAL, pa.array(own.ordinals))


def refuse_the_end(plan: RowRulePlan) -> None:
    """Refuse a row pattern that finds nothing before the end of the input."""
    if plan.needs_the_end:
        raise InputError(
            f"{plan.rule}: every match of its pattern ends with $, the last row of its partition, and a stream has no "
            "last row.\n  Leave $ out, or run it by itself: RowPattern.match(...).start(..., flush=True)."
        )


def on_stream(plan: RowRulePlan, work: RowRuleWork, schema: pa.Schema, shown: tuple[str, ...]) -> RowRuleOnStream:
    """A row pattern of a set as it runs on a stream; `schema`: of matches, `shown`: the columns of rejected rows."""
    return RowRuleOnStream(
        work.bound,
        work.tables,
        (),
        work.reads,
        work.computed,
        schema,
        shown,
        identity="",
        rule=work,
        partition_by=plan.partition_by,
        order_by=plan.order_by,
        kept=tuple(dict.fromkeys((*shown, *plan.read, *HASHES, TIME))),
    )


RowInstance: TypeAlias = Instance[RowRuleOnStream]


class RowRuns:
    """What the row patterns of a key keep in one bucket."""

    def __init__(self, instances: Sequence[RowInstance] = ()) -> None:
        self.instances = tuple(instances)
        self.buckets = [BucketRows(one.rule) for one in instances]

    @property
    def live(self) -> int:
        """How many matches are open."""
        return sum(one.live_runs for one in self.buckets)

    def step(self, due: Due | None, of: PendingEvents, is_end: bool = False) -> list[pa.Table]:
        """Handle what is due of a bucket, and let time move on to its watermark."""
        tables = []
        for instance, bucket in zip(self.instances, self.buckets, strict=True):
            rows = None
            if due is not None:
                is_own = instance.sees(due.generation, due.histories)
                rows = instance.rule.rows_of(due, is_own) if is_own.any() else None
            before = bucket.watermark
            assert instance.rule.rule is not None
            with named(f"rule {instance.rule.rule.shape.rule!r}"):
                try:
                    found = bucket.step(rows, of.watermark, is_end)
                except CepheidError:
                    of.stopped = bucket.stopped
                    raise
            if found is not None:
                tables.append(_decided(found, before, bucket.watermark))
        return tables

    def deadlines(self) -> Iterator[int | None]:
        """When time that moves on may decide something."""
        return (one.deadline() for one in self.buckets)

    def dropped(self, key: bytes) -> list[pa.Table]:
        """Forget a key; its rows that were kept."""
        return [one.refuse(key, None, None)[0] for one in self.buckets if one.rows is not None or one.open]

    def only(self, is_own: OwnKeys) -> None:
        """Keep only what belongs to some keys."""
        for bucket in self.buckets:
            bucket.only(is_own)

    def join(self, others: Sequence[RowRuns]) -> None:
        """Take over what others keep, whose keys are others."""
        for number, bucket in enumerate(self.buckets):
            bucket.join([other.buckets[number] for other in others])

    def to_parts(self) -> Iterator[tuple[str, list[bytes]]]:
        """Names of instances, and all of each as bytes."""
        for instance, bucket in zip(self.instances, self.buckets, strict=True):
            yield instance.name, [bucket.to_bytes(), *([b""] * (PARTS - 1))]

    def go_on(self, known: Mapping[str, list[bytes]], what: str) -> None:
        """Go on with what `to_parts` wrote, as far as its instances still run."""
        self.buckets = [
            one.rule.saved_bucket(known[one.name][0], what) if one.name in known else BucketRows(one.rule)
            for one in self.instances
        ]

    def ended(self) -> RowRuns:
        """The same rules, before any event."""
        return RowRuns(self.instances)


def _decided(found: pa.Table, before: int, now: int) -> pa.Table:
    """Matches with the moment at which each was decided."""
    place = found.column_names.index("at")
    moments = found["at"].cast(pa.int64())
    decided = pc.if_else(pc.less_equal(moments, before), pa.scalar(max(before, now), pa.int64()), moments)
    return found.set_column(place, "at", decided.cast(found.schema.field("at").type))
