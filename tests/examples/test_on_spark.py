"""One example on Spark, run as a user would. A process of its own: it starts a Spark and stops it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="needs pyspark")
def test_card_fraud_finds_the_same_on_spark(tmp_path: Path) -> None:
    script = ROOT / "examples" / "card_fraud" / "card_fraud.py"
    source = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        [sys.executable, str(script), "--spark"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "Spark found the same 40"
