"""The types of values in conditions, as Spark has them, and the columns that an event has.

Comes in: an Arrow schema, or names with types. Goes out: `DataType`s, and a `Schema` that finds columns by Spark's
case rule. Called by this room and by whoever has events to bind a pattern to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from cepheid.conditions.carets import did_you_mean
from cepheid.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


class Kind(Enum):
    """The closed choice of types; a member's value is Spark's name for it."""

    UNKNOWN = "unknown"
    """Not known before the run: no schema was given, or Spark alone knows the function. Decided value by value."""
    NULL = "void"
    BOOLEAN = "boolean"
    BYTE = "tinyint"
    SHORT = "smallint"
    INT = "int"
    LONG = "bigint"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    INTERVAL = "interval day to second"
    OTHER = "other"
    """Arrays, structs, maps: only IS NULL here; anything else is Spark's."""


@dataclass(frozen=True, slots=True)
class DataType:
    """A type; `precision` and `scale` belong to decimals, `name` says which one OTHER is (`struct<…>`), `fields` what a
    struct holds, `item` what an array holds, None where that is not known."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    name: str = ""
    fields: tuple[tuple[str, DataType], ...] = ()
    item: DataType | None = None

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        return self.name or self.kind.value

    @property
    def is_integral(self) -> bool:
        return self.kind in _INTEGRAL_BITS

    @property
    def is_fractional(self) -> bool:
        return self.kind in (Kind.FLOAT, Kind.DOUBLE)

    @property
    def is_numeric(self) -> bool:
        return self.kind in _NUMERIC

    @property
    def is_moment(self) -> bool:
        """A date or a timestamp of either sort."""
        return self.kind in _MOMENTS

    @property
    def is_known(self) -> bool:
        return self.kind is not Kind.UNKNOWN

    @property
    def is_struct(self) -> bool:
        return self.kind is Kind.OTHER and self.name.startswith("struct")

    @property
    def is_array(self) -> bool:
        return self.kind is Kind.OTHER and self.name.startswith(("list<", "large_list<", "fixed_size_list<", "array<"))

    @property
    def bits(self) -> int:
        """The width of an integral type."""
        return _INTEGRAL_BITS[self.kind]


_INTEGRAL_BITS = {Kind.BYTE: 8, Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}
_NUMERIC = {*_INTEGRAL_BITS, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE}
_MOMENTS = {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}

UNKNOWN = DataType(Kind.UNKNOWN)
NULL = DataType(Kind.NULL)
BOOLEAN = DataType(Kind.BOOLEAN)
BYTE = DataType(Kind.BYTE)
SHORT = DataType(Kind.SHORT)
INT = DataType(Kind.INT)
LONG = DataType(Kind.LONG)
FLOAT = DataType(Kind.FLOAT)
DOUBLE = DataType(Kind.DOUBLE)
STRING = DataType(Kind.STRING)
BINARY = DataType(Kind.BINARY)
DATE = DataType(Kind.DATE)
TIMESTAMP = DataType(Kind.TIMESTAMP)
TIMESTAMP_NTZ = DataType(Kind.TIMESTAMP_NTZ)
INTERVAL = DataType(Kind.INTERVAL)
DAYS = DataType(Kind.INTERVAL, name="interval day")
"""An interval of whole days by its type: added to a date it gives a date, any other interval gives a timestamp."""

MAX_PRECISION = 38


def decimal(precision: int, scale: int) -> DataType:
    """A decimal type within Spark's 38 digits: excess digits are cut from the scale, down to 6, as Spark does."""
    if precision > MAX_PRECISION:
        whole = precision - scale
        scale = max(MAX_PRECISION - whole, min(scale, 6))
        precision = MAX_PRECISION
    return DataType(Kind.DECIMAL, precision, scale)


def array_of(item: DataType, name: str = "") -> DataType:
    """Arrays of such items; `name` is how Arrow calls the type."""
    return DataType(Kind.OTHER, name=name or f"array<{item}>", item=item)


