"""A set of rules over rows in memory, without Spark.

In: rules and rows. Out: their matches as one table. Rows are sorted once for each distinct key, each distinct condition
is computed once, and each rule's engine call sees only the rows that concern it (`views`). Called by the face.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.automaton.model import Automaton
from cepheid.conditions import Schema, bind
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.arrow.holding import Holding
from cepheid.conditions.casting import cast
from cepheid.conditions.expression import TRUE, Column, Expression
from cepheid.conditions.types import STRING
from cepheid.engine.assignments import Assignments
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.errors import ConditionError, InputError
from cepheid.rowpattern.binding import BoundRowPattern, located
from cepheid.rowpattern.binding import bind as bind_rows
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.columns import check_range, distinct_columns, shown_columns, without_nulls
from cepheid.rows.in_memory import check_units, run_reference
from cepheid.rows.measured import Measured
from cepheid.rows.row_patterns import tabulated
from cepheid.rows.row_rules import in_set, taken_by
from cepheid.rows.rule_matches import EVENTS, MEASURES, OWN, SEVERITY, TAGS, RuleShape, assemble_rule
from cepheid.rows.views import ALWAYS, Signed, View, words_of
from cepheid.rule import AnyRule, RowRule, Rule, named, patterns_of, row_patterns_of

TEXTS = pa.map_(pa.string(), pa.string())
"""The type of `measures`: rules have measures of different names and types, so values are strings."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A rule for the columns of a table."""

    rule: Rule
    keys: tuple[str, ...]
    automaton: Automaton
    measured: Measured


@dataclass(frozen=True, slots=True)
class BoundRows:
    """A rule that is a row pattern, for the columns of a table."""

    rule: RowRule
    keys: tuple[str, ...]
    bound: BoundRowPattern


def match_rules(
    rules: Sequence[AnyRule],
    table: pa.Table,
    order_by: tuple[str, ...],
    columns: tuple[str, ...] | None,
    options: Options,
    nulls: str,
    time_zone: str,
    max_steps: int,
) -> dict[str, pa.Table]:
    """The matches of each rule, as rows of one form."""
    if not table.column_names:
        return {rule.name: pa.table({}) for rule in rules}
    if nulls == "drop":
        table = without_nulls(table, order_by)
    schema = Schema.from_arrow(table.schema, time_zone)
    bound = [_bound(rule, table, schema) for rule in patterns_of(rules)]
    row_patterns = [_bound_rows(rule, table, schema, order_by) for rule in row_patterns_of(rules)]
    every_key = dict.fromkeys((*(one.keys for one in bound), *(one.keys for one in row_patterns)))
    names = tuple(dict.fromkeys(name for key in every_key for name in key))
    refuse_clashes(names)
    keys = tuple((name, table.schema.field(name).type) for name in names)
    shown = shown_columns(table.column_names, columns)
    found: dict[str, pa.Table] = {}
    for key in every_key:
        events = arrange(table, key, order_by)
        for one, decided in _matches([one for one in bound if one.keys == key], events, options):
            with named(one.rule):
                found[one.rule.name] = _table(one, events, decided, shown, keys)
        for clause in (one for one in row_patterns if one.keys == key):
            with named(clause.rule):
                found[clause.rule.name] = _table_of_rows(clause, events, max_steps, shown, keys)
    return {rule.name: found[rule.name] for rule in rules}


def refuse_clashes(keys: Sequence[str]) -> None:
    """Refuse a key whose column would have the name of a column of the result."""
    for name in keys:
        if name.lower() in OWN:
            raise InputError(
                f"partition_by={name!r}: the matches of a set have a column {name!r} of their own.\n"
                f"  Rename the events' column; {', '.join(OWN)} are the result's own."
            )


def _bound(rule: Rule, table: pa.Table, schema: Schema) -> Bound:
    with named(rule):
        keys = distinct_columns(table.column_names, rule.partition_by, "partition_by")
        automaton = build(rule.tree, bind(rule.tree, schema))
        return Bound(rule, keys, automaton, Measured(dict(rule.measures), rule.tree, schema, keys))


