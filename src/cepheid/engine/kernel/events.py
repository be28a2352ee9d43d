"""One event of one partition: the heart of the kernel, one for all patterns, over flat arrays.

In: the pattern's tables, columns of events, the pool of runs and nodes. Out: the nodes of matches and timeouts in the
order of their decision. Called by `drive` only.

How it works:

1. A *node* is a partial match: an event, the variable that took it, and the node before it. Matches share what they
   have in common. A *run* is a place where a node waits: a position of the automaton, and which of its continuations
   are still open.
2. Runs wait in lists, one per partition and position. An event touches a list only if a predicate of that position
   holds on it, so waiting costs nothing. Where links are strict or a `not_next` stands, a new run first waits in the
   list *fresh*, which the very next event always walks.
3. An event is handled in steps: what falls due by then; the runs it concerns, which leave *created* entries; the
   start of new runs; nodes for what was created; the *candidates* for matches, in the order of rule 8, through the
   skip filter; then the new runs join their lists.
4. Order is not kept in the lists but found when it is needed (`buffer.precedes`).
5. Runs that ran out of time or whose start is forbidden are dropped when they are next touched. Only where timeouts are
   asked for or nots stand at the end do timers decide things at their exact moments (`deciding`).

Before an event is touched the kernel makes sure that the pool has room for whatever it may create; otherwise it stops
with GROW and is called again from that event. Functions that take the whole state are inlined into their only caller:
passing so many arrays would cost more than what they do.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.buffer import free_run, new_node, new_run
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.deciding import (
    decide_ending,
    earliest_deadline,
    emit,
    ending_due,
    fall_due,
    guarded_until,
    is_forestalled,
    moment_decided,
    start_timers,
    way_deadline,
)
from cepheid.engine.kernel.forbidding import is_forbidden
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import clear, is_gone, place_in_index, settle, sweep
from cepheid.engine.kernel.machine import evaluate, update_registers


@inlined
def truths(a, e, w, position, event, run):
    """Which predicates of a position hold on an event for a run: bits that were computed beforehand, and programs
    where they stand."""
    held = e.bits[event, a.positions[position, S_PAGE]]
    for index in range(a.positions[position, S_PROGRAMS], a.positions[position, S_PROGRAMS_END], 2):
        bit = np.uint64(1) << np.uint64(a.lists[index])
        predicate = a.lists[index + 1]
        if held & bit:
            begin, end = a.programs[predicate, 0], a.programs[predicate, 1]
            if not evaluate(a.code, e.values, e.known, w.registers, w.stack, w.counters, begin, end, event, run):
                held &= ~bit
            if w.counters[Q_PROBLEM] != NONE and w.counters[Q_PROBLEM_VALUE] == NONE:
                w.counters[Q_PROBLEM_VALUE] = predicate
    return held


@inlined
def concerns(a, e, event, position):
    """Whether a predicate that matters at a position holds on an event, as far as the event alone tells."""
    return e.bits[event, a.positions[position, S_PAGE]] & a.interest[position] != 0


@inlined
def create(a, e, w, event, parent_run, parent_node, variable, target):
    """Note that a run took the event. Its registers are computed now, while the parent's are still there."""
    run = NONE
    if (
        a.positions[target, S_CONTINUATIONS] < a.positions[target, S_CONTINUATIONS_END]
        or a.positions[target, S_ENDINGS] < a.positions[target, S_ENDINGS_END]
        or a.params[P_NOT_BEFORE_READS] != 0
    ):
        run = new_run(w.runs, w.counters)
        w.runs[run, R_POSITION] = target
        if a.params[P_REGISTERS] > 0:
            update_registers(
                a.code,
                a.updates,
                a.updates_of,
                e.values,
                e.known,
                w.registers,
                w.stack,
                w.counters,
                parent_run,
                run,
                variable,
                event,
                w.nodes,
                parent_node,
            )
    count = w.counters[Q_CREATED]
    w.created[count, 0] = parent_node
    w.created[count, 1] = variable
    w.created[count, 2] = target
    w.created[count, 3] = run
    w.counters[Q_CREATED] = count + 1


