"""The partial matches that are alive: which they are, and what each has taken and waits for.

In: a `State` and the moment where time stands. Out: numbers of runs, and `LiveRun`s. Called by what counts or shows
the state of a stream.

The kernel drops a run when it comes across it, not when its time is over; until then it lies in the pool and is dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from cepheid.automaton.model import Take
from cepheid.engine.assignments import Integers
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.state import State
from cepheid.syntax.tree import Span


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A partial match. Variables are numbers of the automaton's, events are rows that the state holds."""

    variables: tuple[int, ...]
    events: tuple[int, ...]
    waits_for: tuple[int, ...]
    """The variables that may take its next event; none if it is complete and waits for the nots at its end."""
    until: int | None = None
    """When time is over for the last of these; None if never, or if the window counts events."""


def live(state: State, moment: int) -> tuple[Integers, Integers]:
    """The runs that may still come to something when time has moved to `moment`, and the slot of each."""
    pool, params, held = state.pool, state.tables.arrays.params, state.held
    runs = state.waiting()
    slots = np.repeat(np.arange(state.slots), pool.slots[:, l.K_LIVE])
    node = pool.runs[runs, l.R_NODE]
    start = pool.nodes[node, l.N_START]
    is_ending = pool.runs[runs, l.R_POSITION] >= params[l.P_POSITIONS]
    is_alive = pool.runs[runs, l.R_OPEN] != 0
    is_alive &= ~is_ending | (pool.nodes[node, l.N_STATE] & l.COMPLETE == 0)  # else it is a match in another way
    is_alive &= ~_is_out_of_time(state, runs, moment)
    is_alive &= held.ordinal[start] >= pool.slots[slots, l.K_FIRST_ALLOWED]  # else a match has forbidden its start
    if params[l.P_SKIP] == l.TO_NEXT:
        is_alive &= held.forbidden[start] == l.NEVER
    if params[l.P_WITHIN] != l.NEVER:
        is_alive &= held.time[start] > moment - params[l.P_WITHIN]
    if params[l.P_COUNT] != l.NEVER and not params[l.P_TIMEOUTS]:
        is_alive &= is_ending | (state.next_ordinal[slots] - held.ordinal[start] < params[l.P_COUNT])
    return runs[is_alive], slots[is_alive]


def _is_out_of_time(state: State, runs: Integers, moment: int) -> npt.NDArray[np.bool_]:
    """Which runs wait only for what had to come within a time since their last event (rule 6), which is over."""
    pool, arrays = state.pool, state.tables.arrays
    result = np.zeros(len(runs), bool)
    for position in range(int(arrays.params[l.P_POSITIONS])):
        first, end = arrays.positions[position, [l.S_CONTINUATIONS, l.S_CONTINUATIONS_END]]
        if not arrays.positions[position, l.S_GAP]:
            continue
        mine = np.flatnonzero(pool.runs[runs, l.R_POSITION] == position)
        last = state.held.time[pool.nodes[pool.runs[runs[mine], l.R_NODE], l.N_EVENT]]
        over = np.ones(len(mine), bool)
        for way in range(first, end):
            is_open = pool.runs[runs[mine], l.R_OPEN] >> (way - first) & 1 == 1
            gap = arrays.ways[way, l.C_GAP]
            over &= ~is_open | ((gap != l.NEVER) & (last <= moment - gap))
        result[mine] = over
    return result


def described(state: State, run: int) -> LiveRun:
    """What a run has taken, from its first event on, and what it waits for."""
    pool, positions = state.pool, state.tables.automaton.positions
    variables, events = [], []
    node = int(pool.runs[run, l.R_NODE])
    while node != l.NONE:
        variables.append(int(pool.nodes[node, l.N_STATE]) & l.VARIABLE)
        events.append(int(pool.nodes[node, l.N_EVENT]))
        node = int(pool.nodes[node, l.N_PREVIOUS])
    position, is_open = int(pool.runs[run, l.R_POSITION]), int(pool.runs[run, l.R_OPEN])
    ways = positions[position].continuations if position < len(positions) else ()
    waits = dict.fromkeys(way.take.variable for number, way in enumerate(ways) if is_open >> number & 1)
    variables.reverse()
    events.reverse()
    times = [int(state.held.time[event]) for event in events]
    takes = [way.take for number, way in enumerate(ways) if is_open >> number & 1]
    until = max((_deadline(state, take, variables, times) for take in takes), default=_window_end(state, times[0]))
    return LiveRun(tuple(variables), tuple(events), tuple(waits), None if until == inf else int(until))


def _deadline(state: State, take: Take, variables: list[int], times: list[int]) -> float:
    """When time is over for a TAKE: the least of the pattern's window and its bounds (rules 6 and 17)."""
    ends = [_window_end(state, times[0])]
    if take.gap is not None:
        ends.append(times[-1] + take.gap)
    for variable, length in take.since:
        last = [time for taker, time in zip(variables, times, strict=True) if taker == variable]
        if last:
            ends.append(last[-1] + length)
    return min(ends)


def _window_end(state: State, start: int) -> float:
    window = state.tables.automaton.window
    return start + window.length if isinstance(window, Span) else inf
