"""MATCH_RECOGNIZE: every probe, and a part of the random and long cases, on every engine that needs no Spark."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conformance import run as conformance
from conformance.sql_cases import SqlCase

HERE = Path(__file__).parent / "sql"
PARTS = {"probes": 1, "random": 10, "long": 10}
"""Of how many cases of a corpus one is run."""


def cases(name: str, of: int = 1) -> list[SqlCase]:
    return [SqlCase(data) for data in conformance.lines(HERE / f"{name}.jsonl.gz")][::of]


def test_the_corpora_are_complete() -> None:
    assert {name: len(cases(name)) for name in PARTS} == {"probes": 252, "random": 1500, "long": 150}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("engine", conformance.SQL_ENGINES)
def test_engine(name: str, engine: str) -> None:
    part = cases(name, PARTS[name])
    tally = conformance.run_sql(part, conformance.SQL_ENGINES[engine])
    assert tally.problems == []
    assert tally.passes == len(part)


def test_a_wrong_answer_is_noticed() -> None:
    [case] = [case for case in cases("probes") if case.id == "probe/iso-all-rows"]
    engine = conformance.SQL_ENGINES["sql-reference"]
    assert conformance.judge_table(case, engine(case)) is None
    rows = [list(row) for row in case.answer["rows"]]
    rows[0][4] += 1
    wrong = dataclasses.replace(case, data={**case.data, "expected": {**case.answer, "rows": rows}})
    assert "instead of" in (conformance.judge_table(wrong, engine(wrong)) or "")
