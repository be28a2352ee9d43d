"""Every public argument given wrongly: an error of ours names it and says what would be right."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cepheid import CepheidError, InputError, Limits, Pattern

ROWS = [{"t": 1, "n": 1, "k": "x"}, {"t": 2, "n": 2, "k": "x"}]
PAIR = Pattern.begin("a").where("n > 0").followed_by("b").where("n > a.n").within(10)
HOURLY = Pattern.begin("a").followed_by("b").within("1 hour")


class Odd:
    """No value of any known kind."""

    def __len__(self) -> int:
        return 1


NO_NAMES = [1, 1.5, b"k", {"k": 1}, {"k"}, [1], [None], [["k"]], "", [""], Odd(), len, pd.DataFrame(ROWS), ["k", "k"]]
NO_COUNTS = [0, -1, None, "5", 1.5, True, 10**30, [1], float("nan"), Odd()]
NO_MEASURES = [["SUM(b.n)"], "SUM(b.n)", {1: "SUM(b.n)"}, {"": "SUM(b.n)"}, {"x": 1}, {"x": None}, {"x": Odd()}, 5]
WRONG = [
    *(("partition_by", value) for value in NO_NAMES),
    *(("order_by", value) for value in NO_NAMES),
    *(("columns", value) for value in [*NO_NAMES, []]),
    *(("measures", value) for value in NO_MEASURES),
    *(("rows", value) for value in ("some", None, 1, ["one"], Odd())),
    *(("nulls", value) for value in ("keep", None, True, Odd())),
    *(("max_runs", value) for value in NO_COUNTS),
    *(("max_matches_per_event", value) for value in NO_COUNTS),
    *(("limits", value) for value in (5, {"max_runs": 5}, "few")),
]


@pytest.mark.parametrize(("argument", "value"), WRONG, ids=[f"{name}-{str(value)[:20]}" for name, value in WRONG])
def test_arguments_of_match_events(argument: str, value: Any) -> None:
    with pytest.raises(CepheidError, match=argument):
        PAIR.match_events(ROWS, **{"order_by": "t", argument: value})


def test_nothing_given_is_nothing_asked() -> None:
    found = PAIR.match_events(ROWS, order_by="t", partition_by=None, measures=None, columns=None, limits=None)
    assert found.matches == PAIR.match_events(ROWS, order_by="t").matches
    assert len(Pattern.begin("a").match_events(ROWS, order_by=None).matches) == 2


def test_an_argument_that_there_is_not() -> None:
    with pytest.raises(InputError, match=r"no argument 'max_run'(?s:.*)Did you mean max_runs=\?"):
        PAIR.match_events(ROWS, order_by="t", max_run=5)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="no argument 'watermrk'"):
        PAIR.as_transform(order_by="t", watermrk="5 minutes")  # type: ignore[call-arg]


@pytest.mark.parametrize("value", NO_COUNTS)
@pytest.mark.parametrize("name", Limits.__slots__)
def test_limits(name: str, value: Any) -> None:
    if (name, value) == ("max_state_bytes", None):  # a share of the memory
        assert Limits(**{name: value}).max_state_bytes is None
        return
    with pytest.raises(InputError, match=name):
        Limits(**{name: value})


def test_single_limits_are_stronger() -> None:
    assert Limits(max_runs=np.int64(5)).max_runs == 5  # type: ignore[arg-type]
    many = [{"t": t, "n": t} for t in range(20)]
    with pytest.raises(CepheidError, match="max_runs is 1"):
        Pattern.begin("a").followed_by("b").where("n > 50").match_events(
            many, order_by="t", limits=Limits(max_runs=1_000), max_runs=1
        )


def moments(*times: object) -> list[dict[str, object]]:
    return [{"t": time, "n": number} for number, time in enumerate(times)]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (pd.DataFrame([[1, 2, 3]], columns=["t", "n", "n"]), "2 columns named 'n'"),
        (pd.DataFrame({"t": [1, 2], "n": [1, "x"]}), "column 'n' holds values of different types"),
        (pd.DataFrame({"t": [1], "n": [1j]}), "column 'n'"),
        (pd.Series([1, 2]), "rows are a Series|row 0"),
        (pa.table([[1], [2], [3]], names=["t", "n", "n"]), "two columns named 'n'"),
        (np.array([1, 2]), "row 0 is a int64"),
        ([{"t": 1, "n": 10**30}], "column 'n' holds a number or time that 64 bits cannot"),
        ([{"t": 10**30, "n": 1}], "column 't' holds a number or time"),
        ([{"t": 1, "n": Odd()}], "column 'n' holds values"),
        ([{"t": 1, "n": 1j}], "column 'n'"),
        ([{"t": float("nan"), "n": 1}], "order_by='t'"),
        ([{"t": float("inf"), "n": 1}], "order_by='t'"),
        ([{"t": Decimal("1.5"), "n": 1}], "order_by='t'"),
        ([{"t": True, "n": 1}], "order_by='t' has type bool"),
        ([{"t": timedelta(1), "n": 1}], "order_by='t' has type duration"),
        (pa.table({"t": pa.array([2**64 - 1], pa.uint64()), "n": [1]}), "order_by='t'"),
        ([{"t": 2**63 - 5, "n": 1}], r"the time 9223372036854775803 is so large"),
        ([{"t": -(2**63), "n": 1}], r"the time -9223372036854775808 is so large"),
        (None, "rows are a NoneType"),
        (5, "rows are a int"),
        ("events.csv", "Read the file first"),
    ],
)
def test_rows_that_are_none(rows: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        PAIR.match_events(rows, order_by="t")


def test_times_at_the_end_of_the_range() -> None:
    """A window reaches beyond them: the engine would count past the end and find the wrong things."""
    last = 2**63 - 2
    assert len(PAIR.match_events(moments(last - 11, last - 10), order_by="t").matches) == 0
    assert [m["at"] for m in PAIR.match_events([{"t": last - 10, "n": 1}], order_by="t").timeouts] == [last]
    with pytest.raises(InputError, match="so large"):
        PAIR.match_events([{"t": last - 9, "n": 1}], order_by="t")
    for first in (datetime.min, date.min):
        assert len(HOURLY.match_events(moments(first, first), order_by="t").matches) == 1
    late = HOURLY.match_events(moments(datetime.max - timedelta(seconds=1), datetime.max), order_by="t")
    assert len(late.matches) == 1
    assert late.timeouts_table.num_rows == 1
    with pytest.raises(InputError, match=r"Python's datetime cannot hold(?s:.*)found\.timeouts_table"):
        assert late.timeouts
    far = pa.table({"t": pa.array([2**63 - 1], pa.timestamp("us")), "n": [1]})
    with pytest.raises(InputError, match="so large"):
        HOURLY.match_events(far, order_by="t")


def test_texts_that_should_be_times() -> None:
    """As a CSV file with one bad date gives them: the value at fault is named, before any NULL."""
    rows = [{"t": "2025-01-01 10:00"}, {"t": None}, {"t": "soon"}]
    with pytest.raises(InputError, match=r"(?s)Row 2 holds 'soon', which is not a time.*errors=\"coerce\""):
        Pattern.begin("a").match_events(rows, order_by="t")
    frame = pd.DataFrame(rows)
    frame["t"] = pd.to_datetime(frame["t"], errors="coerce")
    with pytest.raises(InputError, match=r'2 of 3 rows have no value there(?s:.*)nulls="drop"'):
        Pattern.begin("a").match_events(frame, order_by="t")
    assert len(Pattern.begin("a").match_events(frame, order_by="t", nulls="drop").matches) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: Pattern.parse(None),  # type: ignore[arg-type]
        lambda: Pattern.parse(5),  # type: ignore[arg-type]
        lambda: Pattern.parse(""),
        lambda: Pattern.parse("\0"),
        lambda: Pattern.parse("EVENT SEQ(A a)", type_column=5),  # type: ignore[arg-type]
        lambda: Pattern.from_json(None),  # type: ignore[arg-type]
        lambda: Pattern.from_json(b"{}"),  # type: ignore[arg-type]
        lambda: Pattern.from_json(""),
        lambda: Pattern.from_json("[]"),
        lambda: Pattern.from_json("5"),
        lambda: PAIR.to_sase(type_column=5),  # type: ignore[arg-type]
        lambda: PAIR.diagram("png"),  # type: ignore[arg-type]
        lambda: PAIR.diagram(None),  # type: ignore[arg-type]
        lambda: PAIR.diagram(of="x"),  # type: ignore[arg-type]
        lambda: PAIR.diagram().save(5),  # type: ignore[arg-type]
        lambda: PAIR.diagram().save(""),
        lambda: PAIR.match_events(ROWS, order_by="t").timeline(0),
        lambda: PAIR.match_events(ROWS, order_by="t").timeline("x"),  # type: ignore[arg-type]
        lambda: PAIR.match_events(ROWS, order_by="t").timeline().save(None),  # type: ignore[arg-type]
        lambda: PAIR.match(None),  # type: ignore[arg-type]
        lambda: PAIR.match(ROWS),  # type: ignore[arg-type]
        lambda: PAIR.match_batch(pd.DataFrame(ROWS)),
        lambda: PAIR.match_stream("readings"),  # type: ignore[arg-type]
    ],
)
def test_other_calls(call: Callable[[], object]) -> None:
    with pytest.raises(CepheidError):
        call()


def test_an_argument_that_is_misspelt_is_compared_with_all_that_there_are() -> None:
    with pytest.raises(InputError, match=r"Did you mean partition_by=\?"):
        PAIR.match_events(ROWS, partition="k", order_by="t")  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"There are: .*order_by.*max_runs"):
        PAIR.count_events(ROWS, zzz=1)  # type: ignore[call-arg]
