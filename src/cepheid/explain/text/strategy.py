"""How many partial matches the engine keeps, and why; how much a stream must remember.

In: an automaton and the engine's options. Out: a `Strategy`. It puts into words what `engine.tables.dominance` decides,
which the engine's tables ask too, so it cannot say anything that the engine does not do. The proof is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cepheid.automaton.model import Automaton
from cepheid.engine.tables.dominance import Dominance, Reason, decide
from cepheid.engine.tables.model import Options
from cepheid.syntax.durations import to_text
from cepheid.syntax.tree import Contiguity, EventCount, PatternTree, variables, walk


class Memory(Enum):
    """What the engine keeps of one partition, from least to most."""

    CONSTANT = "constant memory"
    RUN_PER_STATE = "one run per state"
    RUN_PER_VALUES = "one run per state and remembered values"
    RUN_PER_START = "one run per start and state"
    ALL_RUNS = "all runs"


@dataclass(frozen=True, slots=True)
class Strategy:
    """Which runs are kept, the reasons, and what bounds them on a stream."""

    memory: Memory
    reasons: tuple[str, ...]
    bound: str | None
    """What bounds the state of one key on a stream; None where nothing does."""


_WHY_STARTS_DIFFER = {
    Reason.TO_NEXT: "to next forbids only a match's own start",
    Reason.WINDOW: "the earlier one may run out of its window first",
    Reason.NOT_AT_END: "a match that waits for a negation at its end may forbid the earlier one alone (rules 7 and 8)",
}


def strategy(tree: PatternTree, automaton: Automaton, options: Options | None = None) -> Strategy:
    """The strategy of a pattern. With `timeouts` among the options all runs are kept."""
    options = options or Options()
    decision = decide(automaton, options.timeouts, options.dominance)
    name = automaton.skip.kind.value.replace("_", " ")
    registers = len(automaton.registers.registers)
    loops = unbounded_loops(tree)
    reasons: list[str] = []
    if decision.dominance is Dominance.OFF:
        memory = Memory.ALL_RUNS
        if decision.reason is Reason.TIMEOUTS:
            reasons.append("timeouts are asked for, so every partial match may have to be reported (rule 9)")
        elif decision.reason is Reason.SINCE:
            reasons.append("a window since an element: how long a run may wait depends on what it has taken (rule 17)")
        elif decision.reason is Reason.DISTINCT:
            reasons.append("different values are counted, so partial matches differ by the events they took (rule 18)")
        else:
            reasons.append(f"skip strategy {name}: any partial match may still become a match of its own (rule 8)")
        if not splits(automaton):
            reasons.append("a run never splits, so there is at most one for each start")
    elif decision.dominance is Dominance.PER_START:
        memory = Memory.RUN_PER_START
        reasons.append(
            f"skip strategy {name}: of runs with one start, state and memory only the first can win (rule 8)"
        )
        assert decision.reason is not None
        reasons.append(f"runs with different starts are kept apart: {_WHY_STARTS_DIFFER[decision.reason]}")
    else:
        reasons.append(
            f"skip strategy {name} without a window or a negation at the end: the earliest run of a state wins (rule 8)"
        )
        memory, more = _overall(automaton, registers, loops)
        reasons += more
    return Strategy(memory, tuple(reasons), _bound(automaton, memory, loops))


def splits(automaton: Automaton) -> bool:
    """Whether one run can become several: an event may be both taken and passed over, or taken in two ways."""
    return any(
        len(position.continuations) > 1
        or any(way.take.contiguity is Contiguity.NON_DETERMINISTIC for way in position.continuations)
        for position in automaton.positions[1:]
    )


def unbounded_loops(tree: PatternTree) -> tuple[str, ...]:
    """The variables that may take any number of events, by a loop of their own or of a group around them."""
    unbounded = [
        path
        for path, element in walk(tree.body)
        if getattr(element, "loop", None) is not None and element.loop.maximum is None  # type: ignore[union-attr]
    ]
    return tuple(
        variable.name
        for path, _, variable in variables(tree.body)
        if any(path[: len(loop)] == loop for loop in unbounded)
    )


def _overall(automaton: Automaton, registers: int, loops: tuple[str, ...]) -> tuple[Memory, list[str]]:
    """Where a run stands for all others of its state that remember the same."""
    gaps = any(
        take.gap is not None
        for position in automaton.positions
        for take in (*(way.take for way in position.continuations), *position.rivals)
    )
    if registers or gaps:
        what = "remembered values" if registers else "time of the last event, which a bound since it tells apart"
        return Memory.RUN_PER_VALUES, [f"runs of one state are kept apart by their {what}"]
    if loops:
        names = ", ".join(repr(loop) for loop in loops)
        return Memory.RUN_PER_STATE, [f"a run holds the events that it has taken, and {names} may take any number"]
    return Memory.CONSTANT, ["no window, no remembered values and no unbounded loop tell runs of one state apart"]


def _bound(automaton: Automaton, memory: Memory, loops: tuple[str, ...]) -> str | None:
    window = automaton.window
    if isinstance(window, EventCount):
        return f"the events of a key's last {window.events} places"
    if window is not None:
        return f"the events of the last {to_text(window)} of event time, and the runs that they started"
    if memory is Memory.CONSTANT:
        return "a fixed number of runs, however long the stream"
    if not any(position.continuations or position.endings for position in automaton.positions[1:]):
        return "nothing is kept: a match is complete with its first event"
    if not loops and not _waits_for_ever(automaton):
        return "runs never wait without limit: every link is strict or has a window since the previous event"
    return None


def _waits_for_ever(automaton: Automaton) -> bool:
    """Whether a run can stay in some state whatever comes: a link that is not strict, without a bound."""
    return any(
        way.take.contiguity is not Contiguity.STRICT and way.take.gap is None
        for position in automaton.positions[1:]
        for way in position.continuations
    )
