"""What a caller gives a pattern to match: events with their key, and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cepheid.errors import InputError
from cepheid.options import Keys, Limits, names
from cepheid.syntax.tree import PatternTree

if TYPE_CHECKING:
    from cepheid.engine.tables.model import Options
    from cepheid.rows.steps import Events
    from cepheid.spark.batch import DataFrame
    from cepheid.spark.steps import StepTables


def events_of(
    tree: PatternTree, events: object, partition_by: Keys, order_by: tuple[str, ...], time_zone: str
) -> Events:
    """Rows in memory with their key: one table, or what several tables and keys by step make of it."""
    from cepheid.conditions.steps import Steps, tables_of
    from cepheid.rows.given import to_table
    from cepheid.rows.steps import Events, joined

    if not isinstance(events, Mapping):
        events = table = to_table(events)
        partition_by = _with_fields(tree, partition_by, table.column_names)
        if not isinstance(partition_by, Mapping):
            return Events.plain(table, key_of(tree, partition_by), time_zone)
    numbers, tables = tables_of(tree, events) if isinstance(events, Mapping) else (None, [events])
    steps = Steps.of(tree, _step_keys(tree, partition_by), numbers)
    return joined(tree, [to_table(table) for table in tables], steps, order_by, time_zone)


def frame_of(
    tree: PatternTree, events: object, partition_by: Keys, order_by: tuple[str, ...]
) -> tuple[DataFrame, tuple[str, ...], StepTables | None]:
    """The DataFrame with its key: the one given, or what several tables and keys by step make of it."""
    from cepheid.conditions.steps import Steps, tables_of
    from cepheid.spark.session import require_dataframe
    from cepheid.spark.steps import StepTables, require_tables

    if not isinstance(events, Mapping):
        events = require_dataframe(events)
        partition_by = _with_fields(tree, partition_by, events.columns)
        if not isinstance(partition_by, Mapping):
            return events, key_of(tree, partition_by), None
    numbers, tables = tables_of(tree, events) if isinstance(events, Mapping) else (None, [events])
    steps = Steps.of(tree, _step_keys(tree, partition_by), numbers)
    joined = StepTables(tree, require_tables(tables), steps, order_by)
    return joined.rows, joined.partition_by, joined


def first_of(events: object) -> DataFrame:
    """The DataFrame, or the first of several; whether they are all of one kind is checked later."""
    from cepheid.spark.session import require_dataframe

    return require_dataframe(next(iter(events.values()), None) if isinstance(events, Mapping) else events)


def engine_options(limits: Limits) -> Options:
    from cepheid.engine.tables.model import Options

    return Options(
        max_runs=limits.max_runs,
        max_matches_per_event=limits.max_matches_per_event,
        max_state_bytes=limits.max_state_bytes,
    )


def _with_fields(tree: PatternTree, given: Keys, columns: list[str]) -> Keys:
    """The keys, as keys by step where one of them is a field of a struct, `geo.city`, which is called `city` then."""
    from cepheid.conditions.printing import quoted

    known = {column.casefold() for column in columns}
    keys = () if isinstance(given, Mapping) else key_of(tree, given)
    is_field = [
        key.casefold() not in known and "." in key and key.split(".")[0].strip("`").casefold() in known for key in keys
    ]
    if not any(is_field) or tree.partition_by:
        return given
    named = {}
    for key, field in zip(keys, is_field, strict=True):
        name = key.split(".")[-1].strip("`") if field else key
        named[name] = key if field else quoted(key)
    return named


def _step_keys(tree: PatternTree, given: Keys) -> Keys:
    """The keys of a pattern whose elements have keys or tables of their own."""
    if isinstance(given, Mapping) and tree.partition_by:
        raise InputError(
            f"partition_by is given by step, but the pattern itself is partitioned by "
            f"{list(tree.partition_by)}.\n  Leave one of them out."
        )
    return given if isinstance(given, Mapping) else key_of(tree, given)


def refuse_keys_by_step(given: object) -> None:
    """All rules of a set see the same partitions of one table; keys by step are for a pattern by itself."""
    if isinstance(given, Mapping):
        raise InputError(
            "its partition_by is given by step, which a set of rules does not do.\n"
            "  Run the pattern by itself, pattern.match(…, partition_by={…}); or compute the key as a column."
        )


def key_of(tree: PatternTree, given: str | Iterable[str] | None) -> tuple[str, ...]:
    """The columns to partition by: those given, or those of the pattern; not two different sets."""
    own, given_names = tree.partition_by, names(given, "partition_by")
    if own and given is not None and {name.lower() for name in own} != {name.lower() for name in given_names}:
        raise InputError(
            f"partition_by is {list(given_names)}, but the pattern itself is partitioned by {list(own)}.\n"
            "  Leave partition_by out: the pattern's key is used."
        )
    return given_names or own
