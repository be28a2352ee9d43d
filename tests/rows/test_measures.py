"""`match_events` gives what `match` gives: measures, some columns, a row for each event, NULL times left out."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cepheid import ConditionError, InputError, Pattern

START = datetime(2025, 3, 1, 10)
PAYMENTS = pa.table(
    {
        "card": ["ann", "ann", "bob", "ann"],
        "ts": pa.array([START + timedelta(minutes=n) for n in range(4)], pa.timestamp("us")),
        "amount": pa.array([3, 2, 4, 900], pa.int32()),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.00"), Decimal("9.99")], pa.decimal128(10, 2)),
        "tags": pa.array([["a"], [], None, ["b", "c"]]),
        "city": pa.array(["Ulm", "Ulm", "Bonn", "Bonn"]).dictionary_encode(),
    }
)
FRAUD = (
    Pattern.begin("small").where("amount < 10").one_or_more()
    .followed_by("large").where("amount > 100")
    .within("30 minutes").skip("past_last_event")
)  # fmt: skip
KEYS: dict[str, Any] = {"partition_by": "card", "order_by": "ts"}


def measured(**measures: str) -> dict[str, Any]:
    [match] = FRAUD.match_events(PAYMENTS, measures=measures, **KEYS).matches
    assert list(match)[:4] == ["card", "match_id", "start_time", "end_time"]
    return {name: match[name] for name in list(match)[4:]}


def test_measures_take_the_place_of_the_events() -> None:
    assert measured(
        trials="COUNT(small.*)",
        spent="SUM(small.amount) + large.amount",
        city="LAST(large.city)",
        where="upper(small.city) || '-' || card",
        first="FIRST(small.ts)",
        tags="LAST(large.tags)",
        mean="AVG(small.amount)",
        price="SUM(small.price)",
        double="SUM(small.amount * 2)",
        large="large.amount > 50 * AVG(small.amount)",
        constant="1 + 1",
    ) == {
        "trials": 2,
        "spent": 905,
        "city": "Bonn",
        "where": "ULM-ann",
        "first": START,
        "tags": ["b", "c"],
        "mean": 2.5,
        "price": Decimal("1.50"),
        "double": 10,
        "large": True,
        "constant": 2,
    }


def test_measures_beside_columns_and_on_every_row() -> None:
    [match] = FRAUD.match_events(PAYMENTS, measures={"n": "COUNT(small.*)"}, columns="amount", **KEYS).matches
    assert (match["small"], match["large"], match["n"]) == ([{"amount": 3}, {"amount": 2}], {"amount": 900}, 2)
    every = FRAUD.match_events(PAYMENTS, rows="all", columns=["ts", "Amount"], measures={"n": "COUNT(small.*)"}, **KEYS)
    assert every.matches_table.column_names == ["card", "match_id", "variable", "sequence", "ts", "amount", "n"]
    assert [(row["variable"], row["sequence"], row["amount"], row["n"]) for row in every.matches] == [
        ("small", 1, 3, 2),
        ("small", 2, 2, 2),
        ("large", 3, 900, 2),
    ]
    [late] = FRAUD.match_events(PAYMENTS, measures={"n": "COUNT(small.*)", "l": "large.amount"}, **KEYS).timeouts
    assert (late["card"], late["n"], late["l"]) == ("bob", 1, None)
    assert late["at"] == START + timedelta(minutes=32)


def test_only_events_that_were_taken_are_read() -> None:
    """Bob's payments are in no match, and one of them would be divided by zero."""
    assert measured(x="SUM(12 / (small.amount - 4))") == {"x": -18.0}


def test_no_match_has_the_same_columns() -> None:
    nothing = FRAUD.match_events(PAYMENTS.slice(0, 0), measures={"n": "SUM(small.amount) + 1"}, **KEYS).matches_table
    found = FRAUD.match_events(PAYMENTS, measures={"n": "SUM(small.amount) + 1"}, **KEYS).matches_table
    assert nothing.num_rows == 0 and nothing.schema == found.schema


def test_rows_without_a_time() -> None:
    rows = [{"t": None, "n": 1}, {"t": 1, "n": 2}, {"t": 2, "n": None}]
    every = Pattern.begin("a")
    with pytest.raises(InputError, match='nulls="drop"'):
        every.match_events(rows, order_by="t")
    assert len(every.match_events(rows, order_by="t", nulls="drop").matches) == 2
    assert len(every.match_events(rows, order_by=["t", "n"], nulls="drop").matches) == 1


@pytest.mark.parametrize(
    ("measures", "says"),
    [
        ({"x": "amount"}, "does not say whose events"),
        ({"x": "SUM(smal.amount)"}, "smal"),
        ({"x": "soundex(large.city)"}, "measure 'x'(?s:.*)soundex"),
        ({"x": "LAST(large.amount) +"}, "measure 'x'"),
        ({"match_id": "COUNT(small.*)"}, "two columns"),
        ({"card": "COUNT(small.*)"}, "two columns"),
    ],
)
def test_measures_that_are_refused(measures: dict[str, str], says: str) -> None:
    with pytest.raises((ConditionError, InputError), match=says):
        FRAUD.match_events(PAYMENTS, measures=measures, **KEYS)
