"""What stopped the kernel, as an error that names the place and the remedy.

In: a status of the kernel, and where it stopped. Out: an exception.
"""

from __future__ import annotations

from cepheid.automaton.model import Automaton
from cepheid.engine.kernel import layout as l
from cepheid.engine.runs.cohort_pool import CohortPool
from cepheid.engine.runs.pool import Pool, bytes_of
from cepheid.engine.tables.model import Tables
from cepheid.errors import CepheidError, EvaluationError, LimitError
from cepheid.reference.skipping import target_is_start, target_missing


def problem(status: int, tables: Tables, pool: Pool | CohortPool, slot: int, where: str) -> CepheidError:
    """The error that a status of the kernel means; `where` names the partition and the event."""
    params, automaton = tables.arrays.params, tables.automaton
    value = int(pool.counters[l.Q_PROBLEM_VALUE])
    match status:
        case l.TOO_MANY_RUNS:
            position = int(pool.lists[slot, l.L_LENGTH :: l.L_SIZE].argmax())
            return LimitError(
                f"{where}: {int(pool.slots[slot, l.K_LIVE])} partial matches wait, most of them for "
                f"{_waited_for(automaton, position)}; max_runs is {int(params[l.P_MAX_RUNS])}.\n"
                "  Give the pattern a window, a skip strategy such as past_last_event, or an until; or raise max_runs."
            )
        case l.TOO_MANY_MATCHES:
            return LimitError(
                f"{where}: {value} matches end here; max_matches_per_event is {int(params[l.P_MAX_MATCHES])}.\n"
                "  Use a skip strategy, a smaller window or followed_by instead of followed_by_any; or raise the limit."
                " Where their number is enough, counts() counts them without listing any."
            )
        case l.SKIP_TARGET_MISSING:
            return target_missing(automaton.skip)
        case l.SKIP_TO_START:
            return target_is_start(automaton.skip)
    what = "overflow" if status == l.OVERFLOW else "division by zero"
    remedy = "Cast to a wider type." if status == l.OVERFLOW else "Guard the division, for instance with CASE."
    if value == l.NONE:
        return EvaluationError(f"{where}: {what} in an aggregate of earlier events.\n  {remedy}")
    predicate = (*automaton.predicates, *automaton.having)[value]
    return EvaluationError(f"{predicate.place}: {what} at {where}\n  in: {predicate}\n  {remedy}")


def too_large(
    tables: Tables, pool: Pool | CohortPool, slot: int, where: str, found: int, more: int, limit: int
) -> LimitError:
    """The memory of partial matches, and of matches not yet handed over, reaches its limit."""
    taken = bytes_of(pool)
    position = int(pool.lists[slot, l.L_LENGTH :: l.L_SIZE].argmax())
    waiting = f"{int(pool.slots[slot, l.K_LIVE])} partial matches wait there"
    if pool.slots[slot, l.K_LIVE]:
        waiting += f", most of them for {_waited_for(tables.automaton, position)}"
    kind = "given" if tables.max_state_bytes is not None else "by default, a share of this machine's memory,"
    return LimitError(
        f"{where}: {waiting}; partial matches take {_size(taken)} and need {_size(more)} more, "
        f"what was found takes {_size(found)}; max_state_bytes {kind} is {_size(limit)}.\n"
        "  Give the pattern a window, a skip strategy such as past_last_event, or followed_by instead of "
        "followed_by_any and allow_combinations; or raise max_state_bytes where the machine has the memory."
    )


def _size(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB" if count >= 2**20 else f"{count:,} bytes"


def _waited_for(automaton: Automaton, position: int) -> str:
    """The elements that runs at a position wait for, or the negations at the end."""
    if position >= len(automaton.positions):
        return "the negations at the end"
    taking = automaton.positions[position].continuations
    return " or ".join(dict.fromkeys(repr(automaton.variables[c.take.variable]) for c in taking))