@inlined
def greedy_takers(a, e, w, run, row, node, event, held, gone):
    """The greedy loops that could take an event, as bits (rule 5). Those whose link or until is over are struck out."""
    takers = 0
    rivals = 0
    if row[S_RIVALS] < row[S_RIVALS_END]:
        rivals = w.extra[run, X_RIVALS]
    if rivals:
        for number in range(row[S_RIVALS_END] - row[S_RIVALS]):
            if not rivals >> number & 1:
                continue
            rival = row[S_RIVALS] + number
            if held & a.rival_sets[rival, B_OVER]:
                rivals &= ~(1 << number)
                continue
            holds = held & a.rival_sets[rival, B_TAKES] != 0
            if holds and gone < np.uint64(a.rivals[rival, C_GAP]) and not held & a.rival_sets[rival, B_REFUSED]:
                if not row[S_SINCE] or e.time[event] < way_deadline(a, e.time, w.nodes, rival, a.rivals[rival], node):
                    takers |= 1 << number
            if (
                a.rivals[rival, C_KIND] == STRICT
                or (holds and a.rivals[rival, C_KIND] == RELAXED)
                or held & a.rival_sets[rival, B_NOT_FOLLOWED]
            ):
                rivals &= ~(1 << number)
        w.extra[run, X_RIVALS] = rivals
    return takers


@inlined
def is_lost(a, e, w, row, way, node, event, is_next, held, takers, gone):
    """Whether a continuation ends at an event before it can take it: by a not, an until, a greedy loop, or time."""
    return (
        (is_next and held & a.sets[way, B_NOT_NEXT])  # rule 7
        or held & a.sets[way, B_OVER]  # rule 4
        or takers & a.ways[way, C_RIVALS]  # rule 5
        or gone >= np.uint64(a.ways[way, C_GAP])  # rule 6
        or (row[S_SINCE] and e.time[event] >= way_deadline(a, e.time, w.nodes, way, a.ways[way], node))  # rule 17
    )


@inlined
def step(a, e, w, run, position, event, is_next):
    """Show an event to a run. What is left of its continuations and rivals is written back."""
    row = a.positions[position]
    held = truths(a, e, w, position, event, run)
    node = w.runs[run, R_NODE]
    gone = np.uint64(0)
    if row[S_GAP]:
        gone = np.uint64(e.time[event]) - np.uint64(e.time[w.nodes[node, N_EVENT]])
    takers = greedy_takers(a, e, w, run, row, node, event, held, gone)
    is_open = w.runs[run, R_OPEN]
    for number in range(row[S_CONTINUATIONS_END] - row[S_CONTINUATIONS]):
        if not is_open >> number & 1:
            continue
        way = row[S_CONTINUATIONS] + number
        kind = a.ways[way, C_KIND]
        holds = held & a.sets[way, B_TAKES] != 0
        if is_lost(a, e, w, row, way, node, event, is_next, held, takers, gone):
            is_open &= ~(1 << number)
            continue
        if holds and not held & a.sets[way, B_REFUSED]:
            create(a, e, w, event, run, node, a.ways[way, C_VARIABLE], a.ways[way, C_TARGET])
        if kind == STRICT or (holds and kind == RELAXED) or held & a.sets[way, B_NOT_FOLLOWED]:  # rules 2 and 7
            is_open &= ~(1 << number)
    w.runs[run, R_OPEN] = is_open


@inlined
def begin_runs(a, e, w, event):
    """The runs that start at an event: no link and no guard binds them (rule 1). Run 0 has taken nothing yet."""
    row = a.positions[0]
    held = truths(a, e, w, 0, event, np.int64(0))
    for way in range(row[S_CONTINUATIONS], row[S_CONTINUATIONS_END]):
        if held & a.sets[way, B_TAKES] and not held & a.sets[way, B_REFUSED]:
            create(a, e, w, event, np.int64(0), NONE, a.ways[way, C_VARIABLE], a.ways[way, C_TARGET])


