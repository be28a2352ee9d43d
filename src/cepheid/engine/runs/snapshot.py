"""The runs of a stream as bytes, and back.

In: a `State`. Out: bytes with a versioned header that names the pattern by its fingerprint; numbers and text only.
What was held by no partial match is left out.

Layout: a magic word, the length of the header, the header as JSON (format, fingerprint, strings, names, types and
shapes of the arrays), the arrays one after the other.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.columns import Columns
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.cohort_pool import CohortPool, new_cohort_pool
from cepheid.engine.runs.pool import SMALLEST, Pool, new_pool, occupied
from cepheid.engine.runs.state import State
from cepheid.engine.tables.model import Tables
from cepheid.errors import StateError

_State = TypeVar("_State", bound=State)
MAGIC = b"CEPHEID\n"
FORMAT = 4
_SAVED = ("lists", "slots", "counters")
_USED = {
    "runs": l.Q_USED_RUNS,
    "extra": l.Q_USED_RUNS,
    "owner": l.Q_USED_RUNS,
    "registers": l.Q_USED_RUNS,
    "nodes": l.Q_USED_NODES,
    "timers": l.Q_USED_TIMERS,
}


def snapshot(state: State) -> bytes:
    """The runs as bytes. Call `state.keep()` first, and keep those rows: the bytes refer to them."""
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(state.pool, name) for name in _SAVED}
    for name in _used(state.pool):
        arrays[name] = getattr(state.pool, name)[: state.pool.counters[_USED[name]]]
    arrays |= {f"held.{name}": array for name, array in state.held._asdict().items()}
    arrays["next_ordinal"] = state.next_ordinal
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
    tables = state.tables
    header, arrays = _read(saved)
    _check(header, tables)
    if state.is_compact:
        room, nodes = _power(len(arrays["runs"]) + 1), _power(len(arrays["nodes"]) + 1)
        cohort_pool = _with_saved(new_cohort_pool(tables, room, slots=0, nodes=nodes), arrays)
        cohort_pool.counters[c.Q_CHECK_AT] = tables.arrays.params[l.P_MAX_RUNS]  # limits may change between starts
        state.pool = cohort_pool
    else:
        capacity = _power(max(len(arrays[name]) for name in ("runs", "nodes")) + 1)
        state.pool = _laid_out(new_pool(tables, slots=len(arrays["slots"]), capacity=capacity), arrays)
    state.held = Columns(**{name: arrays[f"held.{name}"] for name in Columns._fields})
    state.next_ordinal = arrays["next_ordinal"]
    state.texts = pa.array(header["texts"], pa.string())
    state.index()
    return state


def _power(needed: int) -> int:
    """A power of two that is large enough."""
    return 1 << (max(needed, SMALLEST) - 1).bit_length()


def _used(pool: Pool | CohortPool) -> list[str]:
    """The arrays of which a part is in use."""
    return [name for name in _USED if name in pool._fields]


def _saved(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays that are saved whole, and what follows from them."""
    return {name: arrays[name] for name in _SAVED} | {"occupied": occupied(arrays["lists"])}


def _with_saved(pool: CohortPool, arrays: dict[str, npt.NDArray[Any]]) -> CohortPool:
    for name in _used(pool):
        getattr(pool, name)[: len(arrays[name])] = arrays[name]
    return pool._replace(**_saved(arrays))


def _laid_out(pool: Pool, arrays: dict[str, npt.NDArray[Any]]) -> Pool:
    """A pool that is large enough, with the saved arrays in it."""
    replaced = _saved(arrays)
    for name in _USED:
        saved, room = arrays[name], getattr(pool, name)
        if len(saved) > len(room):
            length = 2 * len(saved) if name == "timers" else len(pool.runs)
            room = np.zeros((length, *room.shape[1:]), room.dtype)
        room[: len(saved)] = saved
        replaced[name] = room
    timers = len(replaced["timers"])
    if timers > len(pool.due):
        replaced["due"] = np.zeros(timers, np.int32)
        replaced["window_ended"] = np.zeros(timers, np.int8)
    return pool._replace(**replaced)


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
