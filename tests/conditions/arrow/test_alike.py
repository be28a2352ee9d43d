"""Rows that are alike agree on every condition; and rows are put together where they can be."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from conditions.typed_expressions import bound, tables, texts_of
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from cepheid.conditions.arrow.alike import Alike
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.arrow.expression import columns_of
from cepheid.conditions.arrow.holding import is_portable
from cepheid.conditions.expression import Expression
from cepheid.errors import ConditionError

MOMENTS = [
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(1969, 12, 31, tzinfo=UTC),
]
COLUMNS: dict[str, tuple[Any, list[Any], list[str]]] = {
    "d": (pa.float64(), [0.0, -0.0, 1.0, 1.5, math.nan, math.inf, -math.inf, None], ["0", "-0.0D", "1", "1e300"]),
    "f": (pa.float32(), [0.0, 1.5, 0.1, math.nan, None], ["0", "1.5", "0.1", "CAST(0.1 AS FLOAT)"]),
    "n": (pa.int32(), [-1, 0, 1, 2, 2**31 - 1, None], ["0", "1", "2", "5000000000"]),
    "m": (pa.int64(), [-(2**63), 0, 2**63 - 1, None], ["0", "9223372036854775807", "1"]),
    "s": (pa.string(), ["", "a", "b", "B", None], ["'a'", "'b'", "''", "'none'"]),
    "code": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", None], ["'a'", "'c'"]),
    "at": (pa.timestamp("us", "UTC"), [*MOMENTS, None], ["TIMESTAMP '2024-01-01 00:00:00'", "'2024-01-01'"]),
    "day": (pa.date32(), [date(2024, 1, 1), date(1969, 12, 31), None], ["DATE '2024-01-01'"]),
    "price": (pa.decimal128(9, 2), [None], ["1", "1.5"]),
    "flag": (pa.bool_(), [True, False, None], ["TRUE"]),
}  # fmt: skip
SIGNS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    """A column and constants, some of which the rows have."""
    name = draw(st.sampled_from(list(COLUMNS)))
    constants = COLUMNS[name][2]
    one, other = draw(st.sampled_from(constants)), draw(st.sampled_from(constants))
    sign = draw(st.sampled_from(SIGNS))
    return draw(
        st.sampled_from(
            [
                f"{name} {sign} {one}",
                f"{one} {sign} {name}",
                f"{name} IN ({one}, {other})",
                f"{name} IS NULL",
                f"{name} BETWEEN {one} AND {other}",
                f"{name} = NULL",
                "n < m",
                "d > f",
            ]
        )
    )


CONDITIONS = st.recursive(
    comparisons(),
    lambda below: st.one_of(
        st.tuples(below, st.sampled_from(["AND", "OR"]), below).map(lambda parts: f"({' '.join(parts)})"),
        below.map(lambda part: f"NOT ({part})"),
        below.map(lambda part: f"({part}) IS TRUE"),
    ),
    max_leaves=5,
)


@st.composite
def small_tables(draw: st.DrawFn) -> pa.Table:
    """Rows whose values are those that conditions name, and their neighbours."""
    count = draw(st.integers(0, 12))
    made = {
        name: pa.array(draw(st.lists(st.sampled_from(values), min_size=count, max_size=count)), pa.string()).cast(kind)
        if pa.types.is_dictionary(kind)
        else pa.array(draw(st.lists(st.sampled_from(values), min_size=count, max_size=count)), kind)
        for name, (kind, values, _) in COLUMNS.items()
    }
    return pa.table(made)


def portable(texts: list[str]) -> list[Expression]:
    """The conditions that bind and may be computed part by part."""
    found = []
    for text in texts:
        try:
            found.append(bound(text))
        except ConditionError:
            continue
    return [condition for condition in found if is_portable(condition)]


def assert_alike(conditions: list[Expression], table: pa.Table, further: list[Any]) -> None:
    sorts, rows = Alike.of(conditions).sorts(table, further)
    assert len(sorts) == table.num_rows
    assert sorted(set(sorts.tolist())) == list(range(len(rows)))
    assert sorts[rows].tolist() == list(range(len(rows)))
    for condition in conditions:
        values = evaluate_or_fall_back(condition, table).to_pylist() if table.num_rows else []
        assert [values[rows[sort]] is True for sort in sorts] == [value is True for value in values], str(condition)
    for numbers in further:
        assert (numbers[rows][sorts] == numbers).all()


@settings(max_examples=max(300, settings().max_examples))
@given(st.lists(CONDITIONS, min_size=1, max_size=4), small_tables(), st.data())
def test_rows_that_are_alike_agree_on_all_conditions(texts: list[str], table: pa.Table, data: st.DataObject) -> None:
    conditions = portable(texts)
    masks = st.lists(st.sampled_from([0, 5, -1]), min_size=table.num_rows, max_size=table.num_rows)
    assert_alike(conditions, table, [np.array(data.draw(masks), np.int64)])


@given(st.lists(texts_of("condition", 2), min_size=1, max_size=3), st.data())
def test_so_do_they_on_conditions_of_any_kind(texts: list[str], data: st.DataObject) -> None:
    conditions = portable(texts)
    names = tuple(dict.fromkeys(name for condition in conditions for name in columns_of(condition)))
    if not names:
        reject()
    assert_alike(conditions, data.draw(tables(names)), [])


def test_only_constants_part_rows() -> None:
    count = 10_000
    random = np.random.default_rng(1)
    table = pa.table(
        {"d": random.random(count), "s": pa.array([f"k{i % 50}" for i in range(count)]), "n": np.arange(count)}
    )
    conditions = portable(["s = 'k1' AND d > 0.25", "s = 'k2' AND d > 0.5", "n IS NULL OR d <= 0.5"])
    sorts, rows = Alike.of(conditions).sorts(table)
    assert len(rows) == 9  # three kinds of names by three intervals
    assert_alike(conditions, table, [])
    assert len(set(sorts.tolist())) == 9


def test_many_combinations_are_sorted() -> None:
    count = 3_000
    random = np.random.default_rng(2)
    names = ("a", "b", "c")
    table = pa.table({name: pa.array(random.random(count)) for name in names}).rename_columns(["d", "f", "price"])
    conditions = [part for i in range(200) for part in portable([f"d > {i / 200}", f"d < {i / 200} OR d = 0.5"])]
    sorts, _ = Alike.of(conditions).sorts(table.select(["d"]), [np.arange(count) * 7_000_000, np.arange(count)])
    assert len(set(sorts.tolist())) == count
