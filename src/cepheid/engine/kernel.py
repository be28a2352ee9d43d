"""The matcher: one kernel for all patterns, over flat arrays.

In: the pattern's tables (`tables`), columns of events (`columns`), the pool of runs and nodes (`pool`). Out: the
nodes of matches and timeouts in the order of their decision. Called by `matcher` only.

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
4. Order is not kept in the lists but found when it is needed: of two nodes with one start, the one that took the
   event at which they part comes first (`precedes`).
5. Runs that ran out of time or whose start is forbidden are dropped when they are next touched. Only where timeouts
   are asked for or nots stand at the end do timers (a pairing heap per partition) decide things at their exact
   moments.

Before an event is touched the kernel makes sure that the pool has room for whatever it may create; otherwise it stops
with GROW and is called again from that event.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.compiling import compiled, inlined
from cepheid.engine.layout import *  # noqa: F403  (columns of records, nothing else)
from cepheid.engine.machine import evaluate, update_registers

# ── pool ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@compiled
def new_run(runs, counters):
    run = counters[Q_FREE_RUN]
    if run != NONE:
        counters[Q_FREE_RUN] = runs[run, R_NEXT]
    else:
        run = counters[Q_USED_RUNS]
        counters[Q_USED_RUNS] = run + 1
    return run


@compiled
def free_run(runs, counters, run):
    runs[run, R_GENERATION] += 1
    runs[run, R_NEXT] = counters[Q_FREE_RUN]
    counters[Q_FREE_RUN] = run


@compiled
def new_node(nodes, counters, event, previous, variable):
    node = counters[Q_USED_NODES]
    counters[Q_USED_NODES] = node + 1
    nodes[node, N_EVENT] = event
    nodes[node, N_PREVIOUS] = previous
    nodes[node, N_VARIABLE] = variable
    nodes[node, N_STATE] = 0
    if previous == NONE:
        nodes[node, N_START] = event
        nodes[node, N_DEPTH] = 1
    else:
        nodes[node, N_START] = nodes[previous, N_START]
        nodes[node, N_DEPTH] = nodes[previous, N_DEPTH] + 1
    return node


@compiled
def precedes(nodes, ordinal, one, other):
    """Whether a node comes before another in the order of rule 8: by start, then taking before passing over, then
    element."""
    first, second = ordinal[nodes[one, N_START]], ordinal[nodes[other, N_START]]
    if first != second:
        return first < second
    longer = nodes[one, N_DEPTH] > nodes[other, N_DEPTH]
    while nodes[one, N_DEPTH] > nodes[other, N_DEPTH]:
        one = nodes[one, N_PREVIOUS]
    while nodes[other, N_DEPTH] > nodes[one, N_DEPTH]:
        other = nodes[other, N_PREVIOUS]
    if one == other:
        return longer
    while nodes[one, N_PREVIOUS] != nodes[other, N_PREVIOUS]:
        one, other = nodes[one, N_PREVIOUS], nodes[other, N_PREVIOUS]
    if nodes[one, N_EVENT] != nodes[other, N_EVENT]:
        return nodes[one, N_EVENT] < nodes[other, N_EVENT]
    return nodes[one, N_VARIABLE] < nodes[other, N_VARIABLE]


@compiled
def sort_nodes(nodes, ordinal, listed, count):
    """Order the first entries of a list of nodes by `precedes` (a merge sort, bottom up)."""
    if count < 2:
        return
    if count == 2:
        if precedes(nodes, ordinal, listed[1], listed[0]):
            listed[0], listed[1] = listed[1], listed[0]
        return
    spare = np.empty(count, listed.dtype)
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                if left < middle and (right >= end or not precedes(nodes, ordinal, listed[right], listed[left])):
                    spare[place] = listed[left]
                    left += 1
                else:
                    spare[place] = listed[right]
                    right += 1
        listed[:count] = spare
        width *= 2


# ── timers: a pairing heap per partition ─────────────────────────────────────────────────────────────────────────────────


@compiled
def melded(timers, one, other):
    if one == NONE:
        return other
    if other == NONE:
        return one
    if timers[other, T_DUE] < timers[one, T_DUE]:
        one, other = other, one
    timers[other, T_SIBLING] = timers[one, T_CHILD]
    timers[one, T_CHILD] = other
    return one


@compiled
def add_timer(timers, counters, slots, slot, root, due, run, generation):
    timer = counters[Q_FREE_TIMER]
    if timer != NONE:
        counters[Q_FREE_TIMER] = timers[timer, T_SIBLING]
    else:
        timer = counters[Q_USED_TIMERS]
        counters[Q_USED_TIMERS] = timer + 1
    timers[timer, T_DUE] = due
    timers[timer, T_RUN] = run
    timers[timer, T_GENERATION] = generation
    timers[timer, T_CHILD] = NONE
    timers[timer, T_SIBLING] = NONE
    slots[slot, root] = melded(timers, slots[slot, root], timer)


@compiled
def pop_timer(timers, counters, slots, slot, root):
    """Remove the earliest timer and return its run, or NONE if the run is gone."""
    timer = slots[slot, root]
    child = timers[timer, T_CHILD]
    paired = NONE
    while child != NONE:  # first pass: meld neighbours, keeping the results in a list
        second = timers[child, T_SIBLING]
        rest = NONE
        if second != NONE:
            rest = timers[second, T_SIBLING]
            timers[second, T_SIBLING] = NONE
        timers[child, T_SIBLING] = NONE
        both = melded(timers, child, second)
        timers[both, T_SIBLING] = paired
        paired = both
        child = rest
    heap = NONE
    while paired != NONE:  # second pass: meld the results
        rest = timers[paired, T_SIBLING]
        timers[paired, T_SIBLING] = NONE
        heap = melded(timers, heap, paired)
        paired = rest
    slots[slot, root] = heap
    timers[timer, T_SIBLING] = counters[Q_FREE_TIMER]
    counters[Q_FREE_TIMER] = timer
    return timer


# ── questions about a run ────────────────────────────────────────────────────────────────────────────────────────────────


@inlined
def holds(a, e, w, predicate, event, run):
    """Whether an event satisfies a predicate, for a run: its own part is a bit, what reads variables is a program."""
    if not (e.bits[event, predicate >> 6] >> np.uint64(predicate & 63)) & np.uint64(1):
        return False
    if a.programs[predicate, 0] == a.programs[predicate, 1]:
        return True
    return evaluate(a, e, w, a.programs[predicate, 0], a.programs[predicate, 1], event, run)


@inlined
def any_holds(a, e, w, begin, end, event, run):
    for index in range(begin, end):
        if holds(a, e, w, a.lists[index], event, run):
            return True
    return False


@inlined
def elapsed(time, later, earlier):
    """The time between two events; unsigned, so that no two times are too far apart."""
    return np.uint64(time[later]) - np.uint64(time[earlier])


@inlined
def is_forbidden(a, e, w, slot, start):
    if e.ordinal[start] < w.slots[slot, K_FIRST_ALLOWED]:
        return True
    return a.params[P_SKIP] == TO_NEXT and e.forbidden[start] != 0


@inlined
def is_gone(a, e, w, slot, start, event):
    """Whether a run with this start can be dropped: forbidden, or out of its window where no timer looks after that."""
    if is_forbidden(a, e, w, slot, start):
        # What times out at the very moment that forbade it still counts (rule 9); only count windows can tell.
        if a.params[P_TIMEOUTS] and a.params[P_COUNT] != NEVER and w.slots[slot, K_FORBIDDEN_AT] == e.time[event]:
            return False
        return True
    if a.params[P_TIMEOUTS]:
        return False
    if elapsed(e.time, event, start) >= np.uint64(a.params[P_WITHIN]):
        return True
    return a.params[P_COUNT] != NEVER and e.ordinal[event] - e.ordinal[start] >= a.params[P_COUNT]


@inlined
def later_by(moment, length):
    """A moment plus a length, NEVER where that is beyond all times."""
    if length == NEVER or moment > NEVER - length:
        return NEVER
    return moment + length


@inlined
def earliest_deadline(a, e, w, run):
    """When the first open continuation of a run runs out of time."""
    node = w.runs[run, R_NODE]
    position = w.runs[run, R_POSITION]
    window = later_by(e.time[w.nodes[node, N_START]], a.params[P_WITHIN])
    due = NEVER
    first = a.positions[position, S_CONTINUATIONS]
    for index in range(first, a.positions[position, S_CONTINUATIONS_END]):
        if (w.alive[run] >> np.uint64(index - first)) & np.uint64(1):
            due = min(due, min(window, later_by(e.time[w.nodes[node, N_EVENT]], a.continuations[index, C_GAP])))
    return due


@inlined
def guarded_until(a, e, w, guard, node):
    """When a not at the end stops guarding (rule 7)."""
    window = later_by(e.time[w.nodes[node, N_START]], a.params[P_WITHIN])
    return min(window, later_by(e.time[w.nodes[node, N_EVENT]], a.guards[guard, G_WINDOW]))


# ── one run and one event ────────────────────────────────────────────────────────────────────────────────────────────────


@inlined
def create(a, e, w, slot, event, parent_run, parent_node, variable, target):
    """Note that a run took the event. Its registers are computed now, while the parent's are still there."""
    run = NONE
    has_continuations = a.positions[target, S_CONTINUATIONS] < a.positions[target, S_CONTINUATIONS_END]
    if (
        has_continuations
        or a.positions[target, S_ENDINGS] < a.positions[target, S_ENDINGS_END]
        or a.params[P_REGISTERS] > 0
    ):
        run = new_run(w.runs, w.counters)
        w.runs[run, R_POSITION] = target
        if a.params[P_REGISTERS] > 0:
            update_registers(a, e, w, parent_run, run, variable, event)
    count = w.counters[Q_CREATED]
    w.created[count, 0] = parent_node
    w.created[count, 1] = variable
    w.created[count, 2] = target
    w.created[count, 3] = run
    w.counters[Q_CREATED] = count + 1


