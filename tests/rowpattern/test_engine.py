"""The compiled matcher finds what the literal evaluator finds, and is quick where it says so."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from rowpattern.clauses import clauses, tables

from cepheid.conditions import Schema
from cepheid.conditions.expression import Column, Name
from cepheid.conditions.types import LONG
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.row_values import RowValues
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.row_patterns import RowTables, tabulate
from cepheid.errors import CepheidError, EvaluationError, LimitError
from cepheid.match_recognize import read
from cepheid.options import Limits
from cepheid.rowpattern.binding import bind
from cepheid.rowpattern.model import Sort
from cepheid.rows.row_order import OrderedRows, ordered
from cepheid.rows.row_patterns import by_engine, by_reference, match_rows

MEMORY = {r.FORGET: "forget", r.BY_STATE: "by state", r.BY_ROW_OF_START: "by start", r.BY_ROW: "by row"}


def outcome(run: Any) -> Any:
    """The rows of a result, or the kind of error."""
    try:
        found = run()
    except LimitError:
        assume(False)
    except CepheidError as error:
        return type(error)
    return found.column_names, [
        [("nan" if isinstance(v, float) and math.isnan(v) else v) for v in column.to_pylist()]
        for column in found.columns
    ]


def compared(clause: str, table: pa.Table) -> None:
    bound = bind(read(clause), Schema.from_arrow(table.schema))
    rows = ordered(table, bound.partition_by, bound.order_by)
    expected = outcome(lambda: by_reference(bound, rows, max_steps=20_000))
    assert outcome(lambda: by_engine(bound, tabulate(bound), rows)) == expected


@settings(
    max_examples=max(200, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(clauses(), tables())
@example(
    "PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n AFTER MATCH SKIP TO NEXT ROW PATTERN ((A | B)* C B?) "
    "DEFINE C AS SUM(A.v) = 3",
    pa.table({"t": range(6), "p": ["k"] * 6, "v": [1, 1, 1, 1, 1, 1]}),
)
def test_the_engine_is_the_reference(clause: str, table: pa.Table) -> None:
    compared(clause, table)


def tabulated(pattern: str, defines: str) -> RowTables:
    schema = Schema.from_arrow(
        pa.schema([("p", pa.string()), ("t", pa.int64()), ("v", pa.int64()), ("s", pa.string())])
    )
    return tabulate(bind(read(f"PARTITION BY p ORDER BY t PATTERN ({pattern}) DEFINE {defines}"), schema))


@pytest.mark.parametrize(
    ("pattern", "defines", "memory"),
    [
        ("A B+ C", "A AS v > 1, B AS B.v < PREV(B.v), C AS NEXT(v) = 2", "by row"),
        ("A B+", "B AS B.v > FIRST(v)", "by start"),
        ("A B+", "B AS COUNT(*) < 4", "by start"),
        ("A B+", "B AS B.v > A.v", "by start"),  # A is the first row of every match and no other
        ("A | A B+", "B AS B.v > A.v", "by state"),
        ("(A | B)+ C", "C AS C.v > A.v", "by state"),
        ("(A | B)+ C", "C AS SUM(A.v) > 3", "by state"),
        ("(A | B)+ C", "C AS LAST(CLASSIFIER(), 1) = 'A'", "forget"),
        ("A B", "A AS CLASSIFIER() = 'A'", "by row"),  # the row's own label is known
    ],
)
def test_what_is_remembered_follows_what_is_read(pattern: str, defines: str, memory: str) -> None:
    assert MEMORY[int(tabulated(pattern, defines).params[r.P_MEMORY])] == memory


def seconds(clause: str, table: pa.Table) -> tuple[float, pa.Table]:
    bound = bind(read(clause), Schema.from_arrow(table.schema))
    rows, found = ordered(table, bound.partition_by, bound.order_by), tabulate(bound)
    by_engine(bound, found, rows)
    begun = time.perf_counter()
    result = by_engine(bound, found, rows)
    return time.perf_counter() - begun, result


def same_rows(count: int) -> pa.Table:
    return pa.table({"p": ["k"] * count, "t": range(count), "v": [1] * count})


def test_two_loops_over_equal_rows_are_linear() -> None:
    """Each row would be tried from each start, and each split between the loops, without a memory."""
    clause = "PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n PATTERN (A+ B+ C) DEFINE C AS v > 1"
    took, found = seconds(clause, same_rows(200_000))
    assert found.num_rows == 0
    assert took < 2


def test_many_optional_parts() -> None:
    optional = " ".join(["A?"] * 24)
    clause = f"PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n PATTERN ({optional} B) DEFINE B AS v > 1"
    took, found = seconds(clause, same_rows(2_000))
    assert found.num_rows == 0
    assert took < 1


def test_states_that_conditions_cannot_tell_apart_are_merged() -> None:
    """2^40 ways to label the rows, but only 41 sums."""
    clause = "PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n PATTERN ((A | B)* C) DEFINE C AS SUM(A.v) > 100"
    took, found = seconds(clause, same_rows(40))
    assert found.num_rows == 0
    assert took < 2


def test_a_search_that_explodes_is_given_up() -> None:
    clause = (
        "PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n PATTERN ((A | B)* C) DEFINE C AS PREV(CLASSIFIER(), 30) = 'X'"
    )
    table = same_rows(60)
    bound = bind(read(clause), Schema.from_arrow(table.schema))
    with pytest.raises(LimitError, match=r"begins at the row at p = 'k', t = 0 went back more than 100,000 times"):
        by_engine(bound, tabulate(bound, max_steps=100_000), ordered(table, bound.partition_by, bound.order_by))


def test_a_failing_condition_names_its_row() -> None:
    table = pa.table({"p": ["k", "k"], "t": [1, 2], "v": [0, 1]})
    clause = "PARTITION BY p ORDER BY t PATTERN (A B) DEFINE B AS 10 / FIRST(v) > 0"
    with pytest.raises(EvaluationError, match=r"DEFINE B: division by zero at the row at p = 'k', t = 2"):
        match_rows(read(clause), table, Limits())


def test_what_the_machine_lacks_is_said() -> None:
    with pytest.raises(NotCompiled, match="COUNT"):
        tabulated("A+", "A AS COUNT(DISTINCT v) < 3")


@pytest.mark.parametrize("condition", ["COALESCE(UPPER(B.s), 'NONE') = 'NONE'", "LENGTH(CONCAT(B.s, '!')) IS NULL"])
def test_functions_of_one_other_row_are_columns(condition: str) -> None:
    table = pa.table({"p": ["k"] * 3, "t": range(3), "v": [1, 1, 1], "s": ["x", "y", "z"]})
    clause = (
        f"PARTITION BY p ORDER BY t MEASURES ARRAY_AGG(CLASSIFIER()) AS l PATTERN ((A | B)* C) DEFINE C AS {condition}"
    )
    compared(clause, table)
    assert match_rows(read(clause), table, Limits()).matches == [{"p": "k", "l": ["A", "A", "C"]}]


@pytest.mark.parametrize("condition", ["= 1", "> 1", "IN (1, 3)", "< 3 OR v = 2"])
def test_the_number_of_the_match_is_known_while_matching(condition: str) -> None:
    """Rule 5.8: in DEFINE it is the number that the match would get, also beside constants alone."""
    clause = f"ORDER BY t MEASURES FIRST(t) AS f PATTERN (A) DEFINE A AS v = 1 AND (MATCH_NUMBER() {condition})"
    compared(clause, pa.table({"t": range(6), "v": [1, 2, 1, 1, 2, 1]}))


def test_then_the_reference_finds_the_matches(caplog: pytest.LogCaptureFixture) -> None:
    clause = "ORDER BY t MEASURES ARRAY_AGG(v) AS all PATTERN (A+) DEFINE A AS COUNT(DISTINCT v) < 3"
    found = match_rows(read(clause), pa.table({"t": range(5), "v": [1, 2, 1, 3, 3]}), Limits())
    assert found.matches == [{"all": [1, 2, 1]}, {"all": [3, 3]}]
    assert "reference evaluator, which is slow: it has `COUNT(DISTINCT v)`" in caplog.text


def test_values_that_do_not_fit_take_the_same_way() -> None:
    numbers = [Decimal(10**30 + step) for step in (1, 2, 0)]
    table = pa.table({"t": range(3), "d": pa.array(numbers, pa.decimal128(38, 0))})
    clause = "ORDER BY t MEASURES LAST(d) AS top PATTERN (A B+) DEFINE B AS B.d > A.d"
    assert match_rows(read(clause), table, Limits()).matches == [{"top": numbers[1]}]


def test_long_matches() -> None:
    count = 300_000
    clause = "PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n, LAST(v) AS v PATTERN ((A | B)+) DEFINE A AS v > 5"
    _, found = seconds(clause, same_rows(count))
    assert found.to_pylist() == [{"p": "k", "n": count, "v": 1}]


def test_a_condition_on_neighbours_is_asked_only_where_the_row_fits() -> None:
    clause = "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS v <> 0 AND 10 / v > PREV(v)"
    assert match_rows(read(clause), pa.table({"t": range(4), "v": [0, 5, 0, 2]}), Limits()).matches == [
        {"n": 1},
        {"n": 1},
    ]


@pytest.mark.parametrize("shift", [-7, -2, -1, 1, 2, 3, 9])
def test_shifts_stay_in_their_partition(shift: int) -> None:
    rows = RowValues(pa.table({"v": range(6)}), np.array([0, 1, 4, 6]))
    partitions = [[0], [1, 2, 3], [4, 5]]
    expected = [row + shift if row + shift in partition else None for partition in partitions for row in partition]
    assert rows.shifted(rows.of(Column("v", type=LONG)), shift).to_pylist() == expected


def test_a_long_match_is_no_search_that_explodes() -> None:
    clause = "PARTITION BY p ORDER BY t MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS {}"
    for condition in ("v = 1", "B.v = A.v", "LAST(CLASSIFIER(), 1) <> 'X'"):
        found = match_rows(read(clause.format(condition)), same_rows(5_000), Limits(max_steps=10))
        assert found.matches == [{"p": "k", "n": 5_000}]


@given(
    st.lists(st.tuples(st.integers(-4, 4) | st.sampled_from([None, 2**62, -(2**62)]), st.integers(0, 9)), min_size=1)
)
def test_partitions_by_number_are_the_same_as_by_lookup(rows: list[tuple[int | None, int]]) -> None:
    keys, times = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"k": pa.array(keys, pa.int64()), "t": times, "row": range(len(rows))})
    sorts = (Sort(Name(("t",))),)

    def partitions(rows: OrderedRows) -> list[list[int]]:
        listed = rows.values().column("row").to_pylist()
        return sorted(listed[begin:end] for begin, end in pairwise(rows.bounds.tolist()))

    assert partitions(ordered(table, ("k",), sorts, by_number=True)) == partitions(ordered(table, ("k",), sorts))
