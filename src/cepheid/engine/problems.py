"""What stopped the kernel, as an error that names the place and the remedy.

In: a status of the kernel and where it stopped. Out: an exception.
"""

from __future__ import annotations

from typing import NoReturn

from cepheid.engine import layout as l
from cepheid.engine.pool import Pool
from cepheid.engine.tables import Tables
from cepheid.errors import EvaluationError, LimitError, SkipError


def raise_problem(status: int, tables: Tables, pool: Pool, partition: int, event: int) -> NoReturn:
    """Raise the error that a status of the kernel means."""
    where = f"partition {partition}, event {event}"
    params = tables.arrays.params
    if status == l.TOO_MANY_RUNS:
        position = int(pool.lists[0, l.L_LENGTH :: l.L_SIZE].argmax())
        raise LimitError(
            f"{where}: {int(pool.slots[0, l.K_LIVE])} partial matches wait, most of them at position {position}; "
            f"max_runs is {int(params[l.P_MAX_RUNS])}.\n"
            "  Give the pattern a window, a skip strategy such as past_last_event, or an until; or raise max_runs."
        )
    if status == l.TOO_MANY_MATCHES:
        raise LimitError(
            f"{where}: {int(pool.counters[l.Q_PROBLEM_VALUE])} matches end at one event; "
            f"max_matches_per_event is {int(params[l.P_MAX_MATCHES])}.\n"
            "  Use a skip strategy, a smaller window or relaxed links instead of followed_by_any; or raise the limit."
        )
    if status == l.SKIP_TARGET_MISSING:
        raise SkipError(
            f"{where}: the variable to skip to took no event in a match.\n"
            "  Skip to a variable that every match has, or drop or_fail: then such a match skips nothing."
        )
    if status == l.SKIP_TO_START:
        raise SkipError(
            f"{where}: the event to skip to is the match's own first event, so nothing would be skipped.\n"
            "  Skip to a later variable, use to_next, or drop or_fail."
        )
    if status == l.OVERFLOW:
        raise EvaluationError(f"{where}: overflow in a condition that reads earlier events.\n  Cast to a wider type.")
    if status == l.DIVISION_BY_ZERO:
        raise EvaluationError(f"{where}: division by zero in a condition that reads earlier events.\n  Guard it.")
    raise AssertionError(f"the kernel stopped with status {status}")