@inlined
def see_whole(a, e, w, run, row, node, event, is_next, held):
    """Show an event to the whole loops of an ending (rule 16). Returns whether none of them takes it; those that can
    take no more are struck out."""
    gone = np.uint64(0)
    if row[S_GAP]:
        gone = np.uint64(e.time[event]) - np.uint64(e.time[w.nodes[node, N_EVENT]])
    takers = greedy_takers(a, e, w, run, row, node, event, held, gone)
    is_open = w.runs[run, R_OPEN]
    for number in range(row[S_ENDINGS_END] - row[S_ENDINGS]):
        bit = 1 << (WHOLE + number)
        if not is_open & bit:
            continue
        way = row[S_ENDINGS] + number
        if is_lost(a, e, w, row, way, node, event, is_next, held, takers, gone):
            is_open &= ~bit
            continue
        holds = held & a.sets[way, B_TAKES] != 0
        if holds and not held & a.sets[way, B_REFUSED]:
            return False
        kind = a.ways[way, C_KIND]
        if kind == STRICT or (holds and kind == RELAXED) or held & a.sets[way, B_NOT_FOLLOWED]:
            is_open &= ~bit
    w.runs[run, R_OPEN] = is_open
    return True


@inlined
def see_ending(a, e, w, slot, run, event, is_next):
    """Show an event to a run that only waits at its end (rules 7 and 16). Returns whether it goes on waiting."""
    node = w.runs[run, R_NODE]
    if w.runs[run, R_OPEN] == 0:
        return False
    if w.nodes[node, N_STATE] & COMPLETE:
        w.nodes[node, N_STATE] -= PENDING
        return False
    ending = w.runs[run, R_POSITION]
    row = a.positions[ending]
    held = truths(a, e, w, ending, event, run)
    waits = False
    for guard in range(row[S_CONTINUATIONS], row[S_CONTINUATIONS_END]):
        is_not_next = a.guards[guard, G_KIND] == NOT_NEXT
        if (is_not_next and not is_next) or guarded_until(a.params, a.guards, e.time, w.nodes, guard, node) <= e.time[
            event
        ]:
            continue
        if held >> np.uint64(a.guards[guard, G_PREDICATE]) & np.uint64(1):
            w.nodes[node, N_STATE] -= PENDING
            return False
        waits = waits or not is_not_next
    is_changed = is_next
    if row[S_ENDINGS] < row[S_ENDINGS_END]:
        before = w.runs[run, R_OPEN]
        if not see_whole(a, e, w, run, row, node, event, is_next, held):
            w.nodes[node, N_STATE] -= PENDING
            return False
        is_changed = is_changed or w.runs[run, R_OPEN] != before
        waits = waits or w.runs[run, R_OPEN] >> WHOLE != 0
    if not waits:
        decide_ending(w.runs, w.nodes, w.candidates, w.counters, run)
    elif is_changed:
        due = ending_due(a, e.time, w.runs, w.nodes, run, False)
        start_timers(a.params, e.ordinal, w.runs, w.extra, w.nodes, w.timers, w.counters, w.slots, slot, run, due)
    return waits


