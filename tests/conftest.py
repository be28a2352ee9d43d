"""Settings for every test.

Hypothesis runs with the profile `ci`: the same examples in every run, and no deadline, since a loaded machine is not a
failure. `HYPOTHESIS_PROFILE=search` looks for new counterexamples instead: many more examples, other ones each time.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
