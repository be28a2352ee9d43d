"""The comparisons with the real FlinkCEP work. They need its jars (some 250 MB a version): `make test-all`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from evidence.test_on_spark import ROOT, results, run

pytestmark = pytest.mark.skipif("CEPHEID_WITH_FLINK" not in os.environ, reason="needs FlinkCEP's jars: make test-all")


def test_every_difference_of_the_experiment_is_explained(tmp_path: Path) -> None:
    run("experiments/semantics/run.py", "--smoke", "--json", tmp_path / "results.json", "--plots", tmp_path)
    found = results(tmp_path / "results.json")
    assert [row["right"] for row in found["table 1"]] == [True] * 8
    [unexplained] = [row for row in found["differences"] if row["reason"] == "unexplained"]
    assert sum(value for key, value in unexplained.items() if key not in ("reason", "right")) == 0
    endless, *others = found["differences"]
    assert endless["2.3.0 SLGGP"] > 0 and any(row["2.3.0 SLGGP"] > 0 for row in others)
    assert (tmp_path / "semantics.png").stat().st_size > 10_000


def test_flinkcep_finds_the_same_in_the_benchmark(tmp_path: Path) -> None:
    jars = ROOT / "build" / "flink" / "2.3.0"
    cases = ("--case", "strict", "--case", "kleene", "--case", "iterative")
    run("bench/run.py", "peers", "--smoke", "--repeat", "1", *cases, "--flink", jars, "--json", tmp_path / "results")
    rows = results(tmp_path / "results")["peers"]
    assert [row["query"] for row in rows] == ["strict", "kleene", "iterative"]
    assert all(row["right"] is True and row["their_cpu"] > 0 for row in rows)


def test_bobocep_finds_the_same(tmp_path: Path) -> None:
    run("bench/run.py", "python", "--smoke", "--repeat", "1", "--json", tmp_path / "results")
    rows = results(tmp_path / "results")["python"]
    assert [row["query"] for row in rows] == ["strict", "seq no skip"]
    assert all(row["right"] is True and row["matches"] > 0 for row in rows)
