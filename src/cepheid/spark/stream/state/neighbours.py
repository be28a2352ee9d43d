"""What the workers of a machine leave for each other: the last few steps of their buckets, as files.

Spark gives a bucket to whichever worker is free, so a worker often finds that others have done the latest steps. With
two workers each does about half of them, with eight an eighth, and would do the others over again. So a step leaves the
whole bucket, as it lies in memory (`whole`), where that is cheap, and otherwise the entry of the journal: Spark's state
store has that, too, but hands each byte over as text, and a new base removes it.

In: a bucket and an entry, when a step is written. Out: a bucket, and the events of the steps after it, or nothing; then
the state store is asked. Called by `store`.

Proof that this decides no result: a step has a name that no other has. A file carries the name of its step and that of
the step before, and `since` follows these names from the step that Spark has committed last back to the one that the
worker knows, or to a whole bucket. A file of an attempt that failed, of an earlier start or of another query has
another name. A whole bucket is used by the start of the query that left it and by no other, as are buckets in memory,
which it is a copy of. A file that is missing, damaged or half written breaks the chain, and so does a step after which
handling its events once more would not give the bucket as it is: its entry is not left. A file that is written over
for a later step loses its name first. So what was read is what the name stood for, if the name still stands for the
same file afterwards, and otherwise it counts as missing.

The files lie where Spark keeps the files of its shuffles on this machine, in a directory for its user alone, and go
with them. Those of queries that have ended go within an hour or so, if others run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cepheid.errors import StateError
from cepheid.spark.stream.state.format import read
from cepheid.spark.stream.state.whole import MAGIC, Whole, WholeFile

STEPS = 8
"""How many steps of a bucket are there at the same time."""
WHOLES = 2
"""How many of them are whole buckets: the last one, and the one before, should the last attempt fail."""
MOST = 16 << 20
"""Bytes of an entry; a larger one is not worth writing twice."""
SMALL = 1 << 20
"""Bytes of a whole bucket that is always worth leaving."""
WORTH = 16
"""A whole bucket is worth leaving up to so many times the bytes of the entry. With 1.4 MB of events, handling them once
more takes 0.8 of the time of a step; to leave a bucket of 10 MB takes 0.13 of it, and to take it over as much. If every
second step goes to another worker, a bucket of 20 MB would cost as much as handling the events again."""
_DIRECTORY = "cepheid-steps"
_OLD = 3_600
"""Seconds after which nobody asks for a file any more."""
_TURN = 64
"""Steps after which a bucket looks for old files."""
_USER = os.getuid() if hasattr(os, "getuid") else 0
"""As the system counts users; where it does not, all files are the first one's."""


def place_of(directories: str | None) -> Path | None:
    """Where the workers of an executor leave files, which keeps its own in these directories; None if there are
    none."""
    return Path(directories.split(",")[0]) / _DIRECTORY if directories else None


PLACE = place_of(os.environ.get("SPARK_LOCAL_DIRS"))
"""Of this worker; None outside of Spark's workers."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a bucket. `birth` tells the bucket from all others, `name` the step."""

    birth: str
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Left:
    """What was left since a step that a worker knows."""

    brought: list[list[bytes]]
    """What each step brought, the first one first."""
    whole: WholeFile | None = None
    """The bucket before these steps, where that is not the one that the worker knows."""


def is_worth_leaving(bucket_bytes: int, entry_bytes: int) -> bool:
    """Whether to leave a whole bucket of this size, or the entry of its last step."""
    return bucket_bytes <= max(SMALL, WORTH * entry_bytes)


def leave_entry(step: Step, entry: bytes) -> None:
    """Leave the entry of a step for the workers beside this one."""
    if len(entry) <= MOST:
        _leave(step, [entry], gone=(STEPS,))


def leave_whole(step: Step, previous: str, start: str, whole: Whole) -> None:
    """Leave a bucket as it is after a step; `start`: of the query."""
    pieces = whole.pieces({"name": step.name, "previous": previous, "start": start})
    _leave(step, pieces, gone=(WHOLES, STEPS))


def _leave(step: Step, pieces: Iterable[bytes | memoryview], gone: Iterable[int]) -> None:
    """Leave a file, and remove those of so many steps before. The first of them is written over: a new one of 10 MB
    takes twice the time, since the system must find room for it and take back that of the old one."""
    if PLACE is None:
        return
    unfinished = PLACE / f"{step.birth}.{step.number}.{os.getpid()}"
    first, *others = (_file(PLACE, step, step.number - before) for before in gone)
    try:
        PLACE.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            first.replace(unfinished)
        with unfinished.open("r+b" if unfinished.exists() else "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.truncate()
        unfinished.replace(_file(PLACE, step, step.number))
        for other in others:
            other.unlink(missing_ok=True)
        if step.number % _TURN == 1:
            _remove_old(PLACE)
    except OSError:  # the disk is full, or the directory is gone with its executor: the state store has everything
        return


def _file(place: Path, step: Step, number: int) -> Path:
    return place / f"{step.birth}.{number}"


def _remove_old(place: Path) -> None:
    oldest = time.time() - _OLD
    for file in place.iterdir():
        with suppress(FileNotFoundError):  # another worker was faster
            if file.stat().st_mtime < oldest:
                file.unlink()


def since(known: Step | None, last: Step, start: str) -> Left | None:
    """What was left after the known step up to the last one, or after a whole bucket that this start of the query has
    left; None if that is not here."""
    if PLACE is None:
        return None
    brought: list[list[bytes]] = []
    number, name = last.number, last.name
    while len(brought) <= STEPS:
        if known is not None and (number, name) == (known.number, known.name):
            return Left(brought[::-1])
        file = _file(PLACE, last, number)
        try:
            memory = _read(file)
            if memory[: len(MAGIC)].tobytes() == MAGIC:
                whole = WholeFile(memory, file.name)
                is_it = (whole.head["name"], whole.head["start"]) == (name, start)
                return Left(brought[::-1], whole) if is_it else None
            head, parts = read(memory.tobytes(), file.name)
        except (OSError, StateError):
            return None
        if head["name"] != name:
            return None
        brought.append(parts)
        number, name = number - 1, head["previous"]
    return None


def _read(file: Path) -> npt.NDArray[np.uint8]:
    """The bytes of a file, in memory that can be changed. What another user has left is not for us: a pickled bucket
    can run code."""
    with file.open("rb") as opened:
        found = os.fstat(opened.fileno())
        if found.st_uid != _USER:
            raise PermissionError(file)
        memory = np.fromfile(opened, np.uint8)
    now = file.stat()
    if (now.st_ino, now.st_mtime_ns) != (found.st_ino, found.st_mtime_ns):  # written over meanwhile
        raise FileNotFoundError(file)
    return memory
