"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import cepheid


def test_docstrings_say_what_happens() -> None:
    found = pkgutil.walk_packages(cepheid.__path__, "cepheid.")
    names = [module.name for module in found if not module.name.endswith(".__main__")]  # importing that runs it
    results = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) > 5
