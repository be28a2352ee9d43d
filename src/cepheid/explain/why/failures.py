"""The runs that came furthest and became no match: what they took, what they waited for, what came near.

In: the record of a partition. Out: `FailedRun`s, with what ended each in a sentence. Called by `asking`, and by the
timeline for the runs that it draws in grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.automaton.model import Automaton
from cepheid.explain.why.following import Followed, is_lost
from cepheid.explain.why.model import FailedRun, NearEvent, Step
from cepheid.explain.why.nearness import false_parts, parts_of
from cepheid.reference.tracing import Ended, Fate, Trace, TracedRun, own_event_test
from cepheid.syntax.durations import to_text
from cepheid.syntax.tree import EventCount, Span

FEW = 3
"""Runs, and near events of a run, that an answer shows."""
_LATE, _FAR = 1_000, 2_000
"""How far off events are that came too late, or of which nothing fits; others are as far off as parts are false."""
_LOOKED_AT = 2_000
"""Events after a run that are looked at for near ones."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the negations and untils, by the number of their predicate."""

    nots: Mapping[int, str]
    untils: Mapping[int, str]


def furthest(followed: Sequence[Followed], count: int = FEW) -> list[tuple[Followed, TracedRun]]:
    """The lost runs that came furthest; of those, some that ended in different ways before others."""
    lost = [(one, run) for one in followed for run in one.record.runs if is_lost(run)]
    lost.sort(key=lambda pair: (*(-far for far in progress(pair[1])), pair[0].partition, pair[1].number))
    best = lost[0][1] if lost else None
    chosen: dict[int, tuple[Followed, TracedRun]] = {}
    seen: set[tuple[Fate, int | None]] = set()
    for place, (one, run) in enumerate(lost):
        assert best is not None
        if (run.fate, run.awaited) not in seen and progress(run)[0] == progress(best)[0]:
            seen.add((run.fate, run.awaited))
            chosen[place] = (one, run)
    for place, pair in enumerate(lost[:count]):
        chosen.setdefault(place, pair)
    return list(chosen.values())[:count]


def progress(run: TracedRun) -> tuple[int, int]:
    """How far a run came: up to which element, and how many events it took."""
    return max(variable for _, variable in run.taken), len(run.taken)


def failed_run(
    record: Trace, run: TracedRun, key: Mapping[str, Any], names: Names, with_near: bool = True
) -> FailedRun:
    """A lost run as people read it, with the events that came near if they are wanted."""
    automaton, end = record.automaton, _end(run)
    awaited = dict.fromkeys(automaton.variables[take.variable] for take in run.waits)
    return FailedRun(
        key,
        tuple(steps(record, run.taken)),
        tuple(awaited),
        run.fate,
        words(record, run, names),
        None if end is None or end.event is None else record.events[end.event],
        None if end is None else end.time,
        near_events(record, run) if with_near else (),
    )


def steps(record: Trace, taken: Sequence[tuple[int, int]]) -> list[Step]:
    """The events that were taken."""
    variables = record.automaton.variables
    return [Step(variables[variable], record.events[row], row, record.times[row]) for row, variable in taken]


_WORDS = {
    Fate.TIME: "{wanted}, and {bound} over",
    Fate.NOT: "{wanted}, and the event that came satisfies not {negation!r}",
    Fate.UNTIL: "{wanted}, and the event that came satisfies the until of {until!r}",
    Fate.STRICT: "the next event had to be {awaited}, and was not",
    Fate.CONDITION: "the next event had to be {awaited}; it fits, except for what is asked of earlier events",
    Fate.GREEDY: "{wanted}, but a greedy loop before it could take the event that came",
    Fate.OPENER: "{wanted}, but another alternative could take the event that came",
    Fate.WHOLE: "the loop at its end took another event, and only the longer run counts",
    Fate.HAVING: "what `having` asks was false when nothing more could be taken",
    Fate.FORBIDDEN: "{waited}the skip strategy forbids its start, which is part of an earlier match",
    Fate.NOT_BEFORE: "it was complete, but something that must not happen before it had happened",
    Fate.ONCE_PER: "it was complete, but too soon after the match reported last",
    Fate.WAITING: "the rows ended while {wanted}",
    Fate.CUT: "it was not followed further: {wanted}",
}


