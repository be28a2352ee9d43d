"""Every error of rule 7.1, before any row is read: which words, and that it shows the place."""

from __future__ import annotations

import pytest

from cepheid import RowPattern
from cepheid.conditions.types import BOOLEAN, LONG, STRING, TIMESTAMP, Schema
from cepheid.errors import ConditionError, MalformedPatternError
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import bind

SCHEMA = Schema.of([("p", STRING), ("ts", LONG), ("t", TIMESTAMP), ("v", LONG), ("ok", BOOLEAN)])

ERRORS = [
    # names
    ("PARTITION BY p PATTERN (A) DEFINE A AS nope > 1", "nope", "there is no column `nope`"),
    ("PARTITION BY q PATTERN (A)", "q", "there is no column `q`"),
    ("PARTITION BY p ORDER BY tss PATTERN (A)", "tss", "there is no column `tss`"),
    ("MEASURES Q.v AS m PATTERN (A)", "Q.v", "neither a variable of the pattern nor a column"),
    ("MEASURES events.v AS m PATTERN (A)", "events.v", "neither a variable of the pattern nor a column"),
    ("MEASURES CLASSIFIER(Q) AS m PATTERN (A)", "Q", "`Q` is not a variable"),
    ("MEASURES COUNT(Q.*) AS m PATTERN (A)", "COUNT(Q.*)", "`Q` is not a variable"),
    ("PARTITION BY p AFTER MATCH SKIP TO FIRST Q PATTERN (A)", "Q", "Q is not a variable"),
    ("PARTITION BY p PATTERN (A) SUBSET U = (A, X)", "X", "X is not a variable of the pattern itself"),
    ("PARTITION BY p PATTERN (A B) SUBSET U = (A), W = (U)", "U", "U is not a variable of the pattern itself"),
    ("PARTITION BY p PATTERN (A B) SUBSET A = (B)", "A", "A is already a variable"),
    ("PARTITION BY p PATTERN (A) DEFINE Q AS TRUE", "Q", "Q does not occur in PATTERN"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS TRUE, a AS FALSE", "a", "A is defined twice"),
    ("PARTITION BY p PATTERN (A) SUBSET U = (A) DEFINE U AS TRUE", "U", "U is a union variable"),
    # the pattern
    ("PARTITION BY p PATTERN (A{3,2})", "{3,2}", "the wrong way round"),
    ("PARTITION BY p PATTERN (A{0})", "{0}", "at most 0 times"),
    ("PARTITION BY p PATTERN (A{,0})", "{,0}", "at most 0 times"),
    ("PARTITION BY p PATTERN (A{1.5})", "1.5", "not a whole number"),
    ("PARTITION BY p PATTERN (A**)", "*", "one quantifier"),
    ("PARTITION BY p PATTERN (A |)", ")", "the empty pattern is written ()"),
    ("PARTITION BY p PATTERN ()", ")", "the empty pattern is written ()"),
    ("PARTITION BY p PATTERN (PERMUTE())", ")", "not expected"),
    (
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})",
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
        "exclusion",
    ),
    # expressions
    ("MEASURES LAST(A.v, -1) AS m PATTERN (A)", "LAST(A.v, -1)", "whole number, 0 or more"),
    ("MEASURES LAST(A.v, v) AS m PATTERN (A)", "LAST(A.v, v)", "whole number, 0 or more"),
    ("MEASURES LAST(A.v, NULL) AS m PATTERN (A)", "LAST(A.v, NULL)", "whole number, 0 or more"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS v", "v", "not a condition"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS v + 1", "v + 1", "not a condition"),
    ("MEASURES SUM(A.v + B.v) AS m PATTERN (A B)", "B.v", "`A` and `B` at once"),
    ("MEASURES LAST(A.v + v) AS m PATTERN (A B)", "v", "columns without a variable"),
    ("MEASURES SUM(PREV(A.v)) AS m PATTERN (A)", "PREV(A.v)", "PREV cannot be inside SUM"),
    ("MEASURES PREV(PREV(A.v)) AS m PATTERN (A)", "PREV(A.v)", "PREV cannot be inside PREV"),
    ("MEASURES LAST(FIRST(A.v)) AS m PATTERN (A)", "FIRST(A.v)", "FIRST cannot be inside LAST"),
    ("MEASURES FIRST(PREV(A.v)) AS m PATTERN (A)", "PREV(A.v)", "PREV cannot be inside FIRST"),
    ("MEASURES LAST(SUM(A.v)) AS m PATTERN (A)", "SUM(A.v)", "SUM cannot be inside LAST"),
    ("MEASURES PREV(LAST(A.v) + 1) AS m PATTERN (A)", "LAST(A.v)", "LAST cannot be inside PREV here"),
    ("MEASURES LAST(1) AS m PATTERN (A)", "LAST(1)", "reads no column"),
    ("MEASURES LAST(MATCH_NUMBER()) AS m PATTERN (A)", "LAST(MATCH_NUMBER())", "reads no column"),
    ("MEASURES FINAL PREV(A.v) AS m PATTERN (A)", "FINAL PREV(A.v)", "not before PREV"),
    ("MEASURES FINAL A.v AS m PATTERN (A)", "FINAL A.v", "is only allowed before FIRST, LAST and aggregates"),
    ("MEASURES RUNNING CLASSIFIER() AS m PATTERN (A)", "RUNNING CLASSIFIER()", "not before CLASSIFIER"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS FINAL LAST(v) > 1", "FINAL LAST(v)", "FINAL has no meaning in DEFINE"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS FINAL SUM(v) > 1", "FINAL SUM(v)", "FINAL has no meaning in DEFINE"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS A.v > (SELECT 1)", "SELECT", "cannot contain a query"),
    ("MEASURES row_number() OVER () AS m PATTERN (A)", "row_number() OVER ()", "window function"),
    ("MEASURES A.* AS m PATTERN (A)", "A.*", "not a value"),
    ("MEASURES KURTOSIS(A.v) AS m PATTERN (A)", "KURTOSIS(A.v)", "KURTOSIS is not supported"),
    ("MEASURES BOOL_AND(A.v) AS m PATTERN (A)", "A.v", "needs conditions"),
    ("MEASURES LAST(A.v) FILTER (WHERE A.ok) AS m PATTERN (A)", "LAST(A.v) FILTER (WHERE A.ok)", "not LAST"),
    ("MEASURES reflect('a', 'b') AS m PATTERN (A)", "reflect('a', 'b')", "runs any code of the Java machine"),
    (
        "PARTITION BY p PATTERN (A) DEFINE A AS java_method('a', p) = 'x'",
        "java_method('a', p)",
        "runs any code of the Java machine",
    ),
    ("MEASURES unix_timestamp() AS m PATTERN (A)", "unix_timestamp()", "gives another value each time"),
    # the clause
    ("MEASURES A.v PATTERN (A)", "PATTERN", "A measure needs a name"),
    ("ONE ROW PER MATCH SHOW EMPTY MATCHES PATTERN (A)", "SHOW EMPTY MATCHES", "says nothing with ONE ROW"),
    ("PATTERN (A)", "PATTERN (A)", "the result has no columns"),
    ("PARTITION BY v % 2 PATTERN (A)", "%", "not expected"),
    ("PARTITION BY p INITIAL PATTERN (A)", "INITIAL", "belongs to row patterns in WINDOW"),
    ("PARTITION BY p PATTREN (A)", "PATTREN", "Did you mean PATTERN?"),
    ("PARTITION BY p DEFINE A AS TRUE PATTERN (A)", "DEFINE", "The parts come in this order"),
    ("PARTITION BY p ORDER BY ts PATTERN (A) WITHIN INTERVAL '1' HOUR", "ts", "WITHIN is a time"),
    ("PARTITION BY p ORDER BY t PATTERN (A) WITHIN INTERVAL '1' MONTH", "WITHIN INTERVAL '1' MONTH", "no fixed length"),
    ("PARTITION BY p PATTERN (A) DEFINE A AS 'x", "'", "opened but not closed"),
]


