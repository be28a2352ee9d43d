"""The matcher of row patterns: depth first over instructions, preferred ways first, without recursion.

In: instructions, which labels each row may have, values that conditions read, the bounds of partitions. Out: matches
as arrays, in the order of the scan, and which rows begin none.

A search that comes to an instruction and row a second time need not go on there, if all that later tests read is as it
was: the first time it failed, or the search would have ended. What must be the same is the tables' choice (`P_MEMORY`):
- BY_ROW: tests read the row and its neighbours alone. Then what failed fails whatever row the match begins at, and is
  remembered for the partition; only the ways of matches that were found are forgotten, since these did not fail.
- BY_ROW_OF_START: tests also read where the match begins. Then it is remembered for one start.
- BY_STATE: tests read registers (rows and sums by label). Then registers are part of what must be the same.
- FORGET: tests read labels themselves. Nothing is remembered.
Only instructions that several ways lead to have a slot in the memory, and only while no iteration's flag is set: after
a row is taken none is.

Arrays have fixed sizes here: the caller gives more room and calls again, and the search goes on where it was.

More rows may come (`C_OPEN`), all later than those at hand. Then a search ends as *open* at the first way that hangs on
a row which is not there: it needs a row to label, `$` needs to know that there is none, a test or a measure reads it.
Ways are tried in the order of preference, so every way before has failed for good; and a match that is found is found
before any open way, so no preferred one can come any more. The scan of that partition stops there; the next call, with
more rows, begins with the same start. A row that comes cannot be labelled where WITHIN is over by then.

An open search can also be kept (`C_KEEPS`), so that the next call goes on with it instead of beginning anew. It is the
same search: what it did so far hangs only on rows that were there, all of which still are at the same places, and
nothing that failed hangs on where the rows end. A way that needed a later row did not fail, it was open; WITHIN fails
for good, since time moves on; `$` before the last row fails for good. Hence all rows in steps cost what they cost at
once. The caller must leave rows, and ranks of strings, as they were: see `engine.open_scan`.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.kernel.layout import Q_PROBLEM
from cepheid.engine.kernel.machine import evaluate, update_registers
from cepheid.engine.kernel.row_layout import *
from cepheid.rowpattern.instructions import Code

LABEL, SPLIT, JUMP = int(Code.LABEL), int(Code.SPLIT), int(Code.JUMP)
START, END, MATCH = int(Code.START), int(Code.END), int(Code.MATCH)
BEGIN_ITERATION, END_ITERATION = int(Code.BEGIN_ITERATION), int(Code.END_ITERATION)
MOST_STATES = 1 << 19
"""States that are remembered of one search; a search that meets more goes on without."""


NOWHERE, NOT_YET = -1, -2


@inlined
def row_of(reads, read, registers, depth, begin, end, start, row, is_open):
    """The row that a read finds; NOWHERE if there is none (rules 5.3 to 5.5), NOT_YET if it may still come."""
    source, offset = reads[read, R_SOURCE], reads[read, R_OFFSET]
    if source == FROM_CURRENT:
        place = row - offset
        if place < start:
            return NOWHERE
    elif source == FROM_START:
        place = start + offset
        if place > row:
            return NOWHERE
    else:
        valid = np.uint64(registers[depth, registers.shape[1] - 1])
        if not valid >> np.uint64(offset) & np.uint64(1):
            return NOWHERE
        place = registers[depth, offset]
    place += reads[read, R_SHIFT]
    if place >= end:
        return NOT_YET if is_open else NOWHERE
    return place if begin <= place else NOWHERE


@compiled
def fill(
    reads,
    first,
    last,
    registers,
    depth,
    values,
    known,
    labels,
    label_codes,
    texts,
    number,
    begin,
    end,
    start,
    row,
    is_open,
    out,
):
    """The values that a test reads; returns which of them are known, and whether one may still come."""
    found, waits = np.uint64(0), False
    for read in range(first, last):
        slot, kind = read - first, reads[read, R_KIND]
        bit = np.uint64(1) << np.uint64(slot)
        if kind == READ_REGISTER:
            register = reads[read, R_OFFSET]
            out[0, slot] = registers[depth, register]
            if np.uint64(registers[depth, registers.shape[1] - 1]) >> np.uint64(register) & np.uint64(1):
                found |= bit
        elif kind == READ_NUMBER:
            out[0, slot] = number
            found |= bit
        elif kind == READ_TEXT:
            out[0, slot] = texts[reads[read, R_COLUMN]]
            found |= bit
        else:
            place = row_of(reads, read, registers, depth, begin, end, start, row, is_open)
            if place < 0:
                waits = waits or (place == NOT_YET and kind == READ_VALUE)  # rule 5.7: later rows have no label yet
                continue
            if kind == READ_LABEL:
                if start <= place <= row:
                    out[0, slot] = label_codes[labels[place - start] >> 1]
                    found |= bit
            else:
                column = reads[read, R_COLUMN]
                out[0, slot] = values[place, column]
                if known[place] >> np.uint64(column) & np.uint64(1):
                    found |= bit
    return found, waits


@compiled
def waits_for_measures(ahead, labels, length, at_hand):
    """Whether a measure of a match reads a row after those at hand. Its row is furthest at the last row of the match
    (rules 5.3 and 5.4)."""
    for read in range(len(ahead)):
        wanted, left = np.uint64(ahead[read, A_LABELS]), ahead[read, A_OFFSET]
        for step in range(length):
            place = step if ahead[read, A_FROM_FIRST] else length - 1 - step
            if wanted == np.uint64(0) or wanted >> np.uint64(labels[place] >> 1) & np.uint64(1):
                if left == 0:
                    if place + ahead[read, A_SHIFT] >= at_hand:
                        return True
                    break
                left -= 1
    return False


@compiled
def hashed(slot, row, registers, depth):
    # the row is mixed before registers are: a count of rows grows as it does
    total = (np.uint64(slot) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(row)) * np.uint64(0xC4CEB9FE1A85EC53)
    total ^= total >> np.uint64(32)
    for register in range(registers.shape[1]):
        total = (total ^ np.uint64(registers[depth, register])) * np.uint64(0xFF51AFD7ED558CCD)
        total ^= total >> np.uint64(32)
    return total


@compiled
def remembered(states, stamps, stamp, slot, row, registers, depth):
    """Whether a state was met before in this search; otherwise it is noted. The table has room."""
    width, mask = registers.shape[1], np.uint64(len(stamps) - 1)
    place = hashed(slot, row, registers, depth) & mask
    while stamps[place] == stamp:
        same = states[place, 0] == slot and states[place, 1] == row
        for register in range(width):
            same = same and states[place, 2 + register] == registers[depth, register]
        if same:
            return True
        place = (place + np.uint64(1)) & mask
    stamps[place] = stamp
    states[place, 0], states[place, 1] = slot, row
    for register in range(width):
        states[place, 2 + register] = registers[depth, register]
    return False


@entrance(few=1_000)
def scan(
    instructions,
    tests,
    reads,
    codes,
    updates,
    updates_of,
    label_codes,
    texts,
    values,
    known,
    allowed,
    time,
    bounds,
    params,
    ahead,
    places,
    room,
    cursor,
    scratch,
    scratch_known,
    machine_stack,
    counters,
    no_nodes,
):
    """Scan on from where the cursor is (rule 4), each partition from where `places` says. Returns how that ended: all
    done, an error, or which array of `room` is too small; then the next call goes on with the search."""
    ways, path, labels, registers = room.ways, room.path, room.labels, room.registers
    failed, states, stamps = room.failed, room.states, room.stamps
    memory, slots, budget = params[P_MEMORY], max(1, params[P_SLOTS]), params[P_BUDGET]
    within, first_mask, skip = params[P_WITHIN], np.uint64(params[P_FIRST_MASK]), params[P_SKIP]
    has_updates, is_open, now = len(updates) > 0, cursor[C_OPEN] != 0, cursor[C_NOW]
    partition, start = cursor[C_PARTITION], cursor[C_START]
    while partition < len(bounds) - 1:
        begin, end = bounds[partition], bounds[partition + 1]
        if cursor[C_IS_NEW]:
            start, cursor[C_NUMBER] = places[partition, S_START], places[partition, S_NUMBER]
            cursor[C_COVERED], cursor[C_IS_NEW] = places[partition, S_COVERED], 0
            if memory == BY_ROW:
                for index in range((end - begin + 1) * slots):
                    failed[index] = 0
        while start < end:
            length = -1
            if cursor[C_KEPT] or first_mask == np.uint64(0) or allowed[start] & first_mask:
                # ── the search for the match at this row (rule 3.2) ──
                cursor[C_PARTITION], cursor[C_START] = partition, start
                number, lacks, steps = cursor[C_NUMBER], DONE, 0
                pc, row, flags, waiting, trail, noted, spent, is_noted = 0, start, 0, 0, 0, 0, 0, False
                if cursor[C_KEPT]:
                    pc, row, flags, waiting = cursor[C_PC], cursor[C_ROW], cursor[C_FLAGS], cursor[C_WAITING]
                    trail, noted, spent = cursor[C_TRAIL], cursor[C_NOTED], cursor[C_SPENT]
                    is_noted = cursor[C_KEPT] == KEPT_NOTED
                    cursor[C_KEPT] = 0
                else:
                    cursor[C_STAMP] += 1
                stamp = cursor[C_STAMP]
                # Rows that are taken cost nothing of the budget, nor does what the memory bounds already.
                most = budget + (len(instructions) * (end - start) if memory >= BY_ROW_OF_START else 0)
                while True:
                    steps += 1
                    code, fails = instructions[pc, I_CODE], False
                    slot = instructions[pc, I_SLOT]
                    if is_noted:
                        is_noted = False
                    elif slot >= 0 and flags == 0 and memory != FORGET:
                        if memory >= BY_ROW_OF_START:
                            index = (row - begin) * slots + slot
                            if failed[index]:
                                fails = True
                            elif trail == len(path):
                                lacks = MORE_PATH
                                break
                            else:
                                failed[index] = 1
                                path[trail] = index
                                trail += 1
                        elif noted < MOST_STATES:
                            if 2 * noted >= len(stamps):
                                lacks = MORE_STATES
                                break
                            fails = remembered(states, stamps, stamp, slot, row, registers, row - start)
                            if not fails:
                                noted += 1
                    if fails:
                        pass
                    elif code == LABEL:
                        variable, depth = instructions[pc, I_FIRST], row - start
                        if row >= end:
                            if is_open and (within == NO_WITHIN or now + 1 - time[start] < within):
                                lacks = OPEN
                                break
                            fails = True
                        else:
                            fails = not allowed[row] >> np.uint64(variable) & np.uint64(1)
                            if not fails and within != NO_WITHIN and time[row] - time[start] >= within:
                                fails = True
                        if not fails:
                            if is_open and row + tests[variable, T_AHEAD] >= end:
                                lacks = OPEN
                                break
                            if depth == len(labels):
                                lacks = MORE_LABELS
                                break
                            labels[depth] = 2 * variable + instructions[pc, I_SECOND]
                            if has_updates:
                                if depth + 1 == len(registers):
                                    lacks = MORE_REGISTERS
                                    break
                                update_registers(
                                    codes,
                                    updates,
                                    updates_of,
                                    values,
                                    known,
                                    registers,
                                    machine_stack,
                                    counters,
                                    depth,
                                    depth + 1,
                                    variable,
                                    row,
                                    no_nodes,
                                    -1,
                                )
                            if tests[variable, T_CODE_BEGIN] >= 0:
                                after = depth + 1 if has_updates else 0
                                scratch_known[0], waits = fill(
                                    reads,
                                    tests[variable, T_READS_BEGIN],
                                    tests[variable, T_READS_END],
                                    registers,
                                    after,
                                    values,
                                    known,
                                    labels,
                                    label_codes,
                                    texts,
                                    number,
                                    begin,
                                    end,
                                    start,
                                    row,
                                    is_open,
                                    scratch,
                                )
                                if waits:
                                    lacks = OPEN
                                    break
                                fails = not evaluate(
                                    codes,
                                    scratch,
                                    scratch_known,
                                    registers,
                                    machine_stack,
                                    counters,
                                    tests[variable, T_CODE_BEGIN],
                                    tests[variable, T_CODE_END],
                                    0,
                                    after,
                                )
                            if counters[Q_PROBLEM]:
                                cursor[C_AT], cursor[C_VARIABLE] = row, variable
                                return FAILED
                            row += 1
                            flags = 0
                            pc += 1
                    elif code == SPLIT:
                        if waiting == len(ways):
                            lacks = MORE_WAYS
                            break
                        ways[waiting, 0], ways[waiting, 1] = instructions[pc, I_SECOND], row
                        ways[waiting, 2], ways[waiting, 3] = flags, trail
                        waiting += 1
                        pc = instructions[pc, I_FIRST]
                    elif code == JUMP:
                        pc = instructions[pc, I_FIRST]
                    elif code == START:
                        fails = row != begin or places[partition, S_CUT] != 0
                        pc += 1
                    elif code == END:
                        fails = row != end
                        if is_open and not fails:
                            lacks = OPEN
                            break
                        pc += 1
                    elif code == BEGIN_ITERATION:
                        flags |= 1 << instructions[pc, I_FIRST]
                        pc += 1
                    elif code == END_ITERATION:
                        flag = 1 << instructions[pc, I_FIRST]
                        pc = instructions[pc, I_SECOND] if flags & flag else pc + 1
                        flags &= ~flag
                    else:
                        if is_open and waits_for_measures(ahead, labels, row - start, end - start):
                            lacks = OPEN
                        else:
                            length = row - start
                        break
                    if fails:
                        if waiting == 0:
                            break
                        if spent >= most:
                            lacks = OVER_BUDGET
                            break
                        spent += 1
                        waiting -= 1
                        pc, row, flags = ways[waiting, 0], ways[waiting, 1], ways[waiting, 2]
                        if memory == BY_ROW:
                            trail = ways[waiting, 3]  # what lies behind has failed, whatever the start
                cursor[C_STEPS] += steps
                is_kept = lacks >= MORE_WAYS and lacks != MORE_STATES and (lacks != OPEN or cursor[C_KEEPS] != 0)
                if is_kept:
                    cursor[C_PC], cursor[C_ROW], cursor[C_FLAGS], cursor[C_WAITING] = pc, row, flags, waiting
                    cursor[C_TRAIL], cursor[C_NOTED], cursor[C_SPENT] = trail, noted, spent
                    cursor[C_KEPT] = KEPT if lacks == MORE_PATH else KEPT_NOTED
                elif memory == BY_ROW_OF_START or (memory == BY_ROW and (length >= 0 or lacks)):
                    for place in range(trail):
                        failed[path[place]] = 0
                if lacks == OPEN:
                    break
                if lacks:
                    cursor[C_AT] = start
                    return lacks
            # ── the scan (rule 4) ──
            if length < 0:
                room.unmatched[start] = start >= cursor[C_COVERED]
                start += 1
                continue
            count, used = cursor[C_COUNT], cursor[C_USED]
            if count == len(room.matches):
                return MORE_MATCHES
            if used + length > len(room.all_labels):
                return MORE_ALL_LABELS
            room.matches[count, 0], room.matches[count, 1] = start, length
            room.matches[count, 2], room.matches[count, 3] = cursor[C_NUMBER], partition
            for place in range(length):
                room.all_labels[used + place] = labels[place]
            cursor[C_COUNT], cursor[C_USED] = count + 1, used + length
            cursor[C_NUMBER] += 1
            cursor[C_COVERED] = max(cursor[C_COVERED], start + length)
            if length == 0 or skip == TO_NEXT_ROW:
                start += 1
            elif skip == PAST_LAST_ROW:
                start += length
            else:
                wanted, target = np.uint64(params[P_SKIP_MASK]), -1
                for place in range(length):
                    if wanted >> np.uint64(labels[place] >> 1) & np.uint64(1):
                        target = place
                        if skip == TO_FIRST:
                            break
                if target <= 0:
                    cursor[C_AT] = cursor[C_NUMBER] - 1
                    return NO_SUCH_LABEL if target < 0 else SKIP_TO_START
                start += target
        places[partition, S_START], places[partition, S_NUMBER] = start, cursor[C_NUMBER]
        places[partition, S_COVERED] = cursor[C_COVERED]
        cursor[C_START] = start
        partition += 1
        cursor[C_IS_NEW] = 1
    return DONE
