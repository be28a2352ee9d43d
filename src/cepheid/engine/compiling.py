"""How the kernel's functions are compiled: once for all patterns, and kept on disk where that is possible.

numba refuses to import a cached function where it finds no place to write. So a place is looked for first:
`CEPHEID_CACHE`, else numba's own choice beside the package, else the user's cache directory; where none can be
written, the kernel is compiled anew in each process, and the log says so.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

logger = logging.getLogger("cepheid.engine")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _place() -> str | None:
    """Where compiled code is kept: "" for numba's own choice, None for nowhere."""
    named = os.environ.get("CEPHEID_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(__file__).parent / "__pycache__"
    candidates = [Path(named)] if named else [beside, Path.home() / ".cache" / "cepheid"]
    for place in candidates:
        try:
            place.mkdir(parents=True, exist_ok=True)
            probe = place / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except (OSError, RuntimeError):
            continue
        return "" if place == beside else str(place)
    return None


PLACE = _place()
if PLACE:
    numba.config.CACHE_DIR = PLACE
elif PLACE is None:
    logger.warning(
        "no directory for compiled code can be written: the engine is compiled in each process (some seconds). "
        "Name a writable one with CEPHEID_CACHE."
    )


def compiled(function: _Function) -> _Function:
    """A function of the kernel."""
    result: _Function = numba.njit(cache=PLACE is not None, nogil=True, error_model="numpy")(function)
    return result


def inlined(function: _Function) -> _Function:
    """A small function of the kernel that becomes part of its callers."""
    result: _Function = numba.njit(cache=PLACE is not None, nogil=True, forceinline=True, error_model="numpy")(function)
    return result
