"""Exactly once, shown by kill -9: two kills here, more among the slow tests and in `python bench/kills.py`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")

from faults.kills import Work, outcome
from faults.rule_kills import outcome as outcome_of_rules


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_a_killed_job_goes_on_without_loss_or_doubles(tmp_path: Path) -> None:
    found = outcome(tmp_path / "job", Work(batches=6), kills=1, seed=7)
    assert found.problems == []
    assert found.kills >= 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_a_killed_job_of_a_row_pattern_goes_on_without_loss_or_doubles(tmp_path: Path) -> None:
    found = outcome(tmp_path / "job", Work(batches=8, rows=True), kills=1, seed=11)
    assert found.problems == []
    assert found.kills >= 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_rules_change_on_a_live_stream_that_is_killed(tmp_path: Path) -> None:
    """Patterns and row patterns: the comparison asks for matches of both."""
    found = outcome_of_rules(tmp_path / "job", seed=3, batches=8, kills=0, crashes=1, changes=3)
    assert found.problems == []
    assert found.kills == 1 and found.sets > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_rules_change_on_a_live_stream_that_is_killed_often(tmp_path: Path, seed: int) -> None:
    found = outcome_of_rules(tmp_path / "job", seed=seed, batches=30, kills=4, crashes=2, changes=7)
    assert found.problems == []
    assert found.kills >= 5
