"""The corpora through `pattern.match`: a sample in which every feature of the language occurs."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import run as conformance
from conformance.features import covering_sample, features_of
from conformance.rule_sets import answered, finite, on_batch
from conformance.run import Case
from pyspark.sql import SparkSession

SIZE = 70
"""About half a second a case; `python tests/conformance/run.py --engine batch --all` runs them all."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    here = Path(conformance.__file__).parent
    return [case for path in sorted(here.glob("*.jsonl*")) for case in conformance.read(path)]


def features(cases: list[Case]) -> set[str]:
    return {feature for case in cases for feature in features_of(case)}


def test_a_sample_has_every_feature(cases: list[Case]) -> None:
    sample = covering_sample(cases, SIZE)
    assert len(sample) == SIZE
    assert features(sample) == features(cases)
    assert len(features(cases)) > 90
    assert covering_sample(cases, SIZE) == sample


def test_the_sample_on_spark(cases: list[Case], spark: SparkSession) -> None:
    sample = covering_sample(cases, SIZE)
    tally = conformance.run_on_spark(sample, spark)
    assert tally.problems == []
    assert (tally.passes, tally.skipped) == (SIZE, 0)


def test_a_sample_as_sets_of_rules(cases: list[Case], spark: SparkSession) -> None:
    plain = [case for case in cases if case.events and set(case.events[0]) <= {"t", "id", "name", "price"}]
    sample = finite(covering_sample(plain, 100))
    tally = conformance.run(sample, answered(sample, on_batch(spark)))
    assert tally.problems == []
    assert tally.passes > len(sample) // 2


def test_a_wrong_answer_is_noticed(cases: list[Case], spark: SparkSession) -> None:
    right = next(case for case in cases if case.matches and case.timeouts)
    fewer = Case({**right.data, "id": "fewer:1", "matches": right.data["matches"][1:]})
    later = Case(
        {**right.data, "id": "later:1", "timeouts": [{**t, "at": t["at"] + 1} for t in right.data["timeouts"]]}
    )
    tally = conformance.run_on_spark([right, fewer, later], spark)
    assert [problem.split(":")[0] for problem in tally.problems] == ["fewer", "later"]
    assert (tally.passes, tally.failures) == (1, 2)


def test_the_end_of_the_input_only_adds(cases: list[Case]) -> None:
    adding = 0
    for case in covering_sample(cases, 200):
        finite = conformance.ended(case)
        if case.matches is not None and finite.matches is not None:
            assert case.matches <= finite.matches
            adding += case.matches < finite.matches
        if case.timeouts is not None and finite.timeouts is not None:
            assert case.timeouts <= finite.timeouts
            adding += case.timeouts < finite.timeouts
    assert 10 < adding < 100
