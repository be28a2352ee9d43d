"""PNCEP's experiment: the counts are those of the engine and of the stacks, and a tiny run writes all it should."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from experiments.negation.ais import Pncep, Sase
from experiments.negation.counting import count
from experiments.negation.measuring import consume, engine
from experiments.negation.query import BETWEEN, components, pattern

ROOT = Path(__file__).parents[2]
TYPES = np.random.default_rng(4).integers(1, 6, 250)
STREAM = pa.table({"t": np.arange(len(TYPES)), "type": TYPES})


@pytest.mark.parametrize("window", [8, 33])
@pytest.mark.parametrize("negated", [1, 2, 3, 4, 5])
def test_counts_are_what_the_engine_finds(negated: int, window: int) -> None:
    found = pattern(negated, window).match_events(STREAM, order_by="t").matches_table.num_rows
    assert count(TYPES, window, negated).results == found > 0


@pytest.mark.parametrize("negated", BETWEEN)
def test_counts_are_what_each_plan_builds(negated: int) -> None:
    counted = count(TYPES, 33, negated)
    rows = STREAM.to_pylist()
    for plan, processor, built in (
        ("pushed", Pncep(components(negated), 33), counted.results),
        ("after", Sase(components(negated), 33), counted.sequences),
    ):
        events, seconds, intermediate, results = engine(STREAM, plan, negated, 33)
        assert (events, intermediate, results) == (len(TYPES), built, counted.results)
        assert seconds > 0
        assert sum(consume(processor.scan(row, row["t"])) for row in rows) == counted.results
        assert processor.intermediate == built
    assert counted.sequences > counted.results


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a tiny run wrote its results and figures."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    place = tmp_path_factory.mktemp("negation")
    command = [sys.executable, "-m", "experiments.negation", "--smoke", "--results", str(place), "--images", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.mark.slow
def test_a_tiny_run(written: Path) -> None:
    results = json.loads((written / "results.json").read_text(encoding="utf-8"))
    assert len(results["counts"]) == 5 * 2
    assert len(results["measurements"]) == (2 + 1) * 3 * 2
    by_query: dict[tuple[int, int], set[int]] = {}
    for row in results["measurements"]:
        if row["method"] == "engine":
            by_query.setdefault((row["negated"], row["window"]), set()).add(row["results"])
    assert all(len(found) == 1 for found in by_query.values())
    assert all(row["pushed"] == row["after"] > 0 for row in results["whole_plans"])
    page = (written / "results.md").read_text(encoding="utf-8")
    assert "Figure 6" in page and "Figure 7" in page and "| 50 | E4 |" in page
    for name in ("negation-throughput.svg", "negation-intermediate.svg"):
        assert "</svg>" in (written / name).read_text(encoding="utf-8")