@compiled
def step(a, e, w, slot, run, event, is_next):
    """Show an event to a run that waits at a position. Returns which continuations and rivals are left."""
    position = w.runs[run, R_POSITION]
    node = w.runs[run, R_NODE]
    alive = w.alive[run]
    first = a.positions[position, S_CONTINUATIONS]
    takers = np.uint64(0)
    if a.positions[position, S_RIVALS] < a.positions[position, S_RIVALS_END]:
        for index in range(a.positions[position, S_RIVALS], a.positions[position, S_RIVALS_END]):
            number = index - a.positions[position, S_RIVALS]
            bit = np.uint64(1) << np.uint64(32 + number)
            if not alive & bit:
                continue
            if any_holds(a, e, w, a.rivals[index, C_OVER], a.rivals[index, C_OVER_END], event, run):
                alive &= ~bit
                continue
            satisfied = holds(a, e, w, a.rivals[index, C_PREDICATE], event, run)
            in_time = elapsed(e.time, event, w.nodes[node, N_EVENT]) < np.uint64(a.rivals[index, C_GAP])
            if satisfied and in_time:
                if not any_holds(a, e, w, a.rivals[index, C_REFUSED], a.rivals[index, C_REFUSED_END], event, run):
                    takers |= np.uint64(1) << np.uint64(number)
            if a.rivals[index, C_KIND] == STRICT or (satisfied and a.rivals[index, C_KIND] == RELAXED):
                alive &= ~bit
    for index in range(first, a.positions[position, S_CONTINUATIONS_END]):
        bit = np.uint64(1) << np.uint64(index - first)
        if not alive & bit:
            continue
        c = a.continuations[index]
        if is_next and any_holds(a, e, w, c[C_NOT_NEXT], c[C_NOT_NEXT_END], event, run):
            alive &= ~bit
            continue
        if any_holds(a, e, w, c[C_OVER], c[C_OVER_END], event, run):
            alive &= ~bit
            continue
        if takers & np.uint64(c[C_RIVALS]):
            alive &= ~bit
            continue
        if c[C_GAP] != NEVER and elapsed(e.time, event, w.nodes[node, N_EVENT]) >= np.uint64(c[C_GAP]):
            alive &= ~bit
            continue
        satisfied = holds(a, e, w, c[C_PREDICATE], event, run)
        if satisfied and not any_holds(a, e, w, c[C_REFUSED], c[C_REFUSED_END], event, run):
            create(a, e, w, slot, event, run, node, c[C_VARIABLE], c[C_TARGET])
        if c[C_KIND] == STRICT or (satisfied and c[C_KIND] == RELAXED):
            alive &= ~bit
        elif any_holds(a, e, w, c[C_NOT_FOLLOWED], c[C_NOT_FOLLOWED_END], event, run):
            alive &= ~bit
    return alive


