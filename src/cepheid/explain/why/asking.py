"""Asking why: rows and a pattern come in, everything that is known of the search goes out.

In: a `Question`. Out: an `Inquiry`: the `Account` for people, and the traces that pictures, `broken` and `unmatched`
are made from. Called by what `match_events` returns and by the Spark plans, which count by a job of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.automaton.model import Automaton
from cepheid.conditions import BoundConditions, bind
from cepheid.conditions.carets import did_you_mean
from cepheid.engine.tables.model import Options
from cepheid.errors import InputError
from cepheid.explain.why.case import Case
from cepheid.explain.why.causes import reasons
from cepheid.explain.why.counting import Asked, conditions_of, count_rows
from cepheid.explain.why.failures import Names, failed_run, furthest
from cepheid.explain.why.following import MOST_ROWS, Followed, RunCounts, choose, count_runs, follow
from cepheid.explain.why.model import Account, ElementCount, Extent, Role
from cepheid.explain.why.suspicions import Values, values_in
from cepheid.reference.tracing import EventClass, Fate
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.columns import column_named
from cepheid.rows.in_memory import prepared, run
from cepheid.rows.steps import Events
from cepheid.syntax.notation import to_text
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: of which search, for which key, and how many rows may be followed run by run."""

    tree: PatternTree
    events: Events
    order_by: tuple[str, ...]
    nulls: str = "error"
    key: Mapping[str, Any] | None = None
    most_rows: int = MOST_ROWS


