"""A set of rules on a streaming DataFrame: the plan.

In: rules, a streaming DataFrame, the order, how late events may come. Out: the stream after the stateful operator, and
what takes the rows of each output out of it: a `StreamingPlan` as a query knows it.

The plan is that of one pattern (`stream.plan`) with these differences: bits are those of all rules' distinct conditions
and are computed by the workers that pack; a row is packed once for each distinct key for which a rule wants it; the
identity of the state is the keys, the order and the columns that travel, not the rules (see `registry`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from cepheid.conditions.expression import Expression, SparkColumn, walk
from cepheid.engine.tables.model import Options
from cepheid.errors import InputError, StateError
from cepheid.explain import Explanation
from cepheid.explain.rules import explain_rules
from cepheid.explain.text.document import Record, Section
from cepheid.options import Asked, Limits
from cepheid.rows.views import ALWAYS, masks_of
from cepheid.rule import AnyRule, Rule
from cepheid.spark.buckets import parallelism, spread_ids
from cepheid.spark.cells import LIGHT
from cepheid.spark.frames import arrow_schema
from cepheid.spark.keys import hash_columns
from cepheid.spark.pack_workers import BUCKET, PAYLOAD
from cepheid.spark.rules.bound import BoundRules
from cepheid.spark.rules.bucket import GroupOfRules, RulesWork
from cepheid.spark.rules.conditions import Bits
from cepheid.spark.rules.instances import Instance
from cepheid.spark.rules.later import GENERATION, brought
from cepheid.spark.rules.packing import PackStream, hash_name
from cepheid.spark.rules.registry import Changes, Registry
from cepheid.spark.rules.row_rules import column_of
from cepheid.spark.rules.row_runs import RowInstance, on_stream, refuse_the_end
from cepheid.spark.rules.texts import read, written
from cepheid.spark.rules.workers import Group, group_name
from cepheid.spark.shipping import mapped
from cepheid.spark.stream.accounts import OBSERVED, READ, counted, read_rows
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.control import control_lines, moments, told
from cepheid.spark.stream.history import Given, bring, bring_later, cells, checked, since
from cepheid.spark.stream.operator import KIND, LATE, MATCHES, OUTPUT, REJECTED, TIMEOUTS
from cepheid.spark.stream.outputs import ComputedRows, OutputRows
from cepheid.spark.stream.plan import StreamPlan
from cepheid.spark.stream.shipped_operator import ShippedOperator
from cepheid.spark.stream.time import (
    METADATA,
    REASON,
    TIME,
    WATERMARKED,
    EventTime,
    Timing,
    with_arrival,
    without_watermark,
)

RULES = "cepheid.rules"
"""The name of the log, and of the counts of rules in a query's progress."""
logger = logging.getLogger(RULES)
_CELLS = f"`{BUCKET}` int, `{PAYLOAD}` binary"