OPEN_BITS = np.uint64(0xFFFFFFFF)


@compiled
def see_ending(a, e, w, run, event, is_next):
    """Show an event to a run that only waits for nots at the end. 0: it still waits; 1: violated; 2: decided, it is
    complete."""
    ending = w.runs[run, R_POSITION]
    node = w.runs[run, R_NODE]
    waits = False
    for guard in range(a.positions[ending, S_CONTINUATIONS], a.positions[ending, S_CONTINUATIONS_END]):
        is_not_next = a.guards[guard, G_KIND] == NOT_NEXT
        if is_not_next and not is_next:
            continue
        if guarded_until(a, e, w, guard, node) <= e.time[event]:
            continue
        if holds(a, e, w, a.guards[guard, G_PREDICATE], event, run):
            return 1
        waits = waits or not is_not_next
    return 0 if waits else 2


@inlined
def ending_due(a, e, w, run, is_next):
    """When the last not of an ending stops guarding; a not_next only counts until the next event."""
    ending = w.runs[run, R_POSITION]
    due = -NEVER
    for guard in range(a.positions[ending, S_CONTINUATIONS], a.positions[ending, S_CONTINUATIONS_END]):
        if is_next or a.guards[guard, G_KIND] == NOT_FOLLOWED:
            due = max(due, guarded_until(a, e, w, guard, w.runs[run, R_NODE]))
    return due


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@inlined
def drop_run(w, slot, run):
    free_run(w.runs, w.counters, run)
    w.slots[slot, K_LIVE] -= 1


@compiled
def close_place(a, w, run):
    """A place of a node is closed by taking or losing. Only timeouts want to know how many are left."""
    if a.params[P_TIMEOUTS]:
        w.nodes[w.runs[run, R_NODE], N_STATE] -= OPEN


@compiled
def is_dominated(a, e, w, slot, run):
    """Whether a run can be left out, or takes the place of others (see the module `dominance`)."""
    position = w.runs[run, R_POSITION]
    node = w.runs[run, R_NODE]
    registers = a.params[P_REGISTERS]
    previous = NONE
    other = w.heads[slot, position]
    steps = 0
    while other != NONE and steps < 8:
        following = w.runs[other, R_NEXT]
        other_node = w.runs[other, R_NODE]
        comparable = (
            a.params[P_DOMINANCE] == DOMINANCE_OVERALL or w.nodes[other_node, N_START] == w.nodes[node, N_START]
        )
        if comparable and a.positions[position, S_GAP]:
            comparable = e.time[w.nodes[other_node, N_EVENT]] == e.time[w.nodes[node, N_EVENT]]
        if comparable and registers > 0:
            comparable = w.valid[other] == w.valid[run]
            for register in range(registers):
                if not comparable:
                    break
                comparable = w.registers[other, register] == w.registers[run, register]
        if comparable:
            if precedes(w.nodes, e.ordinal, other_node, node):
                if w.alive[run] & ~w.alive[other] == 0:
                    return True
            elif w.alive[other] & ~w.alive[run] == 0:
                if previous == NONE:
                    w.heads[slot, position] = following
                else:
                    w.runs[previous, R_NEXT] = following
                w.lengths[slot, position] -= 1
                drop_run(w, slot, other)
                other = following
                continue
        previous = other
        other = following
        steps += 1
    return False


