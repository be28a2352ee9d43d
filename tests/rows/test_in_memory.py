"""Rows in memory: forms of input, partitions, order, the table of matches, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from cepheid import InputError, LimitError, MalformedPatternError, Pattern
from cepheid.rows import in_memory

RISE = Pattern.begin("low").where("name = 'a'").followed_by("high").where("price > LAST(low.price)")
ROWS = [
    {"key": "x", "t": 1, "name": "a", "price": 5},
    {"key": "y", "t": 2, "name": "a", "price": 7},
    {"key": "x", "t": 4, "name": "b", "price": 6},
    {"key": "y", "t": 3, "name": "b", "price": 6},
]


@pytest.mark.parametrize(
    "form", [list, pd.DataFrame, pa.Table.from_pylist, lambda rows: pa.RecordBatch.from_pylist(rows)]
)
def test_forms_of_input(form: object) -> None:
    found = RISE.match_events(form(ROWS), partition_by="key", order_by="t")  # type: ignore[operator]
    [match] = found.matches
    assert (match["key"], match["start_time"], match["end_time"]) == ("x", 1, 4)
    assert match["low"] == ROWS[0]
    assert match["high"] == ROWS[2]
    assert found.matches_table.column_names == ["key", "match_id", "start_time", "end_time", "low", "high"]


def test_rows_are_sorted_and_null_is_a_key() -> None:
    rows = [{"key": None, "t": 2, "name": "b", "price": 9}, {"key": None, "t": 1, "name": "a", "price": 1}, *ROWS]
    found = RISE.match_events(rows, partition_by=["key"], order_by=["t"]).matches
    assert sorted(match["high"]["price"] for match in found) == [6, 9]


def test_without_order_rows_come_as_given() -> None:
    assert len(RISE.match_events(ROWS[:1] + ROWS[2:3]).matches) == 1
    assert RISE.match_events([]).matches == []


def test_match_ids_depend_on_the_events_alone() -> None:
    def ids(rows: list[dict[str, object]]) -> list[str]:
        return [match["match_id"] for match in RISE.match_events(rows, partition_by="key", order_by="t").matches]

    more = [
        *reversed(ROWS),
        {"key": "z", "t": 1, "name": "a", "price": 1},
        {"key": "z", "t": 2, "name": "b", "price": 2},
    ]
    assert set(ids(ROWS)) < set(ids(more))
    assert len(set(ids(more))) == 2


def test_equal_rows_have_different_match_ids() -> None:
    rows = [{"t": 1, "name": "a"}] * 3
    found = Pattern.begin("a").match_events(rows, order_by="t").matches
    assert len({match["match_id"] for match in found}) == 3


def test_loops_are_lists_and_skipped_elements_null_or_empty() -> None:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").times(2).optional()
    pattern = pattern.followed_by("c").where("name = 'x'").optional()
    [match] = pattern.match_events([{"name": "a"}]).matches
    assert (match["b"], match["c"]) == ([], None)
    both = pattern.match_events([{"name": n} for n in "abb"]).matches[-1]
    assert both["b"] == [{"name": "b"}, {"name": "b"}]


def test_types_survive() -> None:
    row = {
        "ts": datetime(2025, 1, 1, tzinfo=UTC),
        "day": date(2025, 1, 1),
        "money": Decimal("1.50"),
        "tags": ["p", "q"],
        "place": {"city": "Ulm"},
        "raw": b"\x00",
    }
    [match] = Pattern.begin("a").match_events([row], order_by="ts").matches
    assert match["a"] == row
    assert match["start_time"] == row["ts"]


def test_timeouts_have_the_moment_in_the_type_of_the_order_column() -> None:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("10 minutes")
    found = pattern.match_events([{"ts": datetime(2025, 1, 1, 12), "name": "a"}], order_by="ts")
    assert [timeout["at"] for timeout in found.timeouts] == [datetime(2025, 1, 1, 12, 10)]
    assert pattern.match_events([{"day": date(2025, 1, 1), "name": "a"}], order_by="day").timeouts


def test_lengths_of_fractions_of_an_order_unit() -> None:
    pattern = Pattern.begin("a").next("b").within(1.5)
    assert len(pattern.match_events([{"t": 1}, {"t": 2}], order_by="t").matches) == 1
    assert len(pattern.match_events([{"t": 1}, {"t": 3}], order_by="t").matches) == 0


@pytest.mark.parametrize(
    ("rows", "arguments", "says"),
    [
        ([{"t": None}, {"t": 1}], {"order_by": "t"}, "1 of 2 rows have no value"),
        ([{"t": 1}], {"order_by": "x"}, "names no column"),
        ([{"t": 1}], {"partition_by": "key"}, "The columns are: t"),
        ([{"t": "x"}], {"order_by": "t"}, "a timestamp, a date or a number first"),
        ([{"t": "2025-01-01"}], {"order_by": "t"}, r'to_datetime\(df\["t"\], errors="coerce"\)'),
        ([{"when": 1}], {"order_by": "wen"}, "Did you mean `when`?"),
        ("events.csv", {}, "Read the file first"),
        ([{"t": 1.5}], {"order_by": "t"}, "whole"),
        ([{"t": 1}, {"t": "x"}], {}, "values of different types"),
        ([{"k": [1]}], {"partition_by": "k"}, "cannot be a key"),
        ([1], {}, "row 0 is a int"),
        ({"t": 1}, {}, "list of dicts"),
        ([{"a": 1}], {"partition_by": "a"}, "would name two columns"),
    ],
)
def test_input_that_is_refused(rows: object, arguments: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Pattern.begin("a").match_events(rows, **arguments)


@pytest.mark.parametrize(
    ("window", "row", "order_by", "says"),
    [
        ("10 minutes", {"t": 1}, "t", "holds plain numbers"),
        (10, {"t": datetime(2025, 1, 1)}, "t", "without unit"),
        (10, {"t": 1}, (), "nothing says when"),
    ],
)
def test_windows_must_fit_the_order_column(window: object, row: object, order_by: str, says: str) -> None:
    with pytest.raises(MalformedPatternError, match=says):
        Pattern.begin("a").next("b").within(window).match_events([row], order_by=order_by)  # type: ignore[arg-type]


def test_a_callable_takes_the_slow_way_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory, "_TOLD", set())  # other tests may have been told already
    pattern = Pattern.begin("a").where(lambda event, taken: event["name"] == "a")
    for _ in range(2):
        assert len(pattern.match_events(ROWS).matches) == 2
    [told] = [record.message for record in caplog.records if "reference evaluator" in record.message]
    assert "a Python callable" in told


def test_limits() -> None:
    pattern = Pattern.begin("a").followed_by("b").where("name = 'never'").skip("to_next")
    with pytest.raises(LimitError, match=r"(?s)the event at t = 3: 3 partial matches wait, most of them for 'b'"):
        pattern.match_events(ROWS, order_by="t", max_runs=2)
