"""Compiled code for Spark's workers: made on the driver's machine, sent along with the job.

Local workers share the driver's directory of compiled code: what is missing there is compiled beside the job, and until
it is there Python runs the kernel (`engine.kernel.entrances`). Executors on other machines get what the driver has as a
file of the job, over Spark Connect as an artifact of the session, and put it where they keep their own. One with
another kind of processor compiles for itself.

In: a DataFrame, when a plan is made; in a worker, the files of its job. Out: nothing. Called by plans, and in workers
before their work.
"""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock

from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame

from cepheid.engine.compiled_code import NAME, Part, compile_beside, keep, packed
from cepheid.spark.session import context_of, has_local_workers, use_this_python

logger = logging.getLogger("cepheid.spark")
_sent: set[tuple[str, str]] = set()
"""Applications, or sessions of Spark Connect, and what they were sent."""
_looked_at: set[str] = set()
"""In a worker: the files that it has seen."""
_taking = Lock()
"""Held by the thread that looks: another one waits until the code is there (see `ahead`)."""


def provide_code(rows: DataFrame, part: Part) -> None:
    """See to it that workers find a part of the kernel compiled, without waiting for it."""
    compile_beside(part)
    if has_local_workers(rows):
        use_this_python(rows)
    elif (code := packed()) is not None:
        _send(rows, code)


def _send(rows: DataFrame, code: Path) -> None:
    """Once to each application: Spark gives the file to an executor before its next task."""
    context = context_of(rows)
    session = rows.sparkSession
    to = str(getattr(session, "session_id", "") if context is None else context.applicationId)
    if (to, code.name) in _sent:
        return
    try:
        if context is None:
            session.addArtifact(str(code), file=True)
        else:
            context.addFile(str(code))
    except Exception as error:  # a server may take no files, and say so in its own way; executors compile then
        logger.warning("compiled code was not sent, so executors compile the engine themselves: %s", error)
    _sent.add((to, code.name))


def take_code() -> None:
    """In a worker: keep what the driver sent and this machine does not have."""
    if TaskContext.get() is None:
        return
    with _taking:
        for file in Path(SparkFiles.getRootDirectory()).glob(f"{NAME}-*.zip"):
            if file.name not in _looked_at:
                _looked_at.add(file.name)
                if keep(file):
                    logger.info("compiled code of the driver is kept here")
