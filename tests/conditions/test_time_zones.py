"""Clocks: what HOUR, dates, texts and literals mean in a time zone, on rows and on columns alike."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from conditions.typed_expressions import CLOCK_CHANGES
from hypothesis import given
from hypothesis import strategies as st

from cepheid import InputError, Pattern
from cepheid.conditions import Schema, compile_expression, parse
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Expression
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.conditions.scope import Scope

BERLIN = "Europe/Berlin"
SUMMER = datetime(2024, 7, 1, 22, 30, tzinfo=UTC)
TYPES = pa.schema([("ts", pa.timestamp("us", "UTC")), ("clock", pa.timestamp("us")), ("day", pa.date32())])


def bound(text: str, zone: str) -> Expression:
    return Checker(Scope("condition", Schema.from_arrow(TYPES, zone), (), (), frozenset())).bind(parse(text))


def value(text: str, zone: str, **row: Any) -> Any:
    return compile_expression(bound(text, zone))(row, NOTHING_TAKEN)


@pytest.mark.parametrize(
    ("text", "in_utc", "in_berlin"),
    [
        ("HOUR(ts)", 22, 0),
        ("DAY(ts)", 1, 2),
        ("CAST(ts AS DATE)", date(2024, 7, 1), date(2024, 7, 2)),
        ("CAST(ts AS STRING)", "2024-07-01 22:30:00", "2024-07-02 00:30:00"),
        ("CAST(ts AS TIMESTAMP_NTZ)", datetime(2024, 7, 1, 22, 30), datetime(2024, 7, 2, 0, 30)),
        ("ts = TIMESTAMP '2024-07-01 22:30:00'", True, False),
        ("ts = TIMESTAMP '2024-07-02 00:30:00'", False, True),
        ("ts = TIMESTAMP '2024-07-02 00:30:00+02:00'", True, True),
        ("ts = '2024-07-02 00:30:00'", False, True),
        ("ts < DATE '2024-07-02'", True, False),
        ("DATE '2024-07-02' + INTERVAL '30' MINUTE = ts", False, True),
        ("datediff(ts, DATE '2024-07-01')", 0, 1),
        ("CAST(ts AS BIGINT)", 1719873000, 1719873000),
        ("HOUR(clock)", 22, 22),
        ("clock = TIMESTAMP '2024-07-01 22:30:00'", True, True),
        ("clock = ts", True, False),
    ],
)
def test_a_clock_is_read_in_the_zone(text: str, in_utc: Any, in_berlin: Any) -> None:
    row = {"ts": SUMMER, "clock": SUMMER.replace(tzinfo=None), "day": date(2024, 7, 1)}
    assert value(text, "UTC", **row) == in_utc
    assert value(text, BERLIN, **row) == in_berlin


def test_hours_that_a_clock_shows_twice_or_never_are_read_as_java_reads_them() -> None:
    assert value("CAST(TIMESTAMP '2024-10-27 02:30:00' AS BIGINT)", BERLIN) == 1729989000  # the first, in summer time
    assert value("CAST(TIMESTAMP '2024-03-31 02:30:00' AS BIGINT)", BERLIN) == 1711848600  # 03:30 in summer time
    assert value("CAST(TIMESTAMP '2024-01-01 00:00:00' AS BIGINT)", "+05:30") == 1704047400


@given(
    st.lists(st.sampled_from(CLOCK_CHANGES) | st.datetimes(datetime(1980, 1, 1), datetime(2037, 1, 1)), min_size=1),
    st.sampled_from([BERLIN, "America/New_York", "+05:30", "UTC"]),
    st.sampled_from(
        ["HOUR(ts)", "CAST(ts AS DATE)", "CAST(ts AS TIMESTAMP_NTZ)", "DAYOFWEEK(ts)", "ts - day", "clock < ts"]
    ),
)
def test_columns_give_what_rows_give(moments: list[datetime], zone: str, text: str) -> None:
    rows = [{"ts": moment.replace(tzinfo=UTC), "clock": moment, "day": moment.date()} for moment in moments]
    expression = bound(text, zone)
    by_rows = [compile_expression(expression)(row, NOTHING_TAKEN) for row in rows]
    assert evaluate_or_fall_back(expression, pa.Table.from_pylist(rows, TYPES)).to_pylist() == by_rows


def _found(rows: object, condition: str, **arguments: Any) -> int:
    return len(Pattern.begin("a").where(condition).match_events(rows, **arguments).matches)


def test_rows_in_memory_take_the_zone_and_keep_instants() -> None:
    import pandas as pd

    berlin = SUMMER.astimezone(ZoneInfo(BERLIN))
    for rows in ([{"ts": SUMMER}], [{"ts": berlin}], pd.DataFrame({"ts": [pd.Timestamp(berlin)]})):
        assert _found(rows, "HOUR(ts) = 22") == 1
        assert _found(rows, "HOUR(ts) = 0", time_zone=BERLIN) == 1
        assert _found(rows, "ts = TIMESTAMP '2024-07-02 00:30:00'", time_zone=BERLIN) == 1
        assert _found(rows, "ts = TIMESTAMP '2024-07-01 22:30:00Z'", time_zone=BERLIN) == 1


def test_what_is_compared_with_earlier_events_is_read_by_the_same_clock() -> None:
    rows = [{"t": index, "ts": SUMMER + timedelta(hours=index)} for index in range(3)]
    later = "DAY(ts) = DAY(a.ts) AND a.ts >= TIMESTAMP '2024-07-02 00:30:00'"
    pattern = Pattern.begin("a").followed_by("b").where(later)
    assert len(pattern.match_events(rows, order_by="t", time_zone=BERLIN).matches) == 2
    assert len(pattern.match_events(rows, order_by="t").matches) == 0


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InputError, match="'Berlin' is not a time zone"):
        _found([{"ts": SUMMER}], "TRUE", time_zone="Berlin")
