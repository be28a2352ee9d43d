"""Settings for every test.

Hypothesis runs with the profile `ci`: the same examples in every run, and no deadline, since a loaded machine is not a
failure. `HYPOTHESIS_PROFILE=search` looks for new counterexamples instead: many more examples, other ones each time.

Among parallel workers (xdist), the tests that share a Spark go to one of them and start one JVM; all others go to
whichever worker is free.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # without xdist there is one process for all
    LoadScopeScheduling = object

# JVMs that live for seconds or minutes should not spend them on compiling well.
for name in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(name, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ.setdefault("CEPHEID_DEBUG", "1")  # the kernel's invariants are asserted, in Spark's workers too
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc, valid-type]
    """Tests that use Spark, and the pages that may, are one scope; any other test is a scope of its own."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(("tests/spark/", "tests/project/test_documents.py")) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkTogether:
    return SparkTogether(config, log)
