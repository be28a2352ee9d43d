"""Parts of buckets on their way to the buckets that they will belong to (see `moving`).

In: the part of a bucket as bytes; later all cells that came to one bucket. Out: cells, small enough for the control
source; the bucket that their parts make together. Written by `moving`, read by `store`.

Each cell says which part it is a piece of, and how many pieces and parts there are, so that a missing one is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.errors import StateError
from cepheid.spark.stream.state.format import read, written
from cepheid.spark.stream.state.pending import AnyBucket, BucketWork

PIECE = 4 << 20
"""Bytes of a part in one cell."""


def cells_of(saved: bytes, part: int, parts: int) -> Iterator[bytes]:
    """The cells of one of so many parts of a bucket."""
    begins = range(0, len(saved), PIECE)
    for number, begin in enumerate(begins):
        head = {"part": part, "of": parts, "piece": number, "pieces": len(begins)}
        yield written(head, [saved[begin : begin + PIECE]])


def parts_of(cells: Sequence[bytes], what: str) -> list[bytes]:
    """The parts whose cells are given, in any order."""
    pieces: dict[int, dict[int, bytes]] = {}
    expected: dict[int, int] = {}
    counts: set[int] = set()
    for cell in cells:
        head, (piece,) = read(cell, what)
        pieces.setdefault(head["part"], {})[head["piece"]] = piece
        expected[head["part"]] = head["pieces"]
        counts.add(head["of"])
    if counts != {len(pieces)} or any(len(own) != expected[part] for part, own in pieces.items()):
        raise StateError(
            f"the checkpoint is incomplete: a piece of {what} is missing.\n"
            "  Restore the checkpoint from a complete copy, or start with a new checkpoint."
        )
    return [b"".join(own[number] for number in sorted(own)) for _, own in sorted(pieces.items())]


def put_together(work: BucketWork[AnyBucket], parts: Sequence[bytes], what: str) -> AnyBucket:
    """The bucket that some parts make together."""
    first, *others = (work.saved_bucket(part, what) for part in parts)
    if others:
        first.join(others)
    return first
