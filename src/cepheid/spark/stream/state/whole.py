"""A live bucket as it lies in memory, in one file, and back: for another process of the same start of a query.

In: a bucket, and the objects that every worker of that start has. Out: the pieces of a file; from such a file, the
bucket. Called by `neighbours`, on its files alone: what outlives the workers is written by `Bucket.to_bytes`.

Reading a saved bucket builds it anew, and handling events once more takes as long as the first time. Here arrays are
written as they are, with the room that they have left, and what is read back are views of one block of memory.

Layout: a magic word, the length of the header, the header as JSON, then the pickled bucket and its arrays, each at a
multiple of 64 bytes, as the engine and Arrow want them.
"""

from __future__ import annotations

import io
import json
import pickle
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import StateError

MAGIC = b"CEPHALL\n"
_BEGIN = len(MAGIC) + 8
_ALIGNED = 64


class _Pickler(pickle.Pickler):
    """Writes what both sides have as its number."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object], arrays: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, protocol=5, buffer_callback=arrays.append)
        self.numbers = {id(one): number for number, one in enumerate(shared) if one is not None}

    def persistent_id(self, obj: object) -> int | None:
        return self.numbers.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, pickled: bytes, shared: Sequence[object], arrays: list[memoryview]) -> None:
        super().__init__(io.BytesIO(pickled), buffers=arrays)
        self.shared = shared

    def persistent_load(self, number: int) -> object:
        return self.shared[number]


class Whole:
    """A bucket on its way to a file. `shared`: what the reader has as well, in the same order."""

    def __init__(self, bucket: object, shared: Sequence[object]) -> None:
        arrays: list[pickle.PickleBuffer] = []
        file = io.BytesIO()
        _Pickler(file, shared, arrays).dump(bucket)
        self._pickled = file.getvalue()
        self._arrays = [array.raw() for array in arrays]

    @property
    def size(self) -> int:
        """About how many bytes the file has."""
        return len(self._pickled) + sum(len(array) for array in self._arrays)

    def pieces(self, head: dict[str, Any]) -> list[bytes | memoryview]:
        """The file, piece by piece; `head` can be read without the rest."""
        parts: list[bytes | memoryview] = [self._pickled, *self._arrays]
        known = {"sizes": [len(part) for part in parts], "checksum": zlib.crc32(self._pickled)}
        text = json.dumps(head | known).encode()
        found: list[bytes | memoryview] = [MAGIC + len(text).to_bytes(8, "little") + text]
        length = len(found[0])
        for part in parts:
            gap = -length % _ALIGNED
            found += [bytes(gap), part]
            length += gap + len(part)
        return found


class WholeFile:
    """What a file with a bucket holds, as it was read; `name`: of the file."""

    def __init__(self, memory: npt.NDArray[np.uint8], name: str) -> None:
        try:
            begin = _BEGIN + int.from_bytes(memory[len(MAGIC) : _BEGIN].tobytes(), "little")
            self.head: dict[str, Any] = json.loads(memory[_BEGIN:begin].tobytes())
            self._parts = []
            for size in self.head["sizes"]:
                begin += -begin % _ALIGNED
                self._parts.append(memory[begin : begin + size].data)
                begin += size
        except (ValueError, KeyError, TypeError):
            raise _cut_off(name) from None
        if begin != len(memory) or zlib.crc32(self._parts[0]) != self.head["checksum"]:
            raise _cut_off(name)

    def bucket(self, shared: Sequence[object]) -> Any:
        """The bucket. To be asked for once: its arrays are the memory that was read."""
        return _Unpickler(bytes(self._parts[0]), shared, self._parts[1:]).load()


def _cut_off(name: str) -> StateError:
    return StateError(f"{name} is not a whole bucket.\n  Read it from the state store.")
