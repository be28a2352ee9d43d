"""What the workers of a machine leave for each other: the entries of the journal of the last few steps, as files.

Spark gives a bucket to whichever worker is free, so a worker that holds a bucket in its memory often finds that another
one has done the latest steps. Spark's state store has their entries, but hands each byte over as text, and a new base
removes them. Here the worker reads them at the price of a file.

In: an entry, when a step is written. Out: the events of the steps between two of them, or nothing; then the state store
is asked. Called by `store`.

Proof that this decides no result: a step has a name that no other has, an entry carries its own name and that of the
step before, and `since` follows these names from the step that Spark has committed last back to the one that the worker
knows. An entry of an attempt that failed, of an earlier start or of another query has another name. An entry that is
missing, damaged or half written breaks the chain, and so does a step after which handling its events once more would
not give the bucket as it is: that one is not left.

The files lie where Spark keeps the files of its shuffles on this machine, and go with them. Those of queries that have
ended go within an hour or so, if others run.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from cepheid.errors import StateError
from cepheid.spark.stream.state.format import read

STEPS = 8
"""How many steps of a bucket are there at the same time."""
MOST = 16 << 20
"""Bytes of an entry; a larger one is not worth writing twice."""
_DIRECTORY = "cepheid-steps"
_OLD = 3_600
"""Seconds after which nobody asks for a file any more."""
_TURN = 64
"""Steps after which a bucket looks for old files."""


def place_of(directories: str | None) -> Path | None:
    """Where the workers of an executor leave files, which keeps its own in these directories; None if there are
    none."""
    return Path(directories.split(",")[0]) / _DIRECTORY if directories else None


PLACE = place_of(os.environ.get("SPARK_LOCAL_DIRS"))
"""Of this worker; None outside of Spark's workers."""


def leave(birth: str, step: int, entry: bytes) -> None:
    """Leave the entry of a step of a bucket for the workers beside this one."""
    if PLACE is None or len(entry) > MOST:
        return
    unfinished = PLACE / f"{birth}.{step}.{os.getpid()}"
    try:
        PLACE.mkdir(exist_ok=True)
        unfinished.write_bytes(entry)
        unfinished.replace(PLACE / f"{birth}.{step}")
        (PLACE / f"{birth}.{step - STEPS}").unlink(missing_ok=True)
        if step % _TURN == 1:
            _remove_old(PLACE)
    except OSError:  # the disk is full, or the directory is gone with its executor: the state store has everything
        return


def _remove_old(place: Path) -> None:
    oldest = time.time() - _OLD
    for file in place.iterdir():
        with suppress(FileNotFoundError):  # another worker was faster
            if file.stat().st_mtime < oldest:
                file.unlink()


def since(birth: str, known: tuple[int, str], last: tuple[int, str]) -> list[list[bytes]] | None:
    """What each step brought after the known one up to the last one, each given by number and name; None if that is
    not here."""
    if PLACE is None or last[0] - known[0] > STEPS:
        return None
    brought = []
    step, name = last
    while step > known[0]:
        try:
            fields, parts = read((PLACE / f"{birth}.{step}").read_bytes(), "an entry")
        except (OSError, StateError):
            return None
        if fields["name"] != name:
            return None
        brought.append(parts)
        step, name = step - 1, fields["previous"]
    return brought[::-1] if name == known[1] else None
