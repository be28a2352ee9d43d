"""What the tests and measures of a row pattern read of other rows, and whether such a row may still come.

In: reads, as the tables have them, and where the search is. Out: the values of a test, or whether a measure has to
wait. Called by the matcher, `kernel.row_patterns`.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.compiling import compiled, inlined
from cepheid.engine.kernel.row_layout import *

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
