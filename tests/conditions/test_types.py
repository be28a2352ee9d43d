"""Types, schemas and Spark's rules on them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cepheid.conditions import types
from cepheid.conditions.expression import AggregateFunction
from cepheid.conditions.promotion import aggregate, common
from cepheid.conditions.types import Schema, decimal, other
from cepheid.errors import InputError


def test_columns_are_found_without_regard_to_case_and_given_as_the_schema_spells_them() -> None:
    schema = Schema.of([("Amount", types.DOUBLE), ("name", types.STRING)])
    assert schema.find("AMOUNT") == ("Amount", types.DOUBLE)
    assert schema.find("amounts") is None


def test_columns_that_differ_only_by_case_are_ambiguous_when_used() -> None:
    schema = Schema.of([("Id", types.INT), ("id", types.INT), ("x", types.INT)])
    assert schema.find("x") is not None
    with pytest.raises(InputError, match="`Id`, `id` differ only by case"):
        schema.find("ID")


def test_near_misses_are_suggested_and_otherwise_all_columns_listed() -> None:
    schema = Schema.of([("amount", types.DOUBLE), ("name", types.STRING)])
    assert schema.suggestion("amuont") == "did you mean `amount`?"
    assert schema.suggestion("zzz") == "the columns are `amount`, `name`"


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.int8(), types.BYTE),
        (pa.int64(), types.LONG),
        (pa.uint32(), types.LONG),
        (pa.uint64(), decimal(20, 0)),
        (pa.float32(), types.FLOAT),
        (pa.decimal128(10, 2), decimal(10, 2)),
        (pa.large_string(), types.STRING),
        (pa.dictionary(pa.int32(), pa.string()), types.STRING),
        (pa.date32(), types.DATE),
        (pa.timestamp("us"), types.TIMESTAMP_NTZ),
        (pa.timestamp("us", "UTC"), types.TIMESTAMP),
        (pa.duration("us"), types.INTERVAL),
        (pa.null(), types.NULL),
        (pa.list_(pa.int32()), types.array_of(types.INT, "list<item: int32>")),
    ],
)
def test_arrow_types(arrow: pa.DataType, expected: types.DataType) -> None:
    assert Schema.from_arrow(pa.schema([("x", arrow)])).find("x") == ("x", expected)


def test_an_arrow_struct_is_known_as_one() -> None:
    schema = Schema.from_arrow(pa.schema([("s", pa.struct([("f", pa.int32())]))]))
    assert schema.columns[0][1].is_struct


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (types.INT, types.LONG, types.LONG),
        (types.INT, types.FLOAT, types.DOUBLE),
        (types.INT, decimal(10, 2), decimal(12, 2)),
        (decimal(38, 10), decimal(38, 2), decimal(38, 2)),
        (decimal(38, 38), decimal(38, 0), decimal(38, 0)),
        (decimal(38, 30), types.INT, decimal(38, 28)),
        (decimal(10, 2), types.FLOAT, types.DOUBLE),
        (types.STRING, types.INT, types.LONG),
        (types.STRING, decimal(10, 2), types.DOUBLE),
        (types.STRING, types.TIMESTAMP, types.TIMESTAMP),
        (types.DATE, types.TIMESTAMP_NTZ, types.TIMESTAMP_NTZ),
        (types.NULL, types.DATE, types.DATE),
        (types.BOOLEAN, types.INT, None),
        (types.INTERVAL, types.STRING, None),
        (types.UNKNOWN, types.INT, types.UNKNOWN),
    ],
)
def test_the_common_type_of_two(left: types.DataType, right: types.DataType, expected: types.DataType | None) -> None:
    assert common(left, right) == expected
    assert common(right, left) == expected


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        (AggregateFunction.SUM, types.INT, types.LONG),
        (AggregateFunction.SUM, types.FLOAT, types.DOUBLE),
        (AggregateFunction.SUM, decimal(10, 2), decimal(20, 2)),
        (AggregateFunction.AVG, types.INT, types.DOUBLE),
        (AggregateFunction.AVG, decimal(10, 2), decimal(14, 6)),
        (AggregateFunction.AVG, types.INTERVAL, types.INTERVAL),
        (AggregateFunction.COUNT, other("map"), types.LONG),
        (AggregateFunction.LAST, types.DATE, types.DATE),
    ],
)
def test_the_types_of_aggregates(
    function: AggregateFunction, argument: types.DataType, expected: types.DataType
) -> None:
    found = aggregate(function, argument)
    assert found is not None
    assert found[1] == expected


def test_there_is_no_sum_of_dates_nor_a_least_map() -> None:
    assert aggregate(AggregateFunction.SUM, types.DATE) is None
    assert aggregate(AggregateFunction.MIN, other("map")) is None
