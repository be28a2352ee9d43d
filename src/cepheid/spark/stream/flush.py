"""What Cepheid itself keeps in a checkpoint's directory: whose it is, and whether the input is over.

In: a session and the path of a checkpoint. Out: answers, and the directory that the control source reads. Called by
`streaming_sinks`. Everything is read and written by Spark, so any file system and Spark Connect will do.

The control source is part of every plan from the first start, since Spark does not let a query gain a source later. One
line in its directory ends the input.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from cepheid.errors import StateError
from cepheid.spark.stream.identity import refuse_difference


@dataclass
class Checkpoint:
    """The directory of a checkpoint."""

    session: SparkSession
    path: str

    @property
    def control(self) -> str:
        return f"{self.path.rstrip('/')}/cepheid/control"

    @property
    def _identity(self) -> str:
        return f"{self.path.rstrip('/')}/cepheid/identity"

    @property
    def _over(self) -> str:
        return f"{self.path.rstrip('/')}/cepheid/over"

    def prepare(self, identity: str, flush: bool) -> tuple[int, ...] | None:
        """Make ready for a start; returns the buckets that the checkpoint was written with, None if it is new."""
        for place in (self.control, self._identity, self._over):
            self._write(place, [], mode="ignore")  # Spark warns at length when it is to read what is not there
        if self._lines(self._over):
            raise StateError(
                f"the input of the checkpoint {self.path!r} has been ended by flush=True.\n"
                "  Use another checkpoint; this one has nothing left to decide."
            )
        if self._lines(self.control) and not flush:
            raise StateError(
                f"a flush of the checkpoint {self.path!r} was begun and not finished.\n"
                "  Finish it with start(..., flush=True), or use another checkpoint."
            )
        saved = self._lines(self._identity)
        if not saved or not self._lines(f"{self.path.rstrip('/')}/commits"):
            self._write(self._identity, [identity], mode="overwrite")
            return None
        buckets: list[int] = json.loads(saved[0])["buckets"]
        return tuple(buckets)

    def check(self, identity: str) -> None:
        """Refuse a plan that the checkpoint was not written for."""
        saved = self._lines(self._identity)
        if saved:
            refuse_difference(saved[0], identity)

    def end(self) -> None:
        """Tell the operator that the input is over."""
        if not self._lines(self.control):
            self._write(self.control, ["end"])

    def ended(self) -> None:
        """Note that everything has been decided."""
        self._write(self._over, ["over"])

    def identity(self) -> dict[str, Any]:
        """What the checkpoint was written for."""
        saved = self._lines(self._identity)
        if not saved:
            raise StateError(
                f"{self.path!r} is no checkpoint of a pattern.\n  Give the path that start(checkpoint=...) was given."
            )
        known: dict[str, Any] = json.loads(saved[0])
        return known

    def query_id(self) -> str:
        """Spark's id of the query, which survives restarts."""
        lines = self._lines(f"{self.path.rstrip('/')}/metadata")
        if not lines:
            raise StateError(f"the checkpoint {self.path!r} has no metadata file: it is not one of Spark's.")
        return str(json.loads(lines[0])["id"])

    def _lines(self, path: str) -> list[str] | None:
        """The lines of all files there, None if there is no such place."""
        try:
            return [row[0] for row in self.session.read.text(path).collect()]
        except AnalysisException:
            return None

    def _write(self, path: str, lines: list[str], mode: str = "append") -> None:
        rows = self.session.createDataFrame([(line,) for line in lines], "value string")
        rows.coalesce(1).write.mode(mode).text(path)
