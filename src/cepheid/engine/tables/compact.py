"""Whether a pattern's runs may be kept as cohorts, and what a cohort need not remember.

In: an automaton, the caller's options, the kernel's tables. Out: a `Decision`, which `explain` prints. Asked by
`tabulate`.

A *cohort* (`kernel.cohorts`) keeps partial matches with the same position, open continuations, open rivals, registers
and, where a bound since the previous event lies at the position, time of the last event as one: a set of histories.

**Preconditions.** All must hold; the numbers are those of the proof.

1. Timeouts are not asked for.
2. No match waits for a not, or for anything else, at its end.
3. No not at the start reads variables.
4. The skip strategy is not `to_next`.
5. With `past_last_event` there is a window.
6. Nothing is asked of a run on its arrival (`having`), no bound runs since a variable's last event (`since`), and no
   match is left out by the time since the one before (`once_per`).
7. No register counts different values: for these the events themselves are looked at (rule 18), so (a) would not hold.

**Proof** that cohorts emit what runs emit, at the same events and in the same order.

a. *Same future.* What a run does with an event (`stepping.step`) is a function of its position, open continuations and
   rivals, registers, the time of its last event where a bound since it lies at the position, and whether the event is
   the one right after its last (rules 2, 4, 5, 6, 7). Fresh cohorts are kept apart from the others until that event
   has been shown, so all of this is the same for the members of a cohort, and a function of the cohort. By induction
   over the events, the members take the same further events by the same variables. What `step` closes it closes for
   all of them, so after each event the cohorts are again sets of runs with the same key.
b. *Registers.* A register that no condition at a position or at one that it leads to reads, directly or through the
   update of one that is read, changes no future (`registers_read` is the greatest set that may matter). Setting it to
   0 makes keys equal, no run different. Matches are built from their events, not from registers.
c. *Windows.* Whether a run is out of its window depends on its start and the event alone, and once out it stays out,
   as events come in the order of time. A run that is out differs from one that was dropped only if it emits; so it is
   enough to leave it out when listing. Starts are rows in their order: out is every start before some row. A set's
   root has its latest start, so a set is out altogether if its root is, and no other part of it is walked.
d. *Skipping.* `past_last_event`, `to_first` and `to_last` forbid every start before some event, so forbidden starts
   are such a range, too, and (c) holds for them. A forbidden or outdated run has no other effect: no rule lets one run
   look at another, but for the skip filter, which sees emitted matches only.
e. *Negations at the start* that read no variables rule out a match by its start and its last event alone (rule 7). So a
   start is asked when it is listed with the event that completes the match; no run is changed by it before. What is
   ruled out is not always cut off with a root, as the starts that a negation rules out are the later ones: listing then
   costs the histories in the window beside the events listed, never more than the runs would.
f. *Order.* The matches that an event emits all end with it (2), so none is the beginning of another, and rule 8's
   order is the order of their (event, variable) pairs; `listing` lists in that order, and applies the skip filter
   between one match and the next, as `deciding.emit` does. A match with two derivations is a path of that graph twice;
   paths with the same pairs are gone on with together, so it comes out once.
g. *Streams.* Cohorts of several partitions share a pool. The partition is part of their key, so no set has histories
   of two, and (a) to (f) hold in each. What was out when nodes are collected is out for every later event by (c) and
   (d), so leaving it out of saved state changes no answer.
h. *What is excluded.* A timeout reports every partial match that comes to nothing (1): they all have to be listed, each
   at a moment of its own and also those whose node waits in several positions, so a set saves nothing but memory, and
   (f)'s graph, which begins at the starts of one moment's matches, would have to be drawn for every moment at which a
   window ends. A match that waits at its end is emitted at a moment that depends on its start, together with matches of
   other ends, one of which may be the beginning of another (2): (f) fails. A negation at the start that reads variables
   asks for their values, which are not part of the key (3). `to_next` forbids the starts of matches one by one, so that
   a set may be full of forbidden starts though its root is not (4): an answer would be right, but every event would
   walk the starts that are spent, where runs are dropped at once; a pattern that costs its events would cost their
   square. Without a window `past_last_event` needs one run for each key, the first by priority, and constant memory
   (`dominance`): a set would grow for ever (5). What (6) excludes depends on more than the key, or comes after the skip
   filter.

What it costs: an event costs the cohorts that it concerns, whatever the number of their histories; memory is a node
for each event that a cohort takes (a few more where starts come out of order); listing costs the events listed.

**Where they are sound but do not pay.** If no run can become two, a start leaves at most one run for each beginning of
the pattern, and each of these moves on at most once for each element, so runs cost the events, too. Where every run
also waits for an equality with what it took, cohorts with different values have one member each: there is nothing to
share, and a cohort costs twice as much as a run. Such a pattern keeps its runs. It is one in which

8. every link is strict or relaxed (an `any` link lets a run both take an event and wait on);
9. no variable loops, and after the start there is one way to go on (a choice or an optional element has several);
10. every position at which a run can wait for longer than the next event has an index by an equality
    (`Tabulation.index`), so that an event looks at no run whose value is another one.

Both representations give the same answers, so this is a choice of speed and no part of the proof.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.automaton.model import Automaton
from cepheid.conditions.registers import RegisterKind
from cepheid.engine.kernel import layout as l
from cepheid.engine.kernel import opcodes as m
from cepheid.syntax.tree import Contiguity, SkipKind


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether cohorts are used, and why or why not."""

    is_compact: bool
    reason: str


