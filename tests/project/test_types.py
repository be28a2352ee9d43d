"""A type checker can use what Cepheid returns: a user's program, checked as a user would."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """\
from pyspark.sql import DataFrame

from cepheid import Limits, Pattern

pattern = Pattern.parse("a[x = 1] ~> b within 5 minutes")


def batch(events: DataFrame) -> DataFrame:
    found = pattern.match_batch(events, partition_by="k", order_by=["ts", "id"], limits=Limits(max_runs=5))
    reveal_type(found.count())
    found.show(5)
    return found.matches


def stream(events: DataFrame) -> None:
    found = pattern.match_stream(events, order_by="ts", watermark="5 minutes", measures={"n": "COUNT(b.*)"})
    query = found.start(checkpoint="state", matches="console", late="console")
    query.awaitTermination()


def either(events: DataFrame) -> DataFrame:
    return pattern.match(events, order_by="ts", watermark="5 minutes", max_runs=5, rows="all").matches


def memory(rows: list[dict[str, object]]) -> int:
    found = pattern.match_events(rows, order_by="ts", columns="x", nulls="drop", limits=Limits())
    reveal_type([match["a"] for match in found])
    return len(found)
"""
WRONG = """\
from pyspark.sql import DataFrame

from cepheid import Pattern


def wrong(events: DataFrame, pattern: Pattern) -> None:
    pattern.match(events, order_by="ts", watermrk="5 minutes")
    pattern.match(events, order_by="ts", rows="some")
    pattern.match_batch(events, order_by="ts").late
    pattern.match_stream(events, order_by="ts", shuffle="spark")
    pattern.match_events([], measures=["COUNT(b.*)"])
"""


def test_programs_of_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("mypy.api")
    pytest.importorskip("pyspark")
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(PROGRAM, encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")
    # as `make types` calls it, so that what it has found out about Cepheid and Spark is used again
    monkeypatch.chdir(ROOT)
    told, problems, _ = api.run(["--strict", str(right), str(wrong)])
    assert not problems
    lines = [line.split(":", 3) for line in told.splitlines() if ": note: " in line or ": error: " in line]
    assert [line[3].strip() for line in lines if line[0].endswith("right.py")] == [
        'Revealed type is "int"',
        'Revealed type is "list[Any]"',
    ]
    at_fault = [int(line[1]) for line in lines if line[0].endswith("wrong.py") and "error" in line[2]]
    assert at_fault == [7, 8, 9, 10, 11]