@dataclass(frozen=True, slots=True)
class Whole:
    """What was counted over all rows where only some of them are at hand."""

    rows: int
    rejected: int
    """Further rows, which have no time."""
    keys: int
    counts: Sequence[ElementCount]
    values: Values


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Everything that is known of a search."""

    account: Account
    events: Arranged
    automaton: Automaton
    followed: Sequence[Followed]
    names: Names

    def key_of(self, followed: Followed) -> dict[str, Any]:
        """The key of a partition."""
        return key_at(self.events, followed.begin)


def ask(
    question: Question,
    options: Options,
    whole: Whole | None = None,
    key: Mapping[str, Any] | None = None,
    conditions: BoundConditions | None = None,
) -> Inquiry:
    """Find out what happened. `key`: the one that the rows were chosen by already; `conditions`: those of the pattern,
    where some were computed beforehand."""
    given = question.events if question.key is None else rows_of_key(question)
    tree = question.tree
    conditions = bind(tree, given.schema) if conditions is None else conditions
    _, events, automaton = prepared(tree, given, question.order_by, question.nulls, conditions)
    asked = list(conditions_of(tree, conditions))
    counted = [count_rows(one, events.table) for one in asked]
    masks = [mask for one, (_, mask) in zip(asked, counted, strict=True) if one.role is Role.ELEMENT]
    counts = [count for count, _ in counted] if whole is None else list(whole.counts)
    chosen = choose(events, masks, question.most_rows)
    followed = follow(events, automaton, chosen, question.most_rows)
    names = _names(asked, automaton)
    elements = _with_runs(asked, counts, automaton, count_runs(automaton, followed))
    rows = len(events.time) if whole is None else whole.rows
    rejected = given.table.num_rows - rows if whole is None else whole.rejected
    matches = len(run(automaton, events, options)[0].at)
    near = values_in(events.table)
    case = Case(
        tree,
        conditions,
        asked,
        elements,
        rows,
        rejected,
        matches,
        _sample(events, followed),
        followed,
        near if whole is None else whole.values,
        near,
        names,
    )
    fates = Counter(run.fate for one in followed for run in one.record.runs)
    classes = Counter(kind for one in followed for kind in one.record.classes)
    classes[EventClass.REJECTED] = rejected
    keys = len(events.bounds) - 1 if whole is None else whole.keys
    account = Account(
        pattern=to_text(tree),
        key=question.key if key is None else key,
        extent=Extent(rows, keys, sum(one.record.handled for one in followed), len(followed), rejected),
        matches=matches,
        is_all_matched=whole is None,
        elements=tuple(elements),
        runs=sum(fates.values()),
        fates=MappingProxyType({fate: fates[fate] for fate in Fate if fates[fate]}),
        classes=MappingProxyType({kind: classes[kind] for kind in EventClass if classes[kind]}),
        furthest=tuple(
            failed_run(one.record, lost, key_at(events, one.begin), names) for one, lost in furthest(followed)
        ),
        reasons=tuple(reasons(case)),
    )
    return Inquiry(account, events, automaton, followed, names)


def key_at(events: Arranged, row: int) -> dict[str, Any]:
    """The key of an arranged row."""
    if not events.partition_by:
        return {}
    [key] = events.taken(events.partition_by, np.array([row])).to_pylist()
    return dict(key)


def wrong_key(key: object) -> InputError:
    """The error for a key that is not a mapping from columns to values."""
    return InputError(f"key is {key!r}.\n  Name columns of the key with their values, as in key={{'tag': 'watch'}}.")


def rows_of_key(question: Question) -> Events:
    """The rows that have the key asked for."""
    given, key = question.events, question.key or {}
    if not isinstance(key, Mapping) or not key:
        raise wrong_key(key)
    table, names = given.table, given.table.column_names
    for asked, value in key.items():
        name = column_named(names, asked, "key")
        if name not in {column_named(names, one, "partition_by") for one in given.partition_by}:
            keys = ", ".join(given.partition_by) or "there are none"
            raise InputError(f"key names {name!r}, which is not a partition column.\n  Partition columns: {keys}.")
        table = table.filter(_equals(table[name], value, name))
        if not table.num_rows:
            known = [str(one) for one in given.table[name].unique().to_pylist()[:1_000]]
            near = did_you_mean(str(value), known)
            hint = f"{near[:1].upper()}{near[1:]}" if near else f"The first values are: {', '.join(known[:5])}."
            raise InputError(f"key={dict(key)!r}: no row has {name} = {value!r}.\n  {hint}")
    return replace(given, table=table)


def _equals(column: pa.ChunkedArray, value: Any, name: str) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    try:
        return pc.equal(column, pa.scalar(value).cast(column.type))
    except pa.ArrowException as error:
        raise InputError(f"key: {value!r} is not a value of {name!r}, which has type {column.type}.") from error


def _names(asked: Sequence[Asked], automaton: Automaton) -> Names:
    numbers = {predicate: number for number, predicate in enumerate(automaton.predicates)}
    nots = {numbers[one.predicate]: one.name for one in asked if one.role is Role.NOT and one.predicate in numbers}
    untils = {numbers[one.predicate]: one.name for one in asked if one.role is Role.UNTIL and one.predicate in numbers}
    return Names(nots, untils)


def _with_runs(
    asked: Sequence[Asked], counts: Sequence[ElementCount], automaton: Automaton, runs: RunCounts
) -> list[ElementCount]:
    """The counts of conditions, with those of the runs."""
    found: list[ElementCount] = []
    for one, count in zip(asked, counts, strict=True):
        if one.role is Role.ELEMENT:
            variable = automaton.variables.index(one.name)
            ended = runs.ended.get(variable, Counter())
            found.append(replace(count, waited=runs.waited[variable], took=runs.took[variable], ended=dict(ended)))
        else:
            number = automaton.predicates.index(one.predicate) if one.predicate in automaton.predicates else -1
            fate = Fate.UNTIL if one.role is Role.UNTIL else Fate.NOT
            ended_by_it = runs.culprits[number]
            found.append(replace(count, ended={fate: ended_by_it} if ended_by_it else {}))
    return found


def _sample(events: Arranged, followed: Sequence[Followed]) -> Arranged:
    """The rows that were followed, by themselves."""
    rows = [np.arange(one.begin, one.begin + one.record.handled) for one in followed]
    if sum(map(len, rows)) == len(events.time):
        return events
    chosen = events.taken(events.column_names, np.concatenate(rows))
    return arrange(chosen, events.partition_by, events.order_by)
