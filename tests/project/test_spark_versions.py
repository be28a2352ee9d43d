"""A Spark that is missing or too old is named, with what to do about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid

SOURCE = Path(cepheid.__file__).parents[1]
PROGRAM = """
from cepheid import CepheidError, Pattern

try:
    Pattern.begin("a").where("x = 1").match(object(), order_by="t")
except CepheidError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ('__version__ = "3.5.7"', "this is Spark 3.5.7; Cepheid needs Spark 4.0 or newer."),
        ('raise ModuleNotFoundError("No module named pyspark")', "Spark is not installed for this Python."),
    ],
)
def test_what_stands_in_the_place_of_spark_is_refused(tmp_path: Path, package: str, said: str) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text(package, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(SOURCE)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.startswith(said), done.stderr
    assert "pip install 'cepheid[spark]'" in done.stdout
