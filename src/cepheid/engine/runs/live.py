"""The partial matches that are alive: how many there are, what each has taken and waits for, which events they hold.

In: a `State` and the current moment. Out: numbers, `LiveRun`s, rows. Called by what counts or shows the state
of a stream.

The kernel drops a run when it comes across it, not when its time is over; until then it lies in the pool and is dead. A
cohort is alive if its latest start is; of its partial matches only those are counted and shown whose own start is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np
import numpy.typing as npt

from cepheid.automaton.model import Take
from cepheid.engine.assignments import Integers
from cepheid.engine.kernel import cohort_layout as c
from cepheid.engine.kernel import histories
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.state import State
from cepheid.syntax.tree import Span

MANY = 10**15
"""Partial matches are counted up to here."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A partial match. Variables are numbers of the automaton's, events are rows that the state holds."""

    variables: tuple[int, ...]
    events: tuple[int, ...]
    waits_for: tuple[int, ...]
    """The variables that may take its next event; none if it is complete and waits for the negations at its end."""
    until: int | None = None
    """When time is over for the last of these; None if never, or if the window counts events."""


def live(state: State, moment: int) -> tuple[Integers, Integers]:
    """The runs, or cohorts, that may still come to something when time has moved to `moment`, and the slot of each."""
    pool, params = state.pool, state.tables.arrays.params
    runs = state.waiting()
    slots = np.repeat(np.arange(state.slots), pool.slots[:, l.K_LIVE])
    node = pool.runs[runs, l.R_NODE]
    is_ending = pool.runs[runs, l.R_POSITION] >= params[l.P_POSITIONS]
    is_alive = pool.runs[runs, l.R_OPEN] != 0
    is_alive &= ~is_ending | (pool.nodes[node, l.N_STATE] & l.COMPLETE == 0)  # else it is a match in another way
    is_alive &= ~_is_out_of_time(state, runs, moment)
    is_alive &= _is_in(state, pool.nodes[node, l.N_START], slots, moment, is_ending)
    return runs[is_alive], slots[is_alive]


