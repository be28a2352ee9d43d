"""SQL's own words: columns may be called so, and no form of a query or statement gets in."""

from __future__ import annotations

import pytest

from cepheid import Pattern
from cepheid.conditions import parse
from cepheid.conditions.expression import Literal, Name, Operation, Operator
from cepheid.conditions.types import INT
from cepheid.errors import ConditionError

WORDS = """
    call show values else when then case end from select with insert drop alter create grant uncache lateral table set
    use describe merge like between not in is date time timestamp interval int string map array struct order group left
    right index key row rows count sum first last window limit user fetch execute rename all any some exists distinct
"""


@pytest.mark.parametrize("word", WORDS.split())
def test_a_column_may_be_called_as_a_word_of_sql(word: str) -> None:
    assert parse(f"{word} = 1") == Operation(Operator.EQUAL, (Name((word,)), Literal(1, type=INT)))
    assert parse(f"1 = {word}") == Operation(Operator.EQUAL, (Literal(1, type=INT), Name((word,))))
    assert parse(f"a = 1 AND {word} > 2 OR {word} IS NULL") == parse(f"a = 1 AND `{word}` > 2 OR `{word}` IS NULL")
    assert parse(f"v.{word} > 1") == parse(f"v.`{word}` > 1")
    assert parse(str(parse(f"{word} = 1"))) == parse(f"{word} = 1")


@pytest.mark.parametrize("word", ["values", "else", "call"])
def test_such_a_column_is_read(word: str) -> None:
    pattern = Pattern.begin("a").where(f"{word} = 1").followed_by("b").where(f"{word} > a.{word}")
    found = pattern.match_events([{word: 1}, {word: 1}, {word: 2}])
    assert [match["b"][word] for match in found.matches] == [2, 2]


@pytest.mark.parametrize(
    "text",
    [
        "x IN (SELECT 1)",
        "x IN (VALUES (1), (2))",
        "x IN (VALUES 1)",
        "x = (VALUES 1)",
        "x > ALL (VALUES 1)",
        "x IN (TABLE t)",
        "(TABLE t) = 1",
        "(table `t`) = 1",
        "(SHOW TABLES) = 1",
        "(DESCRIBE t) = 1",
        "(FROM t) = 1",
        "(FROM t SELECT x) = 1",
        "(WITH t AS (SELECT 1) SELECT * FROM t) = 1",
        "EXISTS (SELECT 1)",
        "EXISTS (FROM t)",
        "x = ANY (SELECT y FROM t)",
        "f((SELECT 1)) = 1",
        "CASE WHEN (SELECT 1) = 1 THEN TRUE END",
        "(SELECT(1)) = 1",
        "(select*from t) = 1",
        "array_contains(array((TABLE t)), 1)",
    ],
)
def test_no_form_of_a_query_is_a_condition(text: str) -> None:
    with pytest.raises(ConditionError, match="cannot contain a query"):
        parse(text)


@pytest.mark.parametrize("text", ["show tables", "call f", "describe t", "values x", "use db", "grant all"])
def test_a_statement_is_no_condition(text: str) -> None:
    with pytest.raises(ConditionError, match="begins a statement"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("java_method('java.util.UUID', 'randomUUID') = 'a'", "runs any code"),
        ("upper(reflect('java.lang.System', 'getenv', 'HOME')) = 'A'", "runs any code"),
        ("try_reflect('java.lang.System', 'exit') IS NULL", "runs any code"),
        ("unix_timestamp() > 1", "gives another value each time"),
        ("date_trunc('day', localtimestamp()) = ts", "gives another value each time"),
    ],
)
def test_functions_that_run_code_or_read_the_clock_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ConditionError, match=problem):
        parse(text)
    parse("unix_timestamp(ts) > 1")


@pytest.mark.parametrize("text", ["", "+", "()", "= 1", "else", "a.", "`", "1 +", "CASE WHEN", "x IN ()"])
def test_whatever_is_no_condition_is_our_error_or_a_name(text: str) -> None:
    try:
        parse(text)
    except ConditionError as error:
        assert error.remedy
