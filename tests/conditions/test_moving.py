"""What is moved to the event that it reads means what it meant where it stood: without types nothing is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.conditions import ListedTaken, Schema, compile_expression, parse
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Aggregate, Expression, walk
from cepheid.conditions.scope import Scope

SCHEMA = Schema.from_arrow(pa.schema([("s", pa.string()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]))
MOVED = [
    "LOWER(LAST(v.s))",
    "LENGTH(LAST(v.s, 1))",
    "SUBSTRING(FIRST(v.s), 2, 1)",
    "STARTSWITH(LAST(v.s), NULL)",
    "LAST(v.s) = 'a'",
    "FIRST(v.s, 1) IN ('a', 'B')",
    "LAST(v.s) < 'b'",
    "LAST(v.s) LIKE '_'",
    "HOUR(LAST(v.ts))",
    "CAST(LAST(v.ts) AS DATE)",
    "CAST(LAST(v.n) AS STRING)",
]
KEPT = ["LAST(v.s) <=> 'a'", "LAST(v.s) IN ('a', NULL)", "CAST(LAST(v.s) AS INT)", "ABS(LAST(v.n))", "LOWER(MIN(v.s))"]
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "s": st.none() | st.sampled_from(["", "a", "A", "bB"]),
            "n": st.none() | st.integers(-2, 2),
            "ts": st.none()
            | st.integers(0, 30).map(lambda hour: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hour)),
        }
    ),
    max_size=5,
)


def bound(text: str, schema: Schema | None) -> Expression:
    return Checker(Scope("condition", schema, ("v",), ("v",), frozenset())).bind(parse(text))


@pytest.mark.parametrize("text", MOVED)
def test_it_is_moved(text: str) -> None:
    assert isinstance(bound(text, SCHEMA), Aggregate)
    assert not isinstance(bound(text, None), Aggregate)


@pytest.mark.parametrize("text", KEPT)
def test_what_would_mean_something_else_stays(text: str) -> None:
    assert not isinstance(bound(text, SCHEMA), Aggregate)
    assert any(isinstance(node, Aggregate) for node in walk(bound(text, SCHEMA)))


@given(st.sampled_from(MOVED), EVENTS)
def test_it_means_the_same(text: str, events: list[dict[str, object]]) -> None:
    taken = ListedTaken({"v": events})
    moved, unmoved = (compile_expression(bound(text, schema))({}, taken) for schema in (SCHEMA, None))
    assert moved == unmoved