def decide(automaton: Automaton, timeouts: bool, wanted: bool | None = None, indexed: Collection[int] = ()) -> Decision:
    """Cohorts wherever they are sound and can hold more than one run. `wanted`: False, nowhere; True, also where they
    do not pay. `indexed`: the positions at which a run is found by an equality."""
    for holds, reason in _obstacles(automaton, timeouts):
        if holds:
            return Decision(False, reason)
    if wanted is False:
        return Decision(False, "it was asked for each partial match by itself")
    if not _waits(automaton):
        return Decision(False, "every link is strict, so that there is nothing to share")
    if wanted is None and _is_alone(automaton, indexed):
        return Decision(False, "each waits for an event with its own value, so that there is nothing to share")
    return Decision(True, "partial matches with the same future are kept as one")


def _obstacles(automaton: Automaton, timeouts: bool) -> Iterator[tuple[bool, str]]:
    skip = automaton.skip.kind
    yield timeouts, "timeouts are asked for, and each partial match has its own (rule 9)"
    waits_at_end = any(position.endings for position in automaton.positions)
    yield waits_at_end, "a match waits for a negation at its end, until its own deadline (rule 7)"
    reads_before = any(automaton.predicates[index].reads_variables for index in automaton.not_before)
    yield reads_before, "a negation at the start compares with what each partial match took (rule 7)"
    yield skip is SkipKind.TO_NEXT, "to next forbids single starts, which are dropped one by one (rule 8)"
    yield (
        skip is SkipKind.PAST_LAST_EVENT and automaton.window is None,
        "past last event without a window needs only the first run of each state (rule 8)",
    )
    yield bool(automaton.having), "having is asked of each partial match (rule 15)"
    takes = [
        take
        for position in automaton.positions
        for take in (*(w.take for w in position.continuations), *position.rivals)
    ]
    yield any(take.since for take in takes), "a window since an element depends on when that took (rule 17)"
    counts_different = any(register.kind is RegisterKind.DISTINCT for register in automaton.registers.registers)
    yield counts_different, "different values are counted among the events of each partial match (rule 18)"
    yield automaton.once_per is not None, "once_per leaves out matches by their times (rule 19)"


def _waits(automaton: Automaton) -> bool:
    """Whether a run can wait for longer than the next event, so that runs of different ages meet."""
    return any(
        way.take.contiguity is not Contiguity.STRICT
        for position in automaton.positions[1:]
        for way in position.continuations
    )


def _is_alone(automaton: Automaton, indexed: Collection[int]) -> bool:
    """Whether no run becomes two and each waits for a value of its own: 8, 9 and 10."""
    return not automaton.looping and all(
        len(position.continuations) <= 1
        and all(
            take.contiguity is Contiguity.STRICT or (take.contiguity is Contiguity.RELAXED and number in indexed)
            for take in (way.take for way in position.continuations)
        )
        for number, position in enumerate(automaton.positions[1:], start=1)
    )


def registers_read(
    positions: npt.NDArray[np.int64],
    ways: npt.NDArray[np.int64],
    lists: npt.NDArray[np.int64],
    programs: npt.NDArray[np.int64],
    code: npt.NDArray[np.int64],
    updates: npt.NDArray[np.int64],
    updates_of: npt.NDArray[np.int64],
    count: int,
) -> npt.NDArray[np.uint64]:
    """For each of the first `count` positions, the bits of the registers that a run there may still have read."""
    blocks = _blocks(updates, updates_of)
    read = [
        _whole(
            {
                register
                for place in range(row[l.S_PROGRAMS], row[l.S_PROGRAMS_END], 2)
                for register in _registers_in(code, *programs[lists[place + 1]])
            },
            blocks,
        )
        for row in positions[:count]
    ]
    is_changed = True
    while is_changed:
        is_changed = False
        for number in range(count - 1, -1, -1):
            before = set(read[number])
            for way in range(positions[number, l.S_CONTINUATIONS], positions[number, l.S_CONTINUATIONS_END]):
                ahead = read[ways[way, l.C_TARGET]]
                read[number] |= ahead
                for row in updates[slice(*updates_of[ways[way, l.C_VARIABLE]])]:
                    if row[1] in ahead and row[3] < 0:
                        read[number] |= _whole(set(_registers_in(code, row[4], row[5])), blocks)
            is_changed = is_changed or read[number] != before
    return np.array([sum(1 << register for register in some) for some in read], np.uint64)


def _registers_in(code: npt.NDArray[np.int64], begin: int, end: int) -> Iterator[int]:
    for instruction, operand, _ in code[begin:end]:
        if instruction == m.REGISTER:
            yield int(operand)


def _blocks(updates: npt.NDArray[np.int64], updates_of: npt.NDArray[np.int64]) -> dict[int, frozenset[int]]:
    """The registers of one aggregate move together: LAST and FIRST of some depth have several."""
    blocks: dict[int, frozenset[int]] = {}
    for begin, end in updates_of:
        for row in updates[begin:end]:
            block = frozenset(range(int(row[1]), int(row[1]) + max(1, int(row[2]))))
            blocks |= dict.fromkeys(block, block)
    return blocks


def _whole(registers: set[int], blocks: dict[int, frozenset[int]]) -> set[int]:
    return set().union(*(blocks.get(register, frozenset({register})) for register in registers))
