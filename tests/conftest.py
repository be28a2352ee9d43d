"""Settings for every test.

Hypothesis runs with the profile `ci`: the same examples in every run, and no deadline, since a loaded machine is not a
failure. `HYPOTHESIS_PROFILE=search` looks for new counterexamples instead: many more examples, other ones each time.

Among parallel workers (xdist), three scopes of tests share a Spark each: batch with the pages of the documentation,
streams, and sets of rules. They begin first; all other tests go to whichever worker is free.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import settings
from spark_processes import PYTHON, SHORT_LIVED, options_of_tests

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # without xdist there is one process for all
    LoadScopeScheduling = object

WITHOUT_SESSION = (
    "test_another_process",
    "test_leftovers",
    "test_merged_table",
    "test_operator",
    "test_preparing",
    "test_row_bucket",
)
"""Modules of tests/spark that need no session, or start processes with one of their own."""

os.environ.setdefault("SPARK_SUBMIT_OPTS", options_of_tests())
os.environ.setdefault("SPARK_LAUNCHER_OPTS", SHORT_LIVED)
os.environ.update(PYTHON)
os.environ.setdefault("CEPHEID_DEBUG", "1")  # the kernel's invariants are asserted, in Spark's workers too
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc, valid-type]
    """Tests that share a Spark, or something else that takes long, are one scope; any other test is one by itself."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.split("::")[0])
        if path.name == "test_documents.py":  # pages start a Spark themselves
            return "batch"
        if path.name in ("test_bench.py", "test_site.py"):  # their tests look at what one run has written
            return path.name
        if path.parts[1] != "spark" or path.stem in WITHOUT_SESSION:
            return nodeid
        return "batch" if path.parent.name == "spark" else path.parent.name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkTogether:
    return SparkTogether(config, log)
