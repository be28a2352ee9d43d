"""What an experiment says about a cause, in words.

In: a `Case` and an `Experiment` that would give matches. Out: a `Reason`. Called by `causes`.
"""

from __future__ import annotations

import numpy as np

from cepheid.explain.text.outline import window_text
from cepheid.explain.why.case import Case
from cepheid.explain.why.experiments import Experiment
from cepheid.explain.why.failures import failed_run, furthest, length_text
from cepheid.explain.why.model import Kind, Reason
from cepheid.explain.why.nearness import part_text, value_of
from cepheid.syntax.tree import EventCount, SpanUnit


def told(case: Case, experiment: Experiment) -> Reason:
    change, would = experiment.change, would_match(experiment)
    name = change.element
    match change.kind:
        case Kind.STRICT:
            text = (
                f"{name!r} must come right after the event before it (next, consecutive), and other events come "
                f"between. Relaxed there would be {would}."
            )
            return Reason(change.kind, text, "Use followed_by, or leave consecutive() out.", name)
        case Kind.NOT | Kind.NOT_BEFORE:
            fits = next((one.fits for one in case.counts if one.name == name), 0)
            rows = f"{fits:,} of {case.rows:,} rows satisfy it"
            text = f"not {name!r} is violated: {rows}. Without it there would be {would}."
            return Reason(change.kind, text, "Is its condition too broad?", name)
        case Kind.UNTIL:
            text = f"The until of {name!r} ends the loop before its time. Without it there would be {would}."
            return Reason(
                change.kind, text, "Is it true of events that the loop should take, or that should follow?", name
            )
        case Kind.GREEDY | Kind.WHOLE:
            word = "whole" if change.kind is Kind.WHOLE else "greedy"
            text = f"{name!r} is {word} and takes the events that should follow it. Otherwise there would be {would}."
            return Reason(change.kind, text, "Make its condition exclude them, or leave greedy() out.", name)
        case Kind.HAVING:
            return Reason(change.kind, f"The having of {name!r} is false. Without it there would be {would}.", "", name)
        case Kind.LOOP:
            return Reason(
                change.kind,
                f"{name!r} is not repeated as often as asked. With fewer repetitions there would be {would}.",
                "",
                name,
            )
        case Kind.CONDITION:
            return _condition(case, experiment, would)
    return _window(case, experiment, would)


def _condition(case: Case, experiment: Experiment, would: str) -> Reason:
    part, name = experiment.change.part, experiment.change.element
    assert part is not None
    examples, unknown, seen = [], 0, 0
    for one, run in furthest(case.followed, 50):
        told = failed_run(one.record, run, {}, case.names)
        for near in told.near:
            for false in near.false:
                if false.text == part_text(part):
                    seen += 1
                    unknown += value_of(part, near.event, run.memory)[0] is None
                    examples.append(false.values)
    example = f", such as {examples[0]}" if examples else ""
    if seen and unknown == seen:
        text = (
            f"{part_text(part)} in {name!r} is never true, because a value in it is NULL{example}. "
            f"Without it there would be {would}."
        )
        return Reason(Kind.NULL, text, "Ask for IS NOT NULL where the value is taken, or use COALESCE.", name)
    text = f"{part_text(part)} in {name!r} is false{example}. Without it there would be {would}."
    return Reason(Kind.CONDITION, text, "", name)


def _window(case: Case, experiment: Experiment, would: str) -> Reason:
    window, name = case.tree.window, experiment.change.element
    found = experiment.found
    if name is not None:
        text = f"A window of {name!r} is too short. Without it there would be {would}."
        return Reason(Kind.WINDOW, text, "", name)
    assert window is not None
    automaton = case.followed[0].record.automaton
    text = f"The window of {window_text(window)} is too short"
    if found is None or isinstance(window, EventCount):
        return Reason(Kind.WINDOW, f"{text}. Without it there would be {would}.")
    starts = np.searchsorted(found.match, np.arange(len(found.at) + 1))
    first, last = found.row[starts[:-1]], found.row[starts[1:] - 1]
    shortest = int(np.min(case.sample.time[last] - case.sample.time[first]))
    needs = f"the shortest match takes {length_text(automaton, shortest)}"
    ratio = shortest / window.length if window.length else 0.0
    if window.unit is SpanUnit.ORDER and ratio >= 50:
        unit = _unit_of(int(case.sample.time[0]))
        text = (
            f"The window of {window_text(window)} is far too short: {needs}, {ratio:,.0f} times as much. "
            f"{unit}Without it there would be {would}."
        )
        return Reason(Kind.UNIT, text, "Is the window in the unit of the order column?")
    magnitude = f", {ratio:,.0f} times as much" if ratio >= 10 else ""
    kind, remedy = Kind.WINDOW, "Give it more time."
    if ratio >= 100:  # more than a window that was chosen too tight
        kind, remedy = Kind.UNIT, "Are the times read in the right unit, and is the window in the one that was meant?"
    return Reason(kind, f"{text}: {needs}{magnitude}. Without it there would be {would}.", remedy)


def would_match(experiment: Experiment) -> str:
    """How many matches there would be."""
    if experiment.found is None:
        return "very many matches"
    return f"{experiment.matches:,} match{'' if experiment.matches == 1 else 'es'}"


def _unit_of(time: int) -> str:
    """What a number that counts from 1970 on is likely to count."""
    for unit, size in (("seconds", 1), ("milliseconds", 1_000), ("microseconds", 1_000_000), ("nanoseconds", 10**9)):
        if 800_000_000 * size <= time < 4_000_000_000 * size:
            return f"The times look like {unit} since 1970. "
    return ""
