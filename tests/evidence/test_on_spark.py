"""The benchmarks on Spark and the paper's experiment work: tiny runs, without FlinkCEP, whose answers are right.

Benchmarks are not tests, and a session of Spark for each costs minutes: `make test-all` runs these.
"""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc"),
]
CASES = ("seq", "iterative", "strict a b c: two lead()", "a ↠ b within t: self-join", "elements", "many live keys")
ROW_PATTERNS = ("A+ B+ C over 5,000 equal rows", "A? … A? B, 24 times A", "V-shapes")


def run(program: str, *arguments: str | Path) -> None:
    command = [sys.executable, str(ROOT / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def results(path: Path) -> dict[str, list[dict[str, Any]]]:
    sections = json.loads(path.read_text(encoding="utf-8"))["sections"]
    return {name: section["rows"] for name, section in sections.items()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """A few rows of every benchmark on Spark, and where the results and pictures are."""
    place = tmp_path_factory.mktemp("bench")
    chosen = [part for case in (*CASES, *ROW_PATTERNS) for part in ("--case", case)]
    names = ("peers", "handwritten", "growth", "sql", "streaming")
    run("bench/run.py", *names, "--smoke", "--repeat", "1", *chosen, "--json", place / "all.json", "--plots", place)
    return place, results(place / "all.json")


def test_peers(measured: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    rows = measured[1]["peers"]
    assert [row["query"] for row in rows] == ["seq", "iterative"]
    assert all(row["matches"] > 0 and row["cpu"] >= row["of_java"] > 0 and row["memory"] > 0 for row in rows)


def test_handwritten(measured: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    rows = measured[1]["handwritten"]
    assert [row["task"] for row in rows] == [case for case in CASES if ":" in case]
    assert all(row["right"] is True and row["matches"] > 0 for row in rows)
    assert all(row["ratio"] == pytest.approx(row["cpu"] / row["by_hand"]) for row in rows)


def test_growth(measured: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    first, last = measured[1]["growth"]
    assert (first["elements"], last["elements"]) == (1, 24)
    assert first["slope"] is None and isinstance(last["slope"], float)
    assert first["matches"] > last["matches"] == 0


def test_row_patterns(measured: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    rows = measured[1]["sql"]
    assert [row["task"] for row in rows] == list(ROW_PATTERNS)
    assert all(row["right"] is True for row in rows)
    assert [row["matches"] > 0 for row in rows] == [False, False, True]


def test_streaming(measured: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    floor, low, few, _, _, many = measured[1]["streaming"]
    assert few["to_installed"] == pytest.approx(few["cpu"] / floor["cpu"])
    assert low["cpu"] > 0 and few["ratio"] > 0 and many["ratio"] > 0
    assert few["right"] is many["right"] is True and few["matches"] > 0 and many["state"] > few["state"] > 0


def test_pictures(measured: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    for name in ("peers", "handwritten", "growth"):
        assert "</svg>" in (measured[0] / f"{name}.svg").read_text(encoding="utf-8")


def test_windows(tmp_path: Path) -> None:
    events = ("SELL INTC", "BUY RIMM", "BUY RIMM", "BUY QQQ", "SELL INTC", "BUY QQQ")
    lines = [
        f"{kind.split()[0]}(id={number},name={kind.split()[1]},volume=1,price=1.0,stock_time={100 * number})"
        for number, kind in enumerate(events)
    ]
    (tmp_path / "stocks.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    run(
        "bench/run.py",
        "windows",
        "--smoke",
        "--case",
        "3",
        "--stocks",
        tmp_path / "stocks.xz",
        "--json",
        tmp_path / "w",
    )
    found = [(row["never"], row["window"], row["matches"]) for row in results(tmp_path / "w")["windows"]]
    # In half a second the first two reach the QQQ at 300 ms only: 2 matches; in a second the one at 500 ms as well.
    assert found == [("yes", 0.5, 0), ("yes", 1.0, 0), ("no", 0.5, 2), ("no", 1.0, 4)]


def test_the_experiment(tmp_path: Path) -> None:
    run("experiments/semantics/run.py", "--smoke", "--flink", "--json", tmp_path / "results.json")
    rows = results(tmp_path / "results.json")["formal"]
    assert [row["group"] for row in rows] == ["NOGP", "SLGP", "LGP", "SLGGP"]
    assert all(row["same"] == row["recorded"] == row["queries"] > 0 for row in rows)


def test_the_generated_queries_are_the_recorded_ones() -> None:
    import gzip

    sys.path.insert(0, str(ROOT / "experiments" / "semantics"))
    from query_groups import GROUPS, STREAM, all_queries

    queries = list(all_queries())
    assert {group: sum(query.group == group for query in queries) for group in GROUPS} == GROUPS
    recorded = gzip.decompress((ROOT / "tests" / "conformance" / "paper.jsonl.gz").read_bytes()).decode().splitlines()
    for query, line in zip(queries, recorded, strict=True):
        case = json.loads(line)
        assert (f"paper:{query.id}", query.text, query.pattern) == (case["id"], case["query"], case["pattern"])
        assert case["events"] == STREAM


def test_tables_are_put_into_a_document(tmp_path: Path) -> None:
    column = {"key": "n", "heading": "how many", "decimals": 1}
    facts = dict.fromkeys(("machine", "python", "numba", "numpy", "pyarrow", "spark", "java", "cepheid"), "x")
    section = {"title": "t", "columns": [column], "rows": [{"n": 2.5}], "notes": []}
    said = {"environment": {**facts, "date": "today", "load": 1}, "sections": {"s": section}}
    (tmp_path / "mine.json").write_text(json.dumps(said), encoding="utf-8")
    document = tmp_path / "document.md"
    other = "<!-- results: other -->\nkept\n<!-- end -->\n"
    document.write_text(f"before\n<!-- results: mine -->\nold\n<!-- end -->\n{other}", encoding="utf-8")
    run("bench/document.py", document, tmp_path / "mine.json")
    text = document.read_text(encoding="utf-8")
    assert "| how many |\n|---|\n| 2.5 |" in text and "old" not in text and text.endswith(other)