@inlined
def walk_runs(a, e, w, slot, event):
    """Show an event to all runs that it concerns: list by list, then the fresh ones, which join their lists behind it.

    Of a position with an index only the runs with the event's own value are walked. One of these that is over leaves
    its chain at once and its list when that is swept.
    """
    positions = w.lists.shape[1] // L_SIZE
    for number in range(1, positions + 1):
        is_next = number == positions
        position = 0 if is_next else number
        head = L_SIZE * position + L_HEAD
        run = w.slots[slot, K_FRESH] if is_next else np.int64(w.lists[slot, head])
        if run == NONE or not (is_next or concerns(a, e, event, position)):
            continue
        bucket = np.int64(NONE)
        if is_next:
            w.slots[slot, K_FRESH] = NONE
        elif a.positions[position, S_INDEX] >= 0:
            column = a.positions[position, S_INDEX_COLUMN]
            if not e.known[event] >> np.uint64(column) & np.uint64(1):
                continue
            bucket = place_in_index(w.buckets, slot, position, e.values[event, column])
            run = np.int64(w.buckets[bucket])
        previous = np.int64(NONE)
        while run != NONE:
            following = np.int64(w.runs[run, R_NEXT] if bucket == NONE else w.runs[run, R_CHAIN])
            place = np.int64(w.runs[run, R_POSITION])
            if bucket != NONE and (
                w.registers[run, a.positions[position, S_INDEX]]
                != e.values[event, a.positions[position, S_INDEX_COLUMN]]
                or place != position
                or (len(w.owner) > 1 and w.owner[run] != slot)
            ):
                stays = True
            elif is_gone(a, e, w, slot, w.nodes[w.runs[run, R_NODE], N_START], event):
                stays = False
            elif place >= a.params[P_POSITIONS]:
                stays = see_ending(a, e, w, slot, run, event, is_next)
            elif w.runs[run, R_OPEN] == 0:
                stays = False
            else:
                step(a, e, w, run, place, event, is_next)
                stays = w.runs[run, R_OPEN] != 0
                if not stays and a.params[P_TIMEOUTS]:
                    w.nodes[w.runs[run, R_NODE], N_STATE] -= OPEN
            if stays:
                if is_next:
                    settle(a, e, w, slot, run, event)
                else:
                    previous = run
            elif bucket != NONE:
                w.runs[run, R_OPEN] = 0
                if previous == NONE:
                    w.buckets[bucket] = following
                else:
                    w.runs[previous, R_CHAIN] = following
            else:
                free_run(w.runs, w.extra, w.counters, run)
                w.slots[slot, K_LIVE] -= 1
                if not is_next:
                    w.lists[slot, head - L_HEAD + L_LENGTH] -= 1
                    if previous == NONE:
                        w.lists[slot, head] = following
                    else:
                        w.runs[previous, R_NEXT] = following
            run = following


@compiled
def merge_created(runs, extra, created, spare, counters):
    """Bring together what the same partial match became by the same variable, and drop equal targets.

    A merge sort of the entries by parent, variable and target, bottom up, in turns between the array and its spare
    half.
    """
    count = counters[Q_CREATED]
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                takes_right = left >= middle
                if not takes_right and right < end:
                    takes_right = is_behind(created, left, right)
                source = right if takes_right else left
                for column in range(4):
                    spare[place, column] = created[source, column]
                if takes_right:
                    right += 1
                else:
                    left += 1
        for place in range(count):
            for column in range(4):
                created[place, column] = spare[place, column]
        width *= 2
    kept = 1
    for place in range(1, count):
        if is_same(created, kept - 1, place) and created[kept - 1, 2] == created[place, 2]:
            if created[place, 3] != NONE:
                free_run(runs, extra, counters, np.int64(created[place, 3]))
            continue
        for column in range(4):
            created[kept, column] = created[place, column]
        kept += 1
    counters[Q_CREATED] = kept


@inlined
def is_behind(created, one, other):
    """Whether an entry sorts strictly behind another."""
    for column in range(3):
        if created[one, column] != created[other, column]:
            return created[one, column] > created[other, column]
    return False


@inlined
def is_same(created, one, other):
    """Whether two entries are the same partial match: equal parent, equal variable."""
    return created[one, 0] == created[other, 0] and created[one, 1] == created[other, 1]


@compiled
def satisfied(a, e, w, position, event, run):
    """Which havings hold on arrival at a position, as bits (rule 15). They read registers alone."""
    bits = np.int64(0)
    for index in range(a.positions[position, S_HAVING], a.positions[position, S_HAVING_END], 3):
        begin, end = a.lists[index + 1], a.lists[index + 2]
        if evaluate(a.code, e.values, e.known, w.registers, w.stack, w.counters, begin, end, event, run):
            bits |= 1 << a.lists[index]
        if w.counters[Q_PROBLEM] != NONE and w.counters[Q_PROBLEM_VALUE] == NONE:
            w.counters[Q_PROBLEM_VALUE] = len(a.programs) + a.lists[index]
    return bits


