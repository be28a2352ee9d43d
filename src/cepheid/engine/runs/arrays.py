"""What a state knows as plain arrays, and a state made of them.

In: a `State`. Out: arrays by name without the places that are free: they are copies, so they can be changed. Used by
`snapshot`, which writes them, and `joining`, which puts those of several states together.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.assignments import Integers
from cepheid.engine.columns import Columns
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.cohort_pool import CohortPool, new_cohort_pool
from cepheid.engine.runs.pool import SMALLEST, Pool, new_pool, occupied, with_slots
from cepheid.engine.runs.state import State

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
_State = TypeVar("_State", bound=State)
OF_RUNS = ("runs", "extra", "owner", "registers")
"""What has a row for each run, or only the first one where the pattern does not need it."""
_OF_SLOTS = ("lists", "slots")
_GONE = -1
"""The generation that no run has."""


def arrays_of(state: State) -> Arrays:
    """All that a state knows but its strings. Call `state.keep()` first, so that events which nothing holds are not
    among it."""
    pool = state.pool
    found = {name: getattr(pool, name).copy() for name in (*_OF_SLOTS, "counters")}
    found["nodes"] = pool.nodes[: pool.counters[l.Q_USED_NODES]].copy()
    runs = np.concatenate(([0], np.sort(state.waiting())))  # run 0 has taken nothing
    for name in OF_RUNS:
        array = getattr(pool, name)
        found[name] = array[runs] if len(array) == len(pool.runs) else array[:1].copy()
    _leave_out_runs(found, runs)
    if isinstance(pool, Pool):
        found["timers"] = _waiting_timers(pool.timers, found)
        _leave_out_generations(found, runs)
    found |= {f"held.{name}": array.copy() for name, array in state.held._asdict().items()}
    return found | {"next_ordinal": state.next_ordinal.copy()}


def _leave_out_runs(found: Arrays, runs: Integers) -> None:
    """Let lists lead to the new numbers of their runs."""
    lists = found["lists"]
    for links in (found["runs"][:, l.R_NEXT], lists[:, l.L_HEAD :: l.L_SIZE], found["slots"][:, l.K_FRESH]):
        known = links != l.NONE
        links[known] = np.searchsorted(runs, links[known])
    found["runs"][0, l.R_NEXT] = l.NONE
    found["counters"][[l.Q_USED_RUNS, l.Q_FREE_RUN]] = len(runs), l.NONE


def _waiting_timers(timers: Any, found: Arrays) -> Integers:
    """The timers of all heaps, which slots and timers know by their new numbers from then on."""
    roots = found["slots"][:, [l.K_TIMERS, l.K_COUNT_TIMERS]]
    waiting = [roots[roots != l.NONE]]
    while len(waiting[-1]):
        following = timers[waiting[-1]][:, [l.T_CHILD, l.T_SIBLING]].ravel()
        waiting.append(following[following != l.NONE])
    numbers = np.sort(np.concatenate(waiting))
    kept: Integers = timers[numbers]
    for links in (*(kept[:, link] for link in (l.T_CHILD, l.T_SIBLING)), *(found["slots"][:, root] for root in _ROOTS)):
        known = links != l.NONE
        links[known] = np.searchsorted(numbers, links[known])
    found["counters"][[l.Q_USED_TIMERS, l.Q_FREE_TIMER]] = len(numbers), l.NONE
    return kept


_ROOTS = (l.K_TIMERS, l.K_COUNT_TIMERS)


def _leave_out_generations(found: Arrays, runs: Integers) -> None:
    """Let timers know the new numbers of their runs. Those of runs that are gone see it by the generation."""
    timers = found["timers"]
    places = np.minimum(np.searchsorted(runs, timers[:, l.T_RUN]), len(runs) - 1)
    is_gone = runs[places] != timers[:, l.T_RUN]
    timers[:, l.T_RUN] = np.where(is_gone, 0, places)
    timers[is_gone, l.T_GENERATION] = _GONE


def filled(state: _State, arrays: Arrays, texts: pa.Array) -> _State:
    """The state, which is new, with such arrays in it."""
    tables = state.tables
    if state.is_compact:
        room, nodes = _power(len(arrays["runs"]) + 1), _power(len(arrays["nodes"]) + 1)
        cohort_pool = _with_saved(new_cohort_pool(tables, room, slots=0, nodes=nodes), arrays)
        cohort_pool.counters[c.Q_CHECK_AT] = tables.arrays.params[l.P_MAX_RUNS]  # limits may change between starts
        state.pool = cohort_pool
    else:
        capacity = _power(max(len(arrays[name]) for name in ("runs", "nodes")) + 1)
        state.pool = _laid_out(new_pool(tables, slots=0, capacity=capacity), arrays)
    state.held = Columns(**{name: arrays[f"held.{name}"] for name in Columns._fields})
    state.next_ordinal = arrays["next_ordinal"]
    state.texts = texts
    state.index()
    return state


def _power(needed: int) -> int:
    """A power of two that is large enough."""
    return 1 << (max(needed, SMALLEST) - 1).bit_length()


def _whole(arrays: Arrays) -> Arrays:
    """The arrays that are in use as a whole, and what follows from them."""
    return {name: arrays[name] for name in (*_OF_SLOTS, "counters")} | {"occupied": occupied(arrays["lists"])}


def _with_saved(pool: CohortPool, arrays: Arrays) -> CohortPool:
    for name in (*OF_RUNS, "nodes"):
        getattr(pool, name)[: len(arrays[name])] = arrays[name]
    return pool._replace(**_whole(arrays))


def _laid_out(pool: Pool, arrays: Arrays) -> Pool:
    """A pool that is large enough, with the arrays in it."""
    replaced = _whole(arrays)
    for name in (*OF_RUNS, "nodes", "timers"):
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
    return with_slots(pool._replace(**replaced), len(replaced["slots"]))
