"""A name for each match that is the same in every run over the same events.

In: the arranged events and what matches took. Out: 128-bit numbers in hexadecimal: a hash of the key and, for each
event, its variable, its order values and its ordinal among events that these do not tell apart. Called by `assemble`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.arrange import Arranged, Integers

Words = npt.NDArray[np.uint64]

_SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_UNKNOWN = np.uint64(0xD6E8FEB86659FD93)
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


def match_ids(events: Arranged, match: Integers, variable: Integers, row: Integers, starts: Integers) -> pa.Array:
    """One name per match; entry i of the arrays belongs to match `match[i]`, which begins at `starts[match[i]]`."""
    if len(starts) < 2:
        return pa.array([], pa.string())
    place = (np.arange(len(match)) - starts[:-1][match]).astype(np.uint64)
    event = _words_of_rows(events, row)
    halves = np.empty((len(starts) - 1, 2), np.uint64)
    for half, seed in enumerate(_SEEDS):
        words = _mix(_mix(event ^ seed) + _mix(variable.astype(np.uint64) + seed) + place * seed)
        halves[:, half] = np.add.reduceat(words, starts[:-1])
    return _hexadecimal(halves)


def _words_of_rows(events: Arranged, row: Integers) -> Words:
    """A word per row that tells it from every other."""
    words = np.zeros(len(row), np.uint64)
    names = (*events.partition_by, *events.order_by)
    taken = events.taken(names, row)
    for name in names:
        words = _mix(words + _words_of(taken[name].combine_chunks()))
    return _mix(words + events.ordinals[row].astype(np.uint64))


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
        doubles = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0
        values = np.where(np.isnan(doubles), np.nan, doubles).view(np.uint64)
    else:
        encoded = pc.dictionary_encode(column)
        texts = encoded.dictionary.cast(pa.string()) if pa.types.is_decimal(kind) else encoded.dictionary
        distinct = _words_of_texts(texts.cast(pa.large_binary()))
        codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        values = distinct[codes] if len(distinct) else np.zeros(len(codes), np.uint64)
    return _mix(np.where(known, values, _UNKNOWN))


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
    mixed = _mix(some + (place.astype(np.uint64) << np.uint64(8)) + _SEEDS[0])
    filled = lengths > 0
    words[filled] += np.add.reduceat(mixed, offsets[:-1][filled] - offsets[0])
    return words


def _hexadecimal(words: Words) -> pa.Array:
    """Each row of words as one text."""
    data = np.ascontiguousarray(words.astype(">u8")).view(np.uint8)
    digits = np.empty((len(words), 2 * data.shape[1]), np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _DIGITS[data >> 4], _DIGITS[data & 15]
    offsets = np.arange(0, digits.size + 1, digits.shape[1], dtype=np.int64)
    large = pa.LargeStringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(digits))
    return large.cast(pa.string())


def _mix(words: Words) -> Words:
    """The finalizer of SplitMix64: every bit of the input moves every bit of the output."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed
