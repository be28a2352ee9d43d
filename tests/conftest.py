"""Settings for every test.

Hypothesis runs with the profile `ci`: the same examples in every run, and no deadline, since a loaded machine is not a
failure. `HYPOTHESIS_PROFILE=search` looks for new counterexamples instead: many more examples, other ones each time.

Among parallel workers (xdist, `--dist loadgroup`), two groups of tests share a Spark each: batch with the pages of the
documentation, and streams. All others go to whichever worker is free.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent

# JVMs that live for seconds or minutes should not spend them on compiling well.
for name in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(name, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ.setdefault("CEPHEID_DEBUG", "1")  # the kernel's invariants are asserted, in Spark's workers too
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(HERE).parts
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("streams" if place[1] in ("stream", "rules") else "batch"))
        elif place == ("project", "test_documents.py"):  # pages start a Spark themselves
            item.add_marker(pytest.mark.xdist_group("batch"))
