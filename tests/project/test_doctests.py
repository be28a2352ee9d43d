"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import cepheid


def test_docstrings_say_what_happens() -> None:
    names = [module.name for module in pkgutil.walk_packages(cepheid.__path__, "cepheid.")]
    results = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) > 5
