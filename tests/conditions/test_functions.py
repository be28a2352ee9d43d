"""The table of functions: the documented list, and the functions that random expressions do not reach, by example."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cepheid import ConditionError, EvaluationError, Pattern
from cepheid.conditions import Schema, compile_expression, parse
from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.checking import Checker
from cepheid.conditions.functions.table import CALLABLE
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.conditions.scope import Scope
from cepheid.conditions.vocabulary import AGGREGATES

PAGE = Path(__file__).parents[2] / "docs" / "conditions.md"
ORDERS = pa.list_(pa.struct([("id", pa.string()), ("prices", pa.list_(pa.float64()))]))
TYPES = pa.schema(
    [("tags", pa.list_(pa.string())), ("numbers", pa.list_(pa.int64())), ("ip", pa.string()), ("orders", ORDERS)]
)


def value(text: str, **row: Any) -> Any:
    expression = Checker(Scope("condition", Schema.from_arrow(TYPES), (), (), frozenset())).bind(parse(text))
    return compile_expression(expression)(row, NOTHING_TAKEN)


def test_the_documented_list_is_the_table() -> None:
    section = PAGE.read_text().split("\n## Functions\n")[1].split("\n## ")[0]
    listed = re.findall(r"`([A-Z_]+)`", "\n".join(line for line in section.split("\n") if line.startswith("| ")))
    assert len(listed) == len(set(listed))
    assert set(listed) == {*CALLABLE, *AGGREGATES}


def test_each_entry_is_complete() -> None:
    for name, entry in CALLABLE.items():
        assert name == name.upper()
        assert entry.most is None or entry.least <= entry.most


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("SPLIT_PART(ip, '.', 2)", {"ip": "10.0.3.7"}, "0"),
        ("SPLIT_PART(ip, '.', -1)", {"ip": "10.0.3.7"}, "7"),
        ("SPLIT_PART(ip, '.', 5)", {"ip": "10.0.3.7"}, ""),
        ("SPLIT_PART(ip, '', 1)", {"ip": "10.0.3.7"}, "10.0.3.7"),
        ("ARRAY_CONTAINS(tags, 'a')", {"tags": ["b", "a"]}, True),
        ("ARRAY_CONTAINS(tags, 'a')", {"tags": ["b"]}, False),
        ("ARRAY_CONTAINS(tags, 'a')", {"tags": ["b", None]}, None),
        ("ARRAY_CONTAINS(tags, 'a')", {"tags": None}, None),
        ("ARRAY_JOIN(tags, '+')", {"tags": ["b", None, "a"]}, "b+a"),
        ("ARRAY_JOIN(tags, '+', '?')", {"tags": ["b", None, "a"]}, "b+?+a"),
        ("ARRAY_JOIN(tags, '+')", {"tags": []}, ""),
        ("ARRAY_CONTAINS(numbers, 2)", {"numbers": [1, 2]}, True),
        ("SIZE(tags)", {"tags": []}, 0),
        ("cardinality(tags) = 2", {"tags": ["b", None]}, True),
        ("SIZE(tags)", {"tags": None}, None),
        ("exists(tags, t -> t LIKE 'a%')", {"tags": ["b", "ab"]}, True),
        ("exists(tags, t -> t LIKE 'a%')", {"tags": ["b", None]}, None),
        ("exists(tags, t -> t LIKE 'a%')", {"tags": []}, False),
        ("exists(tags, t -> t LIKE 'a%')", {"tags": None}, None),
        ("exists(numbers, n -> 1 DIV n = 1)", {"numbers": [1, 0]}, True),  # nothing is asked after the answer
        ("forall(numbers, n -> n > 1)", {"numbers": []}, True),
        ("forall(numbers, n -> n > 1)", {"numbers": [None, 1]}, False),
        ("forall(numbers, n -> n > 1)", {"numbers": [None, 2]}, None),
        ("exists(tags, T -> t = ip)", {"tags": ["x"], "ip": "x"}, True),  # as a column, without regard to case
        ("exists(tags, ip -> ip = 'x')", {"tags": ["x"], "ip": "y"}, True),  # the argument hides the column
        ("filter(numbers, (n, i) -> n > i)", {"numbers": [0, 2, None, 9]}, [2, 9]),
        ("transform(numbers, (n, i) -> n * 10 + i)", {"numbers": [4, None, 3]}, [40, None, 32]),
        ("size(filter(transform(numbers, n -> n + 1), n -> n > 2)) = 2", {"numbers": [1, 2, 3]}, True),
        ("array_contains(transform(orders, o -> o.ID), 'b')", {"orders": [{"id": "b", "prices": []}]}, True),
        (
            "exists(orders, o -> o.id = ip AND exists(o.prices, p -> p > 5 AND p < size(orders) + 8))",
            {"ip": "b", "orders": [{"id": "a", "prices": [7.0]}, {"id": "b", "prices": [1.0, 9.5]}]},
            True,
        ),
        ("CIDR_MATCH(ip, '10.0.0.0/8')", {"ip": "10.200.3.4"}, True),
        ("CIDR_MATCH(ip, '10.0.0.0/8')", {"ip": "11.0.0.0"}, False),
        ("CIDR_MATCH(ip, '172.16.0.0/12', '192.168.1.128/25')", {"ip": "172.31.255.255"}, True),
        ("CIDR_MATCH(ip, '172.16.0.0/12', '192.168.1.128/25')", {"ip": "172.32.0.0"}, False),
        ("CIDR_MATCH(ip, '172.16.0.0/12', '192.168.1.128/25')", {"ip": "192.168.1.127"}, False),
        ("CIDR_MATCH(ip, '172.16.0.0/12', '192.168.1.128/25')", {"ip": "192.168.1.200"}, True),
        ("CIDR_MATCH(ip, '1.2.3.4/32')", {"ip": "1.2.3.4"}, True),
        ("CIDR_MATCH(ip, '0.0.0.0/0')", {"ip": "1.2.3.256"}, False),
        ("CIDR_MATCH(ip, '0.0.0.0/0')", {"ip": None}, None),
        ("ip RLIKE '^\\\\d+$'", {"ip": "١٢"}, False),  # Java's \d is ASCII
    ],
)
def test_values(text: str, row: dict[str, Any], expected: Any) -> None:
    assert value(text, **row) == expected


@pytest.mark.parametrize(
    ("places", "kilometres"),
    [
        ("52.5200, 13.4050, 48.1372, 11.5756", 504.4),  # Berlin, Munich
        ("40.7128, -74.0060, 51.5074, -0.1278", 5570.2),  # New York, London
        ("0, 179.5, 0, -179.5", 111.2),  # across the date line
        ("0, 0, 0, 180", 20015.1),  # opposite places
        ("90, 0, -90, 77", 20015.1),
        ("10, 20, 10, 20", 0.0),
        ("50.0, 8.0, 50.0, 8.00001", 0.000715),
    ],
)
def test_distances_on_the_sphere(places: str, kilometres: float) -> None:
    assert value(f"GEO_KM({places})") == pytest.approx(kilometres, rel=1e-3, abs=1e-9)
    assert value(f"SQRT(-1) = CAST('NaN' AS DOUBLE) AND ASIN(2) = SQRT(-{1})")
    assert math.isclose(value("SIN(RADIANS(90)) + COS(0)"), 2.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CIDR_MATCH(ip, '10.0.0.0/40')", "is not a block of IPv4 addresses"),
        ("CIDR_MATCH(ip, 'fe80::/10')", "is not a block of IPv4 addresses"),
        ("CIDR_MATCH(ip, ip)", "takes blocks as literals"),
        ("GEO_KM(1, 2, 3) > 1", "was given 3 argument"),
        ("STARTSWITH(ip) = 'a'", "was given 1 argument"),
    ],
)
def test_wrong_arguments_are_said_when_the_text_is_read(text: str, problem: str) -> None:
    with pytest.raises(ConditionError, match=problem):
        parse(text)


def test_what_only_spark_computes_is_refused_by_name_in_memory() -> None:
    for text, name in (("exists(tags, t -> soundex(t) = 'a')", "soundex"), ("size(shuffled(tags)) = 1", "shuffled")):
        with pytest.raises(ConditionError, match=f"`{name}` is computed by Spark only"):
            Pattern.begin("a").where(text).match_events([{"tags": ["a"]}])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("exists(tags, 'a')", "EXISTS needs a function of items"),
        ("exists(tags, (t, i) -> t = 'a')", "the function of EXISTS has 2 arguments"),
        ("exists(tags, t -> lower(t))", "EXISTS needs a condition, this is of type string"),
        ("exists(ip, t -> t = 'a')", "EXISTS needs an array, this is a string"),
        ("exists(orders, o -> o.prise > 1)", "`o` has no field `prise`"),
        ("exists(tags, t -> t.a = 1)", "`t` has no field `a`"),
    ],
)
def test_wrong_functions_of_items_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ConditionError, match=problem):
        value(text)


def test_a_function_of_items_that_reads_nothing_else_is_computed_on_the_earlier_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pattern = Pattern.begin("a").followed_by("b").where("size(filter(a.tags, t -> t <> 'x')) = n")
    events = pa.table({"tags": pa.array([["x", "y", "z"], ["x"]], pa.list_(pa.string())), "n": [0, 2]})
    assert len(pattern.match_events(events).matches) == 1
    assert not caplog.records  # the reference evaluator would say that it is slow


def test_a_function_of_items_may_read_the_events_taken() -> None:
    pattern = Pattern.begin("a").followed_by("b").where("exists(tags, t -> t = a.tag)")
    events = [{"tag": "x", "tags": []}, {"tag": "y", "tags": ["y"]}, {"tag": "z", "tags": ["x"]}]
    assert [match["a"]["tag"] for match in pattern.match_events(events).matches] == ["x"]


MOVED = pa.schema(
    [
        ("n", pa.int32()),
        ("zero", pa.int32()),
        ("gap", pa.duration("us")),
        ("none", pa.duration("us")),
        ("s", pa.string()),
    ]
)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("n * (gap / zero)", True),
        ("(gap / zero) * n", True),
        ("(1 / zero) * none", False),
        ("none * (1 / zero)", False),
        ("none + CAST(s AS TIMESTAMP)", True),
        ("n + CAST(s AS DATE)", True),
    ],
)
def test_an_interval_or_a_moment_decides_first(text: str, fails: bool) -> None:
    """Where one operand is NULL and the other has an error, Spark 4.3 answers so."""
    row = {"n": None, "zero": 0, "gap": timedelta(days=1), "none": None, "s": "x"}
    expression = Checker(Scope("condition", Schema.from_arrow(MOVED), (), (), frozenset())).bind(parse(text))
    computed, table = compile_expression(expression), pa.Table.from_pylist([row] * 2, MOVED)
    if fails:
        with pytest.raises(EvaluationError):
            computed(row, NOTHING_TAKEN)
        with pytest.raises(EvaluationError):
            evaluate_or_fall_back(expression, table)
    else:
        assert computed(row, NOTHING_TAKEN) is None
        assert evaluate_or_fall_back(expression, table).null_count == 2
