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
3. An event is handled in steps: what falls due by then; the runs it concerns (`stepping`, `endings`), which leave
   *created* entries; the start of new runs; nodes for what was created (`merging`, `arriving`); the *candidates* for
   matches, in the order of rule 8, through the skip filter; then the new runs join their lists.
4. Order is not kept in the lists but found when it is needed (`buffer.precedes`).
5. Runs that ran out of time or whose start is forbidden are dropped when they are next touched. Only where timeouts are
   asked for or nots stand at the end do timers decide things at their exact moments (`deciding`).

Before an event is touched the kernel makes sure that the pool has room for whatever it may create; otherwise it stops
with GROW and is called again from that event. Functions that take the whole state are inlined into their only caller:
passing so many arrays would cost more than what they do.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.arriving import accepts, open_whole, satisfied
from cepheid.engine.kernel.buffer import free_run, new_node, new_run
from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.deadlines import earliest_deadline, ending_due
from cepheid.engine.kernel.deciding import emit, fall_due, is_forestalled, moment_decided, start_timers
from cepheid.engine.kernel.endings import see_ending
from cepheid.engine.kernel.forbidding import is_forbidden
from cepheid.engine.kernel.layout import *
from cepheid.engine.kernel.lists import clear, is_gone, place_in_index, settle, sweep
from cepheid.engine.kernel.merging import is_same, merge_created
from cepheid.engine.kernel.occupied import is_passed_by, to_be_walked
from cepheid.engine.kernel.stepping import begin_runs, concerns, step
from cepheid.engine.kernel.walking import walker


@inlined
def show_run(a, e, w, slot, run, place, event, is_next):
    """Show an event to a run; one that is fresh joins its list behind it. Returns whether it goes on waiting."""
    if is_gone(a, e, w, slot, w.nodes[w.runs[run, R_NODE], N_START], event):
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
    if stays and is_next:
        settle(a, e, w, slot, run, event)
    return stays


walk_runs = walker(show_run)


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
    first = to_be_walked(a, e, w, slot, event, 0)  # for the walk, too (`occupied`, 4)
    if is_passed_by(a, e, w, slot, event, first):
        return DONE
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
        walk_runs(a, e, w, slot, event, first)
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
                sweep(a, e, w, slot, position, moment, e.ordinal[event])
            if w.slots[slot, K_LIVE] > a.params[P_MAX_RUNS]:
                return TOO_MANY_RUNS
        if w.counters[Q_PROBLEM] != NONE:  # a not at the start reads variables, or a having, and failed
            return w.counters[Q_PROBLEM]
    if a.params[P_SINCE] and w.slots[slot, K_TIMERS] != NONE:  # rule 17: what is out of time on arrival
        if w.timers[w.slots[slot, K_TIMERS], T_DUE] <= moment:
            return moment_decided(a, e, w, slot, partition, moment, np.int64(NONE), False)
    return DONE
