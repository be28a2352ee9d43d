"""How much of the language an automaton uses: what an engine for rules 1 to 12 cannot run.

In: an automaton. Out: the name of what goes beyond, for the engine that refuses it, or None.
"""

from __future__ import annotations

from cepheid.automaton.model import Automaton


def beyond_twelve_rules(automaton: Automaton) -> str | None:
    """The first construct of rules 13 to 19 that the automaton shows, as a reason: "it has …"."""
    takes = [way.take for position in automaton.positions for way in position.continuations]
    takes += [rival for position in automaton.positions for rival in position.rivals]
    endings = [ending for position in automaton.positions for ending in position.endings]
    if any(ending.whole for ending in endings):
        return "a whole loop at the end (rule 16)"
    if any(take.since for take in takes):
        return "a window since an element (rule 17)"
    return None
