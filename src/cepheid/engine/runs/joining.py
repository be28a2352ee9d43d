"""Several states as one: partitions that lived apart live on side by side.

In: states of one pattern that have no partition in common. Out: one state with the slots, runs and held events of all
of them, one after the other. Called by buckets that are joined.

A state is arrays whose rows name each other by their numbers. So those of a state that comes after others are moved
by as many rows as the others have, and what names them is moved with them. Run 0, which has taken nothing, is the same
in all. Strings have codes of their own in each state, and get common ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.columns import Columns, joined, nothing_held
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs import not_before
from cepheid.engine.runs.arrays import OF_RUNS, Arrays, arrays_of, filled
from cepheid.engine.runs.state import State
from cepheid.engine.tables.model import Tables

_State = TypeVar("_State", bound=State)
_ONE_BY_ONE = ("nodes", "timers", "lists", "slots", "next_ordinal")


class _Before(NamedTuple):
    """How many rows come before those of a state."""

    runs: int
    nodes: int
    timers: int
    slots: int
    events: int


def join(state: _State, parts: Sequence[State]) -> _State:
    """The state, which is new, with what all the others have."""
    tables = state.tables
    texts, codes = _common_texts(tables, [part.texts for part in parts])
    moved: list[Arrays] = []
    before = _Before(0, 0, 0, 0, 0)
    for part, new_code in zip(parts, codes, strict=True):
        arrays = arrays_of(part)
        _recode(tables, arrays, new_code)
        _move(tables, arrays, before)
        moved.append(arrays)
        before = _Before(
            before.runs + len(arrays["runs"]) - 1,
            before.nodes + len(arrays["nodes"]),
            before.timers + len(arrays.get("timers", ())),
            before.slots + len(arrays["slots"]),
            before.events + len(part.held.time),
        )
    whole = _one_after_another(tables, moved)
    whole["counters"][[l.Q_USED_RUNS, l.Q_USED_NODES, l.Q_USED_TIMERS]] = before.runs + 1, before.nodes, before.timers
    return filled(state, whole, texts)


def _common_texts(tables: Tables, texts: Sequence[pa.Array]) -> tuple[pa.Array, list[npt.NDArray[np.int64]]]:
    """The strings of all states, and the new codes of each one's."""
    every = pa.chunked_array(texts, pa.string()).unique()
    if tables.orders_texts:
        every = every.take(pc.sort_indices(every))
    return every, [pc.index_in(own, every).to_numpy(zero_copy_only=False).astype(np.int64) for own in texts]


def _recode(tables: Tables, arrays: Arrays, new_code: npt.NDArray[np.int64]) -> None:
    columns = not_before.text_columns(tables)
    for array, places in ((arrays["registers"][1:], tables.text_registers), (arrays["held.values"], columns)):
        for place in places:
            codes = array[:, place]
            is_code = (codes >= 0) & (codes < len(new_code))  # what is unknown may hold anything
            codes[is_code] = new_code[codes[is_code]]


def _move(tables: Tables, arrays: Arrays, before: _Before) -> None:
    """Let everything name the rows that will be meant when so many come before."""
    runs, nodes, slots = arrays["runs"], arrays["nodes"], arrays["slots"]
    if tables.compact.is_compact:
        _add(nodes, (c.H_LEFT, c.H_RIGHT), before.nodes)
    else:
        if tables.arrays.params[l.P_INDEXED] and len(arrays["owner"]) < len(runs):  # all are of slot 0
            arrays["owner"] = np.zeros(len(runs), arrays["owner"].dtype)
        timers = arrays["timers"]
        timers[timers[:, l.T_RUN] > 0, l.T_RUN] += before.runs  # 0 if the run is gone
        _add(arrays["timers"], (l.T_CHILD, l.T_SIBLING), before.timers)
    arrays["owner"] += before.slots
    _add(runs, (l.R_NEXT,), before.runs)
    _add(runs, (l.R_NODE,), before.nodes)
    _add(nodes, (l.N_EVENT, l.N_START), before.events)
    _add(nodes, (l.N_PREVIOUS,), before.nodes)
    _add(arrays["lists"], range(l.L_HEAD, arrays["lists"].shape[1], l.L_SIZE), before.runs)
    _add(slots, (l.K_FRESH,), before.runs)
    _add(slots, (l.K_TIMERS, l.K_COUNT_TIMERS), before.timers)
    for rows in not_before.chains(tables, slots, arrays["held.before"]):
        rows[rows != l.NONE] += before.events


def _add(array: npt.NDArray[Any], columns: Iterable[int], rows: int) -> None:
    for column in columns:
        named = array[:, column]
        named[named != l.NONE] += rows


def _one_after_another(tables: Tables, parts: Sequence[Arrays]) -> Arrays:
    whole = {"counters": parts[0]["counters"]}
    for name in _ONE_BY_ONE:
        if name in parts[0]:
            whole[name] = np.concatenate([part[name] for part in parts])
    for name in OF_RUNS:
        whole[name] = np.concatenate([parts[0][name], *(part[name][1:] for part in parts[1:])])
    held = [Columns(**{name: part[f"held.{name}"] for name in Columns._fields}) for part in parts]
    together = joined([nothing_held(tables), *(own for own in held if len(own.time))], tables)
    return whole | {f"held.{name}": array for name, array in together._asdict().items()}
