"""Why one match: which element took which event, and why the events between were passed over.

In: a `Question` and the id of a match. Out: a `WhyMatch`. The match is followed by itself, from its first event to its
last: what becomes of a run depends on no event before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from cepheid.conditions import BoundConditions
from cepheid.engine.tables.model import Options
from cepheid.errors import InputError
from cepheid.explain.results import shown
from cepheid.explain.why.asking import Question, key_at
from cepheid.explain.why.document import event_text
from cepheid.explain.why.failures import steps
from cepheid.explain.why.model import FalsePart, Step
from cepheid.explain.why.nearness import false_parts
from cepheid.reference.tracing import Trace, trace
from cepheid.rows.identity import match_ids
from cepheid.rows.in_memory import prepared, run
from cepheid.syntax.tree import Event, Skip, SkipKind


@dataclass(frozen=True, slots=True)
class Passed:
    """An event between the first and the last of a match that no element took."""

    event: Event
    row: int
    waiting: tuple[tuple[str, tuple[FalsePart, ...]], ...]
    """The elements that could have taken it, each with what was false; nothing was if it fits and was let pass."""


@dataclass(frozen=True, slots=True)
class WhyMatch:
    """Why one match is one. Print it; a notebook displays it."""

    match_id: str
    key: Mapping[str, Any]
    taken: tuple[Step, ...]
    passed: tuple[Passed, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        head, *lines = self._lines()
        items = "".join(f"<li>{escape(line.strip())}</li>" for line in lines)
        return f'<div class="cepheid-why"><p><b>{escape(head)}</b></p><ul>{items}</ul></div>'

    def _lines(self) -> Iterator[str]:
        key = ", ".join(f"{name} {shown(value)}" for name, value in self.key.items())
        yield f"Match {self.match_id[:9]}…{f' of {key}' if key else ''}"
        everything: list[Step | Passed] = [*self.taken, *self.passed]
        for one in sorted(everything, key=lambda one: one.row):
            event = event_text(one.event, self.key)
            if isinstance(one, Step):
                yield f"  {one.element} took {event}"
            else:
                yield f"    passed over: {event}: {'; '.join(_told(name, false) for name, false in one.waiting)}"


def why_match(
    question: Question, match_id: str, options: Options, conditions: BoundConditions | None = None
) -> WhyMatch:
    """Follow one match; `conditions`: those of the pattern, where some were computed beforehand."""
    tree, given = question.tree, question.events
    _, events, automaton = prepared(tree, given, question.order_by, question.nulls, conditions)
    found, _ = run(automaton, events, options)
    starts = np.searchsorted(found.match, np.arange(len(found.at) + 1)).astype(np.int64)
    ids = match_ids(events, found.variable, found.row, starts).to_pylist()
    if match_id not in ids:
        raise no_such_match(match_id)
    number = ids.index(match_id)
    rows = found.row[starts[number] : starts[number + 1]]
    taken = list(zip((rows - rows[0]).tolist(), found.variable[starts[number] :].tolist(), strict=False))
    begin, end = int(rows[0]), int(rows[-1]) + 1
    partition_begin = int(events.bounds[np.searchsorted(events.bounds, begin, side="right") - 1])
    followed = trace(
        replace(automaton, skip=Skip(SkipKind.NO_SKIP), not_before=(), once_per=None),
        events.taken(events.column_names, np.arange(begin, end)).to_pylist(),
        events.time[begin:end].tolist(),
        is_end=False,
    )
    key = key_at(events, begin)
    offset = begin - partition_begin
    shown_steps = tuple(replace(step, row=step.row + offset) for step in steps(followed, taken))
    return WhyMatch(match_id, key, shown_steps, tuple(_passed(followed, tuple(taken), offset)))


def no_such_match(match_id: str) -> InputError:
    """The error for an id that no match has."""
    return InputError(
        f"why({match_id!r}): no match has this match_id.\n  Take one from found.matches, or leave it out to ask "
        "why there are not more."
    )


def _passed(record: Trace, taken: tuple[tuple[int, int], ...], offset: int) -> Iterator[Passed]:
    """The events that no element took, seen from the run as it was then."""
    by_taken = {run.taken: run for run in record.runs}
    rows = {row for row, _ in taken}
    for row in range(taken[-1][0]):
        state = by_taken.get(tuple(one for one in taken if one[0] < row))
        if row in rows or state is None:
            continue
        event = record.events[row]
        waiting = {
            record.automaton.variables[take.variable]: record.automaton.predicates[take.predicate]
            for take in state.waits
        }
        false = tuple((name, false_parts(predicate, event, state.memory)) for name, predicate in waiting.items())
        yield Passed(event, row + offset, false)


def _told(name: str, false: tuple[FalsePart, ...]) -> str:
    if false:
        return f"{name} asks {', '.join(map(str, false))}"
    return f"it fits {name}, and another match may take it"
