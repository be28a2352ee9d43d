"""What measures read of matches: rows by label, and aggregates, for all rows of the result at once.

In: matches as the matcher gives them, and for each row of the result its match and its place there. Out: arrays with
one item for each row of the result. Running reads see the match up to the row's own place, final ones all of it.
"""

from __future__ import annotations

import numpy as np

from cepheid.engine.kernel.entrances import entrance
from cepheid.engine.kernel.layout import OVERFLOW, Q_PROBLEM, Q_SIZE
from cepheid.engine.kernel.machine import add_checked, as_bits, as_double, compare_doubles
from cepheid.engine.kernel.row_layout import *


@entrance(allocates=True)
def rows_at(matches, offsets, labels, bounds, shown_match, shown_place, mask, from_first, offset, shift, final):
    """The row that a navigation finds for each row of the result, -1 if there is none (rules 5.3 to 5.5)."""
    found = np.full(len(shown_match), -1, np.int64)
    shown = 0
    recent = np.zeros(offset + 1, np.int64)
    for match in range(len(matches)):
        first, length, begins = matches[match, 0], matches[match, 1], offsets[match]
        begin, end = bounds[matches[match, 3]], bounds[matches[match, 3] + 1]
        here = shown
        while shown < len(shown_match) and shown_match[shown] == match:
            shown += 1
        if here == shown:
            continue
        seen, place, kept = 0, here, -1
        for step in range(length + 1):
            # All rows of the result whose visible part ends before this step.
            while not final and place < shown and shown_place[place] < step:
                found[place] = kept
                place += 1
            if step == length:
                break
            if not mask >> np.uint64(labels[begins + step] >> 1) & np.uint64(1):
                continue
            if from_first:
                if seen == offset:
                    kept = first + step
            else:
                recent[seen % (offset + 1)] = first + step
                if seen >= offset:
                    kept = recent[(seen - offset) % (offset + 1)]
            seen += 1
        while place < shown:
            found[place] = kept
            place += 1
        for each in range(here, shown):
            row = found[each] + shift
            if found[each] < 0 or row < begin or row >= end:
                found[each] = -1
            else:
                found[each] = row
    return found


@entrance(allocates=True)
def labels_at(matches, offsets, labels, shown_match, rows):
    """The variable of each row found, -1 outside the match (rule 5.7)."""
    found = np.full(len(rows), -1, np.int64)
    for each in range(len(rows)):
        match = shown_match[each]
        if match >= 0 and rows[each] >= 0:
            place = rows[each] - matches[match, 0]
            if 0 <= place < matches[match, 1]:
                found[each] = labels[offsets[match] + place] >> 1
    return found


@entrance(allocates=True)
def folded(matches, offsets, labels, shown_match, shown_place, mask, final, kind, values, known):
    """An aggregate for each row of the result, and whether it has a value (rule 5.9). `values` and `known` have an
    item for each row of the input; doubles are bits."""
    results, valid = np.zeros(len(shown_match), np.int64), np.zeros(len(shown_match), np.bool_)
    counters = np.zeros(Q_SIZE, np.int64)
    shown = 0
    for match in range(len(matches)):
        first, length, begins = matches[match, 0], matches[match, 1], offsets[match]
        here = shown
        while shown < len(shown_match) and shown_match[shown] == match:
            shown += 1
        if here == shown:
            continue
        total, has_value, place = np.int64(0), kind <= COUNT_KNOWN, here
        for step in range(length + 1):
            while not final and place < shown and shown_place[place] < step:
                results[place], valid[place] = total, has_value
                place += 1
            if step == length:
                break
            if not mask >> np.uint64(labels[begins + step] >> 1) & np.uint64(1):
                continue
            if kind == COUNT_ROWS:
                total += 1
                continue
            if not known[first + step]:
                continue
            value = values[first + step]
            if kind == COUNT_KNOWN:
                total += 1
                continue
            if not has_value:
                total = value
            elif kind == SUM_WHOLE:
                total = add_checked(counters, total, value)
            elif kind == SUM_DOUBLE:
                total = as_bits(as_double(total) + as_double(value))
            elif kind == LEAST_WHOLE:
                total = min(total, value)
            elif kind == MOST_WHOLE:
                total = max(total, value)
            elif kind == LEAST_DOUBLE:
                if compare_doubles(as_double(value), as_double(total)) < 0:
                    total = value
            elif compare_doubles(as_double(value), as_double(total)) > 0:
                total = value
            has_value = True
        while place < shown:
            results[place], valid[place] = total, has_value
            place += 1
    return results, valid, counters[Q_PROBLEM] == OVERFLOW


@entrance(allocates=True)
def members(matches, offsets, labels, shown_match, shown_place, mask, final):
    """The rows that an aggregate is over, one list after the other, and where each list begins."""
    begins = np.zeros(len(shown_match) + 1, np.int64)
    for turn in range(2):
        if turn == 1:
            for each in range(len(shown_match)):
                begins[each + 1] += begins[each]
            rows = np.zeros(begins[len(begins) - 1], np.int64)
        for each in range(len(shown_match)):
            match = shown_match[each]
            if match < 0:
                continue
            visible = matches[match, 1] if final else min(shown_place[each] + 1, matches[match, 1])
            used = 0
            for step in range(visible):
                if mask >> np.uint64(labels[offsets[match] + step] >> 1) & np.uint64(1):
                    if turn == 1:
                        rows[begins[each] + used] = matches[match, 0] + step
                    used += 1
            if turn == 0:
                begins[each + 1] = used
    return begins, rows
