"""The arithmetic of match names: words mixed into words.

In: words of 64 bits. Out: words, or their digits. Called by `identity`, which says what goes in. Compiled, as there may
be more matches than events.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.engine.kernel.compiling import inlined
from cepheid.engine.kernel.entrances import entrance

Words = npt.NDArray[np.uint64]

FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""The seeds of the two halves of a name."""


@inlined
def mix(word: np.uint64) -> np.uint64:
    """The finalizer of SplitMix64: every bit of the input moves every bit of the output."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@entrance(allocates=True)
def mixed(words: Words) -> Words:
    """Every word mixed."""
    result = np.empty_like(words)
    for index in range(len(words)):
        result[index] = mix(words[index])
    return result


@entrance(allocates=True)
def sums_of_matches(events: Words, variables: Words, starts: npt.NDArray[np.int64]) -> Words:
    """Two words a match: entry i stands for an event and its variable; match m has the entries from `starts[m]` on."""
    result = np.zeros((len(starts) - 1, 2), np.uint64)
    for match in range(len(starts) - 1):
        for entry in range(starts[match], starts[match + 1]):
            place = np.uint64(entry - starts[match])
            event, variable = events[entry], variables[entry]
            result[match, 0] += mix(mix(event ^ FIRST) + mix(variable + FIRST) + place * FIRST)
            result[match, 1] += mix(mix(event ^ SECOND) + mix(variable + SECOND) + place * SECOND)
    return result


@entrance(allocates=True)
def hexadecimal(words: Words) -> npt.NDArray[np.uint8]:
    """The digits of each row of words, the largest first, as signs of ASCII."""
    rows, columns = words.shape
    result = np.empty((rows, 16 * columns), np.uint8)
    for row in range(rows):
        for column in range(columns):
            word = words[row, column]
            for place in range(16):
                digit = (word >> np.uint64(60 - 4 * place)) & np.uint64(15)
                result[row, 16 * column + place] = digit + (np.uint64(48) if digit < np.uint64(10) else np.uint64(87))
    return result
