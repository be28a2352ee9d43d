"""Packages whose names are imported on demand have all the names that they list, and say so when one is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = ("cepheid", "cepheid.conditions", "cepheid.explain.why", "cepheid.spark", "cepheid.syntax")
LOADED = "import sys, cepheid; print(sorted(name for name in sys.modules if name.startswith(('cepheid', 'sqlglot'))))"


@pytest.mark.parametrize("name", PACKAGES)
def test_each_listed_name_is_there(name: str) -> None:
    if name == "cepheid.spark":
        pytest.importorskip("pyspark")
    package = import_module(name)
    assert set(package.__all__) <= set(dir(package))
    for one in package.__all__:
        assert getattr(package, one) is getattr(package, one)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Patern'"):
        package.Patern  # noqa: B018


def test_importing_the_package_imports_little() -> None:
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['cepheid', 'cepheid.errors', 'cepheid.on_demand', 'cepheid.version']"
