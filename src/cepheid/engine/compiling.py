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
from numba.core import cgutils
from numba.extending import intrinsic

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
    result: _Function = numba.njit(cache=PLACE is not None, nogil=True, error_model="numpy", _nrt=False)(function)
    return result


def allocating(function: _Function) -> _Function:
    """A function of the kernel that makes arrays of its own."""
    result: _Function = numba.njit(cache=PLACE is not None, nogil=True, error_model="numpy")(function)
    return result


def inlined(function: _Function) -> _Function:
    """A small function of the kernel that becomes part of its callers."""
    result: _Function = numba.njit(cache=PLACE is not None, nogil=True, forceinline=True, error_model="numpy", _nrt=False)(function)
    return result


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(context: Any, arrays: Any) -> Any:
    """A named tuple of arrays whose memory the caller keeps alive.

    numba counts references to an array whenever a function takes it; with dozens of arrays that costs more than what the
    kernel's functions do. Arrays that own nothing are not counted.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        [kind] = signature.args
        result = arguments[0]
        for index, element in enumerate(kind.types):
            array = target.make_array(element)(target, builder, builder.extract_value(result, index))
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            result = builder.insert_value(result, array._getvalue(), index)
        return result

    return arrays(arrays), generate
