"""89 things that people look for in events, collected from programs, rules, documentation and questions of others and
told here in our own words: each is found. Eight at most may be awkward."""

from __future__ import annotations

import pytest
from use_cases import detection, engines, flink, funnels, row_patterns
from use_cases.case import UseCase

from cepheid.rows import in_memory

CASES = (*flink.CASES, *row_patterns.CASES, *detection.CASES, *engines.CASES, *funnels.CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_use_case(case: UseCase, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "_TOLD", set())
    assert case.found() == case.expected(), case.says
    # What the reference evaluator alone can run is no use on Spark.
    assert not [record for record in caplog.records if "reference evaluator" in record.message]


def test_all_are_there_and_few_are_awkward() -> None:
    assert len({case.name for case in CASES}) == len(CASES) == 89
    assert len({case.says for case in CASES}) == 89
    awkward = [case.name for case in CASES if case.awkward]
    assert len(awkward) <= 8, awkward