class RulesStreamPlan:
    """How a set of rules runs on one streaming DataFrame."""

    def __init__(
        self,
        rules: Sequence[AnyRule],
        rows: DataFrame,
        order_by: tuple[str, ...],
        columns: tuple[str, ...] | None,
        buckets: int | None,
        options: Options,
        timing: Timing,
        limits: Limits | None = None,
    ) -> None:
        self.given = (rows, order_by, columns, buckets, options, timing, limits)
        if timing.is_arrival:
            rows, order_by = with_arrival(rows, order_by, timing)
        self.timing = timing

        def plan_of(rule: Rule, asked: Asked) -> StreamPlan:
            plain = Timing(timing.watermark, timing.max_ahead) if timing.is_arrival else timing
            plan = StreamPlan(rule.tree, rows, rule.partition_by, order_by, asked, buckets, options, plain, "rule")
            _refuse_columns(plan)
            return plan

        self.bound = BoundRules(rules, rows, order_by, columns, plan_of, limits)
        for row_plan in self.bound.row_plans.values():
            refuse_the_end(row_plan)
        self.time = EventTime(rows, self.bound.order_by, timing)
        self.buckets_given: int | None = None
        configured = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        self.partitions = min(configured, parallelism(rows))
        self.registry = Registry.empty(self.bound.groups)
        self._buckets = buckets or self.partitions
        self.bucket_ids = spread_ids(self._buckets * len(self.registry.keys), self.partitions)
        self.changes = Changes()
        self.rejected = 0
        """How many rules of the source cannot be used at present."""
        self.checkpoint: Checkpoint | None = None
        self.seam: int | None = None
        """Where the stream begins, if events of a history come before it."""

    @property
    def rows(self) -> DataFrame:
        return self.bound.rows

    @property
    def session(self) -> SparkSession:
        return self.bound.rows.sparkSession

    def with_rules(self, rules: Sequence[AnyRule]) -> RulesStreamPlan:
        """The plan of another set of rules on the same stream."""
        return RulesStreamPlan(rules, *self.given)

    def at(self, checkpoint: Checkpoint) -> None:
        """Go on with the keys that a checkpoint has; a rule of another key is refused."""
        self.checkpoint, self.changes = checkpoint, Changes()
        registry = registry_of(checkpoint)
        if registry is None:
            return
        self.refuse_keys(registry)
        self.registry = registry
        self.bound.keys = tuple(dict.fromkeys(name for key in registry.keys for name in key))
        self.bucket_ids = spread_ids(self._buckets * len(registry.keys), self.partitions)

    def refuse_keys(self, registry: Registry) -> None:
        """Refuse a rule of a key that the checkpoint does not have."""
        keys = {name: plan.partition_by for name, plan in self.bound.plans.items()}
        keys |= {name: plan.partition_by for name, plan in self.bound.row_plans.items()}
        for name, own in keys.items():
            if own not in registry.keys:
                known = "; ".join(", ".join(key) or "no key" for key in registry.keys)
                raise StateError(
                    f"rule {name!r} has the key {', '.join(own) or 'of all rows'}, but the checkpoint "
                    f"has the keys: {known}.\n  A new key needs its own checkpoint: start a second query for it."
                )

    def identity(self, timeouts: bool) -> Identity:
        """What the state belongs to."""
        names = dict.fromkeys((*(name for key in self.registry.keys for name in key), *self.bound.order_by))
        columns = (*names, *(name for name in self.bound.shown if name not in names))
        return Identity(
            pattern="a set of rules",
            text="a set of rules",
            timeouts=timeouts,
            buckets=self.bucket_ids,
            partition_by=tuple(", ".join(key) for key in self.registry.keys),
            order_by=self.bound.order_by,
            columns={name: self.bound.rows.schema[name].dataType.simpleString() for name in sorted(columns)},
            read={},
            measured=(),
            time=self.timing.source,
        )

    def with_buckets(self, ids: tuple[int, ...]) -> None:
        """Go on with the buckets that a checkpoint was written with."""
        self.bucket_ids = ids

    def bring(self, place: Checkpoint, given: Given | None, timeouts: bool) -> None:
        """Let the events of a history come before those of the stream: all of them at the first start, for new rules at
        a later one (see `later`)."""
        if given is not None and self.timing.is_arrival:
            raise InputError(
                'history= goes by the time of events, and time="arrival" has none.\n  Leave one of them out.'
            )
        is_first = not place.has_begun()
        registry, changes = self._settled(timeouts)
        identity = json.dumps([self.identity(timeouts).to_json(), registry.conditions])
        self.seam = bring(self, place, given if is_first else None, timeouts, identity)
        if given is None or is_first or not (changes.new or changes.changed):
            return
        usable = self.time.guarded(checked(self, given.rows)).where(F.col(REASON) == 0)
        numbers = self._numbers(registry)
        rows, marks = brought(self._travelled(usable, registry), registry.generation, self._buckets_by_key())
        name = bring_later(place, mapped(rows, self._pack(numbers), _CELLS), usable.count() + marks)
        self.registry, self.changes = registry.with_history(name), changes
        place.keep_rules(self.registry.to_json())

    def cells(self, rows: DataFrame, timeouts: bool) -> DataFrame:
        """Rows with a guarded time as cells by bucket."""
        registry, _ = self._settled(timeouts)
        return mapped(self._travelled(rows, registry), self._pack(self._numbers(registry)), _CELLS)

    def _settled(self, timeouts: bool) -> tuple[Registry, Changes]:
        """Which rules run from now on, and what becomes of those that ran."""
        texts = [str(part) for part in self.bound.conditions()]
        fingerprints = {name: self._fingerprint(name, timeouts) for name in self.bound.plans}
        fingerprints |= {name: plan.fingerprint for name, plan in self.bound.row_plans.items()}
        rules = {rule.name: written(rule) for rule in self.bound.rules}
        return self.registry.with_rules(fingerprints, texts, rules)

    def _numbers(self, registry: Registry) -> dict[Expression, int]:
        """The bit of each condition."""
        texts = {str(part): part for part in self.bound.conditions()}
        return {texts[text]: number for text, number in registry.conditions.items()}

    def _pack(self, numbers: dict[Expression, int]) -> PackStream:
        return PackStream(Bits.of(numbers), self._groups(numbers), self.bound.order_by, LIGHT)

    def operated(
        self,
        timeouts: bool,
        control: str | None = None,
        observed: str = "",
        on_error: str = "stop",
        counts: bool = False,
    ) -> DataFrame:
        """The stream after the stateful operator: cells by kind. The checkpoint is told which rules run from now on."""
        assert self.checkpoint is not None and control is not None
        registry, changes = self._settled(timeouts)
        if registry != self.registry:
            self.checkpoint.keep_rules(registry.to_json(), anew=not self.registry.generation)
        if changes or not self.changes:
            self.changes = changes
        logger.info("rules: %s", changes)
        self.registry = registry
        numbers = self._numbers(registry)
        lines = control_lines(self.session, control)
        packed = mapped(self._prepared(moments(lines, WATERMARKED)), self._pack(numbers), _CELLS)
        packed = packed.unionByName(told(lines, self.bucket_ids, BUCKET, PAYLOAD))
        if self.seam is not None or registry.brought:
            packed = packed.unionByName(cells(lines, registry.brought))
        operator = ShippedOperator(self._work(numbers, timeouts, on_error))
        operated = packed.groupBy(BUCKET).transformWithStateInPandas(operator, OUTPUT, "append", "EventTime")
        return operated.observe(OBSERVED, *counted((TIMEOUTS,) if timeouts else ())).observe(RULES, *self._counts())

    def _counts(self) -> list[Column]:
        """What the progress of each micro-batch says of the rules: how many run, and what became of them when the query
        last started."""
        counts = {
            "running": len(self.bound.rules),
            "kept": len(self.changes.kept),
            "new": len(self.changes.new),
            "changed": len(self.changes.changed),
            "removed": len(self.changes.removed),
            "rejected": self.rejected,
        }
        return [F.coalesce(F.max(F.lit(count)), F.lit(count)).alias(name) for name, count in counts.items()]

    def _fingerprint(self, name: str, timeouts: bool) -> str:
        plan = self.bound.plans[name]
        read = sorted(map(column_of, plan.output.arguments))
        return f"{plan.tables(timeouts).fingerprint} by {', '.join(plan.partition_by)} with {', '.join(read)}"

    def _rules_of(self, key: tuple[str, ...]) -> list[str]:
        return [name for name, plan in self.bound.plans.items() if plan.partition_by == key]

    def _row_rules_of(self, key: tuple[str, ...]) -> list[str]:
        return [name for name, plan in self.bound.row_plans.items() if plan.partition_by == key]

    def _groups(self, numbers: dict[Expression, int]) -> tuple[Group, ...]:
        made = []
        for key in self.registry.keys:
            plans = [self.bound.plans[name] for name in self._rules_of(key)]
            row_plans = [self.bound.row_plans[name] for name in self._row_rules_of(key)]
            own = {numbers.get(one.own_event, ALWAYS) for plan in plans for one in plan.automaton.predicates}
            own |= {numbers.get(one, ALWAYS) for plan in row_plans for one in plan.own}
            every = bool(row_plans) or any(plan.all_rows_travel is not None for plan in plans)
            made.append(Group(key, 0, masks_of(sorted(own)), every, self._held(key)))
        return tuple(made)

    def _held(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """What travels of events: columns, values that engines compare, arguments of measures."""
        read = {column for name in self._rules_of(key) for column in self.bound.read_by(self.bound.plans[name])}
        read |= {column for name in self._row_rules_of(key) for column in self.bound.row_plans[name].read}
        return tuple(dict.fromkeys((*self.bound.shown, *self.bound.keys, *self.bound.order_by, *sorted(read))))

    def _work(self, numbers: dict[Expression, int], timeouts: bool, on_error: str) -> RulesWork:
        groups = []
        running = {one.rule: one for one in self.registry.running}
        schema = arrow_schema(self.bound.worker_schema(with_moment=True))
        shown = self._shown()
        for key, group in zip(self.registry.keys, self._groups(numbers), strict=True):
            instances = [
                Instance(
                    self.bound.work(name, numbers, timeouts, with_moment=True),
                    running[name].instance,
                    running[name].since,
                    running[name].waits,
                )
                for name in self._rules_of(key)
            ]
            row_instances = [
                RowInstance(
                    on_stream(self.bound.row_plans[name], self.bound.row_work(name, numbers, True), schema, shown),
                    running[name].instance,
                    running[name].since,
                    running[name].waits,
                )
                for name in self._row_rules_of(key)
            ]
            rows = tuple(row_instances)
            groups.append(GroupOfRules(key, tuple(group.wanted), self._held(key), tuple(instances), rows))
        identity = self.identity(timeouts).to_json()
        is_arrival = self.timing.is_arrival
        return RulesWork(tuple(groups), self.bound.order_by, schema, timeouts, shown, identity, is_arrival, on_error)

    def _shown(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.bound.keys, *self.bound.order_by, *self.bound.shown)))

    def _prepared(self, moments: DataFrame) -> DataFrame:
        """What goes to the workers that pack of the stream's rows."""
        rows = self.time.guarded(self.bound.rows, moments).observe(READ, *read_rows())
        rows = rows.where(F.col(REASON).isNotNull())
        if self.seam is not None:
            rows = rows.where(since(self.seam))
        return self._travelled(rows, self.registry)

    def _buckets_by_key(self) -> list[tuple[int, ...]]:
        each = len(self.bucket_ids) // len(self.registry.keys)
        return [self.bucket_ids[number * each : (number + 1) * each] for number in range(len(self.registry.keys))]

    def _travelled(self, rows: DataFrame, registry: Registry) -> DataFrame:
        """What travels of rows with a guarded time: columns, what Spark computes, the time, hashes and buckets by
        key."""
        bound, numbers = self.bound, self._numbers(registry)
        bits = Bits.of(numbers)
        schema = bound.rows.schema
        hashes, buckets = [], []
        for number, (key, own) in enumerate(zip(registry.keys, self._buckets_by_key(), strict=True)):
            columns = hash_columns(schema, key)
            hashes += [one.alias(hash_name(number, part)) for part, one in enumerate(columns)]
            ids = F.array(*[F.lit(one) for one in own])
            place = F.pmod(columns[0], F.lit(len(own))) + 1 if key else F.lit(1)
            buckets.append(F.element_at(ids, place.cast("int")).alias(group_name(number)))
        own_columns = dict.fromkeys((*bound.travelling(), *bits.read))
        return rows.select(
            *[without_watermark(schema[name]) for name in own_columns],
            F.col(REASON),
            F.unix_micros(WATERMARKED).alias(TIME),
            *bound.computed(),
            *bits.columns(numbers),
            F.lit(registry.generation).cast("int").alias(GENERATION),
            *hashes,
            *buckets,
        )

    def rows_of(self, kind: str) -> OutputRows | ComputedRows:
        """What takes the rows of one output out of the operator's cells."""
        schema = self._worker_schema(kind)
        if kind in (MATCHES, TIMEOUTS):
            return ComputedRows(kind, schema, tuple(self.bound.result_columns(with_moment=True)))
        return OutputRows(kind, schema)

    def schema(self, kind: str) -> StructType:
        """The columns of one output."""
        nothing = self.session.createDataFrame([], f"`{KIND}` string, `{PAYLOAD}` binary")
        return self.rows_of(kind)(nothing).schema

    def _worker_schema(self, kind: str) -> StructType:
        fields = self.bound.worker_schema(with_moment=True).fields
        if kind in (LATE, REJECTED):
            moment = next(field.dataType for field in fields if field.name == "at")
            added = [StructField("reason", StringType())] if kind == REJECTED else []
            schema = self.bound.rows.schema
            fields = [StructField(name, schema[name].dataType) for name in self._shown()]
            fields += [*added, StructField("at", moment)]
        marked = {METADATA: 0}
        return StructType(
            [StructField(one.name, one.dataType, metadata=marked if one.name == "at" else None) for one in fields]
        )

    def key(self, kind: str) -> tuple[str, ...] | None:
        """The columns that tell the rows of an output apart, if any do."""
        return ("rule", "match_id") if kind in (MATCHES, TIMEOUTS) else None

    def kept(self) -> str:
        """What the checkpoint keeps of the plan beside the rules, which are kept by `registry`."""
        rows, order_by, columns, *_ = self.given
        known = {"schema": rows.schema.jsonValue(), "order_by": order_by, "columns": columns}
        return json.dumps({"rules": "see beside", **known, "time": self.timing.source})

    @property
    def has_columns(self) -> tuple[bool, ...]:
        """Of each key, whether it has any columns."""
        return tuple(map(bool, self.registry.keys))

    def reading(self, place: Checkpoint, saved: Identity) -> RulesStreamPlan:
        """The plan of the rules that run on a checkpoint, whichever are in this set: it reads what they hold."""
        registry, plan = registry_of(place), self
        if registry is not None:
            own = {rule.name: rule for rule in self.bound.rules}
            rules = [read(one.text) if one.text else own.get(one.rule) for one in registry.running]
            plan = self.with_rules([rule for rule in rules if rule is not None])
            plan.at(place)
            _, changes = plan._settled(saved.timeouts)
            if changes:
                raise StateError(
                    f"these are not the rules that run on {place.path!r}: {changes}.\n"
                    "  Give the set that the query was started with last."
                )
        plan.with_buckets(saved.buckets)
        return plan

    def work_on_state(self, timeouts: bool) -> RulesWork:
        """What must be known to read the state."""
        return self._work(self._numbers(self.registry), timeouts, "stop")

    def decides_by_time(self, timeouts: bool) -> bool:
        """Whether time that moves on decides anything of partial matches."""
        endings = (plan.automaton.positions for plan in self.bound.plans.values())
        return (
            timeouts
            or any(position.endings for positions in endings for position in positions)
            or any(plan.rule.clause.within is not None for plan in self.bound.row_plans.values())
        )

    def explain(self) -> Explanation:
        """What the rules share, and how Spark runs them."""
        facts = (
            ("columns", ", ".join(self.bound.travelling())),
            ("buckets", f"{len(self.bucket_ids)} in all"),
            ("watermark", self.time.described()),
        )
        return explain_rules(self.bound.rules, Section("execution: Spark, streaming", records=(Record("", facts),)))


def registry_of(checkpoint: Checkpoint) -> Registry | None:
    """Which rules run on a checkpoint; None before anything was committed there."""
    kept = checkpoint.kept_rules()
    return Registry.last(kept) if kept and checkpoint.last_batch() is not None else None


def _refuse_columns(plan: StreamPlan) -> None:
    for predicate in plan.automaton.predicates:
        if any(isinstance(node, SparkColumn) for node in walk(predicate.own_event)):
            raise InputError(
                "a condition is a Spark Column, which has no text to compare with that of the saved state.\n"
                "  Write it as SQL text."
            )
