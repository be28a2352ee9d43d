"""Cases whose input ends: what an engine of finite inputs must find.

In: a case of the corpora. Out: the case with the end of the input behind its last event. Called for Spark batch, where
a DataFrame's end is the end of the input (rule 10), while the corpora leave the input open.

The end comes last, so it can only add: all that a case expects stays expected, word for word. What the end decides on
top (nots at the end that still guarded, partial matches that now run out of time) is taken from the reference
evaluator, which gives exactly the expected answer before. Most cases have nothing to add.
"""

from __future__ import annotations

from cases import Case
from engines import Answer, Taken, reference

from cepheid.errors import SkipError


def ended(case: Case) -> Case:
    """The case as a finite input. Events that come too late are left out, the others stand in the order in which they
    are handled."""
    if "reject" in case.data or "fails" in case.data:
        return case
    before = reference(case)
    data = {
        name: value
        for name, value in case.data.items()
        if name not in ("watermarks", "late", "match_times", "advance_to", "end_of_input")
    }
    data["events"] = handled_events(case, before)
    # A finite input has nothing but its events: what they leave open is decided from the time of the last one on.
    finite = Case({name: value for name, value in case.data.items() if name != "advance_to"})
    try:
        after = reference(finite, is_end=True)
    except SkipError as error:
        return Case({**data, "fails": str(error)})
    if "matches" in data:
        added = [taken for taken in after.matches if taken not in before.matches]
        data["matches"] = [*data["matches"], *map(by_variable, added)]
    if "timeouts" in data:
        late_ones = [(taken, at) for taken, at in after.timeouts if (taken, at) not in before.timeouts]
        data["timeouts"] = [*data["timeouts"], *({"partial": by_variable(taken), "at": at} for taken, at in late_ones)]
    return Case(data)


def handled_events(case: Case, answer: Answer) -> list[dict[str, object]]:
    """The events that count, in the order in which they are handled."""
    if "watermarks" not in case.data:
        return case.events
    tie = case.data.get("tie_order")
    on_time = [event for event in case.events if event["id"] not in answer.late]
    return sorted(on_time, key=lambda event: (event["t"], event[tie] if tie else 0))


def by_variable(taken: Taken) -> dict[str, list[int]]:
    return {name: list(ids) for name, ids in taken}