@compiled
def open_whole(a, e, w, ending, node):
    """The whole loops of an ending that may take a further event after the last one, as bits of the run's state."""
    bits = np.int64(0)
    first = a.positions[ending, S_ENDINGS]
    for way in range(first, a.positions[ending, S_ENDINGS_END]):
        if way_deadline(a, e.time, w.nodes, way, a.ways[way], node) > e.time[w.nodes[node, N_EVENT]]:
            bits |= 1 << (WHOLE + way - first)
    return bits


@inlined
def accepts(a, e, w, position, having, node):
    """Whether a match ends on arrival at a position, where these havings hold."""
    if a.positions[position, S_ACCEPTS] == PERHAPS:
        for index in range(a.positions[position, S_ENDINGS], a.positions[position, S_ENDINGS_END]):
            ending = a.lists[index]
            if a.positions[ending, S_CONTINUATIONS] < a.positions[ending, S_CONTINUATIONS_END]:
                continue
            if not a.positions[ending, S_NEEDED] & ~having and open_whole(a, e, w, ending, node) == 0:
                return True
        return False
    return a.positions[position, S_ACCEPTS] == AT_ONCE


@inlined
def make_nodes(a, e, w, event):
    """Give every created entry its node, and list the nodes that are complete as candidates."""
    node = np.int64(NONE)
    for place in range(w.counters[Q_CREATED]):
        if place == 0 or a.params[P_AMBIGUOUS] == 0 or not is_same(w.created, place - 1, place):
            node = new_node(w.nodes, w.counters, event, w.created[place, 0], w.created[place, 1])
        w.created[place, 4] = node
        target, having = w.created[place, 2], np.int64(0)
        if a.positions[target, S_HAVING] < a.positions[target, S_HAVING_END]:
            having = satisfied(a, e, w, target, event, np.int64(w.created[place, 3]))
            w.created[place, 5] = having
        if not w.nodes[node, N_STATE] & COMPLETE and accepts(a, e, w, target, having, node):
            w.nodes[node, N_STATE] |= COMPLETE
            if a.params[P_NOT_BEFORE_READS]:
                if is_forestalled(a, e, w, np.int64(w.created[place, 3]), np.int64(w.nodes[node, N_START]), event):
                    continue
            w.candidates[w.counters[Q_CANDIDATES]] = node
            w.counters[Q_CANDIDATES] += 1


@inlined
def join(a, e, w, slot, run, event):
    """A new run: into the list of its position, or among the fresh ones where the next event matters."""
    w.slots[slot, K_LIVE] += 1
    if a.positions[w.runs[run, R_POSITION], S_FRESH]:
        w.runs[run, R_NEXT] = w.slots[slot, K_FRESH]
        w.slots[slot, K_FRESH] = run
    else:
        settle(a, e, w, slot, run, event)


@compiled
def place_endings(a, e, w, slot, source, event, having):
    """Runs that only wait for the nots of an ending, with the registers of the run that came there, where these havings
    hold."""
    node = w.runs[source, R_NODE]
    position = w.runs[source, R_POSITION]
    state = np.int64(WAITS)
    if a.params[P_NOT_BEFORE_READS]:
        if is_forestalled(a, e, w, source, np.int64(w.nodes[node, N_START]), event):
            state |= FORESTALLED
    for index in range(a.positions[position, S_ENDINGS], a.positions[position, S_ENDINGS_END]):
        ending = a.lists[index]
        if a.positions[ending, S_NEEDED] & ~having:
            continue
        run = new_run(w.runs, w.counters)
        w.runs[run, R_NODE] = node
        w.runs[run, R_POSITION] = ending
        w.runs[run, R_OPEN] = state | open_whole(a, e, w, ending, node)
        if len(w.extra) > 1:
            rivals = a.positions[ending, S_RIVALS_END] - a.positions[ending, S_RIVALS]
            w.extra[run, X_RIVALS] = (1 << rivals) - 1
        if a.params[P_REGISTERS] > 0:
            for register in range(w.registers.shape[1]):
                w.registers[run, register] = w.registers[source, register]
        w.nodes[node, N_STATE] += PENDING
        due = ending_due(a, e.time, w.runs, w.nodes, run, True)
        start_timers(a.params, e.ordinal, w.runs, w.extra, w.nodes, w.timers, w.counters, w.slots, slot, run, due)
        join(a, e, w, slot, run, event)