def _bound_rows(rule: RowRule, table: pa.Table, schema: Schema, order_by: tuple[str, ...]) -> BoundRows:
    with named(rule):
        bound = bind_rows(in_set(rule.clause, order_by), schema)
        keys = distinct_columns(table.column_names, bound.partition_by, "PARTITION BY")
        return BoundRows(rule, keys, bound)


def _matches(bound: list[Bound], events: Arranged, options: Options) -> Iterator[tuple[Bound, Assignments]]:
    """What the rules of one key find."""
    shared = _Shared(events)
    for one in bound:
        with named(one.rule):
            check_units(one.rule.tree, events.unit, events.order_by[0] if events.order_by else "")
            check_range(events.time, one.automaton)
            try:
                found = shared.matches(one.automaton, options)
            except NotCompiled:  # the engine cannot compute a condition
                found = run_reference(one.automaton, events)[0]
        yield one, found


class _Shared:
    """The events of one key, and what rules have computed of them."""

    def __init__(self, events: Arranged) -> None:
        self.events = events
        self.holding = Holding(events.table)

    def matches(self, automaton: Automaton, options: Options) -> Assignments:
        tables = tabulate(automaton, options)
        own = [predicate.own_event for predicate in automaton.predicates]
        distinct = list(dict.fromkeys(part for part in own if part != TRUE))
        words = words_of([self.holding.of(part) for part in distinct], len(self.events.time))
        signed = Signed(None, dict(enumerate(words)))
        bits = tuple(ALWAYS if part == TRUE else distinct.index(part) for part in own)
        view = View(tables, bits, why_all_rows_travel(automaton) is not None)
        rows = view.rows(signed, len(self.events.time))
        events = self.events.restricted(rows)
        columns = view.columns(signed, rows, events.time, [self._values(value, events) for value in tables.columns])
        found, _ = match_partitions(tables, columns, events.bounds, where=events.where)
        return replace(found, row=rows[found.row])

    def _values(self, expression: Expression, events: Arranged) -> pa.Array | pa.ChunkedArray:
        if isinstance(expression, Column):
            return events.column(expression.name)
        return evaluate_or_fall_back(expression, events.table)


def _table(
    one: Bound,
    events: Arranged,
    decided: Assignments,
    shown: tuple[str, ...],
    keys: tuple[tuple[str, pa.DataType], ...],
) -> pa.Table:
    rule, automaton = one.rule, one.automaton
    read = one.measured.read(events, one.measured.taken(decided), automaton.variables)
    summaries = one.measured.summaries(automaton, read)
    shape = RuleShape(rule.name, automaton.variables, shown, rule.severity, rule.tags, keys, False, summaries)
    table = one.measured.finished(assemble_rule(read, decided, shape))
    measures = {name: table[name] for name in one.measured.names}
    return _with_measures(table.drop_columns(one.measured.names), measures)


def _table_of_rows(
    one: BoundRows,
    events: Arranged,
    max_steps: int,
    shown: tuple[str, ...],
    keys: tuple[tuple[str, pa.DataType], ...],
) -> pa.Table:
    rule, variables = one.rule, one.bound.pattern.variables
    try:
        taken = taken_by(one.bound, tabulated(one.bound, max_steps), events)
        values = taken.measured(one.bound)
    except ConditionError as error:
        raise located(error) from None
    shape = RuleShape(rule.name, variables, shown, rule.severity, rule.tags, keys)
    names = [measure.name for measure in one.bound.measures]
    return _with_measures(assemble_rule(events, taken.assignments, shape), dict(zip(names, values, strict=True)))


def _with_measures(table: pa.Table, measures: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """The matches of a rule with its measures as texts, the columns in the order of the result."""
    texts = [
        [(name, cast(value, STRING)) for name, value in zip(measures, row, strict=True)]
        for row in zip(*(values.to_pylist() for values in measures.values()), strict=True)
    ] or [[] for _ in range(table.num_rows)]
    table = table.append_column(MEASURES, pa.array(texts, TEXTS))
    own = [name for name in table.column_names if name not in (EVENTS, MEASURES, SEVERITY, TAGS)]
    return table.select([*own, EVENTS, MEASURES, SEVERITY, TAGS])


__all__ = ["match_rules", "refuse_clashes"]
