"""Measures: SQL cut where aggregates over variables stand."""

from __future__ import annotations

import pytest

from cepheid import ConditionError, Pattern
from cepheid.conditions import Schema, types
from cepheid.conditions.measures import bind_measures

PATTERN = Pattern.begin("a").not_followed_by("n").followed_by("b").one_or_more().within(10)
SCHEMA = Schema((("k", types.STRING), ("ts", types.TIMESTAMP), ("price", types.DOUBLE)))


def cut(text: str) -> tuple[str, list[str]]:
    [measure] = bind_measures({"m": text}, PATTERN.tree, SCHEMA, ("k",))
    return measure.sql(lambda aggregate: "c"), [str(aggregate) for aggregate in measure.aggregates]


@pytest.mark.parametrize(
    ("text", "sql", "aggregates"),
    [
        ("SUM(b.price) / COUNT(b.*)", "`c` / `c`", ["SUM(b.price)", "COUNT(b.*)"]),
        ("b.price + 1", "`c` + 1", ["LAST(b.price)"]),
        ("b.price * b.price", "`c` * `c`", ["LAST(b.price)"]),
        ("LAST(b.price, 1)", "`c`", ["LAST(b.price, 1)"]),
        ("date_trunc('hour', FIRST(a.ts))", "date_trunc('hour', `c`)", ["FIRST(a.ts)"]),
        ("timestampdiff(MINUTE, a.ts, b.ts)", "timestampdiff(MINUTE, `c`, `c`)", ["LAST(a.ts)", "LAST(b.ts)"]),
        ("datediff(b.ts, a.ts)", "datediff(`c`, `c`)", ["LAST(b.ts)", "LAST(a.ts)"]),
        ("datediff(DAY, a.ts, b.ts)", "datediff(DAY, `c`, `c`)", ["LAST(a.ts)", "LAST(b.ts)"]),
        ("COUNT(DISTINCT b.price) + STDDEV(b.price)", "`c` + `c`", ["COUNT(DISTINCT b.price)", "STDDEV(b.price)"]),
        (
            "1 + cidr_match(LAST(a.k), '1.2.3.4/32')",
            "1 + `c`",
            ["LAST(a.k RLIKE '^(?:(?:1)[.](?:2)[.](?:3)[.](?:4))$')"],
        ),
        ("upper(K) || 'a.price'", "upper(K) || 'a.price'", []),
        ("transform(array(1), x -> x + a.price)", "transform(array(1), x -> x + `c`)", ["LAST(a.price)"]),
    ],
)
def test_text_is_cut_where_aggregates_stand(text: str, sql: str, aggregates: list[str]) -> None:
    found, taken = cut(text)
    assert found.replace("`", "") == sql.replace("`", "")
    assert taken == aggregates


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("price", r"measure 'm': `price` does not say whose events are read(?s:.*)LAST\(a\.price\)"),
        ("SUM(price)", "no variable is named"),
        ("SUM(b.prise)", "did you mean `price`"),
        ("SUM(n.price)", "`n` is a negation"),
        ("minute + 1", "`minute` does not say whose"),
        ("rand()", "gives another value each time"),
        ("(SELECT 1)", "cannot contain a query"),
        ("SUM(b.price", "not closed"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConditionError, match=problem):
        cut(text)
