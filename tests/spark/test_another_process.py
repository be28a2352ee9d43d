"""Patterns over Spark Connect, and on executors of their own to which the package is shipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark import another_process

import cepheid
from cepheid.engine.kernel import compiling
from cepheid.engine.warming import warm_up

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")
PROJECT = Path(__file__).parents[2]
SOURCES = str(Path(cepheid.__file__).parents[1])


def run(*arguments: str, **environment: str) -> dict[str, Any]:
    """What `another_process` prints; its PYTHONPATH, which executors would share, names the package only if given."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = f"import sys, runpy; sys.path.insert(0, {SOURCES!r}); sys.argv = sys.argv[1:]"
    script += "; runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", script, another_process.__file__, *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        env={**inherited, "SPARK_HOME": str(Path(pyspark.__file__).parent)} | environment,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def worker_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A Python for executors that has all dependencies but not the package, and the kernel that is compiled here."""
    from cluster.standalone import python_without_package

    python = python_without_package(tmp_path_factory.mktemp("executors"))
    warm_up()
    assert compiling.PLACE is not None
    return {"PYSPARK_PYTHON": str(python), "CEPHEID_CACHE": str(compiling.PLACE.parent)}


def test_spark_connect() -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'cepheid[connect]'")
    warm_up()  # its workers find the compiled kernel
    answer = run("connect", PYTHONPATH=SOURCES)
    expected = another_process.expected()
    assert all(expected.values())
    assert {name: answer[name] for name in expected} == expected
    assert answer["kind"] == "pyspark.sql.connect.session"
    assert answer["column"] == sum(row["name"] == "a" for row in another_process.made_up_rows())
    assert "by the input's size" in answer["explained"]
    assert answer["bytes"] == 80


@pytest.mark.slow
def test_streams_over_spark_connect(tmp_path: Path) -> None:
    """Sinks run where the server is; a function among them travels there."""
    pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'cepheid[connect]'")
    warm_up()
    answer = run("connect-stream", str(tmp_path), PYTHONPATH=SOURCES)
    expected = another_process.expected()
    assert (answer["matches"], answer["timeouts"]) == (expected["matches"], expected["timeouts"])
    assert answer["own"] == expected["matches"]
    assert answer["rejected"] == ["no time"]
    assert answer["waiting"] > 0
    rows = another_process.made_up_rows()
    wanted = sum(row["name"] in "ab" and row["ts"] < another_process.MIDDLE for row in rows)
    early = sum(row["ts"] < another_process.MIDDLE for row in rows)
    assert answer["counted"] == {"rows": early + 1, "irrelevant": early - wanted, "rejected": 1}
    assert answer["kind"] == "pyspark.sql.connect.session"


@pytest.mark.slow
def test_executors_with_the_package_shipped(worker_environment: dict[str, str], tmp_path: Path) -> None:
    """The wheel, named .zip: of the files that are given to a job, Spark puts .zip on the path but not .whl."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    answer = run("cluster", str(wheel.rename(tmp_path / "cepheid.zip")), **worker_environment)
    assert answer == another_process.expected()


@pytest.mark.slow
def test_executors_without_the_package_say_so(worker_environment: dict[str, str]) -> None:
    error = run("cluster", **worker_environment)["error"]
    assert f"Spark's worker runs {worker_environment['PYSPARK_PYTHON']} (Python 3." in error
    assert "cannot import cepheid: No module named 'cepheid'" in error
    assert "--py-files with the wheel renamed to .zip" in error