@compiled
def settle(a, e, w, slot, run, event):
    """Put a run into the list of its position."""
    position = w.runs[run, R_POSITION]
    if a.params[P_DOMINANCE] != DOMINANCE_OFF and position < a.params[P_POSITIONS]:
        if w.heads[slot, position] != NONE and is_dominated(a, e, w, slot, run):
            drop_run(w, slot, run)
            return
    if w.lengths[slot, position] > 2 * w.swept[slot, position] + 64:
        sweep(a, e, w, slot, position, event)
    w.runs[run, R_NEXT] = w.heads[slot, position]
    w.heads[slot, position] = run
    w.lengths[slot, position] += 1


@compiled
def sweep(a, e, w, slot, position, event):
    """Drop the runs of a list that are over. Done whenever a list has doubled, so that it costs little per run."""
    previous = NONE
    run = w.heads[slot, position]
    is_ending = position >= a.params[P_POSITIONS]
    while run != NONE:
        following = w.runs[run, R_NEXT]
        is_over = w.alive[run] != 0 if is_ending else w.alive[run] & OPEN_BITS == 0
        if is_over or is_gone(a, e, w, slot, w.nodes[w.runs[run, R_NODE], N_START], event):
            w.lengths[slot, position] -= 1
            drop_run(w, slot, run)
            if previous == NONE:
                w.heads[slot, position] = following
            else:
                w.runs[previous, R_NEXT] = following
        else:
            previous = run
        run = following
    w.swept[slot, position] = w.lengths[slot, position]


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
def clear(a, w, slot):
    """Drop all runs of a partition."""
    for position in range(w.heads.shape[1]):
        run = w.heads[slot, position]
        while run != NONE:
            following = w.runs[run, R_NEXT]
            free_run(w.runs, w.counters, run)
            run = following
        w.heads[slot, position] = NONE
        w.lengths[slot, position] = 0
        w.swept[slot, position] = 0
    run = w.slots[slot, K_FRESH]
    while run != NONE:
        following = w.runs[run, R_NEXT]
        free_run(w.runs, w.counters, run)
        run = following
    w.slots[slot, K_FRESH] = NONE
    w.slots[slot, K_LIVE] = 0


# ── from what was created to nodes, matches and waiting runs ─────────────────────────────────────────────────────────────


@compiled
def merge_created(w):
    """Bring together what the same partial match became by the same variable, and drop equal targets."""
    count = w.counters[Q_CREATED]
    keys = np.empty(count, np.int64)
    for place in range(count):
        parent, variable, target = w.created[place, 0], w.created[place, 1], w.created[place, 2]
        keys[place] = ((np.int64(parent) + 1) << 30) | (np.int64(variable) << 15) | np.int64(target)
    order = np.argsort(keys)
    sorted_entries = w.created[:count][order]
    w.created[:count] = sorted_entries
    kept = 0
    for place in range(count):
        same = kept > 0
        for column in range(3):
            same = same and w.created[place, column] == w.created[kept - 1, column]
        if same:
            if w.created[place, 3] != NONE:
                free_run(w.runs, w.counters, w.created[place, 3])
            continue
        for column in range(4):
            w.created[kept, column] = w.created[place, column]
        kept += 1
    w.counters[Q_CREATED] = kept


@compiled
def make_nodes(a, e, w, event):
    """Give every created entry its node, and list the nodes that are complete as candidates."""
    if a.params[P_AMBIGUOUS] and w.counters[Q_CREATED] > 1:
        merge_created(w)
    node = NONE
    for place in range(w.counters[Q_CREATED]):
        parent, variable, target = w.created[place, 0], w.created[place, 1], w.created[place, 2]
        is_same = (
            place > 0
            and a.params[P_AMBIGUOUS]
            and w.created[place - 1, 0] == parent
            and w.created[place - 1, 1] == variable
        )
        if not is_same:
            node = new_node(w.nodes, w.counters, event, parent, variable)
        w.node_of_created[place] = node
        if a.positions[target, S_ACCEPTS] and not w.nodes[node, N_STATE] & COMPLETE:
            w.nodes[node, N_STATE] |= COMPLETE
            w.candidates[w.counters[Q_CANDIDATES]] = node
            w.counters[Q_CANDIDATES] += 1


@compiled
def place_created(a, e, w, slot, event):
    """Let the created runs wait where they stand, unless their start has just been forbidden."""
    for place in range(w.counters[Q_CREATED]):
        run, node, target = w.created[place, 3], w.node_of_created[place], w.created[place, 2]
        if run == NONE:
            continue
        if is_forbidden(a, e, w, slot, w.nodes[node, N_START]) and not (
            a.params[P_TIMEOUTS] and a.params[P_COUNT] != NEVER
        ):
            free_run(w.runs, w.counters, run)
            continue
        w.runs[run, R_NODE] = node
        if not w.nodes[node, N_STATE] & COMPLETE:
            for ending in range(a.positions[target, S_ENDINGS], a.positions[target, S_ENDINGS_END]):
                place_ending(a, e, w, slot, run, a.lists[ending], event)
        first, end = a.positions[target, S_CONTINUATIONS], a.positions[target, S_CONTINUATIONS_END]
        if first == end:
            free_run(w.runs, w.counters, run)
            continue
        rivals = a.positions[target, S_RIVALS_END] - a.positions[target, S_RIVALS]
        w.alive[run] = ((np.uint64(1) << np.uint64(end - first)) - np.uint64(1)) | (
            ((np.uint64(1) << np.uint64(rivals)) - np.uint64(1)) << np.uint64(32)
        )
        if a.params[P_TIMEOUTS]:
            w.nodes[node, N_STATE] += OPEN
            start_timers(a, e, w, slot, run, earliest_deadline(a, e, w, run))
        join(a, e, w, slot, run, event)
    w.counters[Q_CREATED] = 0


