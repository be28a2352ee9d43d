"""Numbers for buckets that Spark's hash spreads evenly over its partitions.

In: how many buckets and how many partitions. Out: the numbers. Called by the streaming plan, where buckets are moved by
Spark's own hash of their number.
"""

from __future__ import annotations

from itertools import count

_MASK = 0xFFFFFFFF
_SEED = 42


def even_ids(buckets: int, partitions: int) -> tuple[int, ...]:
    """So many numbers of which each partition gets its share, the difference being one at most."""
    share, more = divmod(buckets, partitions)
    room = [share + (partition < more) for partition in range(partitions)]
    found: list[int] = []
    for number in count():
        if len(found) == buckets:
            return tuple(found)
        partition = hash_of(number) % partitions
        if room[partition]:
            room[partition] -= 1
            found.append(number)
    raise AssertionError("count() has no end")


def hash_of(number: int) -> int:
    """Spark's `hash` of an int: Murmur3 with 32 bits, as a signed number."""
    word = _times(number & _MASK, 0xCC9E2D51)
    word = _times(_turned(word, 15), 0x1B873593)
    mixed = (_times(_turned(_SEED ^ word, 13), 5) + 0xE6546B64) & _MASK
    mixed ^= 4
    mixed = _times(mixed ^ (mixed >> 16), 0x85EBCA6B)
    mixed = _times(mixed ^ (mixed >> 13), 0xC2B2AE35)
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _times(word: int, factor: int) -> int:
    return word * factor & _MASK


def _turned(word: int, places: int) -> int:
    return (word << places | word >> (32 - places)) & _MASK
