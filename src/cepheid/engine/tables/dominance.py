"""Dominance: which runs may stand for others, and why nothing is lost by leaving those out.

In: an automaton and whether timeouts are asked for. Out: a `Decision`, which the tables carry to the kernel
(`kernel.dominance` compares the runs) and explanations put into words. This is the only place that decides.

Let A and B be runs of one partition that wait in the list of one position, A before B in the order of rule 8. B is
left out if all of this holds. Of the pattern:

1. No timeouts are asked for: they report every partial match by itself (rule 9).
2. The skip strategy is `past_last_event` or `to_next`, so that a match always forbids its own start. `no_skip` forbids
   nothing; `to_first` and `to_last` may forbid nothing either, and with `or_fail` each match may be an error.

Of the two runs:

3. Their registers are equal, and say all that conditions read of the events taken: none counts different values
   (rule 18), for which the events themselves are looked at.
4. Every continuation that is open in B is open in A.
5. The same greedy loops may still take an event (rule 5).
6. If a continuation or a greedy loop of the position has a bound since the previous event, their last events have the
   same time. Nothing in the pattern has a bound since a variable (rule 17): registers do not hold when that took.
7. Their starts are equal; or they need not be, because

   a. the strategy is `past_last_event`,
   b. there is no window, neither in time nor in events (hence no negation at the start, which needs one), and
   c. no position has a negation at the end, so that every match is emitted at its last event.

**Same future.** Whatever events B takes from now on, by whatever variables, A takes too, and it comes to the same
positions with equal registers. By induction over the events: a run joins its list only once the event right after its
last one no longer matters (strict links are closed by then, a `not_next` has been asked), so the truth of a predicate
depends on the event and the registers alone (3), what greedy loops forbid on those that are left (5), a bound since
the previous event on the time of the last event, which is equal at first (6) and the same event later, and a window on
the start, which is equal or does not matter (7). A continuation open in B is open in A (4) and stays so as long.

**Same order.** If A comes before B, then A with some further events comes before B with the same ones: they part where
A and B part, or, if A is B with more events, at the first of these, which A takes.

**Equal starts.** Let B with further events be a match M, and let N be A with the same events. They have the same
start, last event and registers. So a negation at the start rules out both or none, and the negations at the end stop
guarding at the same moments and are violated by the same events. Hence when M is complete N is, too, or was before by
another way. If the start is forbidden by then, M is not emitted. If it is not, N is emitted now, before M, or has been;
it forbids the start (2), so M is not emitted. B thus leads to no emitted match, and what is not emitted forbids
nothing.

**Different starts** (7 a–c). Every match is emitted at its last event and forbids every start up to there, hence all
runs that there are: A and B are both forbidden or both allowed until B becomes a match M at some event. A becomes one
at the same event, comes before M, is emitted and forbids M's start. *A negation at the end breaks this:* a match that
ends before B starts but is emitted later forbids A and not B. `a ~>> b ~> !c<within 10 since previous>` on a1 b2 a5
b20: a1 b2 waits until 12, and forbids the start a1 then; had the run of a1 stood for that of a5, a5 b20 would be
lost. *A window* breaks it because A may run out of it before B; `to_next` because A's match does not forbid B's start.

**Errors.** A condition that fails for B fails for A on the same event, with the same registers.

**Chains.** If C stands for A and A for B, C stands for B from then on: each condition goes over from pair to pair.

It is applied when a run joins its list. Where starts may differ, no forbidden run waits there (a match clears all
lists); where they are equal, both runs are forbidden or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cepheid.automaton.model import Automaton, Position, Take
from cepheid.conditions.registers import RegisterKind
from cepheid.engine.kernel import layout as l
from cepheid.syntax.tree import SkipKind


class Dominance(Enum):
    """Among which runs one may stand for others."""

    OFF = l.DOMINANCE_OFF
    PER_START = l.DOMINANCE_PER_START
    OVERALL = l.DOMINANCE_OVERALL


class Reason(Enum):
    """The first of the conditions that keeps runs apart."""

    NOT_WANTED = "not wanted"
    TIMEOUTS = "1"
    SINCE = "6"
    SKIP = "2"
    DISTINCT = "3"
    TO_NEXT = "7 a"
    WINDOW = "7 b"
    NOT_AT_END = "7 c"


@dataclass(frozen=True, slots=True)
class Decision:
    """Which runs may stand for others; `reason`: what keeps the rest apart, None if nothing does."""

    dominance: Dominance
    reason: Reason | None


def decide(automaton: Automaton, timeouts: bool, wanted: bool = True) -> Decision:
    """Conditions 1, 2, 7 and part of 3, which the pattern decides; the kernel looks at the others, run by run."""
    skip = automaton.skip.kind
    if not wanted:
        return Decision(Dominance.OFF, Reason.NOT_WANTED)
    if timeouts:
        return Decision(Dominance.OFF, Reason.TIMEOUTS)
    if any(take.since for position in automaton.positions for take in _takes(position)):
        return Decision(Dominance.OFF, Reason.SINCE)
    if skip not in (SkipKind.PAST_LAST_EVENT, SkipKind.TO_NEXT):
        return Decision(Dominance.OFF, Reason.SKIP)
    if any(register.kind is RegisterKind.DISTINCT for register in automaton.registers.registers):
        return Decision(Dominance.OFF, Reason.DISTINCT)
    if skip is SkipKind.TO_NEXT:
        return Decision(Dominance.PER_START, Reason.TO_NEXT)
    if automaton.window is not None:
        return Decision(Dominance.PER_START, Reason.WINDOW)
    if any(position.endings for position in automaton.positions):
        return Decision(Dominance.PER_START, Reason.NOT_AT_END)
    return Decision(Dominance.OVERALL, None)


def _takes(position: Position) -> list[Take]:
    return [*(way.take for way in position.continuations), *position.rivals]
