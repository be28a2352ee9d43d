"""A stream whose checkpoint lies on a disk that becomes full: `python full_disk.py PLACE`.

Reads `PLACE/in`; the checkpoint is below `PLACE/small`, a file system of a few megabytes. That is filled at the start,
and then, round after round, by a sink in the middle of a micro-batch, up to some room that is left, so that different
writes find it full: what comes next, the state, the commit. After each failure space is freed and the query starts
again; at last it runs to its end. Prints what each failure said, one JSON text a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

sys.path.insert(0, str(Path(__file__).parent))

from job import SLOW_START, found_in, spark

from cepheid import CepheidError
from cepheid.spark.sinks import files

PAGE = 4096
ROOMS = (0, 2, 6, 14, 30)
"""Pages that the rounds leave free, from none to some writes of a micro-batch."""


class SmallDisk:
    """A file system that can be filled and freed."""

    def __init__(self, place: Path) -> None:
        self.ballast = place / "ballast"

    def fill(self, room: int) -> None:
        """Fill it, but for so many pages."""
        size = 0
        with suppress(OSError), self.ballast.open("wb", buffering=0) as file:
            while True:
                size += file.write(bytes(PAGE))
        with self.ballast.open("r+b") as file:
            file.truncate(max(0, size - room * PAGE))

    def free(self) -> None:
        self.ballast.unlink(missing_ok=True)


def main(place: Path) -> None:
    session = spark()
    session.sparkContext.setLogLevel("OFF")
    disk = SmallDisk(place / "small")
    rooms: Iterator[int] = iter(ROOMS)
    fill_in = {"batch": -1}

    def fill(rows: DataFrame, batch: int) -> None:
        """Every micro-batch has rejected rows. The first micro-batch of a round is left alone, so that each round gets
        on; the second one fills the disk behind its other sinks and before its commit."""
        if fill_in["batch"] < 0:
            fill_in["batch"] = batch + 1
        elif batch >= fill_in["batch"] and not disk.ballast.exists():
            room = next(rooms, None)
            if room is not None:
                disk.fill(room)

    def start(flush: bool) -> None:
        try:
            run(flush)
        except StreamingQueryException as error:
            if SLOW_START not in str(error):
                raise
            start(flush)

    def run(flush: bool) -> None:
        found_in(session, place / "in").start(
            matches=files(str(place / "matches")),
            timeouts=files(str(place / "timeouts")),
            late=files(str(place / "late")),
            rejected=fill,
            checkpoint=str(place / "small" / "checkpoint"),
            trigger={"availableNow": True},
            flush=flush,
        ).awaitTermination()

    disk.fill(0)
    for _ in range(len(ROOMS) + 1):
        try:
            start(flush=False)
        except CepheidError as error:
            print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
        disk.free()
        fill_in["batch"] = -1
    start(flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
