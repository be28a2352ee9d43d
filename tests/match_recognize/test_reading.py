"""Clauses read, printed and read back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cepheid.match_recognize import read
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowsPerMatch,
    Skip,
    SkipTo,
    Subset,
    Variable,
)

A, B, C = Variable("A"), Variable("B"), Variable("C")


def pattern(text: str) -> object:
    return read(f"PARTITION BY p PATTERN ({text})").pattern


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("A", A),
        ("A B", Concatenation((A, B))),
        ("A B | C", Alternation((Concatenation((A, B)), C))),
        ("A (B | C)", Concatenation((A, Alternation((B, C))))),
        ("A*", Quantified(A, 0, None)),
        ("A+?", Quantified(A, 1, None, greedy=False)),
        ("A??", Quantified(A, 0, 1, greedy=False)),
        ("A{2}?", Quantified(A, 2, 2)),
        ("A{,3}", Quantified(A, 0, 3)),
        ("A{2,}?", Quantified(A, 2, None, greedy=False)),
        ("A{,}", Quantified(A, 0, None)),
        ("(A B)+", Quantified(Concatenation((A, B)), 1, None)),
        ("() | A", Alternation((Empty(), A))),
        ("^ A $", Concatenation((PartitionStart(), A, PartitionEnd()))),
        ("PERMUTE(A, B C)", Permute((A, Concatenation((B, C))))),
        ("A {- B+ -} C", Concatenation((A, Exclusion(Quantified(B, 1, None)), C))),
        ('a "b"', Concatenation((A, Variable("b")))),
    ],
)
def test_pattern(text: str, node: object) -> None:
    assert pattern(text) == node


@pytest.mark.parametrize(
    "clause",
    [
        "PARTITION BY p, `q r` ORDER BY u DESC NULLS FIRST, ts MEASURES A.v AS x PATTERN (A)",
        "MEASURES CAST(A.v AS BIGINT) AS x, FINAL LAST(B.v, 1) AS y PATTERN (A B*?)",
        "MEASURES COUNT(*) AS n, COUNT(A.*) AS a, SUM(DISTINCT A.v) FILTER (WHERE A.v > 3) AS s PATTERN (A)",
        "MEASURES PREV(LAST(A.v + A.u, 1), 2) AS x, CLASSIFIER(U) AS c PATTERN (A B) SUBSET U = (A, B)",
        "ORDER BY t ALL ROWS PER MATCH OMIT EMPTY MATCHES AFTER MATCH SKIP TO FIRST B PATTERN (A B) DEFINE A AS v > 1",
        "ORDER BY t MEASURES MATCH_NUMBER() AS n PATTERN (A B) WITHIN INTERVAL '1' HOUR DEFINE B AS B.v > A.v",
        "PARTITION BY p PATTERN ((A | B)+ PERMUTE(A, B) {- C -}?? ^ $ ()) DEFINE C AS sqrt(PREV(C.v)) > 2",
        'PARTITION BY p PATTERN ("a b" "PERMUTE")',
    ],
)
def test_a_clause_prints_itself(clause: str) -> None:
    once = read(clause)
    assert read(str(once)) == once


def test_defaults() -> None:
    """Rule 1.2."""
    clause = read("MEASURES A.v AS x PATTERN (A)")
    assert (clause.rows, clause.skip) == (RowsPerMatch.ONE, Skip(SkipTo.PAST_LAST_ROW))
    assert read("ALL ROWS PER MATCH PATTERN (A)").rows is RowsPerMatch.ALL_SHOW_EMPTY
    assert read("PARTITION BY p AFTER MATCH SKIP TO A PATTERN (A)").skip == Skip(SkipTo.LAST, "A")


def test_nulls_where_nothing_is_said() -> None:
    """Rule 2.2: first ascending, last descending, as in Spark."""
    sorts = read("PARTITION BY p ORDER BY a, b DESC, c NULLS LAST PATTERN (A)").order_by
    assert [sort.nulls_first for sort in sorts] == [True, False, False]


def test_words_are_no_keywords_elsewhere() -> None:
    assert read("PARTITION BY p AFTER MATCH SKIP TO first PATTERN (A first)").skip == Skip(SkipTo.LAST, "FIRST")
    clause = read(
        "PARTITION BY one ORDER BY last MEASURES FIRST(A.all) AS pattern, LAST(A.define) AS first PATTERN (A match)"
    )
    assert [measure.name for measure in clause.measures] == ["pattern", "first"]
    assert clause.variables == ("A", "MATCH")


def test_comments_and_strings_hide_what_is_in_them() -> None:
    clause = read("MEASURES /* , */ A.v AS x -- PATTERN (B)\n PATTERN (A) DEFINE A AS s = ') DEFINE B, '")
    assert clause.variables == ("A",)
    assert str(clause.defines[0].condition) == "s = ') DEFINE B, '"


def test_subset_and_within() -> None:
    clause = read("PARTITION BY p ORDER BY t PATTERN (a b) WITHIN INTERVAL '1 02' DAY TO HOUR SUBSET u = (b, A)")
    assert clause.subsets == (Subset("U", ("B", "A")),)
    assert clause.within == timedelta(days=1, hours=2)
