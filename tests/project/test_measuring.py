"""CPU seconds and memory of this process and of those that it started, as the benchmarks count them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from measuring import PROCESSES, compare, usage

pytestmark = pytest.mark.skipif(not (PROCESSES / "self" / "stat").exists(), reason="this system has no /proc")
BURN = "import time\nwhile time.process_time() < 0.4: pass\n"


def burn() -> str:
    begun = time.process_time()
    while time.process_time() - begun < 0.4:
        pass
    return "burnt"


def test_own_work_counts() -> None:
    result, used = usage(burn)
    assert result == "burnt"
    assert used.python == pytest.approx(0.4, abs=0.2) and used.ended == 0
    assert used.memory > 1_000_000


def test_a_process_that_ended_counts() -> None:
    _, used = usage(lambda: subprocess.run([sys.executable, "-c", BURN], check=True))
    assert used.ended >= 0.35
    assert used.cpu == used.java + used.python + used.ended


def test_a_process_that_still_runs_counts() -> None:
    with subprocess.Popen([sys.executable, "-c", BURN + "print(flush=True); input()"], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        _, used = usage(process.stdout.readline)
        assert used.python >= 0.35 and used.ended == 0
        process.communicate(b"\n")


def test_actions_take_turns_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []
    found = compare(2, {"a": lambda: order.append("a"), "b": lambda: order.append("b")})
    assert order == ["a", "b"] * 3
    assert [len(measured.usages) for _, measured in found.values()] == [2, 2]