def other(name: str) -> DataType:
    """A type that only Spark can compute with."""
    return DataType(Kind.OTHER, name=name)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of an event in order. Names are found without regard to case, as in Spark."""

    columns: tuple[tuple[str, DataType], ...]
    zone: str = "UTC"
    """The time zone by whose clock timestamps are read, and written where a text gives no zone."""
    type_in_spark: Callable[[str], DataType] | None = field(default=None, repr=False, compare=False)
    """The type of a text that only Spark computes, a `ValueError` where Spark refuses it; None without Spark."""
    roles: Mapping[str, Role] = field(default_factory=dict, repr=False, compare=False)
    """By element: which events it may take, where elements have keys or tables of their own."""
    _by_folded: dict[str, list[tuple[str, DataType]]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_folded: dict[str, list[tuple[str, DataType]]] = {}
        for name, data_type in self.columns:
            by_folded.setdefault(name.casefold(), []).append((name, data_type))
        object.__setattr__(self, "_by_folded", by_folded)

    def __iter__(self) -> Iterator[tuple[str, DataType]]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def find(self, name: str) -> tuple[str, DataType] | None:
        """The column as the schema spells it and its type, or None. Two that differ only by case are an error."""
        found = self._by_folded.get(name.casefold(), [])
        if len(found) > 1:
            spelled = ", ".join(f"`{spelling}`" for spelling, _ in found)
            raise InputError(f"column `{name}` is ambiguous: {spelled} differ only by case\n  rename one of them")
        return found[0] if found else None

    def of_element(self, name: str) -> Schema:
        """The columns that the events of an element have."""
        return replace(self.roles[name].schema, roles=self.roles) if name in self.roles else self

    def suggestion(self, name: str) -> str:
        """What to say of a name that is no column: the nearest columns, or all of them."""
        near = did_you_mean(name, self.names)
        return near or "the columns are " + ", ".join(f"`{column}`" for column in self.names)

    @classmethod
    def of(cls, columns: Iterable[tuple[str, DataType]]) -> Schema:
        return cls(tuple(columns))

    @classmethod
    def from_arrow(
        cls, schema: pa.Schema, zone: str = "UTC", type_in_spark: Callable[[str], DataType] | None = None
    ) -> Schema:
        """The schema of Arrow data, with the types Spark would give it."""
        return cls(tuple((column.name, _from_arrow(column.type)) for column in schema), zone, type_in_spark)


@dataclass(frozen=True, slots=True)
class Role:
    """Which events an element may take."""

    column: str | None
    """The column that is true on these events; None: all of them."""
    schema: Schema
    """The columns of these events."""


def _from_arrow(arrow: Any) -> DataType:
    from pyarrow import types as is_a

    simple = (
        (is_a.is_null, NULL),
        (is_a.is_boolean, BOOLEAN),
        (is_a.is_int8, BYTE),
        (lambda t: is_a.is_int16(t) or is_a.is_uint8(t), SHORT),
        (lambda t: is_a.is_int32(t) or is_a.is_uint16(t), INT),
        (lambda t: is_a.is_int64(t) or is_a.is_uint32(t), LONG),
        (is_a.is_uint64, decimal(20, 0)),
        (lambda t: is_a.is_float16(t) or is_a.is_float32(t), FLOAT),
        (is_a.is_float64, DOUBLE),
        (lambda t: is_a.is_string(t) or is_a.is_large_string(t) or is_a.is_string_view(t), STRING),
        (lambda t: is_a.is_binary(t) or is_a.is_large_binary(t) or is_a.is_fixed_size_binary(t), BINARY),
        (is_a.is_date, DATE),
        (is_a.is_duration, INTERVAL),
    )
    for holds, data_type in simple:
        if holds(arrow):
            return data_type
    if is_a.is_decimal(arrow) and arrow.precision <= MAX_PRECISION and arrow.scale >= 0:
        return DataType(Kind.DECIMAL, arrow.precision, arrow.scale)
    if is_a.is_timestamp(arrow):
        return TIMESTAMP if arrow.tz else TIMESTAMP_NTZ
    if is_a.is_dictionary(arrow):
        return _from_arrow(arrow.value_type)
    if is_a.is_struct(arrow):
        fields = tuple((field.name, _from_arrow(field.type)) for field in arrow)
        return DataType(Kind.OTHER, name=str(arrow), fields=fields)
    if is_a.is_list(arrow) or is_a.is_large_list(arrow) or is_a.is_fixed_size_list(arrow):
        return array_of(_from_arrow(arrow.value_type), str(arrow))
    return other(str(arrow))