@compiled
def start_timers(a, e, w, slot, run, due):
    if due != NEVER:
        add_timer(w.timers, w.counters, w.slots, slot, K_TIMERS, due, run, w.runs[run, R_GENERATION])
    if a.params[P_COUNT] != NEVER:
        last = e.ordinal[w.nodes[w.runs[run, R_NODE], N_START]] + a.params[P_COUNT]
        add_timer(w.timers, w.counters, w.slots, slot, K_COUNT_TIMERS, last, run, w.runs[run, R_GENERATION])


@compiled
def place_ending(a, e, w, slot, source, ending, event):
    """A run that only waits for the nots of an ending, with the registers of the run that came there."""
    run = new_run(w.runs, w.counters)
    w.runs[run, R_NODE] = w.runs[source, R_NODE]
    w.runs[run, R_POSITION] = ending
    w.alive[run] = np.uint64(0)
    for register in range(a.params[P_REGISTERS]):
        w.registers[run, register] = w.registers[source, register]
    if a.params[P_REGISTERS] > 0:
        w.valid[run] = w.valid[source]
    w.nodes[w.runs[run, R_NODE], N_STATE] += PENDING
    start_timers(a, e, w, slot, run, ending_due(a, e, w, run, True))
    join(a, e, w, slot, run, event)


# ── what goes out ────────────────────────────────────────────────────────────────────────────────────────────────────────


@compiled
def happened_before(a, e, w, node):
    """Whether a not at the start is violated: `before` holds, for each event, the last one before it that satisfies
    the not."""
    start, last = w.nodes[node, N_START], w.nodes[node, N_EVENT]
    for index in range(a.params[P_NOT_BEFORE]):
        ordinal = e.before_ordinal[start, index]
        if ordinal == NONE:
            continue
        if a.params[P_COUNT] != NEVER:
            if e.ordinal[last] - ordinal < a.params[P_COUNT]:
                return True
        elif np.uint64(e.time[last]) - np.uint64(e.before_time[start, index]) < np.uint64(a.params[P_WITHIN]):
            return True
    return False


@compiled
def forbid(a, e, w, slot, node):
    """Apply the skip strategy to an emitted match (rule 8). Returns DONE or what is wrong."""
    kind = a.params[P_SKIP]
    start = w.nodes[node, N_START]
    if kind == NO_SKIP:
        return DONE
    if kind == TO_NEXT:
        e.forbidden[start] = 1
        return DONE
    allowed = np.int64(NONE)
    if kind == PAST_LAST:
        allowed = e.ordinal[w.nodes[node, N_EVENT]] + 1
    else:
        found = NONE
        link = node
        while link != NONE:
            if w.nodes[link, N_VARIABLE] == a.params[P_SKIP_VARIABLE]:
                found = w.nodes[link, N_EVENT]
                if kind == TO_LAST:
                    break
            link = w.nodes[link, N_PREVIOUS]
        if found == NONE:
            return SKIP_TARGET_MISSING if a.params[P_OR_FAIL] else DONE
        if found == start and a.params[P_OR_FAIL]:
            return SKIP_TO_START
        allowed = e.ordinal[found]
    w.slots[slot, K_FIRST_ALLOWED] = max(w.slots[slot, K_FIRST_ALLOWED], allowed)
    return DONE


