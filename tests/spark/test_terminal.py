"""The command line as a person and an operator meet it: in a terminal, interrupted, and under `spark-submit`.

Each test starts a Spark of its own, some half a minute each: `pytest -m slow tests/spark/test_terminal.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from spark.terminals import in_terminal

import cepheid
from cepheid.demo import open_shop
from cepheid.engine.warming import warm_up

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")
pytestmark = pytest.mark.slow

SHOP = open_shop(3_000)
SCRIPT = Path(cepheid.__file__).parent / "cli" / "__main__.py"
NOISE = ("Traceback", "Exception", "\tat ", "Error")
JOB = """\
[source]
path = "in"
schema = "tag STRING, ts TIMESTAMP, reader STRING"

[pattern]
text = "EVENT SEQ(SHELF shelf, !(COUNTER counter), EXIT exit) WITHIN 12 hours"
type_column = "reader"

[match]
partition_by = "tag"
order_by = "ts"

[sinks.matches]
path = "out"
"""
STREAM = """
[stream]
checkpoint = "state"
trigger = "1 second"
"""


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A directory with data; the compiled kernel and this Python for all processes."""
    warm_up()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    readings = SHOP.readings.sort_by("ts")
    half = readings.num_rows // 2
    pq.write_table(readings.slice(0, half), tmp_path / "in" / "1.parquet")
    pq.write_table(readings.slice(half), tmp_path / "in" / "2.parquet")
    sources = str(Path(cepheid.__file__).parents[1])
    return {
        **os.environ,
        "PYTHONPATH": sources,
        "TERM": "xterm",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def found(place: Path) -> set[str]:
    rows = pq.read_table(place, columns=["tag"])
    return set(rows["tag"].to_pylist())


def test_a_stream_is_shown_interrupted_and_goes_on(environment: dict[str, str], tmp_path: Path) -> None:
    Path("job.toml").write_text(
        JOB.replace("[pattern]", "stream = true\noptions = { maxFilesPerTrigger = '1' }\n\n[pattern]") + STREAM
    )
    command = [sys.executable, "-m", "cepheid.cli", "run", "job.toml", "--set", "spark.spark.master=local[1]"]
    shown = in_terminal(command, environment, interrupt_at=r"\n    0 +\d")
    assert shown.code == 130, shown.text
    assert "live runs" in shown.text and "cepheid: interrupted; the checkpoint state is good" in shown.text
    assert not [noise for noise in NOISE if noise in shown.text], shown.text
    assert shown.seconds is not None and shown.seconds < 60  # patience of 10 s, a busy machine
    begun = [line for line in shown.text.splitlines() if line.startswith("    0 ")]
    assert begun and f"{SHOP.readings.num_rows // 2:,}" in begun[0]
    state = subprocess.run(
        [sys.executable, "-m", "cepheid.cli", "state", "state"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert state.returncode == 0 and "live runs" in state.stdout, state.stderr
    Path("flush.toml").write_text(Path("job.toml").read_text().replace('trigger = "1 second"', "flush = true"))
    again = in_terminal([*command[:4], "flush.toml", *command[5:]], environment)
    assert again.code == 0, again.text
    assert found(tmp_path / "out") == SHOP.stolen


def test_a_batch_is_interrupted(environment: dict[str, str], tmp_path: Path) -> None:
    pq.write_table(open_shop(400_000).readings, tmp_path / "large.parquet")
    Path("job.toml").write_text(JOB.replace('"in"', '"large.parquet"'))
    command = [sys.executable, "-m", "cepheid.cli", "run", "job.toml", "--set", "spark.spark.master=local[1]"]
    shown = in_terminal(command, environment, interrupt_at=r"matches .*/\d+ tasks")
    assert shown.code == 130, shown.text
    assert shown.text.rstrip().endswith("cepheid: interrupted; matches in out are not complete; run the job again")
    assert not [noise for noise in NOISE if noise in shown.text], shown.text
    assert shown.seconds is not None and shown.seconds < 60
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_spark_submit_on_executors_of_their_own(environment: dict[str, str], tmp_path: Path) -> None:
    """The command of docs/command-line.md, with a master whose executors are processes of their own."""
    import pyspark

    Path("job.toml").write_text(JOB)
    script = subprocess.run(
        [sys.executable, "-m", "cepheid.cli", "--script"], env=environment, capture_output=True, text=True
    )
    assert script.stdout == f"{SCRIPT}\n"
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    options = [
        "--master",
        "local-cluster[2,1,1024]",
        "--conf",
        "spark.executor.memory=512m",
        "--conf",
        "spark.ui.enabled=false",
    ]
    environment = {
        **environment,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    done = subprocess.run(
        [submit, *options, str(SCRIPT), "run", "job.toml"], env=environment, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert found(tmp_path / "out") == SHOP.stolen
    again = subprocess.run(
        [submit, *options, str(SCRIPT), "run", "job.toml", "--set", "match.order_by=tss"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert again.returncode == 2 and "Did you mean `ts`?" in again.stdout  # where Spark sends all that Python says
