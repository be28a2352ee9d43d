"""`cepheid run` on Spark: a batch and a stream give what the pattern gives in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from cepheid import Pattern
from cepheid.cli import main
from cepheid.demo import SHOPLIFTING, open_shop

SHOP = open_shop(200)


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with readings, a pattern, and jobs; the session of the tests is active and stays so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    by_time = SHOP.readings.sort_by("ts")
    half = by_time.num_rows // 2
    pq.write_table(by_time.slice(0, half), "in/first.parquet")
    pq.write_table(by_time.slice(half), "in/second.parquet")
    Path("pattern.json").write_text(SHOPLIFTING.to_json(), encoding="utf-8")
    Path("job.toml").write_text(
        f"""
        [source]
        path = "{tmp_path}/in"
        schema = "tag STRING, ts TIMESTAMP_NTZ, reader STRING"
        [pattern]
        file = "pattern.json"
        [match]
        partition_by = "tag"
        order_by = "ts"
        [sinks.matches]
        path = "{tmp_path}/out"
        """,
        encoding="utf-8",
    )
    return tmp_path


def tags(spark: SparkSession, path: Path) -> set[str]:
    return {row["tag"] for row in spark.read.option("recursiveFileLookup", True).parquet(str(path)).collect()}


def test_a_batch(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", "job.toml", "--set", f"sinks.timeline.path={place}/drawn.html"])
    said = capsys.readouterr().err
    assert code == 0, said
    assert tags(spark, place / "out") == SHOP.stolen
    assert f"matches: {len(SHOP.stolen)} of {SHOP.readings.num_rows:,} events" in said
    assert "no counter" in (place / "drawn.html").read_text(encoding="utf-8")
    assert main(["run", "job.toml"]) == 3  # the files are there already
    assert "already exists" in capsys.readouterr().err


def test_several_tables_and_keys_by_step(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The counter has a table of its own, in which the tag is called otherwise."""
    counter = pc.equal(SHOP.readings["reader"], "COUNTER")
    pq.write_table(SHOP.readings.filter(pc.invert(counter)), "doors.parquet")
    pq.write_table(SHOP.readings.filter(counter).rename_columns(["paid", "ts", "desk"]), "counter.parquet")
    pattern = Pattern.parse(
        "shelf[reader = 'SHELF'] ~> !counter[desk = 'COUNTER'] ~> exit[reader = 'EXIT'] within 12 hours"
    )
    Path("pattern.json").write_text(pattern.to_json(), encoding="utf-8")
    Path("several.toml").write_text(
        f"""
        [sources.doors]
        elements = ["shelf", "exit"]
        path = "{place}/doors.parquet"
        [sources.counter]
        path = "{place}/counter.parquet"
        [pattern]
        file = "pattern.json"
        [match]
        order_by = "ts"
        partition_by = {{ item = {{ shelf = "tag", exit = "tag", counter = "paid" }} }}
        [sinks.matches]
        path = "{place}/several"
        [sinks.timeline]
        path = "{place}/several.html"
        """,
        encoding="utf-8",
    )
    code = main(["run", "several.toml"])
    said = capsys.readouterr().err
    assert code == 0, said
    assert {row["item"] for row in spark.read.parquet(str(place / "several")).collect()} == SHOP.stolen
    assert f" of {SHOP.readings.num_rows:,} events" in said  # those of both tables


def test_measures(spark: SparkSession, place: Path) -> None:
    changes = ('match.measures={left = "LAST(exit.ts)"}', "source.where=tag IS NOT NULL")
    assert main(["run", "job.toml", *(word for change in changes for word in ("--set", change))]) == 0
    assert "left" in spark.read.parquet(str(place / "out")).columns


def test_an_explanation_does_not_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "job.toml", "--explain"]) == 0
    assert "Spark, batch" in capsys.readouterr().out
    assert not (place / "out").exists()
    stream = ["--set", "source.stream=true", "--set", "stream.checkpoint=state"]
    assert main(["run", "job.toml", "--explain", *stream]) == 0
    assert "Spark, streaming" in capsys.readouterr().out