@compiled
def emit(a, e, w, slot, partition, moment):
    """The candidates of one moment, in order, through the skip filter. Returns DONE or what is wrong."""
    count = w.counters[Q_CANDIDATES]
    if count == 0:
        return DONE
    w.counters[Q_CANDIDATES] = 0
    sort_nodes(w.nodes, e.ordinal, w.candidates, count)
    emitted = 0
    for place in range(count):
        node = w.candidates[place]
        if is_forbidden(a, e, w, slot, w.nodes[node, N_START]):
            continue
        if a.params[P_NOT_BEFORE] > 0 and happened_before(a, e, w, node):
            continue
        emitted += 1
        if emitted > a.params[P_MAX_MATCHES]:
            w.counters[Q_PROBLEM_VALUE] = count
            return TOO_MANY_MATCHES
        out = w.counters[Q_MATCHES]
        w.matches[out, 0] = node
        w.matches[out, 1] = moment
        w.matches[out, 2] = partition
        w.counters[Q_MATCHES] = out + 1
        problem = forbid(a, e, w, slot, node)
        if problem != DONE:
            return problem
    if emitted > 0 and a.params[P_SKIP] != NO_SKIP:
        w.slots[slot, K_FORBIDDEN_AT] = moment
    return DONE


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@compiled
def moment_decided(a, e, w, slot, partition, moment, ordinal, is_end):
    """Decide everything that falls due at one moment: timeouts first, then matches. Returns DONE or what is wrong."""
    due = 0
    while w.slots[slot, K_TIMERS] != NONE and w.timers[w.slots[slot, K_TIMERS], T_DUE] <= moment:
        timer = pop_timer(w.timers, w.counters, w.slots, slot, K_TIMERS)
        if w.runs[w.timers[timer, T_RUN], R_GENERATION] == w.timers[timer, T_GENERATION]:
            w.due[due] = w.timers[timer, T_RUN]
            w.window_ended[due] = 0
            due += 1
    while w.slots[slot, K_COUNT_TIMERS] != NONE and (
        is_end or w.timers[w.slots[slot, K_COUNT_TIMERS], T_DUE] <= ordinal
    ):
        timer = pop_timer(w.timers, w.counters, w.slots, slot, K_COUNT_TIMERS)
        if w.runs[w.timers[timer, T_RUN], R_GENERATION] == w.timers[timer, T_GENERATION]:
            w.due[due] = w.timers[timer, T_RUN]
            w.window_ended[due] = 1
            due += 1
    reports = 0
    for place in range(due):
        run = w.due[place]
        position = w.runs[run, R_POSITION]
        if position >= a.params[P_POSITIONS] or w.alive[run] & OPEN_BITS == 0:
            continue
        node = w.runs[run, R_NODE]
        start = w.nodes[node, N_START]
        if is_forbidden(a, e, w, slot, start) and w.slots[slot, K_FORBIDDEN_AT] < moment:
            continue
        first = a.positions[position, S_CONTINUATIONS]
        window = later_by(e.time[start], a.params[P_WITHIN])
        for index in range(first, a.positions[position, S_CONTINUATIONS_END]):
            deadline = min(window, later_by(e.time[w.nodes[node, N_EVENT]], a.continuations[index, C_GAP]))
            if w.window_ended[place] or deadline <= moment:
                w.alive[run] &= ~(np.uint64(1) << np.uint64(index - first))
        if w.alive[run] & OPEN_BITS == 0:
            w.nodes[node, N_STATE] -= OPEN
            if w.nodes[node, N_STATE] == 0:  # neither complete nor pending, and no other place is open
                w.candidates[reports] = node
                reports += 1
        else:
            following = earliest_deadline(a, e, w, run)
            if following != NEVER:
                add_timer(w.timers, w.counters, w.slots, slot, K_TIMERS, following, run, w.runs[run, R_GENERATION])
    sort_nodes(w.nodes, e.ordinal, w.candidates, reports)
    for place in range(reports):
        out = w.counters[Q_TIMEOUTS]
        w.timeouts[out, 0] = w.candidates[place]
        w.timeouts[out, 1] = moment
        w.timeouts[out, 2] = partition
        w.counters[Q_TIMEOUTS] = out + 1
    w.counters[Q_CANDIDATES] = 0
    for place in range(due):
        run = w.due[place]
        if w.runs[run, R_POSITION] >= a.params[P_POSITIONS] and w.alive[run] == 0:
            decide_ending(w, run)
    if is_end:  # a not_next that would wait for an event without end
        run = w.slots[slot, K_FRESH]
        while run != NONE:
            if w.runs[run, R_POSITION] >= a.params[P_POSITIONS] and w.alive[run] == 0:
                if ending_due(a, e, w, run, True) == NEVER:
                    decide_ending(w, run)
            run = w.runs[run, R_NEXT]
    return emit(a, e, w, slot, partition, moment)


@compiled
def decide_ending(w, run):
    """An ending's nots have run their time: its node is complete. The run is taken out of its list when that is
    walked next."""
    node = w.runs[run, R_NODE]
    w.alive[run] = np.uint64(1)
    w.nodes[node, N_STATE] -= PENDING
    if not w.nodes[node, N_STATE] & COMPLETE:
        w.nodes[node, N_STATE] |= COMPLETE
        w.candidates[w.counters[Q_CANDIDATES]] = node
        w.counters[Q_CANDIDATES] += 1


@compiled
def fall_due(a, e, w, slot, partition, moment, including):
    """Decide, moment by moment, what falls due before a moment (or at it, too). Returns DONE or what is wrong."""
    while w.slots[slot, K_TIMERS] != NONE:
        due = w.timers[w.slots[slot, K_TIMERS], T_DUE]
        if due > moment or (due == moment and not including):
            break
        problem = moment_decided(a, e, w, slot, partition, due, NONE, False)
        if problem != DONE:
            return problem
    return DONE


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@inlined
def concerns(a, e, position, event):
    """Whether an event satisfies any predicate that runs at a position look at."""
    for word in range(e.bits.shape[1]):
        if e.bits[event, word] & a.interest[position, word]:
            return True
    return False


@compiled
def room_needed(a, e, w, slot, event):
    """How many runs an event may create at most."""
    needed = a.params[P_START_BRANCH]
    run = w.slots[slot, K_FRESH]
    while run != NONE:
        needed += a.positions[w.runs[run, R_POSITION], S_BRANCH]
        run = w.runs[run, R_NEXT]
    for position in range(1, a.params[P_POSITIONS]):
        if w.lengths[slot, position] > 0 and concerns(a, e, position, event):
            needed += w.lengths[slot, position] * a.positions[position, S_BRANCH]
    return needed


