"""Matches into a table that is merged on match_id: a real one, of Iceberg, where there is a build for this Spark.

That other tables are refused is shown in `stream.test_streaming`. Run on the oldest Spark by `make test-oldest`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")
HERE = Path(__file__).parent
BUILDS = {"4.0": "1.10.0", "4.1": "1.11.0"}
"""Of Spark, the version of Iceberg that has a build for it."""


@pytest.fixture
def iceberg(monkeypatch: pytest.MonkeyPatch) -> str:
    spark = ".".join(pyspark.__version__.split(".")[:2])
    if spark not in BUILDS:
        pytest.skip(f"Iceberg has no build for Spark {spark}: make test-oldest runs this")
    monkeypatch.syspath_prepend(str(HERE.parents[1] / "examples" / "kafka"))
    import maven

    wanted = maven.Coordinates("org.apache.iceberg", f"iceberg-spark-runtime-{spark}_2.13", BUILDS[spark])
    try:
        [jar] = maven.fetched("iceberg", [wanted]).glob("*.jar")
    except maven.Unreachable as error:
        pytest.skip(str(error))
    return str(jar)


def events(key: str, second: int) -> list[list[object]]:
    at = f"2025-01-01 12:00:{second:02}"
    return [[key, at, "a", 1, "a"], [key, at, "b", 2, "b"]]


@pytest.mark.parametrize("rows", ["one", "all"])
def test_a_replayed_batch_changes_nothing(iceberg: str, tmp_path: Path, rows: str) -> None:
    sources = str(Path(cepheid.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(HERE / "merged_table.py"), iceberg, str(tmp_path), rows],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": sources},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    first: list[list[object]] = [["x", "2025-01-01 12:00:02", "b"], ["y", "2025-01-01 12:00:04", "b"]]
    last: list[list[object]] = [["z", "2025-01-01 12:00:31", "b"]]
    if rows == "all":
        first, last = events("x", 2) + events("y", 4), events("z", 31)
    assert answer["first"] == first
    assert answer["replayed"][0] == answer["batches"][-1]
    assert answer["again"] == first
    assert answer["end"] == [*first, *last]
