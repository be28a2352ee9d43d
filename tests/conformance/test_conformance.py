"""The corpora on both reference evaluators and on the kernel: everything, but of the largest ones a fixed sample.

`make conformance` runs all of them, on any engine.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conformance import run as conformance

HERE = Path(__file__).parent
SIZES = {
    "corner-probes.jsonl": 13,
    "corners.jsonl.gz": 1_500,
    "extra.jsonl": 200,
    "flink-tests.jsonl": 294,
    "more-probes.jsonl": 154,
    "more.jsonl.gz": 1_200,
    "paper.jsonl.gz": 13_482,
    "probes.jsonl": 196,
    "random.jsonl.gz": 2_837,
}
SAMPLED = {**SIZES, "paper.jsonl.gz": 1_500, "random.jsonl.gz": 1_500}
SAMPLED_BY_DEFINITION = {**SIZES, **dict.fromkeys(("corners.jsonl.gz", "more.jsonl.gz"), 600)}
SAMPLED_BY_DEFINITION |= dict.fromkeys(("paper.jsonl.gz", "random.jsonl.gz"), 450)


def sample(name: str, engine: str, size: int) -> list[conformance.Case]:
    """Some cases of a corpus, always the same, others for each engine."""
    return random.Random(f"{name} {engine}").sample(list(conformance.read(HERE / name)), size)


def test_the_corpora_are_complete() -> None:
    found = {path.name: sum(1 for _ in conformance.read(path)) for path in HERE.glob("*.jsonl*")}
    assert found == SIZES


@pytest.mark.parametrize("name", sorted(SIZES))
def test_reference(name: str) -> None:
    tally = conformance.run(sample(name, "reference", SAMPLED[name]), conformance.ENGINES["reference"])
    assert tally.problems == []
    assert (tally.passes, tally.skipped) == (SAMPLED[name], 0)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_kernel(name: str) -> None:
    tally = conformance.run(sample(name, "kernel", SAMPLED[name]), conformance.ENGINES["kernel"])
    assert tally.problems == []
    assert tally.passes + tally.skipped == SAMPLED[name]
    assert tally.skipped <= 20  # those that come by arrival or by key


@pytest.mark.parametrize("name", sorted(SIZES))
def test_definition(name: str) -> None:
    size = SAMPLED_BY_DEFINITION[name]
    tally = conformance.run(sample(name, "definition", size), conformance.ENGINES["definition"])
    assert tally.problems == []
    assert tally.passes + tally.skipped == size
    assert tally.skipped <= 20


def test_a_wrong_answer_is_noticed() -> None:
    case = next(iter(conformance.read(HERE / "probes.jsonl")))
    wrong = type(case)({**case.data, "matches": []})
    assert conformance.judge(case, conformance.ENGINES["reference"]) is None
    assert "too many" in (conformance.judge(wrong, conformance.ENGINES["reference"]) or "")