def words(record: Trace, run: TracedRun, names: Names) -> str:
    """What ended a run, in a sentence without a full stop."""
    end = _end(run)
    awaited = " or ".join(dict.fromkeys(record.automaton.variables[take.variable] for take in run.waits))
    wanted = f"it waited for {awaited}" if awaited else "it waited for its end"
    culprit = -1 if end is None or end.culprit is None else end.culprit
    return _WORDS.get(run.fate, run.fate.value).format(
        awaited=awaited,
        wanted=wanted,
        waited=f"{wanted if awaited or run.waits_at_end else 'it was complete'}, but ",
        bound=_bound(record, run, end) if run.fate is Fate.TIME else "",
        negation=names.nots.get(culprit, ""),
        until=names.untils.get(culprit, ""),
    )


def near_events(record: Trace, run: TracedRun) -> tuple[NearEvent, ...]:
    """The events after a run that came nearest to what it waited for."""
    automaton, end = record.automaton, _end(run)
    stop = _LOOKED_AT + run.last + 1
    found: list[tuple[tuple[int, int], NearEvent]] = []
    for variable in dict.fromkeys(take.variable for take in run.waits):
        take = next(take for take in run.waits if take.variable == variable)
        predicate = automaton.predicates[take.predicate]
        fits, parts = own_event_test(predicate), len(parts_of(predicate))
        for row in range(run.last + 1, min(stop, record.handled)):
            event = record.events[row]
            false = false_parts(predicate, event, run.memory)
            is_late = end is not None and (record.times[row] > end.time or (end.event is not None and row > end.event))
            if bool(false) == is_late:  # too late and false as well, or taken
                continue
            # Nothing of it fits: such an event is shown only if there is no nearer one.
            is_far = len(false) == parts and not fits(event, run.memory)
            remark = _late(automaton, record, run, row) if is_late else ""
            near = NearEvent(event, row, automaton.variables[variable], false, remark)
            found.append(((_FAR if is_far else len(false) or _LATE, row), near))
    found.sort(key=lambda pair: pair[0])
    nearest = [near for (distance, _), near in found[:FEW] if distance < _FAR]
    return tuple(nearest or [near for _, near in found[:1]])


def _end(run: TracedRun) -> Ended | None:
    return None if run.fate in (Fate.WAITING, Fate.CUT) else run.end


def _late(automaton: Automaton, record: Trace, run: TracedRun, row: int) -> str:
    if run.fate is Fate.TIME and not isinstance(automaton.window, EventCount):
        length = record.times[row] - record.times[run.start]
        return f"too late: {length_text(automaton, length)} after the first event"
    return "the run had ended by then"


def _bound(record: Trace, run: TracedRun, end: Ended | None) -> str:
    """Which of the windows was over: `the window of 12 hours was`."""
    automaton = record.automaton
    window = automaton.window
    if isinstance(window, EventCount):
        return f"the window of {window.events} events was"
    if end is not None and end.take is not None:
        last_time = record.times[run.last]
        if end.take.gap is not None and last_time + end.take.gap <= end.time:
            return f"{length_text(automaton, end.take.gap)} since the event before were"
        for variable, length in end.take.since:
            rows = [row for row, taker in run.taken if taker == variable]
            if rows and record.times[rows[-1]] + length <= end.time:
                return f"{length_text(automaton, length)} since {automaton.variables[variable]} were"
    return f"the window of {to_text(window)} was" if isinstance(window, Span) else "its time was"


def length_text(automaton: Automaton, length: float) -> str:
    """A length of time as people read it."""
    return to_text(Span(length, automaton.unit))