@inlined
def place_created(a, e, w, slot, event, lingers):
    """Let the created runs wait where they stand, unless their start has just been forbidden."""
    for place in range(w.counters[Q_CREATED]):
        run = np.int64(w.created[place, 3])
        if run == NONE:
            continue
        node, target = np.int64(w.created[place, 4]), w.created[place, 2]
        if not lingers and is_forbidden(a, e, w, slot, w.nodes[node, N_START]):
            free_run(w.runs, w.extra, w.counters, run)
            continue
        w.runs[run, R_NODE] = node
        row = a.positions[target]
        if row[S_ENDINGS] < row[S_ENDINGS_END] and not w.nodes[node, N_STATE] & COMPLETE:
            place_endings(a, e, w, slot, run, event, np.int64(w.created[place, 5]))
        is_open = (1 << (row[S_CONTINUATIONS_END] - row[S_CONTINUATIONS])) - 1
        if row[S_HAVING] < row[S_HAVING_END]:
            for number in range(row[S_CONTINUATIONS_END] - row[S_CONTINUATIONS]):
                if a.ways[row[S_CONTINUATIONS] + number, C_NEEDED] & ~np.int64(w.created[place, 5]):
                    is_open &= ~(1 << number)
        if is_open == 0:
            free_run(w.runs, w.extra, w.counters, run)
            continue
        w.runs[run, R_OPEN] = is_open
        if len(w.owner) > 1:
            w.owner[run] = slot
        if len(w.extra) > 1:
            w.extra[run, X_RIVALS] = (1 << (row[S_RIVALS_END] - row[S_RIVALS])) - 1
        if a.params[P_TIMEOUTS]:
            w.nodes[node, N_STATE] += OPEN
            due = earliest_deadline(a, e.time, w.runs, w.nodes, run)
            start_timers(a.params, e.ordinal, w.runs, w.extra, w.nodes, w.timers, w.counters, w.slots, slot, run, due)
        join(a, e, w, slot, run, event)
    w.counters[Q_CREATED] = 0


@inlined
def note_not_before(a, e, w, slot, event):
    """Carry forward, for each not at the start, the last event that satisfies it; of a not that reads variables, the
    last that may, so that each such event leads to the one before."""
    for index in range(a.params[P_NOT_BEFORE]):
        place = K_BEFORE + 2 * index
        e.before[event, 2 * index] = w.slots[slot, place]
        e.before[event, 2 * index + 1] = w.slots[slot, place + 1]
        if e.bits[event, a.not_before[index, F_PAGE]] >> np.uint64(a.not_before[index, F_BIT]) & np.uint64(1):
            predicate = a.not_before[index, F_PREDICATE]
            reads = a.programs[predicate, 0] < a.programs[predicate, 1]
            w.slots[slot, place] = event if reads else e.ordinal[event]
            w.slots[slot, place + 1] = e.time[event]


@compiled
def most_created(a, e, w, slot, event):
    """How many runs an event may create at most: those that it can show itself to, times their branches."""
    touched = np.int64(1)
    run = w.slots[slot, K_FRESH]
    while run != NONE:
        touched += 1
        run = np.int64(w.runs[run, R_NEXT])
    for position in range(1, a.params[P_POSITIONS]):
        if w.lists[slot, L_SIZE * position + L_LENGTH] == 0 or not concerns(a, e, event, position):
            continue
        if a.positions[position, S_INDEX] < 0:
            touched += w.lists[slot, L_SIZE * position + L_LENGTH]
        else:
            bucket = place_in_index(w.buckets, slot, position, e.values[event, a.positions[position, S_INDEX_COLUMN]])
            run = np.int64(w.buckets[bucket])
            while run != NONE:
                touched += 1
                run = np.int64(w.runs[run, R_CHAIN])
    return touched * a.params[P_BRANCH] + 2


