"""The benchmarks work: a tiny run of every section, whose answers are right and whose results have their form."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
QUERIES = [
    "seq",
    "strict",
    "kleene",
    "negation",
    "iterative",
    "iterative sum",
    "all of 5",
    "having",
    "whole",
    "distinct",
    "seq no skip",
    "kleene no skip",
    "negation no skip",
    "any",
]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "bench" / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, str]:
    """What a tiny run wrote as JSON and Markdown, and printed."""
    place = tmp_path_factory.mktemp("bench")
    done = run("engine", "--smoke", "--json", place / "results.json", "--markdown", place / "results.md")
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((place / "results.json").read_text(encoding="utf-8"))
    return results, (place / "results.md").read_text(encoding="utf-8"), done.stdout


def rows(written: tuple[dict[str, Any], str, str], section: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = written[0]["sections"][section]["rows"]
    return found


def test_says_where_and_when(written: tuple[dict[str, Any], str, str]) -> None:
    facts = written[0]["environment"]
    assert {"machine", "python", "numba", "date", "load"} <= facts.keys()
    first = written[2].splitlines()[0]
    assert facts["machine"].split(",")[0] in first and f"numba {facts['numba']}" in written[1]


def test_all_sections_are_there(written: tuple[dict[str, Any], str, str]) -> None:
    names = ["start", "throughput", "queries", "waiting", "memory", "stocks"]
    assert list(written[0]["sections"]) == names
    assert [line.split(":")[0] for line in written[1].splitlines() if line.startswith("## ")] == [
        f"## {name}" for name in names
    ]


def test_throughput(written: tuple[dict[str, Any], str, str]) -> None:
    found = rows(written, "throughput")
    assert [row["query"] for row in found] == QUERIES
    assert all(row["right"] is True and row["matches"] > 0 for row in found)
    assert all(row[key] > 0 for row in found for key in ("kernel", "columns", "match_events", "rate"))
    by_query = {row["query"]: row["matches"] for row in found}
    assert by_query["strict"] < by_query["seq"] < by_query["seq no skip"] < by_query["any"]


def test_queries(written: tuple[dict[str, Any], str, str]) -> None:
    found = rows(written, "queries")
    groups = ["NOGP", "SLGP", "LGP", "SLGGP", "all", "all, nothing remembered"]
    assert [row["group"] for row in found] == groups
    assert all(row["right"] is True for row in found)
    assert found[4]["queries"] == sum(row["queries"] for row in found[:4]) >= 80
    for row in found:
        stages = sum(row[stage] for stage in ("tree", "conditions", "automaton", "tables", "events", "kernel"))
        assert row["milliseconds"] == pytest.approx(stages, rel=0.2)
        assert row["share"] == pytest.approx(row["milliseconds"] / row["prototype"])


def test_waiting(written: tuple[dict[str, Any], str, str]) -> None:
    found = rows(written, "waiting")
    assert [row["runs"] for row in found] == [10, 500]
    assert all(row["right"] is True for row in found)
    assert all(0 < row["bytes"] < row["allocated"] and row["look"] > 0 for row in found)


def test_memory(written: tuple[dict[str, Any], str, str]) -> None:
    found = rows(written, "memory")
    assert [(row["case"], row["percent"]) for row in found] == [
        (case, percent) for case in ("plain", "plain, often", "registers", "loop") for percent in (10, 50, 100)
    ]
    for row in found:
        if row["percent"] == 100:
            assert row["right"] is True and row["matches"] > 0


def test_stocks_are_left_out_without_their_file(written: tuple[dict[str, Any], str, str]) -> None:
    assert rows(written, "stocks") == []
    assert "--stocks" in written[0]["sections"]["stocks"]["notes"][0]


def test_a_wrong_count_ends_in_failure(tmp_path: Path) -> None:
    events = [
        "SELL(id=1,name=INTC,volume=1,price=1.0,stock_time=1)",
        "BUY(id=2,name=QQQ,volume=1,price=1.0,stock_time=2)",
    ]
    path = tmp_path / "stocks.stream.xz"
    path.write_bytes(lzma.compress("\r\n".join(events).encode()))
    done = run("stocks", "--smoke", "--stocks", path, "--json", tmp_path / "results.json")
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["sections"]["stocks"]["rows"]
    assert [(row["matches"], row["right"]) for row in found] == [(0, False)] * 5


def test_an_unknown_section_is_refused() -> None:
    done = run("speed")
    assert done.returncode == 2
    assert "no section speed; there are start, throughput" in done.stderr


def test_the_state_of_a_hot_key_follows_the_events_in_the_window(tmp_path: Path) -> None:
    done = run("hot", "--smoke", "--json", tmp_path / "results.json", "--plots", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    one, other = results["sections"]["hot"]["rows"]
    assert other["held"] == 2 * one["held"] and other["bytes"] < 2.2 * one["bytes"]
    assert other["runs"] > 7 * one["runs"] > 7_000_000
    assert (tmp_path / "hot.svg").exists()


def test_a_checkout_is_as_fast_as_itself_and_finds_as_many_matches(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "against.py"), str(ROOT), "--events", "2000", "--turns", "2"]
    command += ["--starts", "2", "--case", "seq", "--case", "all of 5", "--json", str(tmp_path / "against.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "against.json").read_text(encoding="utf-8"))["sections"]["against"]["rows"]
    assert [row["query"] for row in found] == ["seq", "all of 5"]
    assert all(row["right"] is True and row["matches"] > 0 and row["ratio"] > 0 for row in found)


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "against.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "another checkout" in done.stderr
