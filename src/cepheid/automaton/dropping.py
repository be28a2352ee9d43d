"""Which events make no difference to a pattern, so that they need not travel.

In: an automaton. Out: the reason why every event matters, or None where events that satisfy no condition do not.
Called by the Spark plans, which drop such rows early, and by explanations.
"""

from __future__ import annotations

from cepheid.automaton.model import Automaton
from cepheid.conditions.expression import TRUE
from cepheid.syntax.tree import Contiguity, EventCount, NotLink


def why_all_rows_travel(automaton: Automaton) -> str | None:
    """The first reason why no event can be left out; None where those that satisfy no condition can be."""
    if isinstance(automaton.window, EventCount):
        return "the window counts events"
    for predicate in automaton.predicates:
        if predicate.own_event == TRUE:
            asks = "asks nothing of the event alone" if predicate.reads_variables else "has no condition"
            return f"{predicate.place} {asks}"
    for position in automaton.positions[1:]:
        takes = [continuation.take for continuation in position.continuations] + list(position.rivals)
        for take in takes:
            if take.contiguity is Contiguity.STRICT:
                return f"{automaton.variables[take.variable]!r} must come right after the event before it"
        guards = [index for continuation in position.continuations for index in continuation.not_next]
        guards += [
            guard.predicate for ending in position.endings for guard in ending.nots if guard.link is NotLink.NOT_NEXT
        ]
        for index in guards:
            return f"{automaton.predicates[index].place} looks at the very next event"
    return None