@compiled
def fits(a, w, slot, spare):
    """Whether the pool has room for so many new runs, and for all that time may decide before them. `runs.pool` makes
    as much room as is asked for here."""
    live = w.slots[slot, K_LIVE] if a.params[P_TIMED] else np.int64(0)
    w.counters[Q_NEEDED] = spare
    w.counters[Q_NEEDED_WAITING] = live
    if w.counters[Q_USED_RUNS] + spare > w.runs.shape[0] or w.counters[Q_USED_NODES] + spare > w.nodes.shape[0]:
        return False
    if spare + live > w.created.shape[0] or w.counters[Q_MATCHES] + spare + live > w.matches.shape[0]:
        return False
    if a.params[P_TIMED]:
        return (
            w.counters[Q_USED_TIMERS] + 2 * (spare + live) <= w.timers.shape[0]
            and w.counters[Q_TIMEOUTS] + spare + live <= w.timeouts.shape[0]
        )
    return True


@inlined
def has_room(a, e, w, slot, event):
    """Whether the pool has room for whatever one event may create and decide; looked at closely only where it is
    scarce."""
    spare = (w.slots[slot, K_LIVE] + 1) * a.params[P_BRANCH] + 2
    if (
        a.params[P_TIMED] == 0
        and w.counters[Q_USED_RUNS] + spare <= w.runs.shape[0]
        and w.counters[Q_USED_NODES] + spare <= w.nodes.shape[0]
        and spare <= w.created.shape[0]
        and w.counters[Q_MATCHES] + spare <= w.matches.shape[0]
    ):
        return True
    return fits(a, w, slot, most_created(a, e, w, slot, event))


@inlined
def handle(a, e, w, slot, partition, event):
    """One event of one partition. Returns DONE, GROW (nothing has happened yet), or what is wrong."""
    if not has_room(a, e, w, slot, event):
        return GROW
    moment = e.time[event]
    if a.params[P_TIMED]:
        problem = fall_due(a, e, w, slot, partition, moment)
        if problem == DONE:
            problem = moment_decided(a, e, w, slot, partition, moment, e.ordinal[event], False)
        if problem != DONE:
            return problem
    if a.params[P_NOT_BEFORE] > 0:
        note_not_before(a, e, w, slot, event)
    if w.slots[slot, K_LIVE] > 0:
        walk_runs(a, e, w, slot, event)
    if concerns(a, e, event, 0):
        begin_runs(a, e, w, event)
    if w.counters[Q_PROBLEM] != NONE:
        return w.counters[Q_PROBLEM]
    lingers = a.params[P_LINGERS] != 0
    if w.counters[Q_CREATED] > 0:
        if a.params[P_AMBIGUOUS] and w.counters[Q_CREATED] > 1:
            merge_created(w.runs, w.extra, w.created, w.spare, w.counters)
        make_nodes(a, e, w, event)
    if w.counters[Q_CANDIDATES] > 0:
        problem = emit(a, e, w, slot, partition, moment)
        if problem != DONE:
            return problem
        if w.slots[slot, K_FIRST_ALLOWED] > e.ordinal[event] and not lingers and w.slots[slot, K_LIVE] > 0:
            clear(a, w, slot)  # every run there is has started by now
    if w.counters[Q_CREATED] > 0:
        place_created(a, e, w, slot, event, lingers)
        if w.slots[slot, K_LIVE] > a.params[P_MAX_RUNS]:
            for position in range(1, w.lists.shape[1] // L_SIZE):
                sweep(a, e, w, slot, position, event)
            if w.slots[slot, K_LIVE] > a.params[P_MAX_RUNS]:
                return TOO_MANY_RUNS
    if w.counters[Q_PROBLEM] != NONE:  # a not at the start reads variables, or a having, and failed
        return w.counters[Q_PROBLEM]
    if a.params[P_SINCE] and w.slots[slot, K_TIMERS] != NONE:  # rule 17: what is out of time on arrival
        if w.timers[w.slots[slot, K_TIMERS], T_DUE] <= moment:
            return moment_decided(a, e, w, slot, partition, moment, np.int64(NONE), False)
    return DONE
