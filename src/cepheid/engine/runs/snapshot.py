"""The runs of a stream as bytes, and back.

In: a `State`. Out: bytes with a versioned header that names the pattern by its fingerprint; numbers and text only.
What no partial match holds is left out.

Layout: a magic word, the length of the header, the header as JSON (format, fingerprint, strings, names, types and
shapes of the arrays), the arrays one after the other.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.arrays import arrays_of, filled
from cepheid.engine.runs.state import State
from cepheid.engine.tables.model import Tables
from cepheid.errors import StateError

_State = TypeVar("_State", bound=State)
MAGIC = b"CEPHEID\n"
FORMAT = 4


def snapshot(state: State) -> bytes:
    """The runs as bytes. Call `state.keep()` first, and keep those rows: the bytes refer to them."""
    arrays = arrays_of(state)
    header = {
        "format": FORMAT,
        "pattern": state.tables.fingerprint,
        "timeouts": bool(state.tables.arrays.params[l.P_TIMEOUTS]),
        "compact": state.is_compact,
        "texts": state.texts.to_pylist(),
        "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()],
    }
    head = json.dumps(header).encode()
    parts = [MAGIC, len(head).to_bytes(8, "little"), head]
    return b"".join([*parts, *(np.ascontiguousarray(array).tobytes() for array in arrays.values())])


def restore(state: _State, saved: bytes) -> _State:
    """The state, which is new, with the runs of a snapshot in it that was taken for the same pattern."""
    header, arrays = _read(saved)
    _check(header, state.tables)
    return filled(state, arrays, pa.array(header["texts"], pa.string()))


def _read(saved: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    if saved[: len(MAGIC)] != MAGIC:
        raise StateError("this is not a saved state of Cepheid.\n  Give the bytes that snapshot() returned, unchanged.")
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(saved[len(MAGIC) : begin], "little")
    header = json.loads(saved[begin:end])
    arrays = {}
    for name, kind, shape in header["arrays"]:
        dtype = np.dtype(kind)
        size = int(np.prod(shape)) * dtype.itemsize
        if end + size > len(saved):
            raise StateError(f"the saved state is cut off within {name!r}.\n  Restore it from a complete copy.")
        arrays[name] = np.frombuffer(saved, dtype, count=int(np.prod(shape)), offset=end).reshape(shape).copy()
        end += size
    return header, arrays


def _check(header: dict[str, Any], tables: Tables) -> None:
    if header["format"] != FORMAT:
        raise StateError(
            f"the saved state has format {header['format']}, this version reads format {FORMAT}.\n"
            "  Use the version of Cepheid that wrote it, or start without the state."
        )
    given = tables.fingerprint
    options = {"timeouts": bool(tables.arrays.params[l.P_TIMEOUTS]), "compact": tables.compact.is_compact}
    if header["pattern"] != given or any(header[name] != value for name, value in options.items()):
        raise StateError(
            "the saved state belongs to another pattern, other types of columns, or other options "
            f"(fingerprint {header['pattern']}, given {given}).\n"
            "  Continue with the pattern that it was saved for, or start without the state."
        )