def test_why(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bought = next(tag for tag in SHOP.readings["tag"].to_pylist() if tag not in SHOP.stolen)
    assert main(["why", "job.toml", "--key", f"tag={bought}"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("0 matches in") and f"with tag = '{bought}'" in said and "not counter" in said
    assert main(["why", "job.toml", "--key", "tag"]) == 2
    assert "Write --key tag=watch" in capsys.readouterr().err


def test_a_wrong_column_is_told_in_one_screen(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "job.toml", "--set", "match.partition_by=tagg"]) == 2
    said = capsys.readouterr().err
    assert "tagg" in said and "Traceback" not in said


def test_a_stream(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = [
        "--set",
        "source.stream=true",
        "--set",
        f"stream.checkpoint={place}/state",
        "--set",
        "match.watermark=1 minute",
    ]
    Path("in/second.parquet").rename("second.parquet")
    code = main(["run", "job.toml", *stream, "--set", "stream.trigger=available now"])
    said = capsys.readouterr().err
    assert code == 0, said
    assert f"{SHOP.readings.num_rows // 2:,} events" in said.splitlines()[-1]
    last = re.search(r"([\d,]+) live runs, ([\d,]+) waiting\n\d micro-batches", said)
    assert last is not None
    assert tags(spark, place / "out") <= SHOP.stolen
    assert main(["state", f"{place}/state"]) == 0
    facts = capsys.readouterr().out
    assert "partition_by      tag\n" in facts and "!counter[reader = 'COUNTER']" in facts
    assert "last micro-batch  none" not in facts and "input             open" in facts
    assert f"waiting events    {last[2]}, which the watermark has not passed\n" in facts
    assert f"live runs         {last[1]}, the oldest 10:" in facts  # as the last micro-batch said
    assert "│ shelf     │ exit      │" in facts
    Path("second.parquet").rename("in/second.parquet")
    assert main(["run", "job.toml", *stream, "--set", "stream.flush=true"]) == 0
    said = capsys.readouterr().err
    assert re.search(r"^batch \d+: .* 0 live runs, 0 waiting\n\d micro-batch(es)?: .*\nthe input is over", said, re.M)
    assert tags(spark, place / "out") == SHOP.stolen
    assert main(["state", f"{place}/state"]) == 0
    assert "ended by a flush" in capsys.readouterr().out
    assert main(["state", f"{place}/in"]) == 2
    assert "is not a checkpoint" in capsys.readouterr().err


@pytest.mark.slow
def test_a_stream_with_a_history(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first half is the history; the stream has all of it once more, and each tag is reported once."""
    Path("archive").mkdir()
    Path("archive/first.parquet").write_bytes(Path("in/first.parquet").read_bytes())
    settings = {
        "source.stream": "true",
        "stream.checkpoint": f"{place}/state",
        "match.watermark": "1 minute",
        "stream.flush": "true",
        "history.path": f"{place}/archive",
    }
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    assert main(["run", "job.toml", *given, "--set", "history.where=reader IS NOT NULL"]) == 0, capsys.readouterr().err
    found = spark.read.option("recursiveFileLookup", True).parquet(f"{place}/out").collect()
    assert sorted(row["tag"] for row in found) == sorted(SHOP.stolen)
    half = SHOP.readings.num_rows // 2
    assert f"{half + SHOP.readings.num_rows:,} events, " in capsys.readouterr().err
    Path("clause.txt").write_text("PARTITION BY tag ORDER BY ts PATTERN (a) DEFINE a AS reader = 'EXIT'", "utf-8")
    others = {
        "pattern.file": "clause.txt",
        "stream.checkpoint": f"{place}/other",
        "sinks.matches.path": f"{place}/exits",
    }
    given += [word for name, value in others.items() for word in ("--set", f"{name}={value}")]
    Path("job.toml").write_text(Path("job.toml").read_text().replace('partition_by = "tag"', ""))
    Path("job.toml").write_text(Path("job.toml").read_text().replace('order_by = "ts"', ""))
    assert main(["run", "job.toml", *given]) == 0, capsys.readouterr().err
    exits = spark.read.option("recursiveFileLookup", True).parquet(f"{place}/exits").count()
    assert exits == SHOP.readings["reader"].to_pylist().count("EXIT")


def test_a_clause_of_match_recognize(spark: SparkSession, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clause = """
        PARTITION BY tag ORDER BY ts MEASURES COUNT(*) AS n
        PATTERN (SHELF OTHER*? GONE) WITHIN INTERVAL '12' HOUR
        DEFINE SHELF AS reader = 'SHELF', OTHER AS reader <> 'COUNTER', GONE AS reader = 'EXIT'
    """
    Path("stolen.sql").write_text(clause, encoding="utf-8")
    text = Path("job.toml").read_text(encoding="utf-8").replace("pattern.json", "stolen.sql")
    Path("rows.toml").write_text(
        text.replace('partition_by = "tag"', "").replace('order_by = "ts"', ""), encoding="utf-8"
    )
    assert main(["run", "rows.toml", "--set", 'match.shuffle="spark"', "--set", "match.buckets=2"]) == 0
    assert tags(spark, place / "out") == SHOP.stolen
    assert f"of {SHOP.readings.num_rows:,} events" in capsys.readouterr().err
    Path("stolen.toml").write_text(text, encoding="utf-8")
    assert main(["run", "stolen.toml"]) == 2
    assert "partition_by is not for MATCH_RECOGNIZE" in capsys.readouterr().err
