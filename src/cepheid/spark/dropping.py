"""Whether rows that no condition wants can be dropped before they travel.

In: an automaton. Out: the reason why not, or None. Read by the plans and by `explain`.
"""

from __future__ import annotations

from cepheid.automaton.model import Automaton
from cepheid.conditions.expression import TRUE
from cepheid.syntax.tree import Contiguity, EventCount, NotLink


def why_all_rows_travel(automaton: Automaton) -> str | None:
    """Why an event that satisfies no condition makes a difference: something asks for neighbours or counts events."""
    if isinstance(automaton.window, EventCount):
        return "the window counts events"
    for predicate in automaton.predicates:
        if predicate.own_event == TRUE:
            return f"{predicate.place} may want any event"
    for position in automaton.positions[1:]:
        takes = [continuation.take for continuation in position.continuations] + list(position.rivals)
        for take in takes:
            if take.contiguity is Contiguity.STRICT:
                return f"{automaton.variables[take.variable]!r} must come right behind the event before it"
        if any(continuation.not_next for continuation in position.continuations) or any(
            guard.link is NotLink.NOT_NEXT for ending in position.endings for guard in ending.nots
        ):
            return "a not_next looks at the very next event"
    return None
