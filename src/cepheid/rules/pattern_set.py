"""The face of sets: `PatternSet`, many patterns that run in one pass over the same events.

Thin, as `Pattern` is: the rooms below are imported when needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from cepheid.conditions.expression import Name
from cepheid.errors import InputError
from cepheid.given import engine_options, key_of, refuse_keys_by_step
from cepheid.options import Asked, Limits, Movement, Nulls, Time, bucket_count, checked_nulls, limits_of, names
from cepheid.pattern import Pattern
from cepheid.row_pattern import RowPattern
from cepheid.rowpattern.model import RowPattern as Clause
from cepheid.rule import AnyRule, RowRule, Rule, named, unknown_rule
from cepheid.rules.texts import pattern_of

if TYPE_CHECKING:
    from cepheid.explain import Explanation
    from cepheid.explain.diagram.formats import Diagram
    from cepheid.rules.found import FoundByRules
    from cepheid.spark.batch import DataFrame
    from cepheid.spark.rules.batch import RulesInDataFrame
    from cepheid.spark.rules.found import RulesInStream


class PatternSet:
    """Patterns by name. Immutable: `add` and `remove` return new sets.

    >>> from cepheid import Pattern, PatternSet
    >>> rules = PatternSet({"rise": Pattern.parse("low[price < 5] ~> high[price > 9]")}, partition_by="stock")
    >>> rules = rules.add("crash", "high[price > 9] -> low[price < 5]", partition_by="stock", severity="high")
    >>> rows = [{"stock": "x", "t": t, "price": price} for t, price in enumerate([3, 12, 1], start=1)]
    >>> found = rules.match_events(rows, order_by="t")
    >>> [(match["rule"], match["start_time"], match["severity"]) for match in found.matches]
    [('rise', 1, None), ('crash', 2, 'high')]
    >>> found.counts
    {'rise': 1, 'crash': 1}
    """

    __slots__ = ("_rules",)

    def __init__(
        self,
        rules: Mapping[str, Pattern | RowPattern | str] | Iterable[AnyRule] = (),
        *,
        partition_by: str | Iterable[str] | None = None,
    ) -> None:
        """Make a set of patterns by name, or of rules. `partition_by` is the key of patterns that name none."""
        made: list[AnyRule] = []
        if isinstance(rules, Mapping):
            made = [made_rule(name, pattern, partition_by) for name, pattern in rules.items()]
        else:
            made = [_checked(rule) for rule in rules]
        by_name: dict[str, AnyRule] = {}
        for rule in made:
            other = by_name.setdefault(rule.name.lower(), rule)
            if other is not rule:
                places = f" ({other.place} and {rule.place})" if other.place or rule.place else ""
                raise InputError(f"there are two rules named {rule.name!r}{places}.\n  Give each its own name.")
        self._rules: dict[str, AnyRule] = {rule.name: rule for rule in made}

    def add(
        self,
        name: str,
        pattern: Pattern | RowPattern | str,
        *,
        partition_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        severity: str | None = None,
        tags: str | Iterable[str] = (),
    ) -> PatternSet:
        """Return the set with one more rule.

        The rule is a `Pattern`, or its text in the printed notation, as SASE or as JSON. It may also be a `RowPattern`,
        or the text of its clause, which has its own measures. `partition_by` names the columns whose values all events
        of a match share. `measures` are computed for each match; `severity` and `tags` are reported with it.
        """
        rule = made_rule(name, pattern, partition_by, measures, severity, tags)
        return PatternSet([*self._rules.values(), rule])

    def remove(self, name: str) -> PatternSet:
        """Return the set without one of its rules."""
        self[name]
        return PatternSet([rule for rule in self if rule.name != name])

    @classmethod
    def from_directory(cls, path: str | PathLike[str]) -> PatternSet:
        """Read the rules from all files `*.toml` in a directory and its subdirectories. If some are wrong, the error
        lists them all."""
        from cepheid.rules.directory import Directory

        return Directory(path).read().whole()

    @classmethod
    def from_table(cls, rows: object) -> PatternSet:
        """Read the rules from a table, one per row: a Spark DataFrame, a pandas DataFrame, an Arrow table or dicts.

        The columns `name` and `text` are required; `partition_by`, `severity`, `tags` and `type_column` are optional.
        Keys and tags are arrays, or strings with commas.
        """
        from cepheid.rules.tables import rules_of

        return cls(rules_of(rows))

    def match_events(
        self,
        events: object,
        *,
        order_by: str | Iterable[str] | None = None,
        columns: str | Iterable[str] | None = None,
        nulls: Nulls = "error",
        time_zone: str = "UTC",
        limits: Limits | None = None,
    ) -> FoundByRules:
        """Find all rules in rows in memory: dicts, a pandas DataFrame or an Arrow table.

        `.matches` has the rows of all rules; `found["name"]` is what `Pattern.match_events` returns for that rule. The
        arguments are those of `Pattern.match_events`; each rule has its own key.
        """
        from cepheid.conditions.casting import zone_of
        from cepheid.rows.given import to_table
        from cepheid.rows.row_rules import in_set
        from cepheid.rows.rules import match_rules
        from cepheid.rules.found import FoundByRules

        self._refuse_empty()
        checked_nulls(nulls)
        zone_of(time_zone)
        table, order = to_table(events), names(order_by, "order_by")
        limits, shown = limits_of(limits), None if columns is None else names(columns, "columns")
        found = match_rules(
            tuple(self), table, order, shown, engine_options(limits), nulls, time_zone, limits.max_steps
        )

        def single(rule: AnyRule) -> Any:
            if isinstance(rule, RowRule):
                return RowPattern(in_set(rule.clause, order, rule.clause.rows)).match_events(table, limits=limits)
            asked: dict[str, Any] = {"measures": dict(rule.measures) or None, "columns": shown}
            return Pattern(rule.tree).match_events(
                table,
                partition_by=rule.partition_by or None,
                order_by=order or None,
                nulls=nulls,
                time_zone=time_zone,
                limits=limits,
                **asked,
            )

        return FoundByRules(found, {rule.name: partial(single, rule) for rule in self})

    def match(
        self,
        events: DataFrame,
        *,
        order_by: str | Iterable[str] | None = None,
        columns: str | Iterable[str] | None = None,
        nulls: Nulls = "error",
        buckets: int | None = None,
        limits: Limits | None = None,
    ) -> RulesInDataFrame:
        """Find all rules in a batch DataFrame, in one pass: `.matches` is a lazy DataFrame. For streams, use
        `match_stream`.

        Each match is one row: `rule`, the columns of all keys (NULL where a rule has another key), `match_id`,
        `start_time`, `end_time`, `events` (an array of `variable`, `sequence` and `event`), `measures` (a map of
        strings), `severity` and `tags`. `found["name"]` is what `Pattern.match` returns for that rule. `columns`
        selects the columns that events show; the other arguments are those of `Pattern.match_batch`.
        """
        from cepheid.spark.rules.batch import RulesInDataFrame, RulesPlan
        from cepheid.spark.session import require_dataframe

        self._refuse_empty()
        if require_dataframe(events).isStreaming:
            raise InputError("match() was given a stream.\n  Use match_stream().")
        shown, order = None if columns is None else names(columns, "columns"), names(order_by, "order_by")
        limits = limits_of(limits)
        movement = Movement(buckets, "packed", nulls, limits.max_bucket_bytes)
        plan = RulesPlan(tuple(self), events, order, shown, movement, engine_options(limits), limits)
        return RulesInDataFrame(plan)

    def match_stream(
        self,
        events: DataFrame,
        *,
        order_by: str | Iterable[str] | None = None,
        columns: str | Iterable[str] | None = None,
        buckets: int | None = None,
        watermark: str | None = None,
        max_ahead: str = "1 hour",
        time: Time = "event",
        limits: Limits | None = None,
    ) -> RulesInStream:
        """Find all rules in a streaming DataFrame: `.start(…)` runs one query for all of them.

        The rows are those of `match`, with the moment `at` which each was decided. `buckets` is the number of buckets
        for each distinct key. The other arguments are those of `Pattern.match_stream`.
        """
        from cepheid.spark.rules.found import RulesInStream
        from cepheid.spark.rules.stream_plan import RulesStreamPlan
        from cepheid.spark.session import require_dataframe
        from cepheid.spark.stream.time import Timing

        self._refuse_empty()
        if not require_dataframe(events).isStreaming:
            raise InputError("match_stream() was given a batch.\n  Use match().")
        shown, order = None if columns is None else names(columns, "columns"), names(order_by, "order_by")
        options, timing = engine_options(limits_of(limits)), Timing(watermark, max_ahead, time)
        plan = RulesStreamPlan(tuple(self), events, order, shown, bucket_count(buckets), options, timing, limits)
        return RulesInStream(plan)

    def explain(self) -> Explanation:
        """Explain which keys and conditions the rules share, and how they run together. Print it."""
        from cepheid.explain.rules import explain_rules

        self._refuse_empty()
        return explain_rules(tuple(self))

    def diagram(self, format: Literal["svg", "mermaid", "dot", "text"] = "svg") -> Diagram:
        """Draw which rules share which conditions and keys, in the formats of `Pattern.diagram`. If there are many
        rules, those with the same most common condition are drawn as one box."""
        from cepheid.explain.diagram.rules import draw

        self._refuse_empty()
        return draw(tuple(self), format)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules."""
        return tuple(self._rules)

    def __getitem__(self, name: str) -> AnyRule:
        if name not in self._rules:
            raise unknown_rule(name, self._rules)
        return self._rules[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rules

    def __iter__(self) -> Iterator[AnyRule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternSet) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"PatternSet({len(self)} rules: {', '.join(self._rules)})"

    def _refuse_empty(self) -> None:
        if not self._rules:
            raise InputError("the set has no rules.\n  Add some: PatternSet().add(name, pattern, partition_by=…).")


def made_rule(
    name: str,
    pattern: Pattern | RowPattern | str,
    partition_by: str | Iterable[str] | None,
    measures: Mapping[str, str] | None = None,
    severity: str | None = None,
    tags: str | Iterable[str] = (),
    place: str = "",
) -> AnyRule:
    """Make a rule of what a user gives, and check it."""
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise InputError(f'the name of a rule is {name!r}.\n  Give text without blanks around it: "theft".')
    with named(f"rule {name!r}" + (f" ({place})" if place else "")):
        if isinstance(pattern, str):
            pattern = pattern_of(pattern)
        if not isinstance(pattern, Pattern | RowPattern):
            kind = type(pattern).__name__
            raise InputError(f"its pattern is of type {kind}.\n  Give a Pattern, a RowPattern, or its text.")
        if severity is not None and not isinstance(severity, str):
            raise InputError(f'severity is {severity!r}.\n  Give text: severity="high".')
        refuse_keys_by_step(partition_by)
        asked, labels = Asked.of(measures, None, "one"), names(tags or None, "tags")
        if isinstance(pattern, RowPattern):
            if asked.measures:
                raise InputError("a row pattern has its own measures.\n  Write them as MEASURES in its clause.")
            return RowRule(name, _with_key(pattern.model, partition_by), severity, labels, place)
        pattern.check()
        key = key_of(pattern.tree, partition_by)
        return _checked(Rule(name, pattern.tree, key, asked.measures, severity, labels, place))


def _with_key(clause: Clause, partition_by: str | Iterable[str] | None) -> Clause:
    """The clause; if it has no key, with the one that was given separately."""
    keys = names(partition_by, "partition_by")
    if not keys or clause.partition_by:
        return clause
    return replace(clause, partition_by=tuple(Name((key,)) for key in keys))


def _checked(rule: object) -> AnyRule:
    from cepheid.conditions import check_text

    if isinstance(rule, RowRule):
        return rule
    if not isinstance(rule, Rule):
        raise InputError(f"{rule!r} is not a rule.\n  Give a dict from name to pattern.")
    for name, text in rule.measures:
        check_text(text, f"measure {name!r}")
    return rule
