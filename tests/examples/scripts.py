"""The scripts under examples/, run as a user would, but in this process."""

from __future__ import annotations

import contextlib
import functools
import io
import runpy
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*/*.py") if path.stem == path.parent.name)
NAMES = [script.stem for script in SCRIPTS]


@functools.cache
def run(name: str) -> tuple[dict[str, Any], str]:
    """What an example's script leaves behind and what it prints, in memory."""
    script = ROOT / "examples" / name / f"{name}.py"
    printed, arguments = io.StringIO(), sys.argv
    sys.argv = [str(script)]
    try:
        with contextlib.redirect_stdout(printed):
            return runpy.run_path(str(script)), printed.getvalue()
    finally:
        sys.argv = arguments
