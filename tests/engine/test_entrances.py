"""What is not compiled is run by Python: the same answers, and machine code goes on where Python stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cepheid import Pattern, RowPattern
from cepheid.engine.kernel import compiling, entrances
from cepheid.engine.kernel.cohorts import match_cohorts
from cepheid.engine.kernel.drive import finish_slots, match_sorted
from cepheid.engine.kernel.row_patterns import scan

RISING = Pattern.begin("a").where("name = 'a'").followed_by_any("b").where("name = 'b' AND price > a.price").within(40)
PATTERNS = {
    "runs": RISING.skip("to_next"),
    "cohorts": RISING,
    "a not at the end": Pattern.begin("a").where("name = 'a'").not_followed_by("c").where("price > 14").within(9),
}
ROWS = [
    {"key": place % 3, "t": place, "name": "abc"[place * place % 7 % 3], "price": 1.5 * (place * 5 % 11)}
    for place in range(200)
]


@pytest.fixture
def nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(entrances.Entrance, "is_at_hand", lambda self, arguments: False)
    with entrances.patience(60):
        yield


def found(pattern: Pattern) -> tuple[list[str], list[str]]:
    answer = pattern.match_events(ROWS, partition_by="key", order_by="t")
    return [row["match_id"] for row in answer.matches], [row["match_id"] for row in answer.timeouts]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return {name: found(pattern) for name, pattern in PATTERNS.items()}


@pytest.mark.parametrize("name", PATTERNS)
def test_python_finds_what_machine_code_finds(name: str, expected: dict[str, Any], nothing_is_compiled: None) -> None:
    assert expected[name][0] and found(PATTERNS[name]) == expected[name]


def test_row_patterns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = RowPattern.parse(
        "PARTITION BY key ORDER BY t MEASURES FIRST(t) AS first, SUM(B.price) AS total PATTERN (A B+) "
        "DEFINE A AS name = 'a', B AS price > PREV(price)"
    )
    compiled = pattern.match_events(ROWS).matches
    monkeypatch.setattr(entrances.Entrance, "is_at_hand", lambda self, arguments: False)
    with entrances.patience(60):
        assert compiled and pattern.match_events(ROWS).matches == compiled


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("steps", [0, 1, 50])
def test_machine_code_goes_on_where_python_stopped(
    name: str, steps: int, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is up after so many steps: the rest of the call, and every call after it, are machine code."""
    left = iter(range(steps))
    monkeypatch.setattr(entrances, "perf_counter", lambda: 0.0 if next(left, None) is not None else 1e9)
    monkeypatch.setattr(entrances.Entrance, "is_at_hand", lambda self, arguments: entrances._Time.left <= 0)
    with entrances.patience(60):
        assert found(PATTERNS[name]) == expected[name]


def test_all_that_can_take_long_can_be_stopped_or_is_small() -> None:
    for entrance in (match_sorted, finish_slots, match_cohorts):
        assert entrance._steps  # type: ignore[attr-defined]
    assert scan._few <= 1_000  # type: ignore[attr-defined]


def test_a_first_match_compiles_nothing(tmp_path: Path) -> None:
    script = (
        "from cepheid import Pattern; pattern = Pattern.begin('a').where('x = 1').followed_by('b').where('x > a.x')\n"
        "print(len(pattern.match_events([{'t': t, 'x': t} for t in range(1, 4)], order_by='t').matches))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "CEPHEID_CACHE": str(tmp_path)},
        check=True,
    )
    assert done.stdout.strip() == "1" and "compiling" not in done.stderr
    assert not list((tmp_path / f"kernel-{compiling.SOURCES}").glob("*.nb?"))
