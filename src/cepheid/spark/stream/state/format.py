"""How what is kept of a stream is written as bytes, so that damage is noticed and never taken for data.

In: a small dict of plain values and some byte strings. Out: one byte string, and back. Called by `bucket` and `store`.

Layout: a magic word, a checksum of all that follows, the length of the header, the header as JSON with the lengths of
the parts, the parts one after the other.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cepheid.errors import StateError

MAGIC = b"CEPHSTR\n"
FORMAT = 4
_HEADER = len(MAGIC) + 12
"""Where the header begins."""


def written(head: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """A header and some parts as one byte string."""
    text = json.dumps({"format": FORMAT, "parts": [len(part) for part in parts], **head}).encode()
    body = b"".join([len(text).to_bytes(8, "little"), text, *parts])
    return MAGIC + zlib.crc32(body).to_bytes(4, "little") + body


def read(saved: bytes, what: str) -> tuple[dict[str, Any], list[bytes]]:
    """The header and the parts; `what` names the thing in errors."""
    begin = len(MAGIC) + 4
    if saved[: len(MAGIC)] != MAGIC or zlib.crc32(saved[begin:]) != int.from_bytes(saved[len(MAGIC) : begin], "little"):
        raise _damaged(saved, what)
    end = _end_of_header(saved)
    head = json.loads(saved[_HEADER:end])
    if head["format"] != FORMAT:
        raise StateError(
            f"{what} has format {head['format']}, this version of Cepheid reads format {FORMAT}.\n"
            "  Use the version of Cepheid that wrote it, or start with a new checkpoint."
        )
    parts = []
    for length in head["parts"]:
        parts.append(saved[end : end + length])
        end += length
    return head, parts


def length_of(beginning: bytes | bytearray, what: str) -> int:
    """How many bytes were written, of which the first ones are known; at least so many, if the header does not end
    among them."""
    if len(beginning) < _HEADER:
        raise _damaged(beginning, what)
    end = _end_of_header(beginning)
    if len(beginning) < end:
        return end
    try:
        return end + sum(int(length) for length in json.loads(beginning[_HEADER:end])["parts"])
    except (ValueError, KeyError, TypeError):
        raise _damaged(beginning, what) from None


def _end_of_header(saved: bytes | bytearray) -> int:
    return _HEADER + int.from_bytes(saved[_HEADER - 8 : _HEADER], "little")


def _damaged(saved: bytes | bytearray, what: str) -> StateError:
    return StateError(
        f"{what} is damaged: its checksum does not fit its {len(saved)} bytes.\n"
        "  Restore the checkpoint from a complete copy, or start with a new checkpoint."
    )


_SMALL = pa.ipc.IpcWriteOptions(compression="lz4")
"""Spark's state store hands bytes over as text, sign by sign."""


def table_bytes(table: pa.Table) -> bytes:
    """A table as Arrow IPC."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_SMALL) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def table_from(saved: bytes) -> pa.Table:
    """The table that `table_bytes` wrote."""
    return pa.ipc.open_stream(saved).read_all()
