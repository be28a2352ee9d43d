"""Compiled code for Spark's workers: made on the driver's machine, sent along with the job.

Local workers share the driver's directory of compiled code: what is missing there is compiled beside the job, and until
it is there Python runs the kernel (`engine.kernel.entrances`). Executors on other machines get what the driver has as a
file of the job and put it where they keep their own; one with another kind of processor compiles for itself.

In: a DataFrame, when a plan is made; in a worker, the files of its job. Out: nothing. Called by plans, and in workers
before their work.
"""

from __future__ import annotations

import logging
from pathlib import Path

from pyspark import SparkContext, SparkFiles, TaskContext
from pyspark.sql import DataFrame

from cepheid.engine.compiled_code import FILE, compile_beside, keep, packed
from cepheid.spark.session import context_of, has_local_workers, use_this_python

logger = logging.getLogger("cepheid.spark")
_sent: set[str] = set()
_looked = False


def provide_code(rows: DataFrame, row_patterns: bool = False, compact: bool = False) -> None:
    """See to it that workers find compiled code, without waiting for it."""
    compile_beside(row_patterns, compact)
    context = context_of(rows)
    if has_local_workers(rows):
        use_this_python(rows)
    elif context is not None:
        _send(context)


def _send(context: SparkContext) -> None:
    application = str(context.applicationId)
    if application not in _sent and (code := packed()) is not None:
        context.addFile(str(code))
        _sent.add(application)


def take_code() -> None:
    """In a worker: keep the code that the driver sent, if this machine has none."""
    global _looked
    if _looked or TaskContext.get() is None:
        return
    _looked = True
    file = Path(SparkFiles.getRootDirectory()) / FILE
    if file.exists() and keep(file):
        logger.info("compiled code of the driver is kept here")
