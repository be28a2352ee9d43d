"""The directory of a checkpoint: the only place that knows what lies where in it.

In: a session and a path. Out: what the checkpoint says of itself, and the directory that the control source reads.
Called by whatever starts a query or looks at a checkpoint. Everything is read and written by Spark, so any file system
and Spark Connect will do.

Beside Spark's own files (`metadata`, `commits`, `state`, ...) there is `cepheid/`:

* `identity`: whose state it is, one line (see `identity`);
* `plan`: the pattern and its arguments, so that state can be read without the program that wrote it (see `saved_plan`);
* `rules`: of a set of rules, which of them run and since when (see `spark.rules.registry`);
* `control`: what the control source reads, lines that end the input or move time on (see `control`);
* `moving`: what the state will belong to, while its buckets are changed (see `moving`);
* `history`: the seam between a history and the stream, once the history is in `control` (see `history`);
* `over`: one line once everything is decided.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.errors import StateError
from cepheid.spark.session import settings
from cepheid.spark.stream.checkpoint.identity import Identity

END = "end"
"""The line of the control source that ends the input."""
MOVED = "moved "
"""How a line of the control source begins that brings a part of a bucket."""
_PLAIN_FILES = {"spark.sql.streaming.fileStreamSink.ignoreMetadata": "true"}
"""Else Spark looks first whether a stream of its own has written the files, and warns at length if there are none."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A change of buckets (see `moving`)."""

    name: str
    before: Identity
    """What the state belongs to,"""
    after: Identity
    """and what it will belong to."""
    buckets: int
    """How many there will be for each key."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The directory of a checkpoint."""

    session: SparkSession
    path: str

    @property
    def control(self) -> str:
        """The directory that the control source reads."""
        return self._place("control")

    def prepare(self, identity: Identity, flush: bool) -> Identity | None:
        """Make ready for a start; returns what the checkpoint was written for, None if it is new."""
        saved = self._lines("identity")
        if saved is None:
            self._write("control", [], mode="ignore")  # a source wants its directory to be there
        self.refuse_over()
        if (begun := self.moving()) is not None:
            raise StateError(
                f"a change of the buckets of {self.path!r} was begun and not finished.\n"
                f"  Finish it: cepheid migrate {self.path} --buckets {begun.buckets}."
            )
        if self._is_ending() and not flush:
            raise StateError(
                f"a flush of the checkpoint {self.path!r} was begun and not finished.\n"
                "  Finish it with start(..., flush=True), or use another checkpoint."
            )
        if saved and self._lines("../commits"):
            return self._read(saved)
        self.keep_identity(identity)
        return None

    def renew(self, saved: Identity, given: Identity) -> bool:
        """Note a plan that may go on with the state, where it reads differently; returns whether it does."""
        if saved != given:
            self.keep_identity(given)
        return saved != given

    def keep_identity(self, identity: Identity) -> None:
        """Note what the state belongs to."""
        self._write("identity", [identity.to_json()], mode="overwrite")

    def identity(self) -> Identity:
        """What the checkpoint was written for."""
        saved = self._lines("identity")
        if not saved:
            raise StateError(
                f"{self.path!r} is not a checkpoint of a pattern: it has no file below cepheid/identity.\n"
                "  Give the directory that start(checkpoint=…) was given, or that is named under [stream] in the job."
            )
        return self._read(saved)

    def keep_plan(self, text: str) -> None:
        """Keep the pattern and its arguments."""
        self._write("plan", [text], mode="overwrite")

    def kept_plan(self) -> str | None:
        """The pattern and its arguments, if they are kept."""
        lines = self._lines("plan")
        return lines[0] if lines else None

    def keep_rules(self, text: str, anew: bool = False) -> None:
        """Keep which rules run, of a set of rules, beside what was kept before, so that nothing is ever missing.
        `anew`: in place of it, since nothing was ever committed."""
        self._write("rules", [text], mode="overwrite" if anew else "append")

    def kept_rules(self) -> list[str]:
        """All that was ever kept of which rules run."""
        return self._lines("rules") or []

    def has_begun(self) -> bool:
        """Whether a micro-batch was ever planned."""
        return bool(self._lines("../offsets"))

    def bring(self, lines: DataFrame, mode: str = "overwrite") -> None:
        """Let the control source begin with these lines, if nothing has read it yet, or have them as well
        ("append")."""
        lines.write.mode(mode).text(self._place("control"))

    def keep_history(self, text: str) -> None:
        """Note that the control source has all of a history."""
        self._write("history", [text], mode="overwrite")

    def history(self) -> str | None:
        """What is noted of the history, None if there is none or it is not complete."""
        lines = self._lines("history")
        return lines[0] if lines else None

    def keep_moving(self, change: Moving) -> None:
        """Note that buckets are about to change."""
        lines = [change.name, change.before.to_json(), change.after.to_json(), str(change.buckets)]
        self._write("moving", lines, mode="overwrite")

    def moving(self) -> Moving | None:
        """The change that is under way, None if there is none."""
        lines = self._lines("moving")
        if not lines:
            return None
        what = f"the change of the checkpoint {self.path!r}"
        before, after = (Identity.from_json(line, what) for line in lines[1:3])
        return Moving(lines[0], before, after, int(lines[3]))

    def move(self, lines: DataFrame) -> None:
        """Let the control source bring parts of buckets: in one file, which is there as a whole or not at all."""
        lines.coalesce(1).write.mode("append").text(self._place("control"))

    def has_moved(self, name: str) -> bool:
        """Whether the control source brings the buckets of this change."""
        return bool(self._lines("control", F.col("value").startswith(f"{MOVED}{name} "), F.lit("yes")))

    def moved(self) -> None:
        """Note that no change is under way any more."""
        self._write("moving", [], mode="overwrite")

    def end(self) -> None:
        """Tell the operator that the input is over."""
        if not self._is_ending():
            self._write("control", [END])

    def move_on(self, moment: int) -> None:
        """Tell the stream that time has come to this moment, in microseconds, although there may be no events."""
        self._write("control", [str(moment)])

    def ended(self) -> None:
        """Note that everything has been decided."""
        self._write("over", ["over"])

    def refuse_over(self) -> None:
        """Refuse a checkpoint that has been flushed."""
        if self.is_over():
            raise StateError(
                f"the input of the checkpoint {self.path!r} has been ended by flush=True.\n"
                "  Use another checkpoint; this one has nothing left to decide."
            )

    def is_over(self) -> bool:
        """Whether everything has been decided."""
        return bool(self._lines("over"))

    def query_id(self) -> str | None:
        """Spark's id of the query, which survives restarts; None before the first start."""
        lines = self._lines("../metadata")
        return str(json.loads(lines[0])["id"]) if lines else None

    def last_batch(self) -> int | None:
        """The last micro-batch that was committed."""
        return self._last("../commits")

    def last_planned(self) -> int | None:
        """The last micro-batch that was begun."""
        return self._last("../offsets")

    def _last(self, name: str) -> int | None:
        files = self._lines(name, shown=F.input_file_name()) or []
        return max((int(number) for file in files if (number := file.rsplit("/", 1)[-1]).isdigit()), default=None)

    def _is_ending(self) -> bool:
        return bool(self._lines("control", F.col("value") == END))  # the lines of a history may be large

    def _read(self, saved: list[str]) -> Identity:
        return Identity.from_json("\n".join(saved), f"the identity of the checkpoint {self.path!r}")

    def _place(self, name: str) -> str:
        whole = self.path.rstrip("/")
        return f"{whole}/{name.removeprefix('../')}" if name.startswith("../") else f"{whole}/cepheid/{name}"

    def _lines(self, name: str, wanted: Column | None = None, shown: Column | None = None) -> list[str] | None:
        """The lines of all files there, or what is shown of those that are wanted; None if there is no such place."""
        try:
            with settings(self.session, _PLAIN_FILES):
                lines = self.session.read.text(self._place(name))
                lines = lines if wanted is None else lines.where(wanted)
                return [row[0] for row in (lines if shown is None else lines.select(shown)).collect()]
        except AnalysisException:
            return None

    def _write(self, name: str, lines: list[str], mode: str = "append") -> None:
        rows = self.session.createDataFrame([(line,) for line in lines], "value string")
        rows.coalesce(1).write.mode(mode).text(self._place(name))