@pytest.mark.parametrize(("clause", "shown", "words"), ERRORS, ids=[clause for clause, _, _ in ERRORS])
def test_error(clause: str, shown: str, words: str) -> None:
    text = f"\n  {clause}"
    with pytest.raises(MalformedPatternError) as caught:
        bind(read(text), SCHEMA)
    message = str(caught.value)
    assert words in message
    first, line, carets, *_ = message.split("\n")
    assert first.startswith("MATCH_RECOGNIZE, line 2, column "), message
    column = carets.index("^")
    assert line[column : column + carets.count("^")] == shown, message
    assert int(first.split("column ")[1].split(":")[0]) == column - 3


def test_a_misspelt_function_of_row_patterns() -> None:
    for written, meant in {"PERV(v)": "prev", "LSAT(v, 1)": "last", "CLASIFIER()": "classifier"}.items():
        clause = f"PARTITION BY p ORDER BY t PATTERN (A) DEFINE A AS v > {written}"
        with pytest.raises(ConditionError, match=rf"line 1, column 55.*is not known here(.|\n)*did you mean `{meant}`"):
            RowPattern.parse(clause).match_events([{"p": 1, "t": 1, "v": 1}])


def test_an_unfinished_clause() -> None:
    for clause, words in {
        "": "the clause is empty",
        "PARTITION BY p": "the clause has no PATTERN",
        "MEASURES A.v": "a measure has no name",
        "PARTITION BY p PATTERN (A": "ends too early",
    }.items():
        with pytest.raises(MalformedPatternError, match=words):
            read(clause)


def test_within_needs_time_in_order() -> None:
    for clause in ("PATTERN (A) WITHIN INTERVAL '1' HOUR", "ORDER BY t DESC PATTERN (A) WITHIN INTERVAL '1' HOUR"):
        with pytest.raises(MalformedPatternError, match="in the order of time"):
            bind(read(f"PARTITION BY p {clause}"), SCHEMA)
