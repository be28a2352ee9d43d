"""What measures read, for all matches at once, is what the lists of events say (rules 11 and 18)."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.conditions import ListedTaken, Schema
from cepheid.conditions.arrow.values import arrow_type
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Aggregate
from cepheid.conditions.parser import parse
from cepheid.conditions.scope import Scope
from cepheid.rows.summaries import Summary, summarize

VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (pa.int64(), st.integers(-5, 5)),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, -2.25, math.nan])),
    "decimal": (pa.decimal128(10, 2), st.integers(-300, 300).map(lambda cents: Decimal(cents).scaleb(-2))),
    "interval": (pa.duration("us"), st.integers(-5, 5).map(lambda length: timedelta(microseconds=length))),
    "text": (pa.string(), st.sampled_from(["a", "b", "NaN", ""])),
}
FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST", "LAST", "COUNT DISTINCT", "STDDEV")
NUMBERS_ALONE = ("SUM", "AVG", "STDDEV")


def aggregate_of(function: str, schema: Schema) -> Aggregate:
    text = "COUNT(DISTINCT v.x)" if function == "COUNT DISTINCT" else f"{function}(v.x)"
    bound = Checker(Scope("measure 'm'", schema, ("v",), ("v",), frozenset())).bind(parse(text))
    assert isinstance(bound, Aggregate)
    return bound


@pytest.mark.parametrize("kind", sorted(VALUES))
@pytest.mark.parametrize("function", FUNCTIONS)
@given(data=st.data())
def test_a_summary_is_what_the_lists_say(data: st.DataObject, function: str, kind: str) -> None:
    arrow, values = VALUES[kind]
    if (kind == "text" and function in NUMBERS_ALONE) or (kind == "interval" and function == "STDDEV"):
        return
    matches = data.draw(st.lists(st.lists(st.none() | values, max_size=5), max_size=4))
    aggregate = aggregate_of(function, Schema.from_arrow(pa.schema([("x", arrow)])))
    taken = pa.table({"argument": pa.array([value for match in matches for value in match], arrow)})
    match = np.repeat(np.arange(len(matches)), list(map(len, matches)))
    summary = Summary(
        "m", aggregate.function, 0, "argument", aggregate.offset, aggregate.type, arrow_type(aggregate.type)
    )
    listed = [ListedTaken({"v": [{"x": value} for value in one]}).aggregate(aggregate) for one in matches]
    computed = summarize(summary, taken, match, len(matches)).to_pylist()
    assert len(computed) == len(listed)
    for ours, literal in zip(computed, listed, strict=True):
        both_nan = isinstance(ours, float) and math.isnan(ours) and math.isnan(literal)
        assert both_nan or ours == literal, (function, matches, computed, listed)