@compiled
def walk_fresh(a, e, w, slot, event):
    """The event right behind the last taken one decides strict links and not_next; what is left joins its list."""
    run = w.slots[slot, K_FRESH]
    w.slots[slot, K_FRESH] = NONE
    while run != NONE:
        following = w.runs[run, R_NEXT]
        node = w.runs[run, R_NODE]
        if is_gone(a, e, w, slot, w.nodes[node, N_START], event):
            drop_run(w, slot, run)
        elif w.runs[run, R_POSITION] >= a.params[P_POSITIONS]:
            show_ending(a, e, w, slot, run, event, True)
        elif w.alive[run] & OPEN_BITS == 0:
            drop_run(w, slot, run)
        else:
            w.alive[run] = step(a, e, w, slot, run, event, True)
            if w.alive[run] & OPEN_BITS == 0:
                close_place(a, w, run)
                drop_run(w, slot, run)
            else:
                settle(a, e, w, slot, run, event)
        run = following


@compiled
def show_ending(a, e, w, slot, run, event, is_next):
    """An ending run and an event; a fresh one that still waits joins its list."""
    node = w.runs[run, R_NODE]
    if w.alive[run] != 0 or w.nodes[node, N_STATE] & COMPLETE:
        if w.alive[run] == 0:
            w.nodes[node, N_STATE] -= PENDING
        drop_run(w, slot, run)
        return False
    outcome = see_ending(a, e, w, run, event, is_next)
    if outcome == 0:
        if is_next:
            due = ending_due(a, e, w, run, False)
            if due != NEVER:
                add_timer(w.timers, w.counters, w.slots, slot, K_TIMERS, due, run, w.runs[run, R_GENERATION])
            settle(a, e, w, slot, run, event)
        return True
    if outcome == 2:
        decide_ending(w, run)
    else:
        w.nodes[node, N_STATE] -= PENDING
    drop_run(w, slot, run)
    return False


@compiled
def walk_list(a, e, w, slot, position, event):
    """Show an event to all runs that wait at a position."""
    previous = NONE
    run = w.heads[slot, position]
    is_ending = position >= a.params[P_POSITIONS]
    while run != NONE:
        following = w.runs[run, R_NEXT]
        node = w.runs[run, R_NODE]
        if is_gone(a, e, w, slot, w.nodes[node, N_START], event):
            stays = False
            drop_run(w, slot, run)
        elif is_ending:
            stays = show_ending(a, e, w, slot, run, event, False)
        elif w.alive[run] & OPEN_BITS == 0:
            stays = False
            drop_run(w, slot, run)
        else:
            w.alive[run] = step(a, e, w, slot, run, event, False)
            stays = w.alive[run] & OPEN_BITS != 0
            if not stays:
                close_place(a, w, run)
                drop_run(w, slot, run)
        if stays:
            previous = run
        else:
            w.lengths[slot, position] -= 1
            if previous == NONE:
                w.heads[slot, position] = following
            else:
                w.runs[previous, R_NEXT] = following
        run = following


@compiled
def begin_runs(a, e, w, slot, event):
    """The runs that start at an event (rule 1); run 0 holds the registers of a run that has taken nothing."""
    for index in range(a.positions[0, S_CONTINUATIONS], a.positions[0, S_CONTINUATIONS_END]):
        c = a.continuations[index]
        if holds(a, e, w, c[C_PREDICATE], event, 0):
            if not any_holds(a, e, w, c[C_REFUSED], c[C_REFUSED_END], event, 0):
                create(a, e, w, slot, event, 0, NONE, c[C_VARIABLE], c[C_TARGET])


@compiled
def note_not_before(a, e, w, slot, event):
    """Carry forward, for each not at the start, the last event that satisfies it."""
    for index in range(a.params[P_NOT_BEFORE]):
        predicate = a.not_before[index]
        e.before_ordinal[event, index] = w.before[slot, 2 * index]
        e.before_time[event, index] = w.before[slot, 2 * index + 1]
        if holds(a, e, w, predicate, event, 0):
            w.before[slot, 2 * index] = e.ordinal[event]
            w.before[slot, 2 * index + 1] = e.time[event]


@compiled
def handle(a, e, w, slot, partition, event):
    """One event of one partition. Returns DONE, GROW (nothing has happened yet), or what is wrong."""
    needed = room_needed(a, e, w, slot, event)
    spare = needed * a.params[P_ENDINGS] + needed + 2
    live = w.slots[slot, K_LIVE]
    if (
        w.counters[Q_USED_RUNS] + spare > w.runs.shape[0]
        or w.counters[Q_USED_NODES] + spare > w.nodes.shape[0]
        or spare + live > w.created.shape[0]
        or w.counters[Q_MATCHES] + spare + live > w.matches.shape[0]
        or (a.params[P_TIMED] and w.counters[Q_USED_TIMERS] + 2 * (spare + live) > w.timers.shape[0])
        or (a.params[P_TIMED] and w.counters[Q_TIMEOUTS] + live + 2 > w.timeouts.shape[0])
    ):
        return GROW
    moment = e.time[event]
    ordinal = e.ordinal[event]
    if a.params[P_TIMED]:
        problem = fall_due(a, e, w, slot, partition, moment, False)
        if problem == DONE:
            problem = moment_decided(a, e, w, slot, partition, moment, ordinal, False)
        if problem != DONE:
            return problem
    if a.params[P_NOT_BEFORE] > 0:
        note_not_before(a, e, w, slot, event)
    if w.slots[slot, K_FRESH] != NONE:
        walk_fresh(a, e, w, slot, event)
    if w.slots[slot, K_LIVE] > 0:
        for position in range(1, w.heads.shape[1]):
            if w.heads[slot, position] != NONE and concerns(a, e, position, event):
                walk_list(a, e, w, slot, position, event)
    if concerns(a, e, 0, event):
        begin_runs(a, e, w, slot, event)
    if w.counters[Q_PROBLEM] != NONE:
        return w.counters[Q_PROBLEM]
    if w.counters[Q_CREATED] > 0:
        make_nodes(a, e, w, event)
    if w.counters[Q_CANDIDATES] > 0:
        problem = emit(a, e, w, slot, partition, moment)
        if problem != DONE:
            return problem
        if w.slots[slot, K_FIRST_ALLOWED] > ordinal and not (a.params[P_TIMEOUTS] and a.params[P_COUNT] != NEVER):
            clear(a, w, slot)  # every run there is has started by now
    if w.counters[Q_CREATED] > 0:
        place_created(a, e, w, slot, event)
    if w.slots[slot, K_LIVE] > a.params[P_MAX_RUNS]:
        for position in range(1, w.heads.shape[1]):
            sweep(a, e, w, slot, position, event)
        if w.slots[slot, K_LIVE] > a.params[P_MAX_RUNS]:
            return TOO_MANY_RUNS
    return DONE


