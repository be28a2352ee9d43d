"""A job with a directory of rules that can be killed at any moment and started again: `python rules_job.py PLACE`.

Reads `PLACE/in`, one file a micro-batch, and follows the rules in `PLACE/rules`; keeps checkpoint and outputs in PLACE.
Notes for each micro-batch the generation of the set that it ran with and the last file that it read, before its commit:
a driver that is killed between Spark's note of a file and that of a micro-batch begins again with two files.

Once there is a file `PLACE/finish`, it stops following and ends the input. `PLACE/crash-<n>`: as for `job.py`, n counts
the micro-batches with events.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame

sys.path.insert(0, str(Path(__file__).parent))

from job import DDL, spark

from cepheid import PatternSet
from cepheid.rules import directory
from cepheid.spark.rules.found import RulesInStream
from cepheid.spark.rules.query import RulesQuery
from cepheid.spark.sinks import files

PACE = "1 second"


def offset(place: Path, batch: int) -> int:
    """The number of the last file that a micro-batch reads, from 0; they are the first of the query's sources."""
    lines = (place / "checkpoint" / "offsets" / str(batch)).read_text().splitlines()
    return int(json.loads(lines[2])["logOffset"])


def main(place: Path) -> None:
    session = spark()
    running: list[RulesQuery] = []

    def note(rows: DataFrame, batch: int) -> None:
        """Every micro-batch has rejected rows. Comes after the matches were written; nothing is committed yet."""
        while not running:
            time.sleep(0.01)
        (place / "generations").mkdir(exist_ok=True)
        generation, read = running[0]._plan.registry.generation, offset(place, batch)
        (place / "generations" / str(batch)).write_text(f"{generation} {read}")
        crash = place / f"crash-{len(list((place / 'generations').iterdir())) - 1}"
        if crash.exists():
            crash.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    stream = session.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(place / "in"))

    def found() -> RulesInStream:
        """With the rules that the directory has now."""
        rules = PatternSet([file.rule for file in directory(place / "rules").read().files])
        return rules.match_stream(stream, order_by=["ts", "id"], watermark="3 seconds", buckets=4)

    matches, checkpoint = files(str(place / "matches")), str(place / "checkpoint")
    if not (place / "finish").exists():
        query = found().start(
            matches=matches,
            rejected=note,
            checkpoint=checkpoint,
            rules=directory(place / "rules"),
            trigger=PACE,
        )
        running.append(query)
        while not (place / "finish").exists():
            if query.awaitTermination(0.2):
                raise SystemExit("the query ended by itself")
        query.stop()
    found().start(matches=matches, checkpoint=checkpoint, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
