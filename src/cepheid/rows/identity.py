"""A name for each match that is the same in every run over the same events.

In: the arranged events and what matches took. Out: 128-bit numbers in hexadecimal: a hash of the key and, for each
event, its variable, its order values and its ordinal among events that these do not tell apart. Called by `assemble`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.assignments import Integers
from cepheid.engine.kernel.hashing import FIRST, Words, hexadecimal, mixed, sums_of_matches
from cepheid.rows.arrange import Arranged
from cepheid.rows.columns import canonical

_UNKNOWN = np.uint64(0xD6E8FEB86659FD93)


def match_ids(
    events: Arranged, variable: Integers, row: Integers, starts: Integers, ordinals: Integers | None = None
) -> pa.Array:
    """One name per match; match m has the entries of `variable` and `row` from `starts[m]` on. `ordinals`: those of the
    entries, where they are not those of the events."""
    if len(starts) < 2:
        return pa.array([], pa.string())
    words = sums_of_matches(_words_of_entries(events, row, ordinals), variable.astype(np.uint64), starts)
    digits = hexadecimal(words)
    offsets = np.arange(0, digits.size + 1, digits.shape[1], dtype=np.int64)
    large = pa.LargeStringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(digits))
    return large.cast(pa.string())


def _words_of_entries(events: Arranged, row: Integers, ordinals: Integers | None) -> Words:
    """A word per entry that tells its event from every other. Where rows occur more than once, each is worked on
    once."""
    if len(row) > len(events.time):
        words = _words_of_rows(events, np.arange(len(events.time)))[row]
    else:
        words = _words_of_rows(events, row)
    own = events.ordinals[row] if ordinals is None else ordinals
    return mixed(words + own.astype(np.uint64))


def _words_of_rows(events: Arranged, row: Integers) -> Words:
    """A word per row, of what key and order tell of it."""
    words = np.zeros(len(row), np.uint64)
    names = (*events.partition_by, *events.order_by)
    taken = events.taken(names, row)
    for name in names:
        words = mixed(words + _words_of(taken[name].combine_chunks()))
    return words


def _words_of(column: pa.Array) -> Words:
    """A word per value: equal for equal values, and the same in every process."""
    kind = column.type
    known = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_duration(kind):
        column = column.cast(pa.duration("us")).cast(pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_boolean(kind):
        values = pc.fill_null(column.cast(pa.int64(), safe=False), 0).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif pa.types.is_floating(kind):
        doubles = canonical(pc.fill_null(column.cast(pa.float64()), 0.0))
        values = doubles.to_numpy(zero_copy_only=False).view(np.uint64)
    else:
        encoded = pc.dictionary_encode(column)
        texts = encoded.dictionary.cast(pa.string()) if pa.types.is_decimal(kind) else encoded.dictionary
        distinct = _words_of_texts(texts.cast(pa.large_binary()))
        codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        values = distinct[codes] if len(distinct) else np.zeros(len(codes), np.uint64)
    return mixed(np.where(known, values, _UNKNOWN))


def _words_of_texts(texts: pa.LargeBinaryArray) -> Words:
    """The sum over the bytes of each text of a word for the byte and its place, and the text's length."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    words = lengths.astype(np.uint64)
    data = texts.buffers()[2]
    if data is None or not len(lengths) or offsets[-1] == offsets[0]:
        return words
    some = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    place = np.arange(len(some)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    bytes_mixed = mixed(some + (place.astype(np.uint64) << np.uint64(8)) + FIRST)
    filled = lengths > 0
    words[filled] += np.add.reduceat(bytes_mixed, offsets[:-1][filled] - offsets[0])
    return words