@compiled
def end_partition(a, e, w, slot, partition, last_event):
    """The end of the input: what waits for a next event is decided, then time moves to infinity (rule 10)."""
    live = w.slots[slot, K_LIVE]
    if a.params[P_TIMED] and (
        w.counters[Q_MATCHES] + live + 2 > w.matches.shape[0] or w.counters[Q_TIMEOUTS] + live + 2 > w.timeouts.shape[0]
    ):
        return GROW
    if a.params[P_TIMED]:
        problem = moment_decided(a, e, w, slot, partition, e.time[last_event], NEVER, True)
        if problem == DONE:
            problem = fall_due(a, e, w, slot, partition, NEVER, False)
        if problem != DONE:
            return problem
        w.slots[slot, K_TIMERS] = NONE
        w.slots[slot, K_COUNT_TIMERS] = NONE
    clear(a, w, slot)
    return DONE


@compiled
def match_sorted(a, e, w, bounds, progress):
    """Match whole partitions one after the other, each to its end. `progress`: the partition and event to go on
    with."""
    slot = 0
    while progress[0] < len(bounds) - 1:
        begin, end = bounds[progress[0]], bounds[progress[0] + 1]
        if progress[1] == begin:
            reset_slot(w, slot)
        for event in range(progress[1], end):
            e.ordinal[event] = event - begin
            status = handle(a, e, w, slot, progress[0], event)
            if status != DONE:
                progress[1] = event
                return status
        progress[1] = end
        status = end_partition(a, e, w, slot, progress[0], end - 1)
        if status != DONE:
            return status
        progress[0] += 1
    return DONE


@compiled
def reset_slot(w, slot):
    w.slots[slot, K_FRESH] = NONE
    w.slots[slot, K_LIVE] = 0
    w.slots[slot, K_FIRST_ALLOWED] = 0
    w.slots[slot, K_ORDINAL] = 0
    w.slots[slot, K_FORBIDDEN_AT] = -NEVER
    w.slots[slot, K_TIMERS] = NONE
    w.slots[slot, K_COUNT_TIMERS] = NONE
    w.before[slot, :] = NONE


# ── between calls ────────────────────────────────────────────────────────────────────────────────────────────────────────


@compiled
def extract(nodes, listed, ends):
    """The variables and events of the listed nodes, each from its first event on; `ends` says where each one's entries end."""
    total = ends[-1] if len(ends) else 0
    variables = np.empty(total, np.int64)
    events = np.empty(total, np.int64)
    for index in range(len(listed)):
        node = np.int32(listed[index])
        place = ends[index] - 1
        while node != NONE:
            variables[place] = nodes[node, N_VARIABLE]
            events[place] = nodes[node, N_EVENT]
            node = nodes[node, N_PREVIOUS]
            place -= 1
    return variables, events


@compiled
def collect(w):
    """Drop the nodes that no run reaches. A node stands behind its predecessor, so one pass moves them all."""
    used = w.counters[Q_USED_NODES]
    place_of = np.full(used, NONE, np.int32)
    for slot in range(w.heads.shape[0]):
        for position in range(-1, w.heads.shape[1]):
            run = w.slots[slot, K_FRESH] if position < 0 else w.heads[slot, position]
            while run != NONE:
                node = w.runs[run, R_NODE]
                while node != NONE and place_of[node] == NONE:
                    place_of[node] = 0
                    node = w.nodes[node, N_PREVIOUS]
                run = w.runs[run, R_NEXT]
    kept = 0
    for node in range(used):
        if place_of[node] == NONE:
            continue
        place_of[node] = kept
        for column in range(N_SIZE):
            w.nodes[kept, column] = w.nodes[node, column]
        if w.nodes[kept, N_PREVIOUS] != NONE:
            w.nodes[kept, N_PREVIOUS] = place_of[w.nodes[kept, N_PREVIOUS]]
        kept += 1
    for slot in range(w.heads.shape[0]):
        for position in range(-1, w.heads.shape[1]):
            run = w.slots[slot, K_FRESH] if position < 0 else w.heads[slot, position]
            while run != NONE:
                w.runs[run, R_NODE] = place_of[w.runs[run, R_NODE]]
                run = w.runs[run, R_NEXT]
    w.counters[Q_USED_NODES] = kept
