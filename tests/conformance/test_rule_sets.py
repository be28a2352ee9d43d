"""The corpora through sets of 50 rules: the same answers as one by one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conformance import run as conformance
from conformance.rule_sets import answered, finite, in_memory, on_operator

HERE = Path(__file__).parent
SAMPLED = (
    "corners.jsonl.gz",
    "extra.jsonl",
    "flink-tests.jsonl",
    "more.jsonl.gz",
    "paper.jsonl.gz",
    "probes.jsonl",
    "random.jsonl.gz",
)


@pytest.mark.parametrize("name", SAMPLED)
def test_sets_in_memory(name: str) -> None:
    chosen = random.Random(name).sample(list(conformance.read(HERE / name)), 100)
    cases = finite(chosen)
    tally = conformance.run(cases, answered(cases, in_memory))
    assert tally.problems == []
    assert tally.passes > len(cases) // 2


@pytest.mark.parametrize("name", SAMPLED)
def test_sets_on_the_operator(name: str) -> None:
    pytest.importorskip("pyspark.sql.streaming.tws_tester")
    chosen = random.Random(f"operator {name}").sample(list(conformance.read(HERE / name)), 50)
    cases = finite(chosen)
    tally = conformance.run(cases, answered(cases, on_operator))
    assert tally.problems == []
    assert tally.passes > len(cases) // 2