def _is_in(
    state: State, start: Integers, slots: Integers, moment: int, is_ending: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which starts are neither forbidden nor out of their windows."""
    params, held = state.tables.arrays.params, state.held
    result: npt.NDArray[np.bool_] = held.ordinal[start] >= state.pool.slots[slots, l.K_FIRST_ALLOWED]
    if params[l.P_SKIP] == l.TO_NEXT:
        result &= held.forbidden[start] == l.NEVER
    if params[l.P_WITHIN] != l.NEVER:
        result &= held.time[start] > moment - params[l.P_WITHIN]
    if params[l.P_COUNT] != l.NEVER and not params[l.P_TIMEOUTS]:
        result &= is_ending | (state.next_ordinal[slots] - held.ordinal[start] < params[l.P_COUNT])
    return result


def count_live(state: State, moment: int) -> int:
    """How many partial matches may still come to something; MANY if there are more."""
    runs, _ = live(state, moment)
    if not state.is_compact:
        return len(runs)
    slots = state.pool.slots.copy()
    slots[:, l.K_NOW] = np.maximum(slots[:, l.K_NOW], moment)
    pool = state.pool._replace(slots=slots)
    below = histories.count_partial(state.tables.arrays, state.held, pool, state.next_ordinal)
    return int(min(below[state.pool.runs[runs, l.R_NODE]].sum(), MANY))


def events_held(state: State, runs: Integers) -> list[int]:
    """The rows of all events that some runs, or cohorts, have taken."""
    nodes = state.pool.nodes
    columns = (l.N_PREVIOUS, c.H_LEFT, c.H_RIGHT) if state.is_compact else (l.N_PREVIOUS,)
    reached: set[int] = set()
    pending = state.pool.runs[runs, l.R_NODE].tolist()
    while pending:
        node = pending.pop()
        if node != l.NONE and node not in reached:
            reached.add(node)
            pending += nodes[node, columns].tolist()
    return sorted({int(nodes[node, l.N_EVENT]) for node in reached})


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


def described(state: State, run: int, slot: int, moment: int) -> Iterator[LiveRun]:
    """What a run, or each partial match of a cohort, has taken, from its first event on, and what it waits for."""
    pool, positions = state.pool, state.tables.automaton.positions
    position, is_open = int(pool.runs[run, l.R_POSITION]), int(pool.runs[run, l.R_OPEN])
    ways = positions[position].continuations if position < len(positions) else ()
    open_takes = [way.take for number, way in enumerate(ways) if is_open >> number & 1]
    waits = tuple(dict.fromkeys(take.variable for take in open_takes))
    for path in _paths(state, int(pool.runs[run, l.R_NODE]), slot, moment):
        nodes = pool.nodes[list(path)]
        variables = nodes[:, c.H_VARIABLE] if state.is_compact else nodes[:, l.N_STATE] & l.VARIABLE
        taken, events = variables.tolist(), nodes[:, l.N_EVENT].tolist()
        yield LiveRun(tuple(taken), tuple(events), waits, _until(state, open_takes, taken, events))


def _until(state: State, takes: list[Take], variables: list[int], events: list[int]) -> int | None:
    """When time is over for the last of what a run may take, or for the negations at its end."""
    times = [int(state.held.time[event]) for event in events]
    window = state.tables.automaton.window
    end = times[0] + window.length if isinstance(window, Span) else inf

    def deadline(take: Take) -> float:  # rules 6 and 17
        ends = [end] if take.gap is None else [end, times[-1] + take.gap]
        for variable, length in take.since:
            last = [time for taker, time in zip(variables, times, strict=True) if taker == variable]
            ends += [last[-1] + length] if last else []
        return min(ends)

    until = max(map(deadline, takes), default=end)
    return None if until == inf else int(until)


def _paths(state: State, root: int, slot: int, moment: int) -> Iterator[tuple[int, ...]]:
    """The nodes of each partial match below a node, from its first event on; of a set, by their starts."""
    nodes = state.pool.nodes
    own, below = _earliest(state, root, slot, moment)
    pending: list[tuple[float, int, int, tuple[int, ...], bool]] = [(below[root], 0, root, (), True)]
    pushed = 0
    while pending and pending[0][0] < inf:
        _, _, node, later, is_set = heappop(pending)
        further: list[tuple[float, int, tuple[int, ...], bool]] = []
        if is_set:
            further.append((own[node], node, later, False))
            further += [(below[part], part, later, True) for part in _parts(state, node)]
        else:
            path, previous = (node, *later), int(nodes[node, l.N_PREVIOUS])
            if previous == l.NONE:
                yield path
            else:
                further.append((below[previous], previous, path, True))
        for start, one, after, whole in further:
            pushed += 1
            heappush(pending, (start, pushed, one, after, whole))


def _parts(state: State, node: int) -> list[int]:
    """The parts of the set below a node, beside its own history; a run is no set."""
    found = state.pool.nodes[node, [c.H_LEFT, c.H_RIGHT]].tolist() if state.is_compact else []
    return [part for part in found if part != l.NONE]


def _earliest(state: State, root: int, slot: int, moment: int) -> tuple[dict[int, float], dict[int, float]]:
    """For each node below one, the earliest start of its own history, and of its set, that is not out; infinity if
    there is none."""
    nodes = state.pool.nodes
    reached: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node != l.NONE and node not in reached:
            reached.add(node)
            pending += [int(nodes[node, l.N_PREVIOUS]), *_parts(state, node)]
    own: dict[int, float] = {}
    below: dict[int, float] = {}
    for node in sorted(reached):  # what a node leads to was made before it
        previous, start = int(nodes[node, l.N_PREVIOUS]), nodes[[node], l.N_EVENT]
        if previous != l.NONE:
            own[node] = below[previous]
        elif not state.is_compact or _is_in(state, start, np.array([slot]), moment, np.zeros(1, bool)).all():
            own[node] = float(start[0])
        else:
            own[node] = inf
        below[node] = min(own[node], *(below[part] for part in _parts(state, node)), inf)
    return own, below
