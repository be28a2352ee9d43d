"""DataFrames → one DataFrame whose rows are an event and one of its keys (see `conditions.steps`).

In: DataFrames, and the steps of a pattern. Out: `StepTables`, whose rows the plans handle like any rows. Nothing is
moved: each row is turned into its candidates where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
)

from cepheid.conditions import Schema
from cepheid.conditions.printing import quoted
from cepheid.conditions.steps import Step, Steps, common_names, different_keys, different_types, role_name
from cepheid.errors import InputError
from cepheid.spark.analysis import schema_of, type_in_spark
from cepheid.spark.keys import one_zero
from cepheid.spark.masks import to_column
from cepheid.spark.session import require_dataframe
from cepheid.spark.stream.time import REASON, WATERMARKED, without_watermark
from cepheid.syntax.tree import PatternTree

_CANDIDATE = "__candidate"


class StepTables:
    """The tables of a pattern whose elements have keys or tables of their own."""

    def __init__(self, tree: PatternTree, tables: Sequence[DataFrame], steps: Steps, order_by: tuple[str, ...]) -> None:
        self.steps = steps
        self.tables = tuple(tables)
        self.columns = tuple(tuple(table.columns) for table in tables)
        """The columns of each table."""
        _check_tables(tables, steps, order_by)
        common_names(steps, self.columns)
        self.partition_by = tuple(steps.key_name(place, self.columns) for place in range(len(steps.keys)))
        self._keys = {
            step: [to_column(steps.bound(key, step, schema_of(tables[step.table]), tree)) for key in _places(steps)]
            for step in steps.steps
        }
        self._arrays: set[tuple[Step, int]] = set()
        self._types = [self._type(place) for place in _places(steps)]
        for place, name in enumerate(self.partition_by):
            own = [table.schema[name].dataType for table in tables if name in table.columns]
            if any(isinstance(kind, ArrayType) for kind in own):
                raise steps.array_of_that_name(place)
        self.rows = self.candidates(tables)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns of the events."""
        return tuple(dict.fromkeys(name for columns in self.columns for name in columns))

    @property
    def role_names(self) -> tuple[str, ...]:
        """The columns of the candidates that say which elements may take them."""
        return tuple(role_name(place) for place in range(len(self.steps.steps))) if len(self.steps.steps) > 1 else ()

    def own(self, further: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
        """The columns that the events of each element have; `further` ones were added to all."""
        return {
            element: (*self.columns[step.table], *further) for step in self.steps.steps for element in step.elements
        }

    def schema(self, rows: DataFrame, further: tuple[str, ...] = ()) -> Schema:
        """The columns of the candidates, and of the events of each element."""
        columns = [(*own, *further) for own in self.columns]
        seen = [rows.select(*(F.col(quoted(name)) for name in names)) for names in columns]
        asks: list[Any] = [lambda text, one=one: type_in_spark(one, text) for one in seen]
        return self.steps.schema(schema_of(rows), columns, asks)

    def candidates(self, tables: Sequence[DataFrame]) -> DataFrame:
        """The candidates of all tables, which may have columns of a stream's time beside their own."""
        parts = [self._of_table(number, table) for number, table in enumerate(tables)]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

    def _of_table(self, number: int, rows: DataFrame) -> DataFrame:
        steps = self.steps.of_table(number)
        own = [without_watermark(rows.schema[name]) for name in self.columns[number] if name not in self.partition_by]
        time = [F.col(name) for name in (WATERMARKED, REASON) if name in rows.columns]
        # Rows that are rejected join nothing and travel on. Asking for this column also keeps Spark from dropping rows
        # before the watermark has seen them: time moves on with events that join nothing, too.
        rejected = F.col(WATERMARKED).isNull() if time else F.lit(False)
        [(_, first), *others] = steps
        if not others and not any((first, place) in self._arrays for place in _places(self.steps)):
            keys = [self._key(first, place) for place in _places(self.steps)]
            rows = rows.where(reduce(and_, (key.isNotNull() for key in keys), F.lit(True)) | rejected)
            roles = [F.lit(step.table == number) for step in self.steps.steps]
        else:
            nothing = F.array(self._candidate([F.lit(None)] * len(self._types), 0))
            every = F.when(rejected, nothing).otherwise(self._merged(steps)) if time else self._merged(steps)
            rows = rows.select("*", F.explode(every).alias(_CANDIDATE)).where(F.col(_CANDIDATE).isNotNull())
            keys = [F.col(f"{_CANDIDATE}.key.{_field(place)}") for place in _places(self.steps)]
            bits = F.col(f"{_CANDIDATE}.roles")
            local = {place: bit for bit, (place, _) in enumerate(steps)}
            roles = [
                bits.bitwiseAND(F.lit(1 << local[place])) != 0 if place in local else F.lit(False)
                for place in range(len(self.steps.steps))
            ]
        named = [key.alias(name) for key, name in zip(keys, self.partition_by, strict=True)]
        marked = [role.alias(name) for role, name in zip(roles, self.role_names, strict=False)]
        return rows.select(*own, *time, *named, *marked)

    def _merged(self, steps: list[tuple[int, Step]]) -> Column:
        """The candidates of one row: each key once, with the steps that it is a key of. Some may be NULL."""
        if not any((step, place) in self._arrays for _, step in steps for place in _places(self.steps)):
            return F.array(*(self._single(steps, number) for number in range(len(steps))))
        every = F.concat(*(self._entries(step, bit) for bit, (_, step) in enumerate(steps)))
        keys = F.array_distinct(F.transform(every, lambda entry: entry["key"]))

        def with_roles(key: Column) -> Column:
            def added(roles: Column, entry: Column) -> Column:
                return F.when(entry["key"] == key, roles.bitwiseOR(entry["roles"])).otherwise(roles)

            roles = F.aggregate(every, F.lit(0).cast("bigint"), added)
            return F.struct(key.alias("key"), roles.alias("roles"))

        return F.transform(keys, with_roles)

    def _single(self, steps: list[tuple[int, Step]], number: int) -> Column:
        """The candidate that one step makes of a row where no key is an array; NULL if it makes none, or if a step
        before makes the same. Spark compiles this, but not the functions that go through arrays."""
        keys = [[self._key(step, place) for place in _places(self.steps)] for _, step in steps]
        mine = keys[number]
        same = [
            reduce(and_, (one.eqNullSafe(other) for one, other in zip(mine, theirs, strict=True))) for theirs in keys
        ]
        valid = reduce(and_, [key.isNotNull() for key in mine] + [~is_same for is_same in same[:number]])
        roles = F.lit(1 << number)
        for further in range(number + 1, len(steps)):
            roles = roles + F.when(same[further], F.lit(1 << further)).otherwise(F.lit(0))
        fields = [key.alias(_field(place)) for place, key in enumerate(mine)]
        return F.when(valid, F.struct(F.struct(*fields).alias("key"), roles.cast("bigint").alias("roles")))

    def _entries(self, step: Step, bit: int) -> Column:
        """The keys of one row for one step: one for each combination of the values of arrays, none with NULL."""

        def listed(place: int) -> Column:
            key = self._key(step, place)
            return key if (step, place) in self._arrays else F.array(key)

        def combined(place: int, before: list[Column]) -> Column:
            if place == len(self._types):
                return F.array(self._candidate(before, 1 << bit))
            further = F.transform(listed(place), lambda value: combined(place + 1, [*before, value]))
            return F.flatten(further)

        no_nulls = F.filter(
            combined(0, []),
            lambda entry: reduce(and_, (entry["key"][_field(place)].isNotNull() for place in _places(self.steps))),
        )
        return F.coalesce(no_nulls, F.array().cast(f"array<{self._entry_type}>"))

    def _candidate(self, keys: list[Column], roles: int) -> Column:
        fields = [key.cast(kind).alias(_field(i)) for i, (key, kind) in enumerate(zip(keys, self._types, strict=True))]
        return F.struct(F.struct(*fields).alias("key"), F.lit(roles).cast("bigint").alias("roles"))

    @property
    def _entry_type(self) -> str:
        fields = ", ".join(f"{_field(place)}: {kind.simpleString()}" for place, kind in enumerate(self._types))
        return f"struct<key: struct<{fields}>, roles: bigint>"

    def _key(self, step: Step, place: int) -> Column:
        """One key of one step, of the type that it has for all steps."""
        kind = self._types[place]
        if (step, place) in self._arrays:
            values = self._keys[step][place].cast(ArrayType(kind))
            return F.transform(values, lambda value: one_zero(value, kind))
        return one_zero(self._keys[step][place].cast(kind), kind)

    def _type(self, place: int) -> DataType:
        """The type of one key, the same for all steps."""
        first: tuple[Step, DataType] | None = None
        for step in self.steps.steps:
            [field] = self.tables[step.table].select(self._keys[step][place].alias("key")).schema.fields
            kind = field.dataType
            if isinstance(kind, ArrayType):
                self._arrays.add((step, place))
                kind = kind.elementType
            if first is None or isinstance(first[1], NullType):
                first = step, kind
            elif kind != first[1] and not isinstance(kind, NullType):
                if not (_is_integral(kind) and _is_integral(first[1])):
                    one, other = first[1].simpleString(), kind.simpleString()
                    raise different_keys(self.steps, place, (first[0], one), (step, other))
                first = first[0], LongType()
        assert first is not None
        return first[1]


def _places(steps: Steps) -> range:
    return range(len(steps.keys))


def _field(place: int) -> str:
    return f"k{place}"


def _is_integral(kind: DataType) -> bool:
    return isinstance(kind, ByteType | ShortType | IntegerType | LongType)


def require_tables(tables: Sequence[object]) -> list[DataFrame]:
    """DataFrames that are all batches or all streams."""
    frames = [require_dataframe(table) for table in tables]
    if len({frame.isStreaming for frame in frames}) > 1:
        raise InputError(
            "some of the tables are batches, others are streams.\n"
            "  Give streams only, or batches only: a batch is read as a stream by spark.readStream."
        )
    return frames


def _check_tables(tables: Sequence[DataFrame], steps: Steps, order_by: tuple[str, ...]) -> None:
    seen: dict[str, tuple[int, str]] = {}
    for number, table in enumerate(tables):
        folded = [column.casefold() for column in table.columns]
        for name in order_by:
            if name.casefold() not in folded:
                raise InputError(
                    f"order_by={name!r} names no column of {steps.called(number)}.\n"
                    f"  Its columns are: {', '.join(table.columns)}."
                )
        for field in table.schema.fields:
            kind = field.dataType.simpleString()
            first, known = seen.setdefault(field.name, (number, kind))
            if known != kind:
                raise different_types(steps, field.name, (first, known), (number, kind))
