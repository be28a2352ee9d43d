"""Clauses found in queries: what is cut out, what the input may name, and where errors point."""

from __future__ import annotations

import pytest

from cepheid import RowPattern
from cepheid.errors import MalformedPatternError
from cepheid.match_recognize.queries import first_clause

MR = "MATCH_RECOGNIZE (PARTITION BY p PATTERN (A))"


def cut(text: str) -> list[tuple[str, str, str]]:
    """WITH, input and what is left, for each clause."""
    found, original = [], text
    while (clause := first_clause(text, original, len(original) - len(text))) is not None:
        text = f"{text[: clause.place.start]}m{len(found)}{text[clause.place.end :]}"
        found.append((clause.with_sql, clause.input_sql, text))
    return found


@pytest.mark.parametrize(
    ("query", "with_sql", "input_sql", "left"),
    [
        (f"SELECT * FROM t {MR}", "", "t", "SELECT * FROM m0"),
        (f"SELECT * FROM t {MR} AS m WHERE x > 1", "", "t", "SELECT * FROM m0 AS m WHERE x > 1"),
        (f"SELECT * FROM a.b.`c d` {MR}", "", "a.b.`c d`", "SELECT * FROM m0"),
        (f"SELECT * FROM t AS x {MR}", "", "t AS x", "SELECT * FROM m0"),
        (f"SELECT * FROM t x {MR} y", "", "t x", "SELECT * FROM m0 y"),
        (f"SELECT * FROM t AS x (c, d) {MR}", "", "t AS x (c, d)", "SELECT * FROM m0"),
        (f"SELECT * FROM (SELECT 1) {MR}", "", "(SELECT 1)", "SELECT * FROM m0"),
        (f"SELECT * FROM (SELECT 1) AS q {MR}", "", "(SELECT 1) AS q", "SELECT * FROM m0"),
        (f"SELECT * FROM range(10) {MR}", "", "range(10)", "SELECT * FROM m0"),
        (f"SELECT * FROM a JOIN t {MR} m ON a.x = m.x", "", "t", "SELECT * FROM a JOIN m0 m ON a.x = m.x"),
        (f"SELECT * FROM a, t {MR}", "", "t", "SELECT * FROM a, m0"),
        (f"SELECT (SELECT max(p) FROM t {MR}) AS y", "", "t", "SELECT (SELECT max(p) FROM m0) AS y"),
        (f"select * from t match_recognize {MR[16:]}", "", "t", "select * from m0"),
        (
            f"SELECT 'x MATCH_RECOGNIZE (' FROM t -- {MR}\n {MR}",
            "",
            "t -- " + MR,
            "SELECT 'x MATCH_RECOGNIZE (' FROM m0",
        ),
        (
            f"WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM b {MR}",
            "WITH a AS (SELECT 1), b AS (SELECT 2) ",
            "b",
            "WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM m0",
        ),
        (
            f"WITH a AS (SELECT 1), b AS (SELECT * FROM a {MR}) SELECT * FROM b",
            "WITH a AS (SELECT 1) ",
            "a",
            "WITH a AS (SELECT 1), b AS (SELECT * FROM m0) SELECT * FROM b",
        ),
        (
            f"SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) JOIN t {MR}",
            "",
            "t",
            "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) JOIN m0",
        ),
    ],
)
def test_one_clause(query: str, with_sql: str, input_sql: str, left: str) -> None:
    assert cut(query) == [(with_sql, input_sql, left)]


def test_clauses_one_in_the_other_and_side_by_side() -> None:
    inner = f"(SELECT * FROM t {MR} AS i)"
    assert [(given, left) for _, given, left in cut(f"SELECT * FROM {inner} {MR} a, u {MR} b")] == [
        ("t", f"SELECT * FROM (SELECT * FROM m0 AS i) {MR} a, u {MR} b"),
        ("(SELECT * FROM m0 AS i)", f"SELECT * FROM m1 a, u {MR} b"),
        ("u", "SELECT * FROM m1 a, m2 b"),
    ]


def test_no_clause() -> None:
    assert cut("SELECT match_recognize FROM t WHERE s = 'MATCH_RECOGNIZE ('") == []


def test_errors_point_into_the_query() -> None:
    query = f"SELECT *\nFROM t {MR} a\nJOIN u MATCH_RECOGNIZE (PARTITION BY p PATTERN (A**)) b"
    with pytest.raises(MalformedPatternError, match="MATCH_RECOGNIZE, line 3, column 51"):
        cut(query)
    with pytest.raises(MalformedPatternError, match="line 1, column 24: this parenthesis is not closed"):
        cut("FROM t MATCH_RECOGNIZE (PATTERN (A)")
    with pytest.raises(MalformedPatternError, match="must follow a table"):
        cut(f"SELECT * FROM {MR}")


def test_a_whole_query_is_not_a_clause() -> None:
    with pytest.raises(MalformedPatternError, match=r"cepheid\.sql runs whole queries"):
        RowPattern.parse("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))")
