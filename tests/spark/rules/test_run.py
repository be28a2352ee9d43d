"""`cepheid run` with a directory of rules: a batch and a stream give what the rules give in memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from cepheid.cli import main
from cepheid.demo import SHOPLIFTING, open_shop

SHOP = open_shop(100)
JOB = """
[source]
path = "{place}/in"
schema = "tag STRING, ts TIMESTAMP_NTZ, reader STRING"
[rules]
directory = "rules"
[match]
order_by = "ts"
[sinks.matches]
path = "{place}/out"
"""


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("in", "rules"):
        Path(name).mkdir()
    pq.write_table(SHOP.readings.sort_by("ts"), "in/readings.parquet")
    Path("rules/stolen.toml").write_text(f'pattern = "{SHOPLIFTING}"\npartition_by = "tag"\n', encoding="utf-8")
    Path("rules/seen.toml").write_text(
        'pattern = "x[reader = \'EXIT\'] within 1 hour"\npartition_by = "tag"\n', encoding="utf-8"
    )
    Path("job.toml").write_text(JOB.format(place=tmp_path), encoding="utf-8")
    return tmp_path


def stolen(spark: SparkSession, path: Path) -> set[str]:
    rows = spark.read.option("recursiveFileLookup", True).parquet(str(path)).where("rule = 'stolen'")
    return {row["tag"] for row in rows.collect()}


def test_a_batch(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "job.toml"]) == 0, capsys.readouterr().err
    assert stolen(spark, place / "out") == SHOP.stolen
    assert main(["run", "job.toml", "--explain"]) == 0
    assert "2 rules" in capsys.readouterr().out


def test_a_stream(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["source.stream=true", f"stream.checkpoint={place}/checkpoint", "stream.flush=true"]
    code = main(["run", "job.toml", *(part for change in changes for part in ("--set", change))])
    assert code == 0, capsys.readouterr().err
    assert stolen(spark, place / "out") == SHOP.stolen


@pytest.mark.slow
def test_a_stream_that_knows_a_history(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readings = SHOP.readings.sort_by("ts")
    Path("past").mkdir()
    pq.write_table(readings.slice(0, readings.num_rows // 2), "past/readings.parquet")
    pq.write_table(readings.slice(readings.num_rows // 2), "in/readings.parquet")
    changes = ["source.stream=true", f"stream.checkpoint={place}/checkpoint", "stream.flush=true"]
    changes.append(f"history.path={place}/past")
    code = main(["run", "job.toml", *(part for change in changes for part in ("--set", change))])
    assert code == 0, capsys.readouterr().err
    assert stolen(spark, place / "out") == SHOP.stolen
    assert main(["run", "job.toml", "--set", f"history.path={place}/past"]) == 2
    assert "[history] comes before a stream" in capsys.readouterr().err


def test_what_belongs_to_rules_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "job.toml", "--set", "match.partition_by=tag"]) == 2
    assert "[match]: partition_by is not for a directory of rules" in capsys.readouterr().err
    assert main(["run", "job.toml", "--set", "pattern.text=a ~> b"]) == 2
    assert "[rules] or [pattern], not both" in capsys.readouterr().err
